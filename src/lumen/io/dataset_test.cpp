// Small folders in each data set's layout, written here as its own programs write them, and read back.
#include "lumen/io/dataset.h"

#include <gtest/gtest.h>

#include <fstream>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/videoio.hpp>

#include "lumen/base/file.h"
#include "lumen/base/random.h"
#include "lumen/base/text.h"
#include "lumen/io/png.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

constexpr int kSetFrames = 5;
constexpr double kPoseRounding = 1e-9;

Rigid3 PoseOf(int frame) {
  Random random(static_cast<uint64_t>(frame) + 1);
  Vector6d tangent;
  for (int i = 0; i < 6; ++i) tangent[i] = random.Normal(0, i < 3 ? 20 : 0.5);
  return Rigid3::Exp(tangent);
}

double DepthAt(int x, int y, int frame) { return 20 + 0.5 * x + 0.25 * y + frame; }  // mm

std::string Number(int frame, const char* format = "%04d") {
  char text[32];
  std::snprintf(text, sizeof(text), format, frame);
  return text;
}

std::string Digits(double value) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

void Write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

void WritePicture(const fs::path& path, int width, int height, int frame) {
  fs::create_directories(path.parent_path());
  cv::imwrite(path.string(), cv::Mat(height, width, CV_8UC3, cv::Scalar(10, 20, 30 + frame)));
}

// Depth as numbers of a type, `scale` a mm.
template <typename T>
void WriteDepth(const fs::path& path, int width, int height, int frame, double scale, int type) {
  fs::create_directories(path.parent_path());
  cv::Mat stored(height, width, type);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) stored.at<T>(y, x) = cv::saturate_cast<T>(DepthAt(x, y, frame) * scale);
  cv::imwrite(path.string(), stored);
}

void WriteVideo(const fs::path& path, int width, int height, int frames) {
  fs::create_directories(path.parent_path());
  const fs::path avi = path.parent_path() / "video.avi";
  cv::VideoWriter writer(avi.string(), cv::CAP_OPENCV_MJPEG, cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), 25,
                         cv::Size(width, height));
  ASSERT_TRUE(writer.isOpened());
  for (int frame = 0; frame < frames; ++frame) {
    cv::Mat picture(height, width, CV_8UC3, cv::Scalar(200, 200, 200));  // the right eye: white
    picture(cv::Rect(0, 0, width, height / 2)).setTo(cv::Scalar(20, 40, 60 + 20 * frame));
    writer.write(picture);
  }
  writer.release();
  fs::rename(avi, path);
}

std::string DatasetFault(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::unique_ptr<FrameSource> Open(const fs::path& folder, const std::string& sequence = "") {
  InputOptions options;
  options.sequence = sequence;
  return OpenInput(folder, options);
}
std::string OpenFault(const fs::path& folder) {
  return DatasetFault([&] { Open(folder); });
}

void ExpectPose(const Rigid3& pose, const Rigid3& expected) {
  EXPECT_LT((pose.Translation() - expected.Translation()).norm(), 1e-6 + kPoseRounding)
      << pose.Translation().transpose();
  EXPECT_LT((pose.RotationMatrix() - expected.RotationMatrix()).norm(), 1e-9);
}

void ExpectPoses(const FrameSource& source, int frames = kSetFrames) {
  ASSERT_TRUE(source.Info().truth);
  ASSERT_EQ(source.Info().truth->size(), static_cast<size_t>(frames));
  for (int i = 0; i < frames; ++i) {
    ExpectPose((*source.Info().truth)[static_cast<size_t>(i)].world_from_camera, PoseOf(i));
    EXPECT_NEAR((*source.Info().truth)[static_cast<size_t>(i)].time, i / source.Info().fps, 1e-9);
  }
}

void ExpectDepth(const FrameSource& source, double rounding, int frames = kSetFrames) {
  for (int i = 0; i < frames; ++i) {
    const auto depth = source.LoadDepth(i);
    ASSERT_TRUE(depth) << i;
    ASSERT_EQ(depth->Width(), source.Info().width);
    for (int y = 0; y < depth->Height(); y += 3)
      for (int x = 0; x < depth->Width(); x += 3)
        ASSERT_NEAR((*depth)(x, y), DepthAt(x, y, i), rounding) << x << " " << y;
  }
}

// ---- C3VD

// As its renderer writes them: the columns of the matrix, one after the other.
std::string C3vdPoses(int frames) {
  std::string text;
  for (int i = 0; i < frames; ++i) {
    const Eigen::Matrix4d m = PoseOf(i).Matrix();
    for (int k = 0; k < 16; ++k) text += Digits(m.data()[k]) + (k < 15 ? "," : "\n");
  }
  return text;
}

constexpr int kC3vdWidth = 50, kC3vdHeight = 40;
constexpr double kStoredPerMm = 655.35;

void WriteC3vd(const fs::path& folder, bool padded = true) {
  for (int i = 0; i < kSetFrames; ++i) {
    WritePicture(folder / (Number(i, padded ? "%04d" : "%d") + "_color.png"), kC3vdWidth, kC3vdHeight, i);
    WriteDepth<uint16_t>(folder / (Number(i) + "_depth.tiff"), kC3vdWidth, kC3vdHeight, i, kStoredPerMm,
                         CV_16UC1);
    if (i > 0) Write(folder / (Number(i) + "_flow.tiff"), "of every frame but the first");
  }
  Write(folder / "pose.txt", C3vdPoses(kSetFrames));
}

TEST(Datasets, C3vd) {
  const TemporaryFolder folder;
  const fs::path sequence = folder.Path() / "cecum_t1_b_under_review";
  WriteC3vd(sequence);
  const auto source = Open(sequence);
  EXPECT_EQ(source->Info().name, "cecum_t1_b");
  EXPECT_EQ(source->Info().units, "mm");
  EXPECT_NEAR(source->Info().fps, 29.97, 1e-9);
  ExpectPoses(*source);
  ExpectDepth(*source, 0.5 / kStoredPerMm + 1e-4);
  int frames = 0;
  while (const auto frame = source->Next()) EXPECT_EQ(frame->image.Data()[0], 30 + frames++);
  EXPECT_EQ(frames, kSetFrames);
}

TEST(Datasets, C3vdLensIsThatWhichMadeTheTruth) {
  const TemporaryFolder folder;
  WriteC3vd(folder.Path() / "s");
  const auto camera = Open(folder.Path() / "s")->Info().camera;
  ASSERT_TRUE(camera);
  // At full size: the ray of a pixel by the renderer's stretch matrix, filled by columns.
  const Camera whole = camera->Resized(1350, 1080);
  const double c = 0.999986882249990, d = 0.00288273829525059, e = -0.00296316513429569;
  const Eigen::Matrix2d stretch = (Eigen::Matrix2d() << c, e, d, 1).finished();
  const Eigen::Vector2d pixel(1100, 200), centre(678.544839263292, 542.975887548343);
  const Eigen::Vector2d p = stretch.inverse() * (pixel - centre);
  const double r = p.norm();
  const Eigen::Vector3d ray(p.x(), p.y(),
                            769.243600037458 - 0.000812770624150226 * r * r +
                                6.25674244578925e-07 * r * r * r - 1.19662182144280e-09 * r * r * r * r);
  EXPECT_LT((*whole.Unproject(pixel) - ray.normalized()).norm(), 1e-6);
}

TEST(Datasets, C3vdDepthIsUnknownAtBothEndsOfItsRange) {
  const TemporaryFolder folder;
  WriteC3vd(folder.Path() / "s");
  cv::Mat stored(kC3vdHeight, kC3vdWidth, CV_16UC1, cv::Scalar(1000));
  stored.at<uint16_t>(0, 0) = 0;
  stored.at<uint16_t>(0, 1) = 65535;
  stored.at<uint16_t>(0, 2) = 65534;
  cv::imwrite((folder.Path() / "s/0001_depth.tiff").string(), stored);
  const auto depth = *Open(folder.Path() / "s")->LoadDepth(1);
  EXPECT_EQ(depth(0, 0), 0);
  EXPECT_EQ(depth(1, 0), 0);
  EXPECT_NEAR(depth(2, 0), 100 * 65534 / 65535.0, 1e-3);
}

TEST(Datasets, C3vdOfUnpaddedNames) {
  const TemporaryFolder folder;
  WriteC3vd(folder.Path() / "cecum_t1_a", false);
  const auto source = Open(folder.Path() / "cecum_t1_a");
  ExpectPoses(*source);
  ExpectDepth(*source, 0.5 / kStoredPerMm + 1e-4);
}

TEST(Datasets, C3vdThatIsHalfThereIsRefused) {
  const TemporaryFolder folder;
  const fs::path s = folder.Path() / "s";
  WriteC3vd(s);
  Write(s / "pose.txt", C3vdPoses(kSetFrames - 1));
  EXPECT_NE(OpenFault(s).find("pose.txt: holds 4 poses, but there are 5 frames"), std::string::npos)
      << OpenFault(s);
  Write(s / "pose.txt", C3vdPoses(kSetFrames - 1) + "1,2,3\n");
  EXPECT_NE(OpenFault(s).find("line 5: 3 numbers, not 16"), std::string::npos) << OpenFault(s);
  Write(s / "pose.txt", C3vdPoses(kSetFrames - 1) + "2,0,0,0,0,2,0,0,0,0,2,0,1,2,3,1\n");
  EXPECT_NE(OpenFault(s).find("pose 4 is not a rigid transform"), std::string::npos) << OpenFault(s);
  fs::remove(s / "pose.txt");
  EXPECT_NE(OpenFault(s).find("has no pose.txt"), std::string::npos) << OpenFault(s);
  Write(s / "pose.txt", C3vdPoses(kSetFrames));
  fs::remove(s / "0002_color.png");
  EXPECT_NE(OpenFault(s).find("frame 2 is missing"), std::string::npos) << OpenFault(s);
  WriteC3vd(s);
  WritePicture(s / "2_color.png", kC3vdWidth, kC3vdHeight, 2);
  EXPECT_NE(OpenFault(s).find("frame 2 twice"), std::string::npos) << OpenFault(s);
  fs::remove(s / "2_color.png");
  WriteDepth<uint8_t>(s / "0001_depth.tiff", kC3vdWidth, kC3vdHeight, 1, 2.55, CV_8UC1);
  EXPECT_NE(DatasetFault([&] { Open(s)->LoadDepth(1); }).find("8 bits a number, not 16"), std::string::npos);
}

TEST(Datasets, C3vdv2) {
  const TemporaryFolder folder;
  const fs::path s = folder.Path() / "c1_ascending_t1_v1";
  for (int i = 0; i < kSetFrames; ++i) {
    WritePicture(s / "rgb" / (Number(i) + ".png"), kC3vdWidth, kC3vdHeight, i);
    WriteDepth<uint16_t>(s / "depth" / (Number(i) + "_depth.tiff"), kC3vdWidth, kC3vdHeight, i, kStoredPerMm,
                         CV_16UC1);
  }
  Write(s / "pose.txt", C3vdPoses(kSetFrames));
  const auto source = Open(s);
  ExpectPoses(*source);
  ExpectDepth(*source, 0.5 / kStoredPerMm + 1e-4);
  EXPECT_EQ(source->Info().camera->ModelName(), "omni");
  fs::remove(s / "pose.txt");  // a camera that stands still before tissue that moves
  EXPECT_FALSE(Open(s)->Info().truth);
}

TEST(Datasets, C3vdAsEndoGslamPreparedIt) {
  const TemporaryFolder folder;
  const fs::path s = folder.Path() / "trans_t1_b";
  for (int i = 0; i < kSetFrames; ++i) {
    WritePicture(s / "color" / (Number(i) + ".png"), 675, 540, i);
    WriteDepth<uint8_t>(s / "depth" / (Number(i) + ".tiff"), 675, 540, -19 * 20, 0, CV_8UC1);
  }
  cv::imwrite((s / "depth/0001.tiff").string(), cv::Mat(540, 675, CV_8UC1, cv::Scalar(51)));
  Write(s / "pose.txt", C3vdPoses(kSetFrames));
  const auto source = Open(s);
  ExpectPoses(*source);
  EXPECT_EQ(source->Info().camera->ModelName(), "pinhole");
  EXPECT_NEAR((*source->LoadDepth(1))(3, 4), 20, 1e-4);
}

// ---- SimCol3D

// Unity's: left-handed, y up; a mirror of ours. Rotations by their matrix, so that no formula is used twice.
struct UnityPose {
  Eigen::Vector3d position;
  Eigen::Quaterniond rotation;
};
UnityPose MirroredY(const Rigid3& pose) {
  const Eigen::Matrix3d mirror = Eigen::Vector3d(1, -1, 1).asDiagonal();
  return {mirror * pose.Translation(),
          Eigen::Quaterniond(Eigen::Matrix3d(mirror * pose.RotationMatrix() * mirror))};
}

void WriteSimCol(const fs::path& set, const std::string& trajectory, const std::string& suffix = "") {
  std::string positions, rotations;
  for (int i = 0; i < kSetFrames; ++i) {
    WritePicture(set / ("Frames_" + trajectory + suffix) / ("FrameBuffer_" + Number(i) + ".png"), 40, 40, i);
    WriteDepth<uint16_t>(set / ("Frames_" + trajectory + suffix) / ("Depth_" + Number(i) + ".png"), 40, 40, i,
                         65280.0 / 200, CV_16UC1);
    const UnityPose pose = MirroredY(PoseOf(i));
    positions += StrCat(Digits(pose.position.x() / 10), " ", Digits(pose.position.y() / 10), " ",
                        Digits(pose.position.z() / 10), "\n");
    const auto& q = pose.rotation;
    rotations += StrCat(Digits(q.x()), " ", Digits(q.y()), " ", Digits(q.z()), " ", Digits(q.w()), "\n");
  }
  Write(set / ("SavedPosition_" + trajectory + ".txt"), positions);
  Write(set / ("SavedRotationQuaternion_" + trajectory + ".txt"), rotations);
  Write(set / "cam.txt", "30 0 19.5\n0 31 19.5\n0 0 1\n");
}

TEST(Datasets, SimCol3d) {
  const TemporaryFolder folder;
  WriteSimCol(folder.Path() / "SyntheticColon_I", "S1");
  WriteSimCol(folder.Path() / "SyntheticColon_I", "S5", "_OP");
  EXPECT_NE(OpenFault(folder.Path()).find("holds 2 sequences of SimCol3D"), std::string::npos);
  for (const char* name : {"Frames_S1", "SyntheticColon_I/Frames_S5_OP"}) {
    const auto source = Open(folder.Path(), name);
    ExpectPoses(*source);
    ExpectDepth(*source, 0.5 * 200 / 65280 + 1e-4);
    EXPECT_NEAR(source->Info().camera->AsPinhole()->fy, 31, 1e-12);
  }
  EXPECT_NE(DatasetFault([&] { Open(folder.Path(), "Frames_S2"); }).find("has no sequence"),
            std::string::npos);
  fs::remove(folder.Path() / "SyntheticColon_I/SavedPosition_S1.txt");
  EXPECT_NE(DatasetFault([&] { Open(folder.Path(), "Frames_S1"); }).find("not both"), std::string::npos);
}

// ---- EndoSLAM

void WriteUnityCam(const fs::path& organ, bool cut) {
  std::string table = "tX,tY,tZ,rX,rY,rZ,rW,time(s)\n";
  for (int i = 0; i < kSetFrames; ++i) {
    WritePicture(organ / "Frames" / ("image_" + Number(i) + ".png"), 40, 40, i);
    fs::create_directories(organ / "Pixelwise Depths");
    cv::imwrite((organ / "Pixelwise Depths" / ("aov_image_" + Number(i) + ".png")).string(),
                cv::Mat(40, 40, CV_8UC4, cv::Scalar(0, 0, 51, 255)));
    const UnityPose pose = MirroredY(PoseOf(i));
    std::string line;
    for (const double value : {pose.position.x(), pose.position.y(), pose.position.z(), pose.rotation.x(),
                               pose.rotation.y(), pose.rotation.z(), pose.rotation.w(), i / 30.0})
      line += Digits(value) + ",";
    line.pop_back();
    table += cut && i + 1 == kSetFrames ? line.substr(0, line.size() / 2) : line + "\n";
  }
  Write(organ / "Poses" / "colon_position_rotation.csv", table);
}

TEST(Datasets, EndoSlamUnityCam) {
  const TemporaryFolder folder;
  const fs::path root = folder.Path() / "UnityCam";
  WriteUnityCam(root / "Small Intestine", true);
  Write(root / "Calibration" / "cam.txt", "30,0,19.5,0,31,19.5,0,0,1");
  const auto source = Open(root);
  EXPECT_EQ(source->Info().units, "arbitrary");
  ExpectPoses(*source, kSetFrames - 1);
  EXPECT_NEAR((*source->LoadDepth(2))(3, 3), 0.2, 1e-6);
  EXPECT_NEAR(source->Info().camera->AsPinhole()->fx, 30, 1e-12);
  InputOptions other;
  other.flip_z = true;
  EXPECT_GT((OpenInput(root, other)->Info().truth->front().world_from_camera.Translation() -
             PoseOf(0).Translation())
                .norm(),
            1e-3);
}

TEST(Datasets, EndoSlamUnityCamCountsBeyondFourDigits) {
  const TemporaryFolder folder;
  const fs::path organ = folder.Path() / "Colon";
  for (int i = 9998; i < 10002; ++i)
    WritePicture(organ / "Frames" / ("image_" + Number(i) + ".png"), 40, 40, i - 9998);
  const auto source = Open(organ);
  EXPECT_EQ(source->Info().frame_count, 4);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(source->Next()->image.Data()[0], 30 + i);
}

TEST(Datasets, EndoSlamRealCameras) {
  const TemporaryFolder folder;
  const fs::path s = folder.Path() / "Cameras/HighCam/Colon-IV/TumorfreeTrajectory_1";
  for (int i = 0; i < kSetFrames; ++i)
    WritePicture(s / "Frames" / ("image_" + Number(i) + ".jpg"), 64, 36, i);
  Write(s / "Poses" / "poses.xlsx", "nobody knows");
  const auto source = Open(folder.Path());
  EXPECT_EQ(source->Info().frame_count, kSetFrames);
  EXPECT_EQ(source->Info().fps, 20);
  EXPECT_FALSE(source->Info().truth);
}

// ---- Hamlyn

TEST(Datasets, Hamlyn) {
  const TemporaryFolder folder;
  const fs::path s = folder.Path() / "rectified01";
  for (int i = 0; i < kSetFrames; ++i) {
    WritePicture(s / "image01" / (Number(i, "%010d") + ".jpg"), 48, 32, i);
    WriteDepth<uint16_t>(s / "depth01" / (Number(i, "%010d") + ".png"), 48, 32, i, 1, CV_16UC1);
  }
  EXPECT_NE(OpenFault(s).find("no intrinsics.txt"), std::string::npos);
  Write(folder.Path() / "intrinsics_rectified01.txt", "40 0 23.5 0\n0 41 15.5 0\n0 0 1 0\n");
  const auto source = Open(s);
  ExpectDepth(*source, 0.5 + 1e-4);
  EXPECT_FALSE(source->Info().truth);
  EXPECT_NEAR(source->Info().camera->AsPinhole()->cy, 15.5, 1e-12);
  cv::imwrite((s / "depth01/0000000001.png").string(), cv::Mat(32, 48, CV_16UC1, cv::Scalar(301)));
  EXPECT_EQ((*Open(s)->LoadDepth(1))(0, 0), 0);
}

// ---- SCARED

void WriteScared(const fs::path& keyframe, bool packed) {
  WriteVideo(keyframe / "data/rgb.mp4", 48, 64, kSetFrames);
  Write(keyframe / "endoscope_calibration.yaml", "%YAML:1.0\n");
  for (int i = 0; i < kSetFrames; ++i) {
    const Eigen::Matrix4d m = PoseOf(i).Inverse().Matrix();
    std::string rows;
    for (int y = 0; y < 4; ++y) {
      rows += y > 0 ? ", [" : "[";
      for (int x = 0; x < 4; ++x) rows += Digits(m(y, x)) + (x < 3 ? ", " : "]");
    }
    Write(keyframe / "data/frame_data" / ("frame_data" + Number(i, "%06d") + ".json"),
          StrCat("{\"camera-pose\": [", rows,
                 "], \"camera-calibration\": {\"KL\": [[50, 0, 23.5], [0, 51, 15.5], "
                 "[0, 0, 1]], \"DL\": [[0.1, 0.01, 0, 0, 0]]}}"));
    cv::Mat points(64, 48, CV_32FC3, cv::Scalar(1, 2, 0));  // of the right eye, below, nothing
    for (int y = 0; y < 32; ++y)
      for (int x = 0; x < 48; ++x)  // OpenCV writes the last first
        points.at<cv::Vec3f>(y, x) = {static_cast<float>(DepthAt(x, y, i)), 2, 1};
    points.at<cv::Vec3f>(1, 1)[0] = std::numeric_limits<float>::quiet_NaN();
    fs::create_directories(keyframe / "data/scene_points");
    cv::imwrite((keyframe / "data/scene_points" / ("scene_points" + Number(i, "%06d") + ".tiff")).string(),
                points,
                {cv::IMWRITE_TIFF_COMPRESSION, 1});  // as they are: what it does by itself loses digits
  }
  if (!packed) return;
  for (const char* name : {"frame_data", "scene_points"}) {
    const std::string data = (keyframe / "data").string();
    ASSERT_EQ(
        std::system(
            StrCat("cd '", data, "' && tar czf ", name, ".tar.gz -C ", name, " . && rm -r ", name).c_str()),
        0);
  }
}

TEST(Datasets, Scared) {
  for (const bool packed : {false, true}) {
    const TemporaryFolder folder;
    const fs::path s = folder.Path() / "dataset_1/keyframe_2";
    WriteScared(s, packed);
    const auto source = Open(folder.Path());
    EXPECT_EQ(source->Info().height, 32);
    ExpectPoses(*source);
    EXPECT_EQ(source->Info().camera->ModelName(), "radtan");
    const auto depth = source->LoadDepth(3);
    ASSERT_TRUE(depth);
    EXPECT_EQ((*depth)(1, 1), 0) << "NaN is unknown";
    EXPECT_NEAR((*depth)(10, 20), DepthAt(10, 20, 3), 1e-4);
    EXPECT_NEAR((*source->LoadDepth(1))(10, 20), DepthAt(10, 20, 1), 1e-4) << "back again";
    EXPECT_FALSE(source->LoadDepth(77));
    const auto frame = source->Next();
    EXPECT_NEAR(frame->image.Data()[0], 60, 6) << "the left eye";
    EXPECT_EQ(frame->image.Height(), 32);
  }
}

TEST(Datasets, ScaredKeyframesWithoutAVideoAreNamed) {
  const TemporaryFolder folder;
  Write(folder.Path() / "dataset_1/keyframe_5/endoscope_calibration.yaml", "%YAML:1.0\n");
  EXPECT_NE(OpenFault(folder.Path()).find("no data/rgb.mp4"), std::string::npos);
}

// ---- EndoMapper

void WriteEndoMapper(const fs::path& root, const std::string& endoscope) {
  const fs::path s = root / "Sequences/Seq_001";
  WriteVideo(s / "Seq_001.mov", 72, 54, kSetFrames);
  Write(s / "Seq_001_info.json", StrCat("{\"endoscope_number\": ", endoscope, "}"));
  Write(root / "Calibrations/Endoscope_01/Endoscope_01_geometrical.xml",
        "<rig><camera><camera_model name=\"\" index=\"0\" type=\"calibu_fu_fv_u0_v0_kb4\" version=\"8\">\n"
        "<width> 1440 </width><height> 1080 </height>\n"
        "<params> [ 717.6911; 718.0214; 734.7278; 552.0724; -0.1396589; -0.0003139987; 0.001505504; "
        "-0.0001316715 ] "
        "</params></camera_model></camera></rig>\n");
}

TEST(Datasets, EndoMapper) {
  for (const char* endoscope : {"1", "\"01\""}) {
    const TemporaryFolder folder;
    WriteEndoMapper(folder.Path(), endoscope);
    const auto source = Open(folder.Path());
    ASSERT_TRUE(source->Info().camera);
    const Camera whole = source->Info().camera->Resized(1440, 1080);
    const auto* lens = std::get_if<KannalaBrandtCamera>(&whole.GetModel());
    ASSERT_NE(lens, nullptr);
    EXPECT_NEAR(lens->pinhole.fx, 717.6911, 1e-9);
    EXPECT_NEAR(lens->pinhole.cx, 734.7278, 1e-9);
    EXPECT_NEAR(lens->distortion[0], -0.1396589, 1e-12);
  }
}

TEST(Datasets, EndoMapperOfAnUnknownEndoscopeHasNoLens) {
  const TemporaryFolder folder;
  WriteEndoMapper(folder.Path(), "\"N/A\"");
  EXPECT_FALSE(Open(folder.Path())->Info().camera);
}

TEST(Datasets, EndoMapperCountsColmapsImagesFromOneAndTakesTheLargestSubModel) {
  const TemporaryFolder folder;
  WriteEndoMapper(folder.Path(), "1");
  const fs::path sparse = folder.Path() / "Sequences/Seq_001/meta-data/colmap/Seq_001/sparse";
  const auto write_model = [&](const fs::path& model, const std::vector<int>& frames, double scale) {
    Write(model / "cameras.txt", "1 PINHOLE 72 54 50 50 36 27\n");
    std::string images, points;
    for (const int frame : frames) {
      Rigid3 w2c = PoseOf(frame).Inverse();
      w2c = Rigid3(w2c.Rotation(), scale * w2c.Translation());
      const auto& q = w2c.Rotation();
      const auto& t = w2c.Translation();
      images += StrCat(frame + 1, " ", Digits(q.w()), " ", Digits(q.x()), " ", Digits(q.y()), " ",
                       Digits(q.z()), " ", Digits(t.x()), " ", Digits(t.y()), " ", Digits(t.z()), " 1 out",
                       frame + 1, ".png\n36 27 ", frame + 1, "\n");
      const Eigen::Vector3d before = w2c.Inverse() * Eigen::Vector3d(0, 0, 5);
      points += StrCat(frame + 1, " ", Digits(before.x()), " ", Digits(before.y()), " ", Digits(before.z()),
                       " 1 2 3 0.5 ", frame + 1, " 0\n");
    }
    Write(model / "images.txt", images);
    Write(model / "points3D.txt", points);
  };
  write_model(sparse / "0", {0}, 7);
  write_model(sparse / "1", {1, 3, 4}, 1);
  const auto source = Open(folder.Path());
  ASSERT_TRUE(source->Info().truth);
  ASSERT_EQ(source->Info().truth->size(), 3U);
  EXPECT_NEAR((*source->Info().truth)[1].time, 3 / source->Info().fps, 1e-9);
  ExpectPose((*source->Info().truth)[1].world_from_camera, PoseOf(3));
  EXPECT_EQ(source->Info().units, "arbitrary");
}

TEST(Datasets, EndoMapperSimulated) {
  const TemporaryFolder folder;
  const fs::path s = folder.Path() / "Simulated Sequences/Seq_0";
  std::string table = "tX;tY;tZ;rX;rY;rZ;rW;time(s)\n";
  for (int i = 0; i < kSetFrames; ++i) {
    WritePicture(s / "rgb" / ("image_" + Number(i) + ".png"), 96, 72, i);
    const Rigid3 pose = PoseOf(i);
    const auto& q = pose.Rotation();
    for (const double value : {pose.Translation().x() / 100, pose.Translation().y() / 100,
                               pose.Translation().z() / 100, q.x(), q.y(), q.z(), q.w()})
      table += Digits(value) + ";";
    table += Digits(i / 30.0) + "\n";
  }
  Write(s / "trajectory.csv", table);
  Write(s / "calibration.txt", "fx: 47.264955\nfy: 47.264955\ncx: 47.5\ncy: 35.5\ncols: 96\nrows: 72\n");
  const auto source = Open(folder.Path());
  ExpectPoses(*source);
  EXPECT_NEAR(source->Info().camera->AsPinhole()->fx, 47.264955, 1e-12);
}

// ---- StereoMIS

TEST(Datasets, StereoMis) {
  const TemporaryFolder folder;
  const fs::path s = folder.Path() / "P2_0";
  WriteVideo(s / "IFBS_ENDOSCOPE-part0001.mp4", 48, 64, kSetFrames);
  std::string table;
  for (int i = 0; i < kSetFrames; ++i) {
    const Rigid3 pose = PoseOf(i);
    table += StrCat(166'000'000 + 77 * i, " ");  // times that have nothing to do with the video's
    const auto& q = pose.Rotation();
    for (const double value : {pose.Translation().x() / 1000, pose.Translation().y() / 1000,
                               pose.Translation().z() / 1000, q.x(), q.y(), q.z()})
      table += Digits(value) + " ";
    table += Digits(q.w()) + "\n";
  }
  Write(s / "groundtruth.txt", table);
  const std::string ini =
      "[StereoLeft]\nres_x=48\nres_y=32\nfc_x=50\nfc_y=51\ncc_x=23.5\ncc_y=15.5\nkc_0=0.1\nkc_1=0.01\nkc_2="
      "0\n"
      "kc_3=0\nkc_4=0\nkc_5=0\nkc_6=0\nkc_7=0\n[StereoRight]\nres_x=48\nfc_x=99\n";
  Write(s / "StereoCalibration.ini", ini);
  const auto source = Open(folder.Path());
  ExpectPoses(*source);
  const auto* lens = std::get_if<RadTanCamera>(&source->Info().camera->GetModel());
  ASSERT_NE(lens, nullptr);
  EXPECT_EQ(lens->pinhole.fx, 50);
  EXPECT_EQ(source->Next()->image.Height(), 32);
  Write(s / "groundtruth.txt", table + table);
  EXPECT_NE(OpenFault(folder.Path()).find("holds 10 poses, but the video has 5 frames"), std::string::npos);
  Write(s / "groundtruth.txt", table);
  Write(s / "StereoCalibration.ini", ini.substr(0, ini.find("kc_5")) + "kc_5=-30\n");
  EXPECT_NE(OpenFault(folder.Path()).find("five coefficients cannot say"), std::string::npos);
}

// ---- CLiMB

TEST(Datasets, ClimbInputIsAListOfVideos) {
  const TemporaryFolder folder;
  WriteVideo(folder.Path() / "Seq_001_a.mp4", 72, 54, kSetFrames);
  WriteVideo(folder.Path() / "Seq_002_b.mp4", 72, 54, kSetFrames);
  EXPECT_NE(OpenFault(folder.Path()).find("choose with --sequence: Seq_001_a.mp4, Seq_002_b.mp4"),
            std::string::npos)
      << OpenFault(folder.Path());
  EXPECT_EQ(Open(folder.Path(), "Seq_002_b")->Info().name, "Seq_002_b");
}

}  // namespace
}  // namespace lumen
