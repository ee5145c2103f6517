#include "lumen/surface/surface_registration.h"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>

#include "lumen/base/random.h"
#include "lumen/surface/mesh_tools.h"
#include "lumen/surface/registration_world_test.h"

namespace lumen {
namespace {

using Eigen::Vector3d;
using Eigen::Vector3f;

Vector3d RandomUnit(Random& random) {
  const double x = random.Normal(), y = random.Normal(), z = random.Normal();
  return Vector3d(x, y, z).normalized();
}

// Off by exactly so much, about the surface's centre.
Sim3 Disturb(const World& world, double degrees, double distance, double scale, Random& random) {
  const Sim3 to(1, Eigen::Quaterniond::Identity(),
                world.truth * ComputeCentre(SampleSurface(world.surface, 500)));
  const Vector3d turn = RandomUnit(random) * degrees * M_PI / 180;
  const Vector3d move = RandomUnit(random) * distance;
  return to * Sim3(scale, ExpSO3(turn), move) * to.Inverse() * world.truth;
}

TEST(SurfaceRegistration, FindsTheAnatomyFromNothing) {
  const SurfaceRegistration result = RegisterSurface(Nose().surface, Nose().model, std::nullopt, {}, 2);
  ASSERT_EQ(result.status, SurfaceRegistrationStatus::kRegistered);
  EXPECT_TRUE(result.confident);
  EXPECT_LT(Nose().CameraError(result.model_from_surface), 0.5);
  EXPECT_NEAR(result.model_from_surface.Scale() / Nose().truth.Scale(), 1, 0.01);
  EXPECT_LT(result.residual_mean, 0.1);
  EXPECT_GT(result.matched_share, 0.95);
}

TEST(SurfaceRegistration, CorrectsARoughGuess) {
  Random random(5);
  for (const double scale : {1.3, 1 / 1.3}) {
    const Sim3 guess = Disturb(Nose(), 20, 15, scale, random);
    const SurfaceRegistration result = RegisterSurface(Nose().surface, Nose().model, guess, {}, 2);
    EXPECT_EQ(result.status, SurfaceRegistrationStatus::kRegistered);
    EXPECT_LT(Nose().CameraError(result.model_from_surface), 0.5);
  }
}

// Noise on every vertex, and a fifth of the surface in patches that lie millimetres off, as where depth was
// wrong.
TriangleMesh MakeDirty(TriangleMesh mesh, double unit, Random& random) {
  const std::vector<Vector3f> clean = mesh.vertices;
  std::vector<char> moved(clean.size(), 0);
  size_t count = 0;
  while (5 * count < clean.size()) {
    const auto seed = random.UniformInt(0, static_cast<int64_t>(clean.size()) - 1);
    const Vector3f middle = clean[static_cast<size_t>(seed)];
    const double off = random.Uniform(3, 8) * unit;
    const Vector3f shift = (RandomUnit(random) * off).cast<float>();
    for (size_t i = 0; i < moved.size(); ++i) {
      if (moved[i] != 0 || (clean[i] - middle).norm() > static_cast<float>(3 * unit)) continue;
      mesh.vertices[i] += shift;
      moved[i] = 1;
      ++count;
    }
  }
  for (Vector3f& vertex : mesh.vertices) {
    const double noise = 0.1 * std::abs(random.Normal()) * unit;
    vertex += (RandomUnit(random) * noise).cast<float>();
  }
  return mesh;
}

TEST(SurfaceRegistration, BearsNoiseAndOutliers) {
  SurfaceRegistrationOptions options;
  options.least_matched = 0.4;  // the patches' torn rims are much of the area
  constexpr int kTrials = 4;
  double sum = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    Random random(static_cast<uint64_t>(6 + trial));
    const TriangleMesh dirty = MakeDirty(Nose().surface, 1 / Nose().truth.Scale(), random);
    const SurfaceRegistration result =
        RegisterSurface(dirty, Nose().model, Disturb(Nose(), 10, 5, 1.15, random), options, 2);
    EXPECT_EQ(result.status, SurfaceRegistrationStatus::kRegistered);
    const double error = Nose().CameraError(result.model_from_surface);
    EXPECT_LT(error, 1);
    sum += error;
  }
  EXPECT_LT(sum / kTrials, 0.5);
}

// Where patches that are wrong lie near the camera the last fit must not follow them, whichever they are: the
// rest of the surface says how exact it is.
TEST(SurfaceRegistration, TheLastFitDoesNotFollowWrongPatches) {
  SurfaceRegistrationOptions options;
  options.least_matched = 0.4;
  for (const uint64_t seed : {6, 17}) {
    Random random(seed);
    const TriangleMesh dirty = MakeDirty(Nose().surface, 1 / Nose().truth.Scale(), random);
    const SurfaceRegistration result = RegisterSurface(dirty, Nose().model, Nose().truth, options, 2);
    EXPECT_EQ(result.status, SurfaceRegistrationStatus::kRegistered);
    EXPECT_LT(Nose().CameraError(result.model_from_surface), 0.4);
  }
}

// Of the surface only 40 % has a counterpart: the model ends before it.
TEST(SurfaceRegistration, BearsAModelThatHoldsOnlyTwoFifths) {
  std::vector<float> along;
  const SurfacePoints points = SampleSurface(Nose().surface, 2000);
  for (const Vector3d& p : points.points) along.push_back(static_cast<float>((Nose().truth * p).z()));
  std::nth_element(along.begin(), along.begin() + 800, along.end());
  TriangleMesh cut = Nose().model;
  std::erase_if(cut.triangles,
                [&](const auto& t) { return cut.vertices[static_cast<size_t>(t[0])].z() > along[800]; });
  TriangleMesh plain = Nose().surface;
  plain.attributes.clear();  // without confidence the matched share is one of the area
  Random random(8);
  SurfaceRegistrationOptions options;
  options.least_matched = 0.3;
  const SurfaceRegistration result =
      RegisterSurface(plain, cut, Disturb(Nose(), 10, 5, 1.1, random), options, 2);
  EXPECT_EQ(result.status, SurfaceRegistrationStatus::kRegistered);
  EXPECT_NEAR(result.matched_share, 0.4, 0.1);
  EXPECT_LT(Nose().CameraError(result.model_from_surface), 1);
}

// A map whose scale grows by a sixth from one end to the other, as a monocular map's may. The shape alone
// would have a similarity slide; with the drift taken out the surface lies where it belongs.
TEST(SurfaceRegistration, TakesOutTheDriftOfTheScale) {
  Random random(11);
  const SurfacePoints points = SampleSurface(Nose().surface, 2000);
  const Vector3d centre = ComputeCentre(points);
  Vector3d along = Vector3d::Zero();
  for (const Vector3d& p : points.points) along += (p - centre).x() * (p - centre);
  const Vector3d drift = 0.1 / ComputeRadius(points) * along.normalized();
  const DriftingSimilarity bend(Sim3(), centre, drift);
  TriangleMesh bent = Nose().surface;
  bent.attributes.clear();  // of what it was seen from too: each place drifts where it lies
  bent = PlaceSurface(std::move(bent), bend);
  // How far the surface's points are from where they were seen.
  const auto error = [&](const SurfaceRegistration& result) {
    double sum = 0;
    for (const Vector3d& p : points.points)
      sum += (result.placement * (bend * p) - Nose().truth * p).norm() / static_cast<double>(points.Size());
    return sum;
  };
  const Sim3 guess = Disturb(Nose(), 10, 5, 1.1, random);
  const SurfaceRegistration result = RegisterSurface(bent, Nose().model, guess, {}, 2);
  EXPECT_LT(error(result), 0.15);
  EXPECT_LT(result.residual_mean, 0.1);
  EXPECT_GT(result.most_scale / result.least_scale, 1.2);
  EXPECT_GT(result.similarity_residual_mean, 2 * result.residual_mean);
  // Of all points, whatever is left in it: no smaller than what is picked.
  EXPECT_GE(result.all_residual_mean, result.residual_mean);
  EXPECT_LT(result.all_residual_mean, 5);
  SurfaceRegistrationOptions rigid;
  rigid.drift = 0;
  const SurfaceRegistration without = RegisterSurface(bent, Nose().model, guess, rigid, 2);
  EXPECT_GT(error(without), 3 * error(result));
  EXPECT_EQ(without.least_scale, without.most_scale);
}

// The same map as SLAM makes it: each view in the scale of its own place. What lies ahead of the last camera
// is in that camera's scale, however far away.
TEST(SurfaceRegistration, TakesOutTheDriftOfEachView) {
  const World& nose = Nose();
  const Sim3 map_from_world = nose.truth.Inverse();
  std::vector<Vector3d> places;
  for (int i = 0; i < nose.sequence.Size(); ++i)
    places.push_back(map_from_world * nose.sequence.Pose(i).Translation());
  const Vector3d centre = ComputeCentre(places);
  Vector3d farthest = Vector3d::Zero();
  for (const Vector3d& place : places)
    if ((place - centre).norm() > farthest.norm()) farthest = place - centre;
  // A tenth more at the farthest camera.
  const DriftingSimilarity bend(Sim3(), centre, 0.1 / farthest.squaredNorm() * farthest);
  ViewList views = TrueViews(nose.sequence, 6, map_from_world);
  views.load = [&bend, straight = views.load](int i) {
    DepthView view = straight(i);
    const double scale = bend.ScaleAt(view.world_from_camera.Translation());
    for (size_t k = 0; k < view.depth.Size(); ++k) view.depth.Data()[k] *= static_cast<float>(scale);
    view.world_from_camera =
        bend.At(view.world_from_camera.Translation()).TransformPose(view.world_from_camera);
    return view;
  };
  const TriangleMesh drifted = FuseViews(views, {}, 2).mesh;
  TriangleMesh plain = drifted;
  std::erase_if(plain.attributes, [](const VertexAttribute& a) { return a.name.starts_with("seen_from"); });
  const auto camera_error = [&](const SurfaceRegistration& result) {
    double sum = 0;
    for (size_t i = 0; i < places.size(); ++i)
      sum += (result.placement * (bend * places[i]) - nose.truth * places[i]).norm();
    return sum / static_cast<double>(places.size());
  };
  const SurfaceRegistration seen = RegisterSurface(drifted, nose.model, nose.truth, {}, 2);
  const SurfaceRegistration unseen = RegisterSurface(plain, nose.model, nose.truth, {}, 2);
  EXPECT_LT(camera_error(seen), 0.5);
  EXPECT_LT(camera_error(seen), 0.5 * camera_error(unseen));
  EXPECT_LT(seen.residual_mean, unseen.residual_mean);
}

// As a network's depth is: off alike in all views, the more the farther a thing lies to one side.
TriangleMesh StretchDepth(TriangleMesh mesh) {
  const std::vector<Vector3d> seen_from = SeenFrom(mesh);
  const Vector3d centre = ComputeCentre(seen_from);
  const double radius = ComputeRadius(SampleSurface(mesh, 500));
  for (size_t i = 0; i < mesh.vertices.size(); ++i) {
    const Vector3d x = mesh.vertices[i].cast<double>();
    const double factor = 1 + 0.15 * std::clamp((x - centre).x() / radius, -1.0, 1.0);
    mesh.vertices[i] = (seen_from[i] + factor * (x - seen_from[i])).cast<float>();
  }
  return mesh;
}

TEST(SurfaceRegistration, MeasuredPointsHaveTheLastWord) {
  const TriangleMesh stretched = StretchDepth(Nose().surface);
  const SurfacePoints measured = SampleSurface(Nose().surface, 1000);
  SurfaceRegistrationOptions options;
  options.coarse_points = 200;
  options.fine_points = 2000;
  const auto error = [&](const SurfacePoints& points) {
    const SurfaceRegistration result =
        RegisterSurface(stretched, Nose().model, Nose().truth, options, 2, {{}, false, points});
    EXPECT_EQ(result.status, SurfaceRegistrationStatus::kRegistered);
    return Nose().CameraError(result.model_from_surface);
  };
  const double without = error({});
  EXPECT_GT(without, 0.3);
  EXPECT_LT(error(measured), 0.1);
  // A handful of them, or all in one corner, know less than the surface.
  EXPECT_EQ(error(SampleSurface(Nose().surface, 100)), without);
  SurfacePoints corner = measured;
  for (Vector3d& x : corner.points) x = corner.points[0] + 0.1 * (x - corner.points[0]);
  EXPECT_EQ(error(corner), without);
}

TEST(SurfaceRegistration, APlacedSurfaceStillKnowsWhatItWasSeenFrom) {
  const DriftingSimilarity map(Sim3(2, ExpSO3({0.1, 0.2, 0.3}), {1, 2, 3}), {0, 0, 0}, {0.1, 0, 0});
  TriangleMesh mesh;
  mesh.vertices = {{1, 2, 3}};
  mesh.normals = {{0, 0, 1}};
  mesh.attributes = {{"confidence", {0.5F}}, {kSeenFrom[0], {1}}, {kSeenFrom[1], {1}}, {kSeenFrom[2], {0}}};
  const TriangleMesh placed = PlaceSurface(mesh, map);
  const Vector3d camera(1, 1, 0);
  const Sim3 there = map.At(camera);
  EXPECT_LT((placed.vertices[0].cast<double>() - there * Vector3d(1, 2, 3)).norm(), 1e-5);
  EXPECT_LT((placed.normals[0].cast<double>() - there.Rotation() * Vector3d(0, 0, 1)).norm(), 1e-5);
  EXPECT_LT((SeenFrom(placed)[0] - map * camera).norm(), 1e-5);
  EXPECT_EQ(placed.attributes[0].values[0], 0.5F);
  // Without it, or with a part of it, each vertex is placed where it lies.
  mesh.attributes.pop_back();
  EXPECT_LT((PlaceSurface(mesh, map).vertices[0].cast<double>() - map * Vector3d(1, 2, 3)).norm(), 1e-5);
  mesh.attributes.clear();
  EXPECT_LT((PlaceSurface(mesh, map).vertices[0].cast<double>() - map * Vector3d(1, 2, 3)).norm(), 1e-5);
}

// Along a tube a step of the last fit is short: it must go on until it rests, from a start that is off along
// the tube as from the truth.
TEST(SurfaceRegistration, ASlideAlongATubeIsUndone) {
  const World& airway = Airway();
  const SurfacePoints points = SampleSurface(airway.surface, 2000);
  Eigen::Matrix3d spread = Eigen::Matrix3d::Zero();
  const Vector3d centre = ComputeCentre(points);
  for (const Vector3d& p : points.points) spread += (p - centre) * (p - centre).transpose();
  const Vector3d along =
      airway.truth.Rotation() * Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d>(spread).eigenvectors().col(2);
  const Sim3 slid = Sim3(1, Eigen::Quaterniond::Identity(), 4 * along) * airway.truth;
  const SurfaceRegistration result = RegisterSurface(airway.surface, airway.model, slid, {}, 2);
  EXPECT_LT(airway.CameraError(result.model_from_surface), 0.3);
}

TEST(SurfaceRegistration, AModelThatFacesTheTissueIsTurnedInsideOut) {
  Random random(9);
  const SurfaceRegistration result = RegisterSurface(Nose().surface, FlipTriangles(Nose().model),
                                                     Disturb(Nose(), 10, 5, 1.1, random), {}, 2);
  ASSERT_EQ(result.status, SurfaceRegistrationStatus::kRegistered);
  EXPECT_LT(Nose().CameraError(result.model_from_surface), 0.5);
}

// What others wrote into a mesh's attributes must not break anything.
TEST(SurfaceRegistration, AttributesThatMakeNoSenseAreLeftOut) {
  TriangleMesh plain = Nose().surface;
  plain.attributes.clear();
  const double by_shape =
      Nose().CameraError(RegisterSurface(plain, Nose().model, Nose().truth, {}, 2).model_from_surface);
  TriangleMesh odd = Nose().surface;
  std::fill(odd.attributes[0].values.begin(), odd.attributes[0].values.end(), -1.0F);
  odd.attributes[3].values[7] = std::numeric_limits<float>::quiet_NaN();
  const SurfaceRegistration result = RegisterSurface(odd, Nose().model, Nose().truth, {}, 2);
  EXPECT_EQ(result.status, SurfaceRegistrationStatus::kRegistered);
  EXPECT_NEAR(Nose().CameraError(result.model_from_surface), by_shape, 1e-9);
  EXPECT_FALSE(result.discord.has_value());
  TriangleMesh some = Nose().surface;  // of its confidence only a half makes sense
  for (size_t i = 0; i < some.vertices.size(); i += 2)
    some.attributes[0].values[i] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(RegisterSurface(some, Nose().model, Nose().truth, {}, 2).status,
            SurfaceRegistrationStatus::kRegistered);
}

TEST(MeshTools, ASurfaceThatWasMovedFacesAwayFromWhereItWasSeen) {
  TriangleMesh mesh = Nose().surface;
  EXPECT_GT(ComputeFacingShare(mesh), 0.97);
  for (Vector3f& vertex : mesh.vertices) vertex = {-vertex.x(), -vertex.y(), vertex.z()};
  EXPECT_LT(ComputeFacingShare(mesh), 0.7);
  mesh.attributes.clear();
  EXPECT_EQ(ComputeFacingShare(mesh), 1);
}

TEST(SurfaceRegistration, HardlyAnyTrianglesAreTooFew) {
  TriangleMesh one;
  one.vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  one.triangles = {{0, 1, 2}};
  TriangleMesh line;
  for (int i = 0; i < 40; ++i) {
    line.vertices.push_back(0.3F * static_cast<float>(i) * Vector3f(1, 2, 3));
    if (i >= 2) line.triangles.push_back({i - 2, i - 1, i});
  }
  for (const TriangleMesh& mesh : {TriangleMesh{}, one, line}) {
    EXPECT_EQ(RegisterSurface(mesh, Nose().model, {}, {}, 1).status, SurfaceRegistrationStatus::kTooSmall);
    EXPECT_EQ(RegisterSurface(Nose().surface, mesh, {}, {}, 1).status, SurfaceRegistrationStatus::kTooSmall);
  }
}

}  // namespace
}  // namespace lumen
