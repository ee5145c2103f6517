#include "lumen/io/colmap_model.h"

#include <gtest/gtest.h>

#include <cstring>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/text.h"
#include "lumen/image/image.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

// Two images, the second turned by 90° about z and one unit to the side, and three points: one before both,
// one before the first and behind the second's plane, one that nobody matched.
constexpr const char* kCameras = "# comment\n7 OPENCV 640 480 500 510 320.5 240.5 0.1 -0.2 0.001 0.002\n";
constexpr const char* kImages =
    "# comment\n"
    "1 1 0 0 0 0 0 0 7 a picture.jpg\n"
    "100.5 200.5 11 300.25 10.75 12 5 5 -1\n"
    "2 0.7071067811865476 0 0 0.7071067811865476 0 1 0 7 sub/b.jpg\n"
    "\n";
constexpr const char* kPoints =
    "11 0.5 0.25 4 255 0 0 0.75 1 0 2 0 3 4\n"
    "12 0 0 -2 0 0 0 1.5 1 1\n";

void WriteText(const fs::path& folder, const std::string& cameras = kCameras,
               const std::string& images = kImages, const std::string& points = kPoints) {
  fs::create_directories(folder);
  WriteFileAtomically(folder / "cameras.txt", cameras);
  WriteFileAtomically(folder / "images.txt", images);
  WriteFileAtomically(folder / "points3D.txt", points);
}

class Packed {
 public:
  template <typename T>
  Packed& Put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  Packed& Put(std::initializer_list<double> values) {
    for (const double value : values) Put(value);
    return *this;
  }
  Packed& Text(const std::string& text) {
    bytes_ += text + '\0';
    return *this;
  }
  const std::string& Bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// The same model as the text's.
void WriteBinary(const fs::path& folder, int32_t camera_model = 4) {
  fs::create_directories(folder);
  Packed cameras;
  cameras.Put<uint64_t>(1).Put<uint32_t>(7).Put<int32_t>(camera_model).Put<uint64_t>(640).Put<uint64_t>(480);
  cameras.Put({500, 510, 320.5, 240.5, 0.1, -0.2, 0.001, 0.002});
  if (camera_model == 6) cameras.Put({0, 0, 0, 0});
  WriteFileAtomically(folder / "cameras.bin", cameras.Bytes());
  Packed images;
  images.Put<uint64_t>(2).Put<uint32_t>(1).Put({1, 0, 0, 0, 0, 0, 0}).Put<uint32_t>(7).Text("a picture.jpg");
  images.Put<uint64_t>(3).Put({100.5, 200.5}).Put<uint64_t>(11).Put({300.25, 10.75}).Put<uint64_t>(12);
  images.Put({5, 5}).Put(~uint64_t{0});
  images.Put<uint32_t>(2).Put({std::sqrt(0.5), 0, 0, std::sqrt(0.5), 0, 1, 0}).Put<uint32_t>(7);
  images.Text("sub/b.jpg").Put<uint64_t>(0);
  WriteFileAtomically(folder / "images.bin", images.Bytes());
  Packed points;
  points.Put<uint64_t>(2).Put<uint64_t>(11).Put({0.5, 0.25, 4}).Put<uint8_t>(255).Put<uint8_t>(0);
  points.Put<uint8_t>(0).Put(0.75).Put<uint64_t>(3);
  for (const uint32_t index : {1U, 0U, 2U, 0U, 3U, 4U}) points.Put(index);
  points.Put<uint64_t>(12).Put({0, 0, -2}).Put<uint8_t>(0).Put<uint8_t>(0).Put<uint8_t>(0).Put(1.5);
  points.Put<uint64_t>(1).Put<uint32_t>(1).Put<uint32_t>(1);
  WriteFileAtomically(folder / "points3D.bin", points.Bytes());
}

void ExpectTheModel(const ColmapModel& model) {
  ASSERT_EQ(model.views.size(), 2U);
  EXPECT_EQ(model.views[0].name, "a picture.jpg");
  EXPECT_EQ(model.views[1].name, "sub/b.jpg");
  EXPECT_EQ(model.camera, Camera(RadTanCamera{{500, 510, 320, 240}, {0.1, -0.2, 0.001, 0.002, 0}}, 640, 480));
  // Only the point before the camera, its pixel counted from whole numbers.
  ASSERT_EQ(model.views[0].points.size(), 1U);
  const SparsePoint& point = model.views[0].points[0];
  EXPECT_NEAR((point.uv - Eigen::Vector2d(100, 200)).norm(), 0, 1e-12);
  EXPECT_DOUBLE_EQ(point.depth, 4);
  EXPECT_EQ(point.track_length, 3);
  EXPECT_DOUBLE_EQ(point.error, 0.75);
  EXPECT_TRUE(model.views[1].points.empty());
  // world_from_camera of x' = R x + t with R a quarter turn and t = (0, 1, 0): it stands at -Rᵀt.
  EXPECT_NEAR((model.views[1].world_from_camera.Translation() - Eigen::Vector3d(-1, 0, 0)).norm(), 0, 1e-9);
}

TEST(ColmapModel, OfTextAndOfBinaryFilesIsTheSame) {
  const TemporaryFolder folder;
  WriteText(folder.Path() / "text");
  WriteBinary(folder.Path() / "binary");
  ExpectTheModel(LoadColmapModel(folder.Path() / "text"));
  ExpectTheModel(LoadColmapModel(folder.Path() / "binary"));
}

TEST(ColmapModel, AnyBlankStandsBeforeAName) {
  const TemporaryFolder folder;
  WriteText(folder.Path(), kCameras, "1 1 0 0 0 0 0 0 7\va.jpg\n1 2 11\n");
  EXPECT_EQ(LoadColmapModel(folder.Path()).views[0].name, "a.jpg");
}

TEST(ColmapModel, OfSeveralTheLargestIsTakenOrTheOneAskedFor) {
  const TemporaryFolder folder;
  WriteText(folder.Path() / "0", kCameras, "1 1 0 0 0 0 0 0 7 alone.jpg\n1 2 11\n");
  WriteBinary(folder.Path() / "1");
  EXPECT_EQ(LoadColmapModel(folder.Path()).views.size(), 2U);
  EXPECT_EQ(LoadColmapModel(folder.Path(), 0).views[0].name, "alone.jpg");
  EXPECT_THROW(LoadColmapModel(folder.Path(), 2), InputError);
}

// One line that names the file and says this.
void ExpectFault(const fs::path& folder, const std::string& file, const std::string& text) {
  try {
    LoadColmapModel(folder);
    FAIL() << "was read";
  } catch (const InputError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find(file), std::string::npos) << what;
    EXPECT_NE(what.find(text), std::string::npos) << what;
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
  }
}

TEST(ColmapModel, FaultsAreNamed) {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return folder.Path() / name; };
  ExpectFault(at("nowhere"), "nowhere", "no such folder");
  fs::create_directories(at("empty"));
  ExpectFault(at("empty"), "empty", "no COLMAP model");
  WriteText(at("fov"), "7 FOV 640 480 500 500 320 240 0.9\n");
  ExpectFault(at("fov"), "cameras.txt", "FOV is not supported");
  WriteText(at("negative"), "7 PINHOLE 640 480 -500 500 320 240\n");
  ExpectFault(at("negative"), "cameras.txt", "not positive");
  WriteText(at("few"), "7 PINHOLE 640 480 500 320 240\n");
  ExpectFault(at("few"), "cameras.txt", "needs 4 parameters");
  WriteText(at("two"), StrCat(kCameras, "8 PINHOLE 640 480 500 500 320 240\n"),
            "1 1 0 0 0 0 0 0 7 a.jpg\n1 2 11\n2 1 0 0 0 0 0 0 8 b.jpg\n\n");
  ExpectFault(at("two"), "two", "different cameras");
  WriteText(at("unknown"), kCameras, "1 1 0 0 0 0 0 0 9 a.jpg\n1 2 11\n");
  ExpectFault(at("unknown"), "unknown", "camera 9");
  WriteText(at("turned"), kCameras, "1 1 1 0 0 0 0 0 7 a.jpg\n1 2 11\n");
  ExpectFault(at("turned"), "images.txt", "line 1");
  WriteText(at("behind"), kCameras, "1 1 0 0 0 0 0 0 7 a.jpg\n1 2 12\n");
  ExpectFault(at("behind"), "behind", "before a camera");
  WriteText(at("pointless"), kCameras, kImages, "");
  ExpectFault(at("pointless"), "pointless", "no points");
  WriteText(at("none"), kCameras, "# nothing\n");
  ExpectFault(at("none"), "none", "no image");
  WriteText(at("word"), kCameras, kImages, "11 0.5 zero 4 255 0 0 0.75\n");
  ExpectFault(at("word"), "points3D.txt", "\"zero\" is not a number");
}

TEST(ColmapModel, TwoCamerasThatAreEqualAreOne) {
  const TemporaryFolder folder;
  WriteText(folder.Path(), "7 PINHOLE 640 480 500 500 320 240\n8 PINHOLE 640 480 500 500 320 240\n",
            "1 1 0 0 0 0 0 0 7 a.jpg\n1 2 11\n2 1 0 0 0 0 0 0 8 b.jpg\n\n");
  EXPECT_EQ(LoadColmapModel(folder.Path()).views.size(), 2U);
}

TEST(ColmapModel, ABinaryFileThatIsCutShortAnywhereIsRefused) {
  const TemporaryFolder folder;
  for (const char* name : {"cameras.bin", "images.bin", "points3D.bin"}) {
    WriteBinary(folder.Path());
    const std::string whole = ReadFile(folder.Path() / name);
    for (size_t size = 0; size < whole.size(); ++size) {
      WriteFileAtomically(folder.Path() / name, std::string_view(whole).substr(0, size));
      EXPECT_THROW(LoadColmapModel(folder.Path()), InputError) << name << " cut at " << size;
    }
  }
  // A count that promises more than the file holds is not believed.
  WriteBinary(folder.Path());
  std::string images = ReadFile(folder.Path() / "images.bin");
  const uint64_t many = uint64_t{1} << 60U;
  std::memcpy(images.data(), &many, sizeof(many));
  WriteFileAtomically(folder.Path() / "images.bin", images);
  EXPECT_THROW(LoadColmapModel(folder.Path()), InputError);
  WriteBinary(folder.Path(), 6);
  ExpectFault(folder.Path(), "cameras.bin", "FULL_OPENCV is not supported");
}

TEST(ColmapDepthMap, IsReadRowByRow) {
  const TemporaryFolder folder;
  const fs::path path = folder.Path() / "a.jpg.geometric.bin";
  const float values[6] = {1, 2, 0, 4, -5, 6};
  const std::string bytes(reinterpret_cast<const char*>(values), sizeof(values));
  WriteFileAtomically(path, "3&2&1&" + bytes);
  const DepthImage depth = LoadColmapDepthMap(path);
  EXPECT_EQ(depth(1, 0), 2);
  EXPECT_EQ(depth(0, 1), 4);
  EXPECT_EQ(depth(1, 1), 0);  // nothing lies behind the camera
  for (const std::string& bad : {std::string("3&2&1&") + bytes.substr(1), std::string("3&2&3&") + bytes,
                                 std::string("99999999999999&2&1&"), std::string("3&2"), std::string("")}) {
    WriteFileAtomically(path, bad);
    EXPECT_THROW(LoadColmapDepthMap(path), InputError);
  }
}

}  // namespace
}  // namespace lumen
