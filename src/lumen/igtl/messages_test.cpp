#include "lumen/igtl/messages.h"

#include <gtest/gtest.h>

#include "lumen/igtl/link_client_test.h"

namespace lumen {
namespace {

// A camera 10 mm left, 20 behind and 30 above the origin that looks to the back, its pictures' top to the
// head.
Rigid3 CameraInLps() {
  Eigen::Matrix3d axes;  // columns: its x to the left, its y to the feet, its z to the back
  axes << 1, 0, 0,       //
      0, 0, 1,           //
      0, -1, 0;
  return {axes, {10, 20, 30}};
}
// The same as written by hand: column after column, the place last; right, front and up are positive.
const std::vector<float> kCameraInRas = {-1, 0, 0, 0, 0, -1, 0, -1, 0, -10, -20, 30};

void ExpectFloats(const std::vector<float>& values, const std::vector<float>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-5) << i;
}

TEST(IgtlMessages, ATransformHoldsTheKnownPose) {
  const PlainMessage message =
      ReadPlain(PackTransform("CameraToCT", RasFromLps(CameraInLps()), 1700000000.25));
  EXPECT_TRUE(message.intact);
  EXPECT_EQ(message.version, 1);
  EXPECT_EQ(message.type, "TRANSFORM");
  EXPECT_EQ(message.device, "CameraToCT");
  EXPECT_NEAR(message.time, 1700000000.25, 1e-6);
  ASSERT_EQ(message.body.size(), 48U);
  ExpectFloats(BytesIn(message.body).Floats(12), kCameraInRas);
}

TEST(IgtlMessages, APoseInTheMapIsSentAsItIs) {
  const PlainMessage message = ReadPlain(PackTransform("CameraToMap", CameraInLps(), 0));
  ExpectFloats(BytesIn(message.body).Floats(12), {1, 0, 0, 0, 0, -1, 0, 1, 0, 10, 20, 30});
}

TEST(IgtlMessages, TrackingDataHasOneElementOfTheSameNameAndPose) {
  const PlainMessage message = ReadPlain(PackTracking("CameraToCT", RasFromLps(CameraInLps()), 5));
  EXPECT_TRUE(message.intact);
  EXPECT_EQ(message.type, "TDATA");
  ASSERT_EQ(message.body.size(), 70U);
  BytesIn in(message.body);
  EXPECT_EQ(in.Text(20), "CameraToCT");
  EXPECT_EQ(in.U(1), 2U) << "a pose with all six degrees of freedom";
  in.U(1);
  ExpectFloats(in.Floats(12), kCameraInRas);
}

TEST(IgtlMessages, AStatusSaysWhetherPosesCanBeUsed) {
  const PlainMessage good = ReadPlain(PackStatus("Lumen", {true, "registered", "in the nose", "{}"}, 7));
  EXPECT_TRUE(good.intact);
  BytesIn in(good.body);
  EXPECT_EQ(in.U(2), 1U);
  EXPECT_EQ(in.U(8), 0U);
  EXPECT_EQ(in.Text(20), "registered");
  EXPECT_EQ(in.Text(100), "in the nose");
  EXPECT_EQ(BytesIn(ReadPlain(PackStatus("Lumen", {false, "lost", "", ""}, 7)).body).U(2), 13U);
}

TEST(IgtlMessages, TextIsUtf8AndOfBoundedLength) {
  const PlainMessage message = ReadPlain(PackText("LumenState", "±0.4 mm", 0));
  BytesIn in(message.body);
  EXPECT_EQ(in.U(2), 106U);
  const size_t size = in.U(2);
  EXPECT_EQ(in.Text(size), "±0.4 mm");
  EXPECT_TRUE(ReadPlain(PackText("LumenState", std::string(100000, 'x'), 0)).intact);
}

TEST(IgtlMessages, NamesThatAreTooLongAreCut) {
  const PlainMessage message = ReadPlain(PackTracking("ANameOfMoreThanTwentyCharacters", {}, 0));
  EXPECT_EQ(message.device, "ANameOfMoreThanTwent");
}

TEST(IgtlMessages, APictureHasItsPixelsAndAUnitToEach) {
  RgbImage picture(3, 2, 3);
  for (size_t i = 0; i < picture.Size(); ++i) picture.Data()[i] = static_cast<uint8_t>(10 * i);
  const PlainMessage message = ReadPlain(PackPicture("LumenFrame", picture, 0));
  EXPECT_TRUE(message.intact);
  BytesIn in(message.body);
  in.U(2);                 // the format's version
  EXPECT_EQ(in.U(1), 3U);  // values to a pixel
  EXPECT_EQ(in.U(1), 3U);  // of eight bits without a sign
  in.U(1);                 // their order of bytes
  EXPECT_EQ(in.U(1), 1U);  // RAS
  EXPECT_EQ(in.U(2), 3U);
  EXPECT_EQ(in.U(2), 2U);
  EXPECT_EQ(in.U(2), 1U);
  ExpectFloats(in.Floats(12), {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0});
  const size_t header = 72;
  ASSERT_EQ(message.body.size(), header + picture.Size());
  for (size_t i = 0; i < picture.Size(); ++i)
    EXPECT_EQ(static_cast<uint8_t>(message.body[header + i]), picture.Data()[i]) << i;
}

TriangleMesh TwoTriangles() {
  TriangleMesh mesh;
  mesh.vertices = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}};
  mesh.triangles = {{0, 1, 2}, {2, 1, 3}};
  mesh.normals.assign(4, {1, 0, 0});
  mesh.attributes = {{"residual_mm", {0.5F, 0.25F, 2, 4}}};
  return mesh;
}

TEST(IgtlMessages, ASurfaceHasPointsTrianglesAndAScalarToEachPoint) {
  const PlainMessage message = ReadPlain(PackSurface("SurfaceInCT", RasFromLps(TwoTriangles()), 0));
  EXPECT_TRUE(message.intact);
  EXPECT_EQ(message.type, "POLYDATA");
  BytesIn in(message.body);
  EXPECT_EQ(in.U(4), 4U);               // points
  for (int i = 0; i < 4; ++i) in.U(4);  // no vertices, no lines, each with a size
  EXPECT_EQ(in.U(4), 2U);               // polygons
  EXPECT_EQ(in.U(4), 32U);
  EXPECT_EQ(in.U(4), 0U);  // strips
  EXPECT_EQ(in.U(4), 0U);
  EXPECT_EQ(in.U(4), 1U);  // attributes
  ExpectFloats(in.Floats(12), {-1, -2, 3, -4, -5, 6, -7, -8, 9, -10, -11, 12});
  for (const uint64_t expected : {3, 0, 1, 2, 3, 2, 1, 3}) EXPECT_EQ(in.U(4), expected);
  EXPECT_EQ(in.U(1), 0U);  // of points, scalars
  EXPECT_EQ(in.U(1), 1U);
  EXPECT_EQ(in.U(4), 4U);
  const std::string rest = message.body.substr(in.At());
  ASSERT_EQ(rest.substr(0, 11), "residual_mm");
  const std::vector<float> values = BytesIn(rest, rest.size() - 16).Floats(4);
  ExpectFloats(values, {0.5F, 0.25F, 2, 4});
}

TEST(IgtlMessages, TurningTheSpaceTwiceIsNothing) {
  const TriangleMesh mesh = TwoTriangles();
  EXPECT_EQ(RasFromLps(RasFromLps(mesh)).vertices, mesh.vertices);
  EXPECT_EQ(RasFromLps(mesh).normals.front(), Eigen::Vector3f(-1, 0, 0));
  EXPECT_LT(CameraInLps().Local(RasFromLps(RasFromLps(CameraInLps()))).norm(), 1e-12);
}

TEST(IgtlMessages, WhatCanBeSentIsListed) {
  const PlainMessage message = ReadPlain(PackCapability("Lumen", {"TRANSFORM", "POLYDATA"}, 0));
  EXPECT_TRUE(message.intact);
  BytesIn in(message.body);
  EXPECT_EQ(message.body.size(), 24U);
  EXPECT_EQ(in.Text(12), "TRANSFORM");
  EXPECT_EQ(in.Text(12), "POLYDATA");
}

}  // namespace
}  // namespace lumen
