// run_sequence VOCABULARY SETTINGS.yaml SEQUENCE OUT.tum [PACE]: ORB-SLAM3, one camera, over a sequence
// folder. Writes the settings' camera part itself (SETTINGS.yaml holds the features' part) and the final
// poses of all frames in its largest map, camera to world; nothing if it never began. Frames are given PACE
// times the time that the video has for them (1), so that its mapping thread has the time it was made for.

#include <System.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

#include "sequence_folder.h"

namespace {

void WriteSettings(const SequenceFolder& folder, const std::string& features, const std::string& file) {
  std::ifstream part(features);
  if (!part) throw std::runtime_error(features + ": cannot be read");
  std::ofstream out(file);
  out.precision(12);
  const auto distortion = [&](size_t k) { return k < folder.distortion.size() ? folder.distortion[k] : 0.; };
  out << "%YAML:1.0\nFile.version: \"1.0\"\n"
      << "Camera.type: \"" << (folder.lens == "kannala_brandt" ? "KannalaBrandt8" : "PinHole") << "\"\n"
      << std::fixed << "Camera1.fx: " << folder.fx << "\nCamera1.fy: " << folder.fy
      << "\nCamera1.cx: " << folder.cx << "\nCamera1.cy: " << folder.cy << "\n";
  // Both count k1, k2, p1, p2, k3, or the four of the fisheye.
  if (folder.lens == "kannala_brandt")
    for (size_t k = 0; k < 4; ++k) out << "Camera1.k" << k + 1 << ": " << distortion(k) << "\n";
  if (folder.lens == "radtan")
    out << "Camera1.k1: " << distortion(0) << "\nCamera1.k2: " << distortion(1)
        << "\nCamera1.p1: " << distortion(2) << "\nCamera1.p2: " << distortion(3)
        << "\nCamera1.k3: " << distortion(4) << "\n";
  out << "Camera.width: " << folder.width << "\nCamera.height: " << folder.height
      << "\nCamera.fps: " << std::max(1L, std::lround(folder.fps)) << "\nCamera.RGB: 1\n"
      << part.rdbuf();
  for (const char* name : {"KeyFrameSize", "KeyFrameLineWidth", "GraphLineWidth", "PointSize", "CameraSize",
                           "CameraLineWidth", "ViewpointX", "ViewpointY", "ViewpointZ", "ViewpointF"})
    out << "Viewer." << name << ": 1.0\n";
  if (!out.flush()) throw std::runtime_error(file + ": cannot be written");
}

// Its own writer's times are in nanoseconds, and where it had no pose for a frame it may repeat the last one,
// time and all.
void WriteTum(const std::string& euroc, const std::string& file) {
  std::ifstream in(euroc);
  std::ofstream out(file);
  size_t lines = 0;
  double last = -1;
  for (std::string line; std::getline(in, line);) {
    std::istringstream stream(line);
    double nanoseconds = 0;
    std::string rest;
    stream >> nanoseconds;
    std::getline(stream, rest);
    if (nanoseconds <= last) continue;
    last = nanoseconds;
    ++lines;
    char time[32];
    std::snprintf(time, sizeof time, "%.6f", nanoseconds * 1e-9);
    out << time << rest << "\n";
  }
  if (!out.flush()) throw std::runtime_error(file + ": cannot be written");
  std::printf("placed %zu frames\n", lines);
}

using Clock = std::chrono::steady_clock;

// Whether a map was ever begun.
bool Track(const SequenceFolder& folder, double pace, ORB_SLAM3::System& slam) {
  bool began = false;
  double busy = 0;
  const Clock::time_point start = Clock::now();
  for (size_t k = 0; k < folder.frames.size(); ++k) {
    const cv::Mat frame = ReadFrame(folder, k);
    const double time = static_cast<double>(k + static_cast<size_t>(folder.first_frame)) / folder.fps;
    std::this_thread::sleep_until(
        start + std::chrono::duration_cast<Clock::duration>(
                    std::chrono::duration<double>(pace * static_cast<double>(k) / folder.fps)));
    const Clock::time_point before = Clock::now();
    slam.TrackMonocular(frame, time);
    busy += std::chrono::duration<double>(Clock::now() - before).count();
    began = began || slam.GetTrackingState() == ORB_SLAM3::Tracking::OK;
  }
  std::printf("tracking took %.1f ms a frame\n", 1e3 * busy / static_cast<double>(folder.frames.size()));
  return began;
}

}  // namespace

int main(int count, char** arguments) try {
  if (count < 5 || count > 6) {
    std::fprintf(stderr, "usage: run_sequence VOCABULARY SETTINGS.yaml SEQUENCE OUT.tum [PACE]\n");
    return 2;
  }
  const SequenceFolder folder = OpenSequenceFolder(arguments[3]);
  const std::string out = arguments[4], settings = out + ".settings.yaml", euroc = out + ".euroc";
  WriteSettings(folder, arguments[2], settings);
  ORB_SLAM3::System slam(arguments[1], settings, ORB_SLAM3::System::MONOCULAR, false);
  const bool began = Track(folder, count == 6 ? std::stod(arguments[5]) : 1, slam);
  slam.Shutdown();
  std::this_thread::sleep_for(
      std::chrono::seconds(2));  // it does not wait for its threads, nor for their last step
  if (began) {
    slam.SaveTrajectoryEuRoC(euroc);
    WriteTum(euroc, out);
    std::remove(euroc.c_str());
  } else {
    std::printf("placed 0 frames\n");
  }
  std::fflush(stdout);
  std::_Exit(0);  // its threads are not all joined, and its destructors race with them
} catch (const std::exception& error) {
  std::fprintf(stderr, "run_sequence: %s\n", error.what());
  return 2;
}
