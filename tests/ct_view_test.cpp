// What the view shows of the CT, while a run goes on and afterwards, and what the virtual endoscope sees.
#include <gtest/gtest.h>

#include "lumen/apps/ct_watch.h"
#include "lumen/apps/virtual_view.h"
#include "lumen/base/file.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/volume_file.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;
using Eigen::Vector3d;

TriangleMesh SmallSheet() {
  TriangleMesh mesh;
  mesh.vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  mesh.triangles = {{0, 1, 2}};
  return mesh;
}

// The newest state of what a page would be told.
Json Told(const ItemStore& store, ItemKind kind) {
  Json told;
  for (const Item& item : store.Since(0, SIZE_MAX).items)
    if (item.kind == kind) told = Json::Parse(item.bytes->View());
  return told;
}
Json ToldStatus(const ItemStore& store) { return Told(store, ItemKind::kNavigation).At("status"); }

class WatchedCt : public ::testing::Test {
 protected:
  std::shared_ptr<CtRegistration> Answer(int number, bool confident) const {
    auto answer = std::make_shared<CtRegistration>();
    answer->number = number;
    answer->confident = confident;
    answer->surface = SmallSheet();
    return answer;
  }
  NavigatedFrame Frame(const std::shared_ptr<const CtRegistration>& answer) const {
    NavigatedFrame frame;
    frame.placed = true;
    if (answer == nullptr) return frame;
    frame.ct_from_map = Sim3(3, Eigen::Quaterniond::Identity(), {1, 2, 3});
    frame.registration = answer;
    return frame;
  }
  ItemStore store;
  CtLayer layer{store};
  CtWatch watch{{{"ostium", {1, 2, 3}}}};
};

TEST_F(WatchedCt, WhatIsToldBeforeThereIsAViewIsKeptForIt) {
  const auto ct = std::make_shared<NavigationCt>();
  ct->path = "folder/head.nii";
  ct->model.wall = SmallSheet();
  watch.OnState({CtStatus::kReading, "head.nii"});
  watch.OnCt(ct);
  EXPECT_EQ(store.Version(), 0U);
  watch.Attach(layer);
  EXPECT_EQ(ToldStatus(store), Json("reading"));
  EXPECT_EQ(Told(store, ItemKind::kCt).At("name"), Json("head.nii"));
  EXPECT_EQ(Told(store, ItemKind::kCt).At("targets").AsArray().size(), 1U);
  EXPECT_TRUE(layer.Find("/ct/wall.bin"));
}

TEST_F(WatchedCt, ADoubtfulAnswerIsWordsAndNoPlace) {
  watch.Attach(layer);
  watch.OnRegistration(Answer(1, false));
  watch.OnState({CtStatus::kDoubtful, "two places are alike"});
  watch.OnFrame(Frame(nullptr));
  EXPECT_EQ(ToldStatus(store), Json("doubtful"));
  EXPECT_FALSE(layer.Find("/ct/surface.bin"));
  EXPECT_EQ(Told(store, ItemKind::kNavigation).Find("ct_from_map"), nullptr);
}

TEST_F(WatchedCt, APlaceIsShownUntilItIsBelievedNoMore) {
  watch.Attach(layer);
  const auto answer = Answer(2, true);
  watch.OnRegistration(answer);
  watch.OnState({CtStatus::kRegistered, "in cavity 2"});
  watch.SetSubmap(5);
  watch.OnFrame(Frame(answer));
  const Json place = Told(store, ItemKind::kNavigation).At("ct_from_map");
  EXPECT_EQ(place.At("scale").AsDouble(), 3);
  EXPECT_EQ(place.At("submap").AsInteger(), 5);
  EXPECT_EQ(place.At("number").AsInteger(), 2);
  EXPECT_TRUE(layer.Find("/ct/surface.bin"));
  watch.OnFrame(Frame(nullptr));  // lost for a moment: the map is still where it was
  EXPECT_FALSE(Told(store, ItemKind::kNavigation).At("ct_from_map").IsNull());
  watch.OnState({CtStatus::kSearching, "nothing resembles it"});
  EXPECT_TRUE(Told(store, ItemKind::kNavigation).At("ct_from_map").IsNull());
  EXPECT_FALSE(layer.Find("/ct/surface.bin"));
  watch.Detach();
  const uint64_t version = store.Version();
  watch.OnState({CtStatus::kRegistered, "too late"});
  EXPECT_EQ(store.Version(), version);
}

class ShownRun : public ::testing::Test {
 protected:
  ShownRun() {
    run.path = folder.Path() / "run";
    fs::create_directories(run.path / "registration");
    SaveMesh(run.path / "registration" / "wall.ply", SmallSheet());
    SaveMesh(run.path / "registration" / "residual.ply", SmallSheet());
    Volume volume;
    volume.size = {4, 3, 2};
    volume.values.assign(24, 40);
    SaveVolume(Ct(), volume);
  }
  fs::path Ct() const { return folder.Path() / "ct.nii"; }
  void Write(const std::string& json) const {
    WriteFileAtomically(run.path / "registration" / "registration.json", json);
  }
  void WriteRegistered(const std::string& confident, const fs::path& model) const {
    Write(R"({"status": "registered", "confident": )" + confident +
          R"(, "words": "in cavity 2", "model": ")" + model.string() +
          R"(", "transform": [[0, -2, 0, 1], [2, 0, 0, 2], [0, 0, 2, 3], [0, 0, 0, 1]]})");
  }
  void Show(const fs::path& ct = {}) { ShowRegisteredRun(run, {{"polyp", {1, 2, 3}}}, ct, layer, stop); }
  TemporaryFolder folder;
  RunFolder run;
  ItemStore store;
  CtLayer layer{store};
  const std::atomic<bool> stop = false;
};

TEST_F(ShownRun, LiesInItsCt) {
  WriteRegistered("true", Ct());
  Show();
  EXPECT_EQ(ToldStatus(store), Json("registered"));
  EXPECT_EQ(Told(store, ItemKind::kNavigation).At("words"), Json("in cavity 2"));
  EXPECT_NEAR(Told(store, ItemKind::kNavigation).At("ct_from_map").At("scale").AsDouble(), 2, 1e-12);
  EXPECT_EQ(Told(store, ItemKind::kCt).At("targets").AsArray().size(), 1U);
  for (const char* path : {"/ct/wall.bin", "/ct/surface.bin", "/ct/slice/axial/1.png"})
    EXPECT_TRUE(layer.Find(path)) << path;
}

TEST_F(ShownRun, NeedsItsCtForSlicesAlone) {
  WriteRegistered("true", folder.Path() / "gone.nii");
  Show();
  EXPECT_EQ(ToldStatus(store), Json("registered"));
  EXPECT_TRUE(layer.Find("/ct/wall.bin"));
  EXPECT_FALSE(layer.Find("/ct/slice/axial/1.png"));
  Show(Ct());
  EXPECT_TRUE(layer.Find("/ct/slice/axial/1.png")) << "it lies elsewhere now";
}

TEST_F(ShownRun, ADoubtfulPlaceIsNone) {
  WriteRegistered("false", Ct());
  Show();
  EXPECT_EQ(ToldStatus(store), Json("doubtful"));
  EXPECT_FALSE(layer.Find("/ct/surface.bin"));
  EXPECT_EQ(Told(store, ItemKind::kNavigation).Find("ct_from_map"), nullptr);
}

TEST_F(ShownRun, SurvivesWhatIsBroken) {
  for (const char* text :
       {"", "{", "[]", R"({"status": 1})", R"({"status": "registered", "confident": true})",
        R"({"status": "registered", "confident": true, "transform": [[1]]})",
        R"({"status": "registered", "confident": true, "transform": [1, 2, 3, 4]})", R"({"model": []})"}) {
    Write(text);
    EXPECT_NO_THROW(Show()) << text;
    const Json told = Told(store, ItemKind::kNavigation);
    EXPECT_TRUE(told.Find("ct_from_map") == nullptr || told.At("ct_from_map").IsNull()) << text;
  }
}

// A tube along z from -1 to 40 with radius 5, closed at neither end.
TriangleMesh Tube() {
  constexpr int kAround = 48, kAlong = 42;
  TriangleMesh mesh;
  for (int k = 0; k < kAlong; ++k)
    for (int i = 0; i < kAround; ++i) {
      const double angle = 2 * M_PI * i / kAround;
      mesh.vertices.emplace_back(5 * std::cos(angle), 5 * std::sin(angle), k - 1);
    }
  for (int k = 0; k + 1 < kAlong; ++k)
    for (int i = 0; i < kAround; ++i) {
      const int a = k * kAround + i, b = k * kAround + (i + 1) % kAround;
      mesh.triangles.push_back({a, b, a + kAround});
      mesh.triangles.push_back({b, b + kAround, a + kAround});
    }
  return mesh;
}

TEST(VirtualEndoscope, SeesATubeDarkerInTheDepthAndNothingBeyondItsEnd) {
  const TriangleMesh wall = Tube();
  const TriangleTree tree(wall);
  const VirtualView view(wall, tree);
  const Camera camera = Camera::FromFieldOfView(90, 65, 65);
  const RgbImage image = view.Render(camera, Rigid3(), 2);
  EXPECT_EQ(image(32, 32, 0), 0) << "straight ahead the tube is open";
  EXPECT_EQ(image(35, 32, 0), 0);
  const int rim = image(62, 32, 0), middle = image(48, 32, 0), deep = image(38, 32, 0);
  EXPECT_GT(rim, middle + 10);
  EXPECT_GT(middle, deep + 10);
  EXPECT_GT(deep, 0);
  EXPECT_GT(image(48, 32, 0), image(48, 32, 2)) << "tissue is red";
  EXPECT_NEAR(image(48, 32, 0), image(16, 32, 0), 3) << "and lit alike all around";
  EXPECT_EQ(view.Render(camera, Rigid3(Eigen::Quaterniond::Identity(), {0, 0, 100}), 1),
            RgbImage(65, 65, 3, 0))
      << "outside is nothing ahead";
}

}  // namespace
}  // namespace lumen
