// Against the plain twin: every entry of the map is moved a little by itself, the path aligned as ATE does,
// and what that does to each keyframe multiplied with the dense covariance.
#include "lumen/slam/map_certainty.h"

#include <gtest/gtest.h>

#include "lumen/geometry/alignment.h"
#include "lumen/graph/random_graph_test.h"

namespace lumen {
namespace {

constexpr CertaintyOptions kAsTheSmoother{
    .across = 1, .along = 1, .turn = 1, .step_turn = 1, .drift = 0, .bend = 0};

struct WholeMap {
  SmoothedMap run;
  std::vector<WeightedKeyframe> keyframes;
  std::vector<Key> keys;

  explicit WholeMap(uint64_t seed, int size = 12) : run(seed, Exact()) {
    for (int i = 0; i < size; ++i) run.Apply(run.graph.Grow());
    Converge(run.smoother);
    for (const Key& key : run.smoother.Estimate().Keys()) {
      keys.push_back(key);
      keyframes.push_back({key.id, 1.0 + static_cast<double>(key.id % 3)});
    }
  }
  std::vector<Sim3> Places() const {
    std::vector<Sim3> places;
    for (const Key& key : keys) places.push_back(run.smoother.Estimate().Keyframe(key).world_from_keyframe);
    return places;
  }
};

std::vector<Sim3> Aligned(const std::vector<Sim3>& moved, const std::vector<Sim3>& onto,
                          const std::vector<WeightedKeyframe>& keyframes) {
  std::vector<Eigen::Vector3d> a, b;
  std::vector<double> weights;
  for (size_t i = 0; i < moved.size(); ++i) {
    a.push_back(moved[i].Translation());
    b.push_back(onto[i].Translation());
    weights.push_back(keyframes[i].weight);
  }
  const Sim3 best = *EstimateAlignment(a, b, {}, weights);
  std::vector<Sim3> aligned;
  for (const Sim3& place : moved) aligned.push_back(best * place);
  return aligned;
}

// How far a place is from another, in that one's frame and the map's unit.
Vector7d Off(const Sim3& place, const Sim3& from) {
  Vector7d off;
  off << from.Rotation().inverse() * (place.Translation() - from.Translation()),
      Rigid3(from.Rotation().inverse() * place.Rotation(), Eigen::Vector3d::Zero()).Log().tail<3>(),
      std::log(place.Scale() / from.Scale());
  return off;
}

// One as it is seen from another, in the map's unit.
Sim3 SeenFrom(const Sim3& from, const Sim3& to) {
  return Sim3(to.Scale() / from.Scale(), from.Rotation().inverse() * to.Rotation(),
              from.Rotation().inverse() * (to.Translation() - from.Translation()));
}

// All but the scale, of which the smoother is not asked.
Matrix6d Six(const Matrix7d& covariance) { return covariance.topLeftCorner<6, 6>(); }

// d Measure(places) / d tangents, by central differences.
Eigen::MatrixXd Differentiate(const WholeMap& map,
                              const std::function<Eigen::VectorXd(const std::vector<Sim3>&)>& measure) {
  constexpr double kStep = 1e-5;
  const std::vector<Sim3> places = map.Places();
  Eigen::MatrixXd jacobian(measure(places).size(), static_cast<Eigen::Index>(7 * places.size()));
  for (Eigen::Index column = 0; column < jacobian.cols(); ++column) {
    const auto moved = [&](double step) {
      std::vector<Sim3> at = places;
      Vector7d tangent = Vector7d::Zero();
      tangent[column % 7] = step;
      Sim3& one = at[static_cast<size_t>(column / 7)];
      one = one * Sim3::Exp(tangent);
      return measure(Aligned(at, places, map.keyframes));
    };
    jacobian.col(column) = (moved(kStep) - moved(-kStep)) / (2 * kStep);
  }
  return jacobian;
}

TEST(MapCertainty, IsTheSmoothersAfterThePathWasAligned) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const WholeMap map(seed);
    const MapCertainty certainty = MeasureCertainty(map.run.smoother, map.keyframes, kAsTheSmoother, 2);
    const Eigen::MatrixXd joint = map.run.smoother.JointCovariance(map.keys, 7);
    const std::vector<Sim3> places = map.Places();
    const Eigen::MatrixXd jacobian = Differentiate(map, [&](const std::vector<Sim3>& at) {
      Eigen::VectorXd off(static_cast<Eigen::Index>(7 * at.size()));
      for (size_t i = 0; i < at.size(); ++i)
        off.segment<7>(static_cast<Eigen::Index>(7 * i)) = Off(at[i], places[i]);
      return off;
    });
    const Eigen::MatrixXd expected = jacobian * joint * jacobian.transpose();
    ASSERT_EQ(certainty.keyframes.size(), map.keys.size());
    for (size_t i = 0; i < map.keys.size(); ++i) {
      const auto at = static_cast<Eigen::Index>(7 * i);
      const Matrix6d block = expected.block<6, 6>(at, at);
      EXPECT_LT((Six(certainty.keyframes.at(map.keys[i].id)) - block).norm(), 1e-5 * block.norm())
          << seed << " " << i;
    }
  }
}

TEST(MapCertainty, OfOneKeyframeSeenFromAnother) {
  const WholeMap map(3, 30);  // more than one window
  const MapCertainty certainty = MeasureCertainty(map.run.smoother, map.keyframes, kAsTheSmoother, 2);
  const Eigen::MatrixXd joint = map.run.smoother.JointCovariance(map.keys, 7);
  const std::vector<Sim3> places = map.Places();
  ASSERT_EQ(certainty.steps.size(), map.keys.size() - 7);
  for (size_t i = 0; i < certainty.steps.size(); ++i) {
    EXPECT_EQ(certainty.steps[i].from, map.keys[i].id);
    EXPECT_EQ(certainty.steps[i].to, map.keys[i + 7].id);
    const Sim3 step = SeenFrom(places[i], places[i + 7]);
    const Eigen::MatrixXd jacobian = Differentiate(map, [&](const std::vector<Sim3>& at) {
      // The position along the first one's axes, the turn about the second one's.
      const Sim3 seen = SeenFrom(at[i], at[i + 7]);
      Eigen::VectorXd off = Off(seen, step);
      off.head<3>() = seen.Translation() - step.Translation();
      return off;
    });
    const Matrix6d expected = Six(jacobian * joint * jacobian.transpose());
    EXPECT_LT((Six(certainty.steps[i].covariance) - expected).norm(), 1e-5 * expected.norm()) << i;
  }
}

// The numbers of the model do what their names say.
TEST(MapCertainty, IsCarriedOverToWhatErrorsAre) {
  const WholeMap map(4);
  const MapCertainty plain = MeasureCertainty(map.run.smoother, map.keyframes, kAsTheSmoother, 1);
  CertaintyOptions options = kAsTheSmoother;
  options.across = 3;
  options.along = 5;
  options.turn = 7;
  const MapCertainty scaled = MeasureCertainty(map.run.smoother, map.keyframes, options, 1);
  options = kAsTheSmoother;
  options.bend = 0.1;
  const MapCertainty bent = MeasureCertainty(map.run.smoother, map.keyframes, options, 1);
  for (const auto& [id, covariance] : plain.keyframes) {
    const Matrix7d& times = scaled.keyframes.at(id);
    EXPECT_NEAR(times(0, 0), 9 * covariance(0, 0), 1e-9 * times(0, 0));
    EXPECT_NEAR(times(2, 2), 25 * covariance(2, 2), 1e-9 * times(2, 2));
    EXPECT_NEAR(times(4, 4), 49 * covariance(4, 4), 1e-9 * times(4, 4));
    EXPECT_GT(bent.keyframes.at(id)(0, 0), covariance(0, 0));
    EXPECT_EQ(bent.keyframes.at(id)(4, 4), covariance(4, 4));
  }
}

// What hangs on a keyframe moves with it, and the more the farther away it is.
TEST(MapCertainty, IsCarriedAlongByFrames) {
  PlaceCovariance keyframe = PlaceCovariance::Zero();
  keyframe(4, 4) = 0.01 * 0.01;  // it may be turned about its y
  keyframe(6, 6) = 0.02 * 0.02;
  const Rigid3 ahead(Eigen::Quaterniond(Eigen::AngleAxisd(std::numbers::pi / 2, Eigen::Vector3d::UnitZ())),
                     {0, 0, 2});
  const PlaceCovariance frame = CarryCovariance(keyframe, ahead);
  EXPECT_NEAR(frame(1, 1), 0.02 * 0.02, 1e-12) << "to the side, which is its own -y";
  EXPECT_NEAR(frame(2, 2), 0.04 * 0.04, 1e-12) << "ahead, by the scale";
  EXPECT_NEAR(frame(3, 3), 0.01 * 0.01, 1e-12);
  EXPECT_NEAR(frame(4, 4), 0, 1e-12);
}

}  // namespace
}  // namespace lumen
