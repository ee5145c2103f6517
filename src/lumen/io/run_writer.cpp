#include "lumen/io/run_writer.h"

#include <algorithm>

#include "lumen/base/error.h"
#include "lumen/base/text.h"
#include "lumen/io/png.h"
#include "lumen/io/sequence_folder.h"
#include "lumen/io/trajectory_file.h"

namespace lumen {

namespace {

void AppendPoses(const std::filesystem::path& path, const Trajectory& poses,
                 std::unique_ptr<AppendFile>& file) {
  if (poses.empty()) return;
  if (file == nullptr) file = std::make_unique<AppendFile>(path);
  std::string text;
  for (const TimedPose& pose : poses) text += FormatTumLine(pose);
  file->Append(text);
}

}  // namespace

RunWriter::RunWriter(const std::filesystem::path& folder, const std::string& config, const Json& summary)
    : folder_(folder) {
  RequireFreshFolder(folder);
  MakeDirectories(folder / run_file::kDepth);
  MakeDirectories(folder / run_file::kImages);
  WriteFileAtomically(folder / run_file::kConfig, config);
  events_ = std::make_unique<AppendFile>(folder / run_file::kEvents);
  WriteTrajectories({}, {});
  WriteSummary(summary);
}

void RunWriter::AppendEvent(const Json& event) { AppendEvents(event.Dump() + "\n"); }

void RunWriter::AppendEvents(const std::string& lines) { events_->Append(lines); }

void RunWriter::AppendTrajectories(const Trajectory& frames, const Trajectory& keyframes) {
  AppendPoses(folder_ / run_file::kFrames, frames, frames_);
  AppendPoses(folder_ / run_file::kKeyframes, keyframes, keyframes_);
}

void RunWriter::WriteTrajectories(const Trajectory& frames, const Trajectory& keyframes) {
  // They will be other files than those that are open.
  frames_.reset();
  keyframes_.reset();
  SaveTrajectory(folder_ / run_file::kFrames, frames);
  SaveTrajectory(folder_ / run_file::kKeyframes, keyframes);
}

void RunWriter::WriteSubmap(int submap, const Trajectory& frames, const Trajectory& keyframes) {
  const std::filesystem::path folder = folder_ / run_file::kSubmaps / StrCat(submap);
  MakeDirectories(folder);
  SaveTrajectory(folder / run_file::kFrames, frames);
  SaveTrajectory(folder / run_file::kKeyframes, keyframes);
}

void SaveRunDepth(const std::filesystem::path& folder, int64_t frame, const DepthImage& depth) {
  Image<uint16_t> stored(depth.Width(), depth.Height());
  for (size_t i = 0; i < stored.Size(); ++i) {
    const double value = static_cast<double>(depth.Data()[i]) * kRunDepthScale + 0.5;
    stored.Data()[i] = value >= 1 && value < 65536 ? static_cast<uint16_t>(value) : 0;
  }
  SavePng(folder / run_file::kDepth / RunDepthName(frame), stored.View());
}

void SaveRunSigma(const std::filesystem::path& folder, int64_t frame, const Image<float>& sigma) {
  Image<uint16_t> stored(sigma.Width(), sigma.Height());
  for (size_t i = 0; i < stored.Size(); ++i) {
    const double value = static_cast<double>(sigma.Data()[i]) * kRunSigmaScale;
    stored.Data()[i] = value > 0 ? static_cast<uint16_t>(std::clamp(value + 0.5, 1.0, 65535.0)) : 0;
  }
  MakeDirectories(folder / run_file::kSigma);
  SavePng(folder / run_file::kSigma / RunDepthName(frame), stored.View());
}

void RunWriter::WriteImage(int64_t frame, const RgbImage& image) {
  SavePng(folder_ / run_file::kImages / RunDepthName(frame), image.View());
}

void RunWriter::WriteSummary(const Json& summary) {
  const std::filesystem::path path = folder_ / run_file::kSummary;
  const std::string text = summary.Dump(2) + "\n";
  try {
    WriteFileAtomically(path, text);
  } catch (const OutputError&) {
    if (!std::filesystem::exists(path)) throw;
    OverwriteFile(path, text);
  }
}

}  // namespace lumen
