#include "lumen/io/sage_hdf5.h"

#include <cmath>

#include "lumen/base/text.h"
#include "lumen/io/hdf5_handle.h"

namespace lumen {

namespace {

class Dataset {
 public:
  Dataset(hid_t file, const char* key, const std::filesystem::path& path)
      : key_(key), path_(path), set_(H5Dopen2(file, key, H5P_DEFAULT), H5Dclose) {
    if (!set_.Valid()) throw InputError(path, StrCat("has no dataset \"", key, "\""));
    const Hdf5Handle space(H5Dget_space(set_.Id()), H5Sclose);
    shape_.resize(static_cast<size_t>(std::max(0, H5Sget_simple_extent_ndims(space.Id()))));
    H5Sget_simple_extent_dims(space.Id(), shape_.data(), nullptr);
  }

  const std::vector<hsize_t>& Shape() const { return shape_; }
  void CheckShape(size_t dimensions) const {
    if (shape_.size() != dimensions)
      throw InputError(path_, StrCat("\"", key_, "\" has ", shape_.size(), " dimensions, not ", dimensions));
    for (const hsize_t extent : shape_) {
      if (extent == 0) throw InputError(path_, StrCat("\"", key_, "\" is empty"));
    }
  }

  // One item along the first dimension.
  template <typename T>
  std::vector<T> ReadItem(hsize_t index, hid_t type) const {
    std::vector<hsize_t> start(shape_.size(), 0);
    std::vector<hsize_t> count = shape_;
    start[0] = index;
    count[0] = 1;
    size_t size = 1;
    for (const hsize_t extent : count) size *= extent;
    const Hdf5Handle space(H5Dget_space(set_.Id()), H5Sclose);
    const Hdf5Handle memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr),
                            H5Sclose);
    std::vector<T> values(size);
    const bool good =
        H5Sselect_hyperslab(space.Id(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) >= 0 &&
        H5Dread(set_.Id(), type, memory.Id(), space.Id(), H5P_DEFAULT, values.data()) >= 0;
    if (!good) throw InputError(path_, StrCat("item ", index, " of \"", key_, "\" cannot be read"));
    return values;
  }

 private:
  std::string key_;
  std::filesystem::path path_;
  Hdf5Handle set_;
  std::vector<hsize_t> shape_;
};

Hdf5Handle OpenFile(const std::filesystem::path& path) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // our own messages are enough
  Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file.Valid())
    throw InputError(path, std::filesystem::exists(path) ? "is not an HDF5 file" : "no such file");
  return file;
}

class SageSource : public FrameSource {
 public:
  explicit SageSource(const std::filesystem::path& path)
      : path_(path), file_(OpenFile(path)), color_(file_.Id(), "color", path) {
    color_.CheckShape(4);
    // Every file of theirs is called alike; the folder says whose it is.
    const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
    info_.name = path.stem() == "fusion_data" ? folder.filename().string() : path.stem().string();
    info_.frame_count = static_cast<int64_t>(color_.Shape()[0]);
    info_.height = static_cast<int>(color_.Shape()[1]);
    info_.width = static_cast<int>(color_.Shape()[2]);
    if (color_.Shape()[3] != 3) throw InputError(path, "\"color\" does not have three channels");
    ReadMask();
    ReadIntrinsics();
    if (H5Lexists(file_.Id(), "extrinsics", H5P_DEFAULT) > 0) ReadExtrinsics();
    for (const char* key : {"render_depth", "mean_depth"}) {
      if (!depth_ && H5Lexists(file_.Id(), key, H5P_DEFAULT) > 0)
        depth_ = std::make_unique<Dataset>(file_.Id(), key, path);
    }
  }

  std::optional<RawFrame> Next() override {
    if (next_ >= info_.frame_count) return std::nullopt;
    const std::vector<uint8_t> bgr = color_.ReadItem<uint8_t>(static_cast<hsize_t>(next_), H5T_NATIVE_UINT8);
    RgbImage image(info_.width, info_.height, 3);
    for (size_t i = 0; i < bgr.size(); i += 3) {
      for (size_t c = 0; c < 3; ++c) image.Data()[i + c] = bgr[i + 2 - c];
    }
    const int64_t index = next_++;
    return RawFrame{index, static_cast<double>(index) / info_.fps, std::move(image)};
  }

  bool Skip() override { return next_ < info_.frame_count ? (++next_, true) : false; }

  std::optional<DepthImage> LoadDepth(int64_t index) const override {
    if (!depth_ || index < 0 || index >= static_cast<int64_t>(depth_->Shape()[0])) return std::nullopt;
    const std::vector<float> values = depth_->ReadItem<float>(static_cast<hsize_t>(index), H5T_NATIVE_FLOAT);
    DepthImage depth(info_.width, info_.height);
    if (values.size() != depth.Size())
      throw InputError(path_, "depth maps are of another size than the images");
    for (size_t i = 0; i < values.size(); ++i)
      depth.Data()[i] = std::isfinite(values[i]) && values[i] > 0 ? values[i] : 0.0F;
    return depth;
  }

 private:
  void ReadMask() {
    const Dataset set(file_.Id(), "mask", path_);
    const std::vector<uint8_t> values = set.ReadItem<uint8_t>(0, H5T_NATIVE_UINT8);
    Mask mask(info_.width, info_.height);
    if (values.size() != mask.Size()) throw InputError(path_, "\"mask\" is of another size than the images");
    for (size_t i = 0; i < values.size(); ++i) mask.Data()[i] = values[i] != 0 ? 255 : 0;
    info_.mask = std::move(mask);
  }

  void ReadIntrinsics() {
    const Dataset set(file_.Id(), "intrinsics", path_);
    set.CheckShape(3);
    const std::vector<double> k = set.ReadItem<double>(0, H5T_NATIVE_DOUBLE);
    if (k.size() != 9 || !(k[0] > 0) || !(k[4] > 0))
      throw InputError(path_, "\"intrinsics\" is not a camera matrix");
    info_.camera = Camera(PinholeCamera{k[0], k[4], k[2], k[5]}, info_.width, info_.height);
  }

  void ReadExtrinsics() {
    const Dataset set(file_.Id(), "extrinsics", path_);
    set.CheckShape(3);
    Trajectory truth;
    for (int64_t i = 0; i < std::min<int64_t>(info_.frame_count, static_cast<int64_t>(set.Shape()[0])); ++i) {
      const std::vector<double> m = set.ReadItem<double>(static_cast<hsize_t>(i), H5T_NATIVE_DOUBLE);
      Eigen::Matrix3d rotation;
      rotation << m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10];
      const Eigen::Vector3d translation(m[3], m[7], m[11]);
      if (!((rotation * rotation.transpose() - Eigen::Matrix3d::Identity()).norm() < 1e-2) ||
          !translation.allFinite()) {
        throw InputError(path_, StrCat("\"extrinsics\" of frame ", i, " is not a rigid transform"));
      }
      truth.push_back({static_cast<double>(i) / info_.fps, Rigid3(rotation, translation)});
    }
    info_.truth = std::move(truth);
  }

  std::filesystem::path path_;
  Hdf5Handle file_;
  Dataset color_;
  std::unique_ptr<Dataset> depth_;
  int64_t next_ = 0;
};

}  // namespace

bool HaveHdf5() { return true; }

std::unique_ptr<FrameSource> OpenSageHdf5(const std::filesystem::path& path) {
  return std::make_unique<SageSource>(path);
}

}  // namespace lumen
