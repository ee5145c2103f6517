// Writes a run's folder (see run_folder.h) so that a crash at any moment loses at most what was not yet
// handed over: lines are appended and flushed, everything else is written aside and renamed.
#pragma once

#include "lumen/base/file.h"
#include "lumen/io/run_folder.h"

namespace lumen {

inline constexpr double kRunDepthScale = 2000;  // the first keyframe's median depth is 1

// A keyframe's depth along z, over what is there. Values too deep for 16 bits are 0.
void SaveRunDepth(const std::filesystem::path& folder, int64_t frame, const DepthImage& depth);
// Standard deviations as shares of the depth.
void SaveRunSigma(const std::filesystem::path& folder, int64_t frame, const Image<float>& sigma);

class RunWriter {
 public:
  // The folder must be absent or empty. `summary` is written at once.
  RunWriter(const std::filesystem::path& folder, const std::string& config, const Json& summary);

  void AppendEvent(const Json& event);
  void AppendEvents(const std::string& lines);  // whole ones
  void WriteTrajectories(const Trajectory& frames, const Trajectory& keyframes);
  // What comes after that which is there.
  void AppendTrajectories(const Trajectory& frames, const Trajectory& keyframes);
  // Sub-maps that were not joined.
  void WriteSubmap(int submap, const Trajectory& frames, const Trajectory& keyframes);
  void WriteDepth(int64_t frame, const DepthImage& depth) { SaveRunDepth(folder_, frame, depth); }
  void WriteImage(int64_t frame, const RgbImage& image);
  // Also on a disk that is full: a summary that says so is the last thing such a run leaves behind.
  void WriteSummary(const Json& summary);
  const std::filesystem::path& Folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<AppendFile> events_;
  std::unique_ptr<AppendFile> frames_, keyframes_;  // open since they were appended to; not if written anew
};

}  // namespace lumen
