#include "lumen/io/run_writer.h"

#include "lumen/base/text.h"
#include "lumen/io/png.h"
#include "lumen/io/sequence_folder.h"
#include "lumen/io/trajectory_file.h"

namespace lumen {

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

void RunWriter::AppendEvent(const Json& event) { events_->Append(event.Dump() + "\n"); }

void RunWriter::WriteTrajectories(const Trajectory& frames, const Trajectory& keyframes) {
  SaveTrajectory(folder_ / run_file::kFrames, frames);
  SaveTrajectory(folder_ / run_file::kKeyframes, keyframes);
}

void RunWriter::WriteSubmap(int submap, const Trajectory& frames, const Trajectory& keyframes) {
  const std::filesystem::path folder = folder_ / run_file::kSubmaps / StrCat(submap);
  MakeDirectories(folder);
  SaveTrajectory(folder / run_file::kFrames, frames);
  SaveTrajectory(folder / run_file::kKeyframes, keyframes);
}

void RunWriter::WriteDepth(int64_t frame, const DepthImage& depth, const Mask& mask) {
  Image<uint16_t> stored(depth.Width(), depth.Height());
  for (size_t i = 0; i < stored.Size(); ++i) {
    const double value = static_cast<double>(depth.Data()[i]) * kRunDepthScale + 0.5;
    stored.Data()[i] = mask.Data()[i] != 0 && value > 0 && value < 65536 ? static_cast<uint16_t>(value) : 0;
  }
  SavePng(folder_ / run_file::kDepth / RunDepthName(frame), stored.View());
}

void RunWriter::WriteImage(int64_t frame, const RgbImage& image) {
  SavePng(folder_ / run_file::kImages / RunDepthName(frame), image.View());
}

void RunWriter::WriteSummary(const Json& summary) {
  WriteFileAtomically(folder_ / run_file::kSummary, summary.Dump(2) + "\n");
}

}  // namespace lumen
