#include "lumen/sim/renderer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumen/base/error.h"
#include "lumen/sim/sim_test_scene.h"

namespace lumen {
namespace {

using Eigen::Vector3d;
using Eigen::Vector3f;

Camera SmallCamera() { return Camera::FromFieldOfView(77, 160, 128); }

// A plain look for photometry: one light at the lens, no highlights, no fine detail.
Appearance PlainLook() {
  Appearance look;
  look.light.sources = {{Vector3f::Zero(), 1.0F}};
  look.tissue.wetness = 0;
  // Detail is filtered by distance, as any picture's is; photometry is about the light alone.
  look.tissue.mottling = 0;
  look.tissue.vessels = 0;
  look.tissue.relief = 0;
  look.mask.round = false;
  return look;
}

class DepthTruth : public testing::TestWithParam<TestSubject> {};
INSTANTIATE_TEST_SUITE_P(
    Sim, DepthTruth,
    testing::Values(TestSubject{AnatomyKind::kNasal, 1}, TestSubject{AnatomyKind::kNasal, 12},
                    TestSubject{AnatomyKind::kColon, 5}, TestSubject{AnatomyKind::kColon, 13},
                    TestSubject{AnatomyKind::kBronchus, 8}, TestSubject{AnatomyKind::kStomach, 10}),
    [](const auto& test) { return NameOf(test.param); });

TEST_P(DepthTruth, UnprojectedDepthLiesOnTheExportedSurface) {
  const auto anatomy = SharedAnatomy(GetParam().kind, GetParam().seed);
  const TriangleMesh mesh = ExportSurface(*anatomy);
  const MeshDistance to_mesh(mesh, 2.0F);
  const Renderer renderer(anatomy, SmallCamera(), MakeAppearance(GetParam().kind, GetParam().seed), 2);
  double sum = 0;
  int64_t count = 0;
  int64_t far = 0;
  for (const Rigid3& pose : SomePoses(*anatomy, 4)) {
    const DepthImage depth = renderer.RenderDepth(pose);
    for (int y = 0; y < depth.Height(); y += 2) {
      for (int x = 0; x < depth.Width(); x += 2) {
        if (renderer.ContentMask()(x, y) == 0) {
          ASSERT_EQ(depth(x, y), 0);
          continue;
        }
        ASSERT_GT(depth(x, y), 0);
        const Vector3d ray = *renderer.View().Unproject({x, y});
        const float away = to_mesh.To((pose * (ray * (depth(x, y) / ray.z()))).cast<float>());
        sum += away;
        far += away > 0.2F ? 1 : 0;
        ++count;
      }
    }
  }
  EXPECT_LT(sum / static_cast<double>(count), 0.05);
  EXPECT_LT(static_cast<double>(far), 0.005 * static_cast<double>(count));
}

TEST(Renderer, SameBytesForAnyThreadCount) {
  const auto anatomy = SharedAnatomy(AnatomyKind::kNasal, 1);
  Appearance look = MakeAppearance(AnatomyKind::kNasal, 1);
  look.sensor.jpeg_quality = 80;
  const std::vector<Rigid3> poses = SomePoses(*anatomy, 2);
  const RenderRequest request = {poses[0], 3, std::nullopt, poses[1]};
  const RenderedFrame one = Renderer(anatomy, SmallCamera(), look, 1).Render(request);
  for (const int threads : {2, 3}) {
    const RenderedFrame many = Renderer(anatomy, SmallCamera(), look, threads).Render(request);
    EXPECT_EQ(one.image, many.image) << threads;
    EXPECT_EQ(one.depth, many.depth) << threads;
  }
}

TEST(Renderer, DifferentSeedsLookDifferent) {
  const auto anatomy = SharedAnatomy(AnatomyKind::kBronchus, 2);
  const Rigid3 pose = SomePoses(*anatomy, 1)[0];
  const auto render = [&](uint64_t seed) {
    Appearance look = MakeAppearance(AnatomyKind::kColon, seed);
    look.mask.round = false;
    return Renderer(anatomy, SmallCamera(), look, 2).Render({pose}).image;
  };
  const RgbImage a = render(1);
  const RgbImage b = render(2);
  double difference = 0;
  for (size_t i = 0; i < a.Size(); ++i) difference += std::abs(a.Data()[i] - b.Data()[i]);
  EXPECT_GT(difference / static_cast<double>(a.Size()), 8);
}

TEST(Photometry, DoublingTheDistanceQuartersTheDiffuseRadiance) {
  const auto anatomy = SharedAnatomy(AnatomyKind::kColon, 5);
  const Renderer renderer(anatomy, SmallCamera(), PlainLook(), 2);
  // Both cameras look along the same ray at the same point of the wall, from once and twice as far.
  int checked = 0;
  for (const Rigid3& pose : SomePoses(*anatomy, 12)) {
    const auto [x, y] = std::pair(80, 64);
    const Vector3d ray = *renderer.View().Unproject({x, y});
    const DepthImage depth = renderer.RenderDepth(pose);
    const double distance = depth(x, y) / ray.z();
    const Rigid3 nearer(pose.Rotation(), pose * (0.5 * distance * ray));
    const Radiance far = renderer.RenderRadiance(pose);
    const Radiance near = renderer.RenderRadiance(nearer);
    if (std::abs(near.depth(x, y) - 0.5 * depth(x, y)) > 0.02) continue;  // the wall is too steep here
    for (int c = 0; c < 3; ++c) {
      EXPECT_NEAR(far.light(x, y, c) / near.light(x, y, c), 0.25, 0.004);
    }
    ++checked;
  }
  EXPECT_GE(checked, 6);
}

TEST(Photometry, HighlightsMoveWithTheCameraAndTextureDoesNot) {
  const auto anatomy = SharedAnatomy(AnatomyKind::kColon, 5);
  Appearance wet = PlainLook();
  wet.tissue.wetness = 0.5F;
  wet.tissue.ripples = 0;
  const Renderer shiny(anatomy, SmallCamera(), wet, 2);
  const Renderer dull(anatomy, SmallCamera(), PlainLook(), 2);
  const Rigid3 pose = SomePoses(*anatomy, 3)[1];
  const auto brightest = [&](const Rigid3& at) {
    const Radiance with = shiny.RenderRadiance(at);
    const Radiance without = dull.RenderRadiance(at);
    float most = 0;
    Vector3d place = Vector3d::Zero();
    for (int y = 0; y < 128; ++y) {
      for (int x = 0; x < 160; ++x) {
        const float highlight = with.light(x, y, 1) - without.light(x, y, 1);
        if (highlight <= most) continue;
        most = highlight;
        const Vector3d ray = *shiny.View().Unproject({x, y});
        place = at * (ray * (with.depth(x, y) / ray.z()));
      }
    }
    EXPECT_GT(most, 0);
    // The light stands at the lens: a mirror shines where it faces the camera.
    const Vector3f normal = anatomy->Field().Gradient(place.cast<float>()).normalized();
    EXPECT_GT(normal.dot((at.Translation() - place).normalized().cast<float>()), 0.9F);
    return place;
  };
  const Rigid3 moved = pose * Rigid3(Eigen::Quaterniond::Identity(), Vector3d(2.0, 1.0, 0));
  EXPECT_GT((brightest(pose) - brightest(moved)).norm(), 0.5);
  // The colour of a point of the wall stays: the ratio of green to red does not know the light.
  const Tissue tissue(PlainLook().tissue, 1);
  WallPoint point;
  point.position = {1, 2, 3};
  point.normal = Vector3f::UnitZ();
  EXPECT_TRUE((tissue.Evaluate(point).albedo == tissue.Evaluate(point).albedo).all());
}

TEST(Photometry, NearWallsAreBrightAndTheTunnelIsDark) {
  const auto anatomy = SharedAnatomy(AnatomyKind::kBronchus, 8);
  const Renderer renderer(anatomy, SmallCamera(), MakeAppearance(AnatomyKind::kBronchus, 8), 2);
  const RenderedFrame frame = renderer.Render({SomePoses(*anatomy, 1)[0]});
  double near = 0;
  double far = 0;
  int near_count = 0;
  int far_count = 0;
  for (int y = 0; y < 128; ++y) {
    for (int x = 0; x < 160; ++x) {
      if (frame.depth(x, y) == 0) continue;
      const int brightness = frame.image(x, y, 0);
      if (frame.depth(x, y) < 15) near += brightness, ++near_count;
      if (frame.depth(x, y) > 35) far += brightness, ++far_count;
    }
  }
  ASSERT_GT(near_count, 100);
  ASSERT_GT(far_count, 20);
  EXPECT_GT(near / near_count, 2 * far / far_count);
}

TEST(Renderer, IsBlackOutsideTheMask) {
  const auto anatomy = SharedAnatomy(AnatomyKind::kNasal, 1);
  Appearance look = MakeAppearance(AnatomyKind::kNasal, 1);
  look.sensor.jpeg_quality = 60;
  const Renderer renderer(anatomy, SmallCamera(), look);
  const std::vector<Rigid3> poses = SomePoses(*anatomy, 2);
  const RenderedFrame frame = renderer.Render({poses[0], 0, std::nullopt, poses[1]});
  int outside = 0;
  for (int y = 0; y < 128; ++y) {
    for (int x = 0; x < 160; ++x) {
      if (renderer.ContentMask()(x, y) != 0) continue;
      ++outside;
      for (int c = 0; c < 3; ++c) ASSERT_EQ(frame.image(x, y, c), 0);
    }
  }
  EXPECT_GT(outside, 1000);
}

TEST(Renderer, TakesEveryCameraModel) {
  const auto anatomy = SharedAnatomy(AnatomyKind::kBronchus, 2);
  const Rigid3 pose = SomePoses(*anatomy, 1)[0];
  const PinholeCamera pinhole{60, 60, 79.5, 63.5};
  const std::vector<Camera> cameras = {
      {RadTanCamera{pinhole, {-0.3, 0.08, 0.001, -0.001, 0}}, 160, 128},
      {KannalaBrandtCamera{pinhole, {-0.02, 0.003, 0, 0}}, 160, 128},
      {OmniCamera{79.5, 63.5, {70, -8e-3, 2e-5, -1e-7}, {1, 0, 0}}, 160, 128},
  };
  for (const Camera& camera : cameras) {
    Appearance look = MakeAppearance(AnatomyKind::kBronchus, 2);
    const Renderer renderer(anatomy, camera, look, 2);
    const RenderedFrame frame = renderer.Render({pose});
    int64_t content = 0;
    double sum = 0;
    for (int y = 4; y < 128; y += 9) {
      for (int x = 3; x < 160; x += 7) {
        if (renderer.ContentMask()(x, y) == 0) continue;
        const Vector3d ray = *camera.Unproject({x, y});
        const Vector3f point = (pose * (ray * (frame.depth(x, y) / ray.z()))).cast<float>();
        const double distance = std::abs(anatomy->Distance(point));
        EXPECT_LT(distance, 0.1)
            << camera.ModelName();  // a ray that grazes the wall ends a little early or late
        sum += distance;
        ++content;
      }
    }
    EXPECT_LT(sum / static_cast<double>(content), 0.002) << camera.ModelName();
    EXPECT_GT(content, 150) << camera.ModelName();
  }
}

TEST(Renderer, AnySizeShowsTheSameScene) {
  const auto anatomy = SharedAnatomy(AnatomyKind::kBronchus, 2);
  const Rigid3 pose = SomePoses(*anatomy, 1)[0];
  const Camera large = Camera::FromFieldOfView(77, 320, 256);
  const Appearance look = PlainLook();
  const DepthImage fine = Renderer(anatomy, large, look, 2).RenderDepth(pose);
  const Renderer small(anatomy, large.Resized(80, 64), look, 2);
  const DepthImage coarse = small.RenderDepth(pose);
  int agree = 0;
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 80; ++x) {
      const float around = 0.25F * (fine(4 * x + 1, 4 * y + 1) + fine(4 * x + 2, 4 * y + 1) +
                                    fine(4 * x + 1, 4 * y + 2) + fine(4 * x + 2, 4 * y + 2));
      agree += std::abs(coarse(x, y) - around) < 0.02F * around ? 1 : 0;
    }
  }
  EXPECT_GT(agree, 0.95 * 80 * 64);
}

TEST(Renderer, MeteringAgreesWithTheWholePicture) {
  const auto anatomy = SharedAnatomy(AnatomyKind::kBronchus, 2);
  const Renderer renderer(anatomy, SmallCamera(), MakeAppearance(AnatomyKind::kBronchus, 2), 2);
  const Rigid3 pose = SomePoses(*anatomy, 1)[0];
  const float whole = ComputeWantedGain(renderer.RenderRadiance(pose).light, renderer.ContentMask(),
                                        renderer.Look().sensor.exposure_target);
  EXPECT_NEAR(renderer.MeterGain(pose) / whole, 1, 0.1);
}

}  // namespace
}  // namespace lumen
