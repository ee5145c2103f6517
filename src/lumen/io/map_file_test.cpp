#include "lumen/io/map_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/random.h"

namespace lumen {
namespace {

Image<float> RandomImage(int channels, double low, Random& random) {
  Image<float> image(80, 64, channels);
  for (size_t i = 0; i < image.Size(); ++i) image.Data()[i] = static_cast<float>(random.Uniform(low, 1));
  return image;
}

StoredMap MakeStoredMap(double alpha = 0) {
  Random random(5);
  auto view =
      std::make_shared<View>(View{{50, 51, 39.5, 31.5, alpha}, Mask(80, 64, 1, 255), Mask(80, 64, 1, 255)});
  StoredMap stored;
  stored.model_hash = "abc";
  for (KeyframeId id = 3; id < 6; ++id) {
    auto frame = std::make_shared<Frame>();
    frame->index = 10 * id;
    frame->time = 0.1 * static_cast<double>(id);
    frame->image = RgbImage(160, 128, 3, static_cast<uint8_t>(id));
    frame->view = view;
    auto features = RandomImage(16, -1, random);
    auto descriptors = RandomImage(16, -1, random);
    frame->features = MakeFeaturePyramid(std::move(features), std::move(descriptors), view->mask, 4);
    auto keyframe = std::make_shared<Keyframe>();
    keyframe->frame = frame;
    auto average = RandomImage(1, 0.5, random);
    auto bases = RandomImage(16, -1, random);
    keyframe->depth = MakeDepthBasis(std::move(average), std::move(bases), view->mask);
    KeyframeState state{Rigid3::Exp(Vector6d::Constant(0.1 * static_cast<double>(id))), 0.3,
                        Eigen::VectorXd::LinSpaced(16, 0, 1)};
    stored.map.keyframes[id] = {keyframe, state, id == 5 ? 1 : 0};
    stored.words[id] = {{1, 0.25F}, {static_cast<int>(id), 0.75F}};
  }
  stored.map.edges = {{3, 4, EdgeKind::kTemporal}, {4, 5, EdgeKind::kGlobalLoop}};
  return stored;
}

TEST(MapFile, KeepsTheLens) {
  const TemporaryFolder folder;
  const StoredMap stored = MakeStoredMap(0.6);
  SaveMap(folder.Path() / "map.h5", stored);
  const auto camera_of = [](const StoredMap& map) {
    return map.map.keyframes.begin()->second.keyframe->frame->view->camera;
  };
  EXPECT_EQ(camera_of(LoadMap(folder.Path() / "map.h5")), camera_of(stored));
  EXPECT_EQ(camera_of(stored).alpha, 0.6);
}

TEST(MapFile, KeepsTheMap) {
  const TemporaryFolder folder;
  const StoredMap stored = MakeStoredMap();
  SaveMap(folder.Path() / "map.h5", stored);
  const StoredMap loaded = LoadMap(folder.Path() / "map.h5");
  EXPECT_EQ(loaded.model_hash, "abc");
  EXPECT_EQ(loaded.words, stored.words);
  EXPECT_EQ(loaded.map.edges, stored.map.edges);
  ASSERT_EQ(loaded.map.keyframes.size(), 3U);
  for (const auto& [id, entry] : stored.map.keyframes) {
    const MapKeyframe& other = loaded.map.keyframes.at(id);
    EXPECT_EQ(other.submap, entry.submap);
    EXPECT_EQ(other.state.log_scale, entry.state.log_scale);
    EXPECT_EQ(other.state.code, entry.state.code);
    EXPECT_LT(entry.state.world_from_camera.Local(other.state.world_from_camera).norm(), 1e-12);
    EXPECT_EQ(other.keyframe->frame->index, entry.keyframe->frame->index);
    EXPECT_EQ(other.keyframe->frame->image, entry.keyframe->frame->image);
    EXPECT_EQ(other.keyframe->depth.average, entry.keyframe->depth.average);
    ASSERT_EQ(other.keyframe->frame->features.NumLevels(), 4);
    const Image<float> a = FinestFeatures(entry.keyframe->frame->features);
    const Image<float> b = FinestFeatures(other.keyframe->frame->features);
    for (size_t i = 0; i < a.Size(); ++i) ASSERT_NEAR(a.Data()[i], b.Data()[i], 6e-4);  // half precision
  }
}

// Of a keyframe that has retired there are picture and depth, and with whom it lies.
TEST(MapFile, KeepsWhoHasRetired) {
  const TemporaryFolder folder;
  const auto path = folder.Path() / "map.h5";
  StoredMap stored = MakeStoredMap();
  MapKeyframe& entry = stored.map.keyframes.at(5);
  entry.keyframe = KeepDepthOnly(*entry.keyframe, entry.state.code);
  entry.state.code.resize(0);
  entry.host = 4;
  stored.map.edges.pop_back();
  stored.words.erase(5);
  SaveMap(path, stored);
  const MapKeyframe loaded = LoadMap(path).map.keyframes.at(5);
  EXPECT_EQ(loaded.host, 4);
  EXPECT_EQ(loaded.state.code.size(), 0);
  EXPECT_EQ(loaded.keyframe->frame->image, entry.keyframe->frame->image);
  EXPECT_EQ(loaded.keyframe->depth.average, entry.keyframe->depth.average);
  EXPECT_TRUE(loaded.keyframe->frame->features.levels.empty());
  for (const KeyframeId nobody : {7, 5}) {
    entry.host = nobody;
    SaveMap(path, stored);
    EXPECT_THROW(LoadMap(path), InputError) << nobody;
  }
  entry.host = 4;
  stored.map.edges.push_back({4, 5, EdgeKind::kTemporal});
  SaveMap(path, stored);
  EXPECT_THROW(LoadMap(path), InputError) << "an edge of a retired keyframe";
}

TEST(MapFile, ADiskThatIsTooSmallIsOneLineAndLeavesTheOldMap) {
  const TemporaryFolder folder;
  const auto path = folder.Path() / "map.h5";
  SaveMap(path, MakeStoredMap());
  const std::string before = ReadFile(path);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit whole{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &whole), 0);
  rlimit small = whole;
  small.rlim_cur = 100000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(SaveMap(path, MakeStoredMap()), OutputError);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &whole), 0);
  EXPECT_EQ(ReadFile(path), before);
  EXPECT_EQ(ListFiles(folder.Path()).size(), 1U);
}

TEST(MapFile, CanBeLookedIntoWithoutLoadingAllOfIt) {
  const TemporaryFolder folder;
  const StoredMap stored = MakeStoredMap();
  const auto path = folder.Path() / "map.h5";
  SaveMap(path, stored);
  const MapOutline outline = LoadMapOutline(path);
  EXPECT_EQ(outline.frames, (std::map<KeyframeId, int64_t>{{3, 30}, {4, 40}, {5, 50}}));
  EXPECT_EQ(outline.edges, stored.map.edges);
  const MapKeyframe one = LoadMapKeyframe(path, 4);
  EXPECT_EQ(one.keyframe->frame->index, 40);
  EXPECT_EQ(one.keyframe->frame->image, stored.map.keyframes.at(4).keyframe->frame->image);
  EXPECT_THROW(LoadMapKeyframe(path, 7), InputError);
  EXPECT_THROW(LoadMapOutline(folder.Path() / "none.h5"), InputError);
}

TEST(MapFile, EqualMapsAreEqualBytes) {
  const TemporaryFolder folder;
  SaveMap(folder.Path() / "a.h5", MakeStoredMap());
  SaveMap(folder.Path() / "b.h5", MakeStoredMap());
  EXPECT_EQ(ReadFile(folder.Path() / "a.h5"), ReadFile(folder.Path() / "b.h5"));
}

TEST(MapFile, BrokenFilesAreOneClearLine) {
  const TemporaryFolder folder;
  const auto path = folder.Path() / "map.h5";
  EXPECT_THROW(LoadMap(path), InputError);
  SaveMap(path, MakeStoredMap());
  const std::string good = ReadFile(path);
  for (const size_t size : {size_t{0}, size_t{100}, good.size() / 3, good.size() / 2}) {
    WriteFileAtomically(path, good.substr(0, size));
    EXPECT_THROW(LoadMap(path), InputError) << size;
  }
  StoredMap broken = MakeStoredMap();
  broken.map.edges.push_back({3, 99, EdgeKind::kTemporal});
  SaveMap(path, broken);
  EXPECT_THROW(LoadMap(path), InputError);
}

}  // namespace
}  // namespace lumen
