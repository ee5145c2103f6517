#include "lumen/io/sage_hdf5.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/limits.h"
#include "lumen/base/text.h"
#include "lumen/io/hdf5_reader.h"

namespace lumen {

namespace {

class SageSource : public FrameSource {
 public:
  explicit SageSource(const std::filesystem::path& path) : path_(path), file_(path) {
    const std::vector<uint64_t> shape = RequireShape("color", 4);
    if (shape[3] != 3) throw InputError(path, "\"color\" does not have three channels");
    if (shape[1] * shape[2] > limits::kImagePixels)
      throw InputError(path, StrCat("its pictures are of ", shape[2], " x ", shape[1], " pixels: too large"));
    // Every file of theirs is called alike; the folder says whose it is.
    const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
    info_.name = path.stem() == "fusion_data" ? folder.filename().string() : path.stem().string();
    info_.frame_count = static_cast<int64_t>(shape[0]);
    info_.height = static_cast<int>(shape[1]);
    info_.width = static_cast<int>(shape[2]);
    ReadMask();
    ReadIntrinsics();
    if (file_.Has("extrinsics")) ReadExtrinsics();
    for (const char* key : {"render_depth", "mean_depth"}) {
      if (!depth_.empty() || !file_.Has(key)) continue;
      const std::vector<uint64_t> maps = file_.Shape(key);
      if (maps.size() < 3 || maps[1] != shape[1] || maps[2] != shape[2])
        throw InputError(path, StrCat("\"", key, "\" is of another size than the images"));
      depth_ = key;
      depth_count_ = static_cast<int64_t>(maps[0]);
    }
  }

  std::optional<RawFrame> Next() override {
    if (next_ >= info_.frame_count) return std::nullopt;
    const std::vector<uint8_t> bgr = file_.ReadItem<uint8_t>("color", next_);
    RgbImage image(info_.width, info_.height, 3);
    for (size_t i = 0; i < bgr.size(); i += 3) {
      for (size_t c = 0; c < 3; ++c) image.Data()[i + c] = bgr[i + 2 - c];
    }
    const int64_t index = next_++;
    return RawFrame{index, static_cast<double>(index) / info_.fps, std::move(image)};
  }

  bool Skip() override { return next_ < info_.frame_count ? (++next_, true) : false; }

  std::optional<DepthImage> LoadDepth(int64_t index) const override {
    if (depth_.empty() || index < 0 || index >= depth_count_) return std::nullopt;
    const std::vector<float> values = file_.ReadItem<float>(depth_, index);
    DepthImage depth(info_.width, info_.height);
    if (values.size() != depth.Size())
      throw InputError(path_, "depth maps are of another size than the images");
    for (size_t i = 0; i < values.size(); ++i)
      depth.Data()[i] = std::isfinite(values[i]) && values[i] > 0 ? values[i] : 0.0F;
    return depth;
  }

 private:
  std::vector<uint64_t> RequireShape(const char* key, size_t dimensions) const {
    const std::vector<uint64_t> shape = file_.Shape(key);
    if (shape.size() != dimensions)
      throw InputError(path_, StrCat("\"", key, "\" has ", shape.size(), " dimensions, not ", dimensions));
    constexpr uint64_t kMostExtent = 100'000'000;
    for (const uint64_t extent : shape)
      if (extent == 0 || extent > kMostExtent)
        throw InputError(path_, StrCat("\"", key, "\" is ", extent, " long along one dimension"));
    return shape;
  }

  void ReadMask() {
    const std::vector<uint8_t> values = file_.ReadItem<uint8_t>("mask", 0);
    Mask mask(info_.width, info_.height);
    if (values.size() != mask.Size()) throw InputError(path_, "\"mask\" is of another size than the images");
    for (size_t i = 0; i < values.size(); ++i) mask.Data()[i] = values[i] != 0 ? 255 : 0;
    info_.mask = std::move(mask);
  }

  void ReadIntrinsics() {
    RequireShape("intrinsics", 3);
    const std::vector<double> k = file_.ReadItem<double>("intrinsics", 0);
    const bool finite = std::all_of(k.begin(), k.end(), [](double value) { return std::isfinite(value); });
    if (k.size() != 9 || !finite || !(k[0] > 0) || !(k[4] > 0))
      throw InputError(path_, "\"intrinsics\" is not a camera matrix");
    info_.camera = Camera(PinholeCamera{k[0], k[4], k[2], k[5]}, info_.width, info_.height);
  }

  void ReadExtrinsics() {
    const std::vector<uint64_t> shape = RequireShape("extrinsics", 3);
    if (shape[1] < 3 || shape[2] != 4)
      throw InputError(path_, "\"extrinsics\" does not hold 3 x 4 or 4 x 4 matrices");
    Trajectory truth;
    for (int64_t i = 0; i < std::min<int64_t>(info_.frame_count, static_cast<int64_t>(shape[0])); ++i) {
      const std::vector<double> m = file_.ReadItem<double>("extrinsics", i);
      Eigen::Matrix3d rotation;
      rotation << m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10];
      const Eigen::Vector3d translation(m[3], m[7], m[11]);
      if (!((rotation * rotation.transpose() - Eigen::Matrix3d::Identity()).norm() < 1e-2) ||
          !IsPlace(translation)) {
        throw InputError(path_, StrCat("\"extrinsics\" of frame ", i, " is not a rigid transform"));
      }
      truth.push_back({static_cast<double>(i) / info_.fps, Rigid3(rotation, translation)});
    }
    info_.truth = std::move(truth);
  }

  std::filesystem::path path_;
  Hdf5Reader file_;
  std::string depth_;  // the key of the depth maps; empty: there are none
  int64_t depth_count_ = 0, next_ = 0;
};

}  // namespace

bool HaveHdf5() { return true; }

std::unique_ptr<FrameSource> OpenSageHdf5(const std::filesystem::path& path) {
  return std::make_unique<SageSource>(path);
}

}  // namespace lumen
