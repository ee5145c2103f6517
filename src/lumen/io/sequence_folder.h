// Lumen's own sequence folder: what `lumen simulate` and `lumen convert` write and every command reads.
//   sequence.toml, rgb/000000.png, mask.png, depth/000000.png (16 bit), sparse_depth.csv, groundtruth.tum,
//   model.ply, ct.nii, ct_from_world.txt
// Depth, points and poses may be missing for any frame: what has none is not graded by, nor learnt from.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>

#include "lumen/io/coverage_mesh.h"
#include "lumen/io/frame_source.h"
#include "lumen/scene/mesh.h"
#include "lumen/scene/volume.h"

namespace lumen {

struct SequenceInfo {
  std::string name;
  double fps = 30;
  std::string units = "arbitrary";
  double depth_scale = 1000;  // depth = stored value / depth_scale
  std::optional<Camera> camera;
};

// A `depth_scale` that depths of up to `largest` fit into 16 bits with: 1000 where that serves.
double ChooseDepthScale(double largest);

SequenceInfo LoadSequenceInfo(const std::filesystem::path& folder);
bool IsSequenceFolder(const std::filesystem::path& path);
std::unique_ptr<FrameSource> OpenSequenceFolder(const std::filesystem::path& folder);

// Throws InputError unless the folder is absent or empty: what every writer of folders asks first.
void RequireFreshFolder(const std::filesystem::path& folder);
// The same, but a sequence that was killed while it was written, and holds nothing else, is in nobody's way.
void RequireFreshSequence(const std::filesystem::path& folder);

// Writes a sequence folder. Until Finish, `sequence.toml` does not exist, so that a folder that was broken
// off never looks complete; a writer that goes without Finish takes what it wrote with it. One that is killed
// leaves `.unfinished` behind, and nobody's lock on it: so the next writer knows what it may clear away.
class SequenceWriter {
 public:
  // As RequireFreshSequence wants the folder.
  SequenceWriter(const std::filesystem::path& folder, SequenceInfo info);
  ~SequenceWriter();
  SequenceWriter(const SequenceWriter&) = delete;
  SequenceWriter& operator=(const SequenceWriter&) = delete;

  void WriteFrame(int64_t index, ImageView<const uint8_t> rgb);
  // A picture that is a file already, byte for byte.
  void CopyFrame(int64_t index, const std::filesystem::path& file);
  // What 16 bits do not hold is written as unknown, and said at the end.
  void WriteDepth(int64_t index, ImageView<const float> depth);
  void WritePoints(const SparseDepth& points);
  void WriteMask(ImageView<const uint8_t> mask);
  void WriteTruth(const Trajectory& trajectory);
  void WriteModel(const TriangleMesh& mesh);
  // A CT of the patient, and where the world of the poses lies in it (LPS, mm).
  void WriteCt(const Volume& ct, const Eigen::Matrix4d& ct_from_world);
  void WriteCoverage(const CoverageMesh& coverage);
  void Finish();

 private:
  void Mark();
  void Clear();
  std::filesystem::path folder_;
  SequenceInfo info_;
  bool existed_;                                   // the folder itself was there before us
  std::atomic<int64_t> too_deep_ = 0, known_ = 0;  // pixels of depth; frames are written side by side
  bool finished_ = false;
  int mark_ = -1;  // locked as long as we write
};

}  // namespace lumen
