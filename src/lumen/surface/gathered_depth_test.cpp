#include "lumen/surface/gathered_depth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>

#include "lumen/surface/agreed_depth.h"
#include "lumen/surface/enlarged_depth.h"
#include "lumen/surface/seen_depth.h"
#include "lumen/surface/weighted_middle.h"

namespace lumen {
namespace {

// A wall at z = 10 with a fold before it at z = 6 that covers x < 0, as a camera at `place` sees it.
struct DepthWorld {
  static constexpr double kWall = 10, kFold = 6;

  static UnifiedCamera CameraOf(int width) {
    return UnifiedCamera(0.625 * width, 0.625 * width, 0.5 * width - 0.5, 0.4 * width - 0.5);
  }

  static DepthView Look(const Eigen::Vector3d& place, int width) {
    DepthView view{CameraOf(width), Rigid3(Eigen::Quaterniond::Identity(), place),
                   DepthImage(width, width * 4 / 5), RgbImage(2 * width, width * 8 / 5, 3)};
    for (int y = 0; y < view.depth.Height(); ++y) {
      for (int x = 0; x < view.depth.Width(); ++x)
        view.depth(x, y) = static_cast<float>(DepthAt(place, view.camera.RayAtUnitDepth(x, y)));
    }
    const UnifiedCamera fine = CameraOf(2 * width);
    for (int y = 0; y < view.image.Height(); ++y) {
      for (int x = 0; x < view.image.Width(); ++x) {
        const double depth = DepthAt(place, fine.RayAtUnitDepth(x, y));
        for (int c = 0; c < 3; ++c)
          view.image(x, y, c) = static_cast<uint8_t>(std::min(255.0, 6000 / (depth * depth)));
      }
    }
    return view;
  }

  static double DepthAt(const Eigen::Vector3d& place, const Eigen::Vector3d& ray) {
    const double fold = kFold - place.z();
    return place.x() + fold * ray.x() < 0 ? fold : kWall - place.z();
  }
};

TEST(WeightedMiddle, TakesTheValueThatHalfTheWeightLiesBelow) {
  std::vector<Said> said = {{5, 1}, {1, 1}, {3, 1}};
  EXPECT_EQ(WeightedMiddle(said), 3);
  said = {{1, 1}, {2, 1}, {9, 5}};
  EXPECT_EQ(WeightedMiddle(said), 9);
  said = {{4, 1e-9F}};
  EXPECT_EQ(WeightedMiddle(said), 4);
}

TEST(SeenDepth, IsWhatTheOtherCameraWouldHaveSeen) {
  const DepthView here = DepthWorld::Look({0, 0, 0}, 80), there = DepthWorld::Look({0.4, -0.2, 1.5}, 80);
  const SeenDepth seen = SeeFrom(here, there, 1.12);
  int compared = 0, wrong = 0;
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 80; ++x) {
      if (!(seen.depth(x, y) > 0)) continue;
      ++compared;
      if (std::abs(seen.depth(x, y) - here.depth(x, y)) > 1e-3 * here.depth(x, y)) ++wrong;
      // It stood nearer to what it saw.
      EXPECT_NEAR(seen.finer(x, y), seen.depth(x, y) / (seen.depth(x, y) - 1.5F), 1e-4);
    }
  }
  EXPECT_GT(compared, 2000);
  EXPECT_LT(wrong, 60);  // what the fold hides from here but not from there
}

TEST(SeenDepth, DrawsNothingThatIsBehindTheCameraOrFacesAway) {
  const DepthView here = DepthWorld::Look({0, 0, 0}, 80);
  DepthView there = here;
  there.world_from_camera =
      Rigid3(Eigen::Quaterniond(Eigen::AngleAxisd(M_PI, Eigen::Vector3d::UnitY())), {0, 0, 0});
  const SeenDepth behind = SeeFrom(here, there, 1.12);
  there.world_from_camera = Rigid3(there.world_from_camera.Rotation(), {0, 0, 25});
  const SeenDepth away = SeeFrom(here, there, 1.12);  // the wall's other side
  for (size_t i = 0; i < here.depth.Size(); ++i) {
    EXPECT_EQ(behind.depth.Data()[i], 0);
    EXPECT_EQ(away.depth.Data()[i], 0);
  }
}

// Of planes an enlarged map is the plane; beside a fold it is one side or the other, where the picture says.
TEST(EnlargedDepth, KeepsPlanesAndPutsEdgesWhereThePictureHasThem) {
  DepthImage slanted(20, 16);
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 20; ++x)
      slanted(x, y) = 1 / (0.1F + 0.002F * static_cast<float>(x) - 0.001F * static_cast<float>(y));
  }
  const DepthImage fine = EnlargeDepth(slanted, Image<uint8_t>(40, 32, 1, 100).View());
  for (int y = 6; y < 26; ++y) {
    for (int x = 6; x < 34; ++x) {
      const double u = (x + 0.5) / 2 - 0.5, v = (y + 0.5) / 2 - 0.5;
      EXPECT_NEAR(fine(x, y), 1 / (0.1 + 0.002 * u - 0.001 * v), 1e-4) << x << ' ' << y;
    }
  }
  // Coarse pixels on the edge are between the two sides, as networks make them; the picture's edge is at 19.
  DepthImage step(20, 16);
  Image<uint8_t> picture(40, 32);
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 20; ++x) step(x, y) = x < 9 ? 6.0F : x == 9 ? 8.0F : 10.0F;
  }
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 40; ++x) picture(x, y) = x < 19 ? 160 : 60;
  }
  const DepthImage sharp = EnlargeDepth(step, picture.View());
  for (int y = 4; y < 28; ++y) {
    for (int x = 10; x < 30; ++x) EXPECT_NEAR(sharp(x, y), x < 19 ? 6 : 10, 0.01) << x << ' ' << y;
  }
}

TEST(EnlargedDepth, LeavesWhatIsUnknown) {
  DepthImage depth(10, 8, 1, 3.0F);
  for (int y = 0; y < 8; ++y) depth(0, y) = 0;
  const DepthImage fine = EnlargeDepth(depth, Image<uint8_t>(20, 16, 1, 80).View());
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 20; ++x) EXPECT_FLOAT_EQ(fine(x, y), x < 2 ? 0 : 3) << x;
  }
}

// Each view errs by a few percent of its own; together they know better, and edges stay where they are.
TEST(GatheredDepth, IsNearerToTheTruthThanEachViewIsAlone) {
  std::vector<DepthView> looks;
  for (int i = 0; i < 9; ++i) {
    DepthView view = DepthWorld::Look({0.05 * i - 0.2, 0.02 * i, 0.1 * i}, 80);
    const float error = 1 + 0.01F * static_cast<float>((i * 4) % 9 - 4);
    for (float& depth : std::span(view.depth.Data(), view.depth.Size())) depth *= error;
    looks.push_back(std::move(view));
  }
  const ViewList list{9, [&](int i) { return looks[static_cast<size_t>(i)]; }};
  double before = 0, after = 0;
  int64_t count = 0;
  int next = 0;
  GatherDepths(list, {}, 2, [&](int i, const DepthView& gathered) {
    EXPECT_EQ(i, next++);
    ASSERT_EQ(gathered.depth.Width(), 160);
    const DepthView truth =
        DepthWorld::Look(looks[static_cast<size_t>(i)].world_from_camera.Translation(), 160);
    EXPECT_EQ(gathered.camera, truth.camera);
    for (int y = 8; y < 120; ++y) {
      for (int x = 8; x < 152; ++x) {
        before += std::abs(looks[static_cast<size_t>(i)].depth(x / 2, y / 2) / truth.depth(x, y) - 1);
        after += std::abs(gathered.depth(x, y) / truth.depth(x, y) - 1);
        ++count;
      }
    }
  });
  EXPECT_EQ(next, 9);
  EXPECT_GT(before / static_cast<double>(count), 0.02);
  EXPECT_LT(after, 0.5 * before);
}

TEST(GatheredDepth, StaysAsItIsWithoutPicturesOrOthers) {
  DepthView alone = DepthWorld::Look({0, 0, 0}, 80);
  alone.image = {};
  GatherDepths({1, [&](int) { return alone; }}, {}, 1, [&](int, const DepthView& gathered) {
    EXPECT_EQ(gathered.depth, alone.depth);
    EXPECT_EQ(gathered.camera, alone.camera);
  });
}

TEST(AgreedDepth, IsWhatMostMapsSayFromAnywhere) {
  std::vector<DepthView> views;
  for (const double x : {-0.4, -0.2, 0.2, 0.4, 0.6})
    views.push_back(DepthWorld::Look({x, 0.1 * x, 0.2 * x}, 80));
  // One of them is wrong by a third.
  for (size_t i = 0; i < views[2].depth.Size(); ++i) views[2].depth.Data()[i] *= 1.33F;
  std::vector<const DepthView*> maps;
  for (const DepthView& view : views) maps.push_back(&view);
  const DepthView here = DepthWorld::Look({0.05, -0.05, 0.3}, 80);
  const DepthImage agreed = AgreeOnDepth(here.camera, 80, 64, here.world_from_camera, maps);
  int known = 0, wrong = 0;
  for (size_t i = 0; i < agreed.Size(); ++i) {
    if (!(agreed.Data()[i] > 0)) continue;
    ++known;
    wrong += std::abs(agreed.Data()[i] / here.depth.Data()[i] - 1) > 0.03F ? 1 : 0;
  }
  EXPECT_GT(known, 3000);
  EXPECT_LT(wrong, known / 100);
  // Two that contradict two others are no agreement, and two alone are too few.
  for (size_t i = 0; i < views[1].depth.Size(); ++i) views[1].depth.Data()[i] *= 1.33F;
  const auto count = [&](std::vector<const DepthView*> asked) {
    const DepthImage depth = AgreeOnDepth(here.camera, 80, 64, here.world_from_camera, asked);
    return std::count_if(depth.Data(), depth.Data() + depth.Size(), [](float d) { return d > 0; });
  };
  EXPECT_EQ(count({maps[0], maps[4]}), 0);
  EXPECT_LT(count({maps[0], maps[1], maps[2], maps[4]}), known / 20);
}

TEST(AgreedDepth, NearestViewsStandCloseAndLookTheSameWay) {
  std::vector<DepthView> views;
  for (const double x : {3.0, 0.1, 1.0}) views.push_back(DepthWorld::Look({x, 0, 0}, 8));
  views.push_back(views[1]);
  views.back().world_from_camera =
      Rigid3(Eigen::Quaterniond(Eigen::AngleAxisd(M_PI, Eigen::Vector3d::UnitY())), {0, 0, 0});
  EXPECT_EQ(NearestViews(Rigid3(), views, 10, 2), (std::vector<size_t>{1, 2}));
}

}  // namespace
}  // namespace lumen
