#include "lumen/io/calibration.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/io/opencv_codec.h"

namespace lumen {
namespace {

Camera LoadText(const std::string& name, const std::string& text) {
  const TemporaryFolder folder;
  WriteFileAtomically(folder.Path() / name, text);
  return LoadCalibration(folder.Path() / name);
}

std::string CameraFault(const std::string& name, const std::string& text) {
  try {
    LoadText(name, text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Calibration, EveryModelReadsBackFromToml) {
  const PinholeCamera pinhole{501.5, 502.25, 319.5, 239.75};
  for (const Camera& camera :
       {Camera(pinhole, 640, 480), Camera(RadTanCamera{pinhole, {-0.3, 0.1, 1e-3, 2e-3, 0}}, 640, 480),
        Camera(KannalaBrandtCamera{pinhole, {0.1, 0.2, 0.3, 0.4}}, 640, 480),
        Camera(OmniCamera{678, 542, {769, -8e-4, 6e-7, -1e-9}, {1, 0.1, 0.2}}, 1350, 1080),
        Camera(UnifiedCamera{60, 60.5, 80, 64, 0.62}, 160, 128)}) {
    EXPECT_EQ(LoadText("c.toml", FormatCamera(camera)), camera);
  }
}

TEST(Calibration, ColmapCentresAreShiftedByHalfAPixel) {
  const Camera camera =
      LoadText("cameras.txt", "# comment\n1 OPENCV 640 480 500 510 320 240 -0.1 0.01 0.001 0.002\n");
  const auto& model = std::get<RadTanCamera>(camera.GetModel());
  EXPECT_EQ(model.pinhole, (PinholeCamera{500, 510, 319.5, 239.5}));
  EXPECT_EQ(model.distortion[1], 0.01);
  EXPECT_EQ(LoadText("cameras.txt", "1 SIMPLE_PINHOLE 640 480 500 320 240\n").ModelName(), "pinhole");
  EXPECT_EQ(LoadText("cameras.txt", "1 OPENCV_FISHEYE 640 480 500 500 320 240 0 0 0 0\n").ModelName(),
            "kannala_brandt");
}

TEST(Calibration, OpenCvAndRosYamlAreRead) {
  if (!HaveOpenCv()) GTEST_SKIP();
  const Camera opencv = LoadText("c.yaml",
                                 "%YAML:1.0\n---\nimage_width: 640\nimage_height: 480\ncamera_matrix: "
                                 "!!opencv-matrix\n   rows: 3\n   cols: 3\n"
                                 "   dt: d\n   data: [ 500., 0., 320., 0., 510., 240., 0., 0., 1. "
                                 "]\ndistortion_coefficients: !!opencv-matrix\n"
                                 "   rows: 1\n   cols: 5\n   dt: d\n   data: [ -0.1, 0.02, 0., 0., 0.3 ]\n");
  EXPECT_EQ(std::get<RadTanCamera>(opencv.GetModel()).distortion[4], 0.3);
  const Camera ros =
      LoadText("c.yaml",
               "%YAML:1.0\nimage_width: 640\nimage_height: 480\ncamera_matrix:\n  rows: 3\n  cols: 3\n"
               "  data: [500., 0., 320., 0., 510., 240., 0., 0., 1.]\ndistortion_model: equidistant\n"
               "distortion_coefficients:\n  rows: 1\n  cols: 4\n  data: [0.1, 0.2, 0.3, 0.4]\n");
  EXPECT_EQ(std::get<KannalaBrandtCamera>(ros.GetModel()).distortion[3], 0.4);
}

TEST(Calibration, FaultsAreNamed) {
  const std::string good =
      "[camera]\nmodel = \"pinhole\"\nwidth = 64\nheight = 48\ncx = 1\ncy = 2\nfy = 50\n";
  EXPECT_NE(CameraFault("c.toml", good + "fx = -50\n").find("camera.fx = -50 must be positive"),
            std::string::npos);
  EXPECT_NE(CameraFault("c.toml", good).find("camera.fx is missing"), std::string::npos);
  EXPECT_NE(
      CameraFault("c.toml",
                  "[camera]\nmodel = \"pinhol\"\nwidth = 1\nheight = 1\nfx = 1\nfy = 1\ncx = 0\ncy = 0\n")
          .find("did you mean \"pinhole\"?"),
      std::string::npos);
  EXPECT_NE(CameraFault("cameras.txt", "1 FOV 640 480 1 2 3 4 5\n").find("FOV is not supported"),
            std::string::npos);
  EXPECT_NE(CameraFault("cameras.txt", "1 PINHOLE 640 480 1 2\n").find("needs 4 parameters"),
            std::string::npos);
  EXPECT_NE(CameraFault("cameras.txt", "# none\n").find("holds no camera"), std::string::npos);
  EXPECT_NE(CameraFault("c.yaml", "hello").find("c.yaml"), std::string::npos);
  EXPECT_NE(CameraFault("c.yaml", "").find("is empty"), std::string::npos);
}

}  // namespace
}  // namespace lumen
