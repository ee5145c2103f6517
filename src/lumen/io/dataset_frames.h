// What the data sets' readers share: numbered files, frames that lie in them, halves of stacked video, poses
// in rows of numbers.
#pragma once

#include <functional>
#include <map>
#include <string_view>

#include "lumen/io/file_list_source.h"

namespace lumen {

// Files of a folder called PREFIX, digits, SUFFIX, by their number; hidden ones are passed over. One number
// twice (0_color.png beside 0000_color.png) throws InputError.
std::map<int64_t, std::filesystem::path> FindNumbered(const std::filesystem::path& folder,
                                                      std::string_view prefix, std::string_view suffix);
// Whether there is any such file.
bool HasNumbered(const std::filesystem::path& folder, std::string_view prefix, std::string_view suffix);

// Rows of numbers, separated by commas, semicolons or white space; comments (#) and empty lines passed over.
// A row of another length than `columns` throws InputError with its line; but the last one, if it is cut
// short and `last_may_be_cut`, is dropped.
struct NumberTableOptions {
  size_t columns = 0;   // 0: any
  bool header = false;  // the first line holds names
  bool last_may_be_cut = false;
};
std::vector<std::vector<double>> LoadNumberTable(const std::filesystem::path& path,
                                                 const NumberTableOptions& options);

// A pinhole from nine numbers, a matrix in rows, wherever the lines break.
Camera LoadCameraMatrix(const std::filesystem::path& path, int width, int height);

// A position and a rotation, x before w; the quaternion is made exact. Throws InputError, naming `what`, if
// it is far from a unit one.
Rigid3 RigidFromNumbers(const Eigen::Vector3d& position, const double* xyzw,
                        const std::filesystem::path& path, const std::string& what);
// A rigid transform from a 4x4 matrix in rows. Throws InputError, naming `what`, if it is none.
Rigid3 RigidFromRows(const double* rows, const std::filesystem::path& path, const std::string& what);

// Pictures in files of their own, with depth maps by the same number.
class DatasetFrames : public FileListSource {
 public:
  using ReadDepth = std::function<DepthImage(const std::filesystem::path&)>;

  // Frames must be numbered without a hole.
  DatasetFrames(std::string name, const std::map<int64_t, std::filesystem::path>& pictures, double fps);
  void SetUnits(std::string units) { info_.units = std::move(units); }
  void SetProtocol(GradingProtocol protocol) { info_.protocol = protocol; }
  void SetModel(const std::filesystem::path& model) { info_.model = model; }
  void SetCamera(const std::optional<Camera>& camera) { info_.camera = camera; }
  void SetDepth(std::map<int64_t, std::filesystem::path> files, ReadDepth read);
  // One pose a frame, in their order. Throws InputError, naming `path`, if there are more or fewer; but the
  // last frame may go without where `last_may_miss`.
  void SetTruth(const std::vector<Rigid3>& world_from_camera, const std::filesystem::path& path,
                bool last_may_miss = false);
  std::optional<DepthImage> LoadDepth(int64_t index) const override;

 private:
  int64_t first_number_ = 0;
  std::map<int64_t, std::filesystem::path> depth_;
  ReadDepth read_depth_;
};

// Another source's frames, with more known about them.
class DescribedSource : public FrameSource {
 public:
  explicit DescribedSource(std::unique_ptr<FrameSource> inner) : inner_(std::move(inner)) {
    info_ = inner_->Info();
  }
  SourceInfo& MutableInfo() { return info_; }
  void SetDepth(std::function<std::optional<DepthImage>(int64_t)> read) { read_depth_ = std::move(read); }
  std::optional<RawFrame> Next() override { return inner_->Next(); }
  bool Skip() override { return inner_->Skip(); }
  void Stop() override { inner_->Stop(); }
  std::optional<DepthImage> LoadDepth(int64_t index) const override {
    return read_depth_ ? read_depth_(index) : std::nullopt;
  }
  std::filesystem::path FrameFile(int64_t index) const override { return inner_->FrameFile(index); }

 private:
  std::unique_ptr<FrameSource> inner_;
  std::function<std::optional<DepthImage>(int64_t)> read_depth_;
};

// The upper half of a video's frames: the left eye, where both were stacked.
class UpperHalf : public DescribedSource {
 public:
  UpperHalf(std::unique_ptr<FrameSource> stacked, const std::filesystem::path& path);
  std::optional<RawFrame> Next() override;
  std::filesystem::path FrameFile(int64_t) const override { return {}; }
};

// Poses by frame number, at the frames' times.
Trajectory AtFrames(const std::map<int64_t, Rigid3>& world_from_camera, double fps);

inline constexpr int64_t kMiscounted = 2;  // frames: containers count theirs loosely

// One pose a frame of a video, in their order; of its frames a container may miscount two.
void SetVideoTruth(SourceInfo& info, const std::vector<Rigid3>& world_from_camera,
                   const std::filesystem::path& path);

}  // namespace lumen
