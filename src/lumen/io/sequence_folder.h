// Lumen's own sequence folder: what `lumen simulate` and `lumen convert` write and every command reads.
//   sequence.toml, rgb/000000.png, mask.png, depth/000000.png (16 bit), groundtruth.tum, model.ply
#pragma once

#include <filesystem>
#include <memory>

#include "lumen/io/frame_source.h"
#include "lumen/scene/mesh.h"

namespace lumen {

struct SequenceInfo {
  std::string name;
  double fps = 30;
  std::string units = "arbitrary";
  double depth_scale = 1000;  // depth = stored value / depth_scale
  std::optional<Camera> camera;
};

SequenceInfo LoadSequenceInfo(const std::filesystem::path& folder);
bool IsSequenceFolder(const std::filesystem::path& path);
std::unique_ptr<FrameSource> OpenSequenceFolder(const std::filesystem::path& folder);

// Throws InputError unless the folder is absent or empty: what every writer of folders asks first.
void RequireFreshFolder(const std::filesystem::path& folder);

// Writes a sequence folder. Until Finish, `sequence.toml` does not exist, so that a folder that was broken
// off never looks complete; a writer that goes without Finish takes what it wrote with it.
class SequenceWriter {
 public:
  // The folder must be absent or empty: InputError otherwise.
  SequenceWriter(const std::filesystem::path& folder, SequenceInfo info);
  ~SequenceWriter();
  SequenceWriter(const SequenceWriter&) = delete;
  SequenceWriter& operator=(const SequenceWriter&) = delete;

  void WriteFrame(int64_t index, ImageView<const uint8_t> rgb);
  void WriteDepth(int64_t index, ImageView<const float> depth);  // beyond 16 bits: 0, unknown
  void WriteMask(ImageView<const uint8_t> mask);
  void WriteTruth(const Trajectory& trajectory);
  void WriteModel(const TriangleMesh& mesh);
  void Finish();

 private:
  std::filesystem::path folder_;
  SequenceInfo info_;
  bool existed_;  // the folder itself was there before us
  bool finished_ = false;
};

}  // namespace lumen
