#include "lumen/surface/registration_judge.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumen/surface/mesh_tools.h"
#include "lumen/surface/registration_world_test.h"

namespace lumen {
namespace {

using Eigen::Vector3d;
using Eigen::Vector3f;

// A surface whose less trusted half was seen elsewhere says so.
TEST(RegistrationJudge, HalvesThatDisagreeAreNoticed) {
  TriangleMesh torn = Nose().surface;
  const Vector3d centre = ComputeCentre(SampleSurface(torn, 2000));
  const Vector3f shift = (Vector3d(0.7, 0.7, 0.7) / Nose().truth.Scale()).cast<float>();
  for (size_t i = 0; i < torn.vertices.size(); ++i) {
    const bool left = torn.vertices[i].x() < static_cast<float>(centre.x());
    torn.attributes[0].values[i] = left ? 0.3F : 0.6F;
    if (left) torn.vertices[i] += shift;
  }
  SurfaceRegistrationOptions options;
  options.match_distance = 0.8;  // beyond which it is a doubt
  const auto doubted = [](const SurfaceRegistration& result) {
    return std::any_of(result.doubts.begin(), result.doubts.end(), [](const std::string& doubt) {
      return doubt.find("halves would lie") != std::string::npos;
    });
  };
  const SurfaceRegistration whole = RegisterSurface(Nose().surface, Nose().model, Nose().truth, options, 2);
  EXPECT_LT(whole.discord.value(), 0.2);
  EXPECT_FALSE(doubted(whole));
  const SurfaceRegistration in_two = RegisterSurface(torn, Nose().model, Nose().truth, options, 2);
  EXPECT_NEAR(in_two.discord.value(), 1.2, 0.6);
  EXPECT_TRUE(doubted(in_two));
}

TEST(RegistrationJudge, AnotherOrganIsNotRegistered) {
  const auto stomach = MakeAnatomy(AnatomyKind::kStomach, 11, 2);
  const SurfaceRegistration result =
      RegisterSurface(Nose().surface, ExportSurface(*stomach), std::nullopt, {}, 2);
  EXPECT_EQ(result.status, SurfaceRegistrationStatus::kNotRegistered);
  EXPECT_FALSE(result.confident);
  ASSERT_FALSE(result.doubts.empty());
}

// The nose's own pose and size, in the middle of another model.
Sim3 GuessAmid(const TriangleMesh& other) {
  const Vector3d from = ComputeCentre(SampleSurface(Nose().surface, 1000));
  const Vector3d to = ComputeCentre(SampleSurface(other, 1000));
  const double scale = Nose().truth.Scale();
  return {scale, Nose().truth.Rotation(), to - scale * (Nose().truth.Rotation() * from)};
}

// A guess does not help where the surface does not belong.
TEST(RegistrationJudge, AnotherOrganIsNotRegisteredFromAGuessEither) {
  const TriangleMesh stomach = ExportSurface(*MakeAnatomy(AnatomyKind::kStomach, 11, 2));
  const SurfaceRegistration result = RegisterSurface(Nose().surface, stomach, GuessAmid(stomach), {}, 2);
  EXPECT_EQ(result.status, SurfaceRegistrationStatus::kNotRegistered);
  EXPECT_FALSE(result.confident);
}

// Nor where it leads to places that fit nearly as well.
TEST(RegistrationJudge, WhereTheGuessLiesInAnotherOrganMakesNoDifference) {
  const TriangleMesh& other = Airway().model;
  const Sim3 aside(1, Eigen::Quaterniond::Identity(), {5, 0, 0});
  const SurfaceRegistration result = RegisterSurface(Nose().surface, other, aside * GuessAmid(other), {}, 2);
  EXPECT_EQ(result.status, SurfaceRegistrationStatus::kNotRegistered);
}

// Points that lie exactly on the surface do not make it another's.
TEST(RegistrationJudge, MeasuredPointsDoNotRegisterAnotherOrgan) {
  const TriangleMesh& other = Airway().model;
  const SurfacePoints measured = SampleSurface(Nose().surface, 1000);
  EXPECT_FALSE(
      RegisterSurface(Nose().surface, other, GuessAmid(other), {}, 2, {{}, false, measured}).confident);
}

// Two thirds of them 2 sigmas off, in the surface's own unit.
TEST(RegistrationJudge, MisfitCountsInSigmas) {
  SurfacePoints points = SampleSurface(Nose().surface, 300);
  const double sigma = 0.01;
  for (size_t i = 0; i < points.Size(); ++i) {
    points.weights[i] = 1 / sigma;
    if (i % 3 != 0) points.points[i] += 2 * sigma * points.normals[i];
  }
  const TriangleTree own(Nose().surface);
  EXPECT_NEAR(MeasureMisfit(points, own, Sim3()), 2, 0.2);
  const Sim3 larger(7, Eigen::Quaterniond::Identity(), {0, 0, 0});
  EXPECT_NEAR(MeasureMisfit(points, TriangleTree(PlaceSurface(Nose().surface, larger)), larger), 2, 0.2);
}

TEST(RegistrationJudge, PointsThatMissTheModelAreADoubt) {
  SurfacePoints measured = SampleSurface(Nose().surface, 400);
  SurfaceRegistrationOptions options;
  options.coarse_points = 200;
  options.fine_points = 2000;
  for (const bool exact : {false, true}) {
    for (double& weight : measured.weights) weight = exact ? 1e4 : 1;
    const SurfaceRegistration result =
        RegisterSurface(Nose().surface, Nose().model, Nose().truth, options, 2, {{}, false, measured});
    EXPECT_EQ(result.status, SurfaceRegistrationStatus::kRegistered);
    EXPECT_EQ(result.confident, !exact);
  }
}

TEST(RegistrationJudge, FromNothingPointsThatMissTheModelByFarAreNotRegistered) {
  SurfaceRegistration result;
  result.matched_share = 0.9;
  for (const auto& [misfit, guessed, registered] :
       {std::tuple(0.3, false, true), {0.8, false, true}, {2.0, false, false}, {2.0, true, true}}) {
    result.misfit = misfit;
    Judge({}, guessed, 3, 0.9, result);
    EXPECT_EQ(result.status == SurfaceRegistrationStatus::kRegistered, registered) << misfit;
  }
}

TEST(RegistrationJudge, PointsAndHalvesThatFitBadlyTogetherAreADoubt) {
  for (const auto& [misfit, discord, confident] :
       {std::tuple(0.57, 0.5, true), {0.2, 2.8, true}, {0.57, 2.8, false}, {0.42, 0.5, true}}) {
    SurfaceRegistration result;
    result.matched_share = 0.9;
    result.misfit = misfit;
    result.discord = discord;
    Judge({}, false, 3, 0.9, result);
    EXPECT_EQ(result.confident, confident) << misfit << " and " << discord;
    EXPECT_EQ(result.status, SurfaceRegistrationStatus::kRegistered);
  }
}

// A straight tube along z, seen from inside.
TriangleMesh Tube(float radius, float from, float to) {
  TriangleMesh mesh;
  constexpr int kAround = 48;
  const int rows = static_cast<int>(to - from) + 1;
  for (int r = 0; r < rows; ++r)
    for (int k = 0; k < kAround; ++k) {
      const float angle = 2 * static_cast<float>(M_PI) * static_cast<float>(k) / kAround;
      mesh.vertices.emplace_back(radius * std::cos(angle), radius * std::sin(angle),
                                 from + static_cast<float>(r));
    }
  for (int r = 0; r + 1 < rows; ++r)
    for (int k = 0; k < kAround; ++k) {
      const int a = r * kAround + k, b = r * kAround + (k + 1) % kAround;
      mesh.triangles.push_back({a, a + kAround, b});
      mesh.triangles.push_back({b, a + kAround, b + kAround});
    }
  return mesh;
}

TEST(Constraint, InAStraightTubeSlidingAndTurningAreFree) {
  const SurfaceRegistration result = RegisterSurface(Tube(10, -30, 30), Tube(10, -100, 100), Sim3(), {}, 2);
  EXPECT_EQ(result.status, SurfaceRegistrationStatus::kRegistered);
  EXPECT_FALSE(result.confident);
  ASSERT_EQ(result.constraints.size(), 7U);
  EXPECT_LT(result.constraints[1].visibility, 0.03);
  EXPECT_GT(result.constraints[2].visibility, 0.1);
  // The two free motions together: sliding along z and turning about it.
  double slide = 0, turn = 0;
  for (size_t i = 0; i < 2; ++i) {
    slide += std::pow(result.constraints[i].translation.z(), 2);
    turn += std::pow(result.constraints[i].rotation.z(), 2);
  }
  EXPECT_NEAR(slide, 1, 0.02);
  EXPECT_NEAR(turn, 1, 0.02);
  EXPECT_NEAR(result.model_from_surface.Scale(), 1, 0.01);
}

// What a motion does to points is what its linear form says, for a small one.
TEST(Constraint, AMotionMovesPointsAsItSays) {
  const Constraint motion{Vector3d(0.3, -0.2, 0.5), Vector3d(0.1, 0.7, -0.4), 0.6};
  const Vector3d centre(1, 2, 3), point(4, 1, -2);
  const double radius = 5, small = 1e-5;
  const Vector3d arm = (point - centre) / radius;
  const Vector3d told = motion.translation + motion.rotation.cross(arm) + motion.growth * arm;
  const Vector3d seen = (motion.Move(small, centre, radius) * point - point) / small;
  EXPECT_LT((seen - told).norm(), 1e-4);
  EXPECT_TRUE((motion.Move(0, centre, radius) * point).isApprox(point));
}

// Rings every 4 mm, and at one place a bulge, if there is any.
TriangleMesh RingedTube(float from, float to, float bulge) {
  TriangleMesh mesh;
  constexpr int kAround = 36;
  constexpr float kStep = 0.5F, kRing = 4;
  const int rows = static_cast<int>((to - from) / kStep) + 1;
  for (int r = 0; r < rows; ++r)
    for (int k = 0; k < kAround; ++k) {
      const float angle = 2 * static_cast<float>(M_PI) * static_cast<float>(k) / kAround;
      const float z = from + kStep * static_cast<float>(r);
      const float far = (z * z + 30 * angle * (2 * static_cast<float>(M_PI) - angle)) / 60;
      const float radius = 7 + 0.15F * std::cos(2 * static_cast<float>(M_PI) * z / kRing) +
                           0.8F * std::cos(angle) + bulge * std::exp(-far);
      mesh.vertices.emplace_back(radius * std::cos(angle), radius * std::sin(angle), z);
    }
  for (int r = 0; r + 1 < rows; ++r)
    for (int k = 0; k < kAround; ++k) {
      const int a = r * kAround + k, b = r * kAround + (k + 1) % kAround;
      mesh.triangles.push_back({a, a + kAround, b});
      mesh.triangles.push_back({b, a + kAround, b + kAround});
    }
  return mesh;
}

TEST(RegistrationJudge, ATubeOneRingFartherAlongIsADoubt) {
  const SurfaceRegistration alike =
      RegisterSurface(RingedTube(-20, 20, 0), RingedTube(-60, 60, 0), Sim3(), {}, 2);
  EXPECT_GT(alike.neighbour, 0);
  EXPECT_LT(alike.neighbour, 1.15);
  EXPECT_FALSE(alike.confident);
  const SurfaceRegistration told =
      RegisterSurface(RingedTube(-20, 20, 3), RingedTube(-60, 60, 3), Sim3(), {}, 2);
  EXPECT_TRUE(told.neighbour == 0 || told.neighbour > 1.15) << told.neighbour;
  EXPECT_TRUE(told.confident) << (told.doubts.empty() ? "" : told.doubts.front());
}

TEST(Constraint, MotionsHaveWords) {
  Constraint constraint{Vector3d(0, 0, 0.9), Vector3d(0.1, 0, 0), 0.2};
  EXPECT_EQ(constraint.Words(), "sliding along (0.00, 0.00, 1.00)");
  constraint.rotation = {0, 2, 0};
  EXPECT_EQ(constraint.Words(), "turning about (0.00, 1.00, 0.00)");
  constraint.growth = 3;
  EXPECT_EQ(constraint.Words(), "growing");
}

}  // namespace
}  // namespace lumen
