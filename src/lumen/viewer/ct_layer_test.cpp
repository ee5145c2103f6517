#include "lumen/viewer/ct_layer.h"

#include <gtest/gtest.h>

#include "lumen/io/png.h"
#include "lumen/scene/thin_mesh.h"

namespace lumen {
namespace {

// 5 × 4 × 3 voxels of 2 mm whose axes run right, back and up; dense tissue (1000) in voxel (1, 2, 2) alone.
std::shared_ptr<const Volume> SmallVolume() {
  auto volume = std::make_shared<Volume>();
  volume->size = {5, 4, 3};
  volume->values.assign(60, -1000);
  volume->values[(2 * 4 + 2) * 5 + 1] = 1000;
  volume->lps_from_index.diagonal() << -2, 2, 2, 1;  // x runs to the right
  volume->lps_from_index.topRightCorner<3, 1>() << 100, -10, 7;
  return volume;
}

TriangleMesh OneTriangle() {
  TriangleMesh mesh;
  mesh.vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  mesh.triangles = {{0, 1, 2}};
  return mesh;
}

Json Newest(const ItemStore& store, ItemKind kind) {
  Json found;
  for (const Item& item : store.Since(0, 1 << 20).items)
    if (item.kind == kind) found = Json::Parse(item.bytes->View());
  return found;
}

class CtLayers : public ::testing::Test {
 protected:
  ItemStore store;
  CtLayer layer{store};
};

TEST_F(CtLayers, SlicesLieInThePatientsAxes) {
  layer.SetCt({"ct.nii", OneTriangle(), SmallVolume()});
  const Json slices = Newest(store, ItemKind::kCt).At("slices");
  EXPECT_EQ(slices.At("step").AsDouble(), 2);
  EXPECT_EQ(slices.At("low").AsArray()[0].AsDouble(), 92)
      << "the volume's last column is the patient's right";
  EXPECT_EQ(slices.At("size"), Json(Json::Array{5, 4, 3}));
  // The bright voxel: L 98 → the fourth of five, P -6 → the third of four, S 11 → the last of three.
  const auto picture = [&](const char* path) {
    const auto file = layer.Find(path);
    return file ? DecodePng8(file->bytes, path) : Image<uint8_t>();
  };
  const Image<uint8_t> axial = picture("/ct/slice/axial/2.png");
  ASSERT_EQ(axial.Width(), 5);
  ASSERT_EQ(axial.Height(), 4);
  EXPECT_EQ(axial(3, 2), 255);
  EXPECT_EQ(axial(1, 2), 0);
  const Image<uint8_t> coronal = picture("/ct/slice/coronal/2.png");
  ASSERT_EQ(coronal.Height(), 3);
  EXPECT_EQ(coronal(3, 0), 255) << "up is up";
  EXPECT_EQ(picture("/ct/slice/sagittal/3.png")(2, 0), 255);
  EXPECT_EQ(picture("/ct/slice/axial/0.png")(3, 2), 0);
}

TEST_F(CtLayers, NothingLiesElsewhere) {
  for (const char* path : {"/ct/wall.bin", "/ct/surface.bin", "/ct/slice/axial/0.png"})
    EXPECT_FALSE(layer.Find(path)) << "before there is a CT: " << path;
  layer.SetCt({"ct.nii", OneTriangle(), SmallVolume()});
  EXPECT_TRUE(layer.Find("/ct/wall.bin"));
  for (const char* path :
       {"/ct/slice/axial/3.png", "/ct/slice/axial/-1.png", "/ct/slice/axial/1", "/ct/slice/up/1.png",
        "/ct/slice/axial/1.png/x", "/ct/slice/axial/99999999999999999999.png", "/ct/", "/ct/slice/"})
    EXPECT_FALSE(layer.Find(path)) << path;
  layer.SetCt({"mesh.ply", OneTriangle()});
  EXPECT_FALSE(layer.Find("/ct/slice/axial/1.png")) << "a mesh has no slices, and no old ones either";
  EXPECT_TRUE(Newest(store, ItemKind::kCt).At("slices").IsNull());
}

TEST_F(CtLayers, APlaceIsToldUntilItIsWithdrawn) {
  layer.SetState("registered", "in cavity 2");
  layer.SetSurface(OneTriangle());
  layer.SetPlace(ViewPlace{Sim3(2, Eigen::Quaterniond::Identity(), {1, 2, 3}), 0, 4});
  Json told = Newest(store, ItemKind::kNavigation);
  EXPECT_EQ(told.At("status"), Json("registered"));
  EXPECT_EQ(told.At("ct_from_map").At("scale").AsDouble(), 2);
  EXPECT_EQ(told.At("ct_from_map").At("t").AsArray()[2].AsDouble(), 3);
  EXPECT_EQ(told.At("surface").AsInteger(), 1);
  const uint64_t version = store.Version();
  layer.SetPlace(ViewPlace{Sim3(2, Eigen::Quaterniond::Identity(), {1, 2, 3}), 0, 4});
  EXPECT_EQ(store.Version(), version) << "the same again is not sent again";
  layer.SetState("doubtful", "two places are alike");
  layer.SetPlace(std::nullopt);
  layer.SetSurface({});
  told = Newest(store, ItemKind::kNavigation);
  EXPECT_TRUE(told.At("ct_from_map").IsNull());
  EXPECT_EQ(told.At("surface").AsInteger(), 0);
  EXPECT_FALSE(layer.Find("/ct/surface.bin"));
}

TEST_F(CtLayers, TargetsStayWhenTheCtComes) {
  layer.SetTargets({{"ostium", {1, 2, 3}}});
  layer.SetCt({"ct.nii", OneTriangle()});
  const Json ct = Newest(store, ItemKind::kCt);
  EXPECT_EQ(ct.At("targets").AsArray().size(), 1U);
  EXPECT_EQ(ct.At("targets").AsArray()[0].At("name"), Json("ostium"));
  EXPECT_EQ(ct.At("wall").AsInteger(), 1);
}

TEST(ThinnedMesh, KeepsTheShapeAndTheColours) {
  constexpr int kSide = 60;  // a sheet of 60 × 60 squares of 1 mm, bent like a roof
  TriangleMesh sheet;
  for (int y = 0; y <= kSide; ++y)
    for (int x = 0; x <= kSide; ++x) {
      sheet.vertices.emplace_back(x, y, std::min(x, kSide - x));
      sheet.colors.push_back({200, 100, 50});
    }
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) {
      const int at = y * (kSide + 1) + x;
      sheet.triangles.push_back({at, at + 1, at + kSide + 1});
      sheet.triangles.push_back({at + 1, at + kSide + 2, at + kSide + 1});
    }
  EXPECT_EQ(ThinMesh(sheet, {.triangles = 100000}).triangles.size(), sheet.triangles.size())
      << "few enough stay as they are";
  const TriangleMesh thin = ThinMesh(sheet, {.triangles = 1000});
  EXPECT_LE(thin.triangles.size(), 1000U);
  EXPECT_GT(thin.triangles.size(), 200U);
  ASSERT_EQ(thin.colors.size(), thin.vertices.size());
  EXPECT_EQ(thin.colors.front(), (std::array<uint8_t, 3>{200, 100, 50}));
  for (const Eigen::Vector3f& p : thin.vertices)
    EXPECT_NEAR(p.z(), std::min(p.x(), kSide - p.x()), 3) << "within a cell of the roof";
  for (const auto& triangle : thin.triangles)
    for (const int32_t corner : triangle) ASSERT_LT(static_cast<size_t>(corner), thin.vertices.size());
}

TEST(StartHint, IsAPlaceOrNothing) {
  EXPECT_EQ(ParseStartHint(R"({"start": [1, -2.5, 3]})"), Eigen::Vector3d(1, -2.5, 3));
  for (const char* text :
       {"", "{", "[]", "null", R"({"start": 1})", R"({"start": [1, 2]})", R"({"start": [1, 2, "3"]})",
        R"({"start": [1, 2, 1e300]})", R"({"stop": [1, 2, 3]})", "\xff\xfe"})
    EXPECT_FALSE(ParseStartHint(text)) << text;
  EXPECT_FALSE(ParseStartHint(R"({"start": [1, 2, 3], "more": ")" + std::string(5000, 'a') + "\"}"));
}

}  // namespace
}  // namespace lumen
