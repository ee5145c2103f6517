#include "lumen/slam/point_book.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lumen {
namespace {

// Keyframes beside each other before a patterned wall.
MapKeyframe Beside(double x) {
  auto frame = std::make_shared<Frame>();
  frame->view = MakeView(Camera(PinholeCamera{125, 125, 79.5, 63.5}, 160, 128), Mask(160, 128, 1, 255), 2);
  RgbImage fine(320, 256, 3);
  for (int v = 0; v < 256; ++v) {
    for (int u = 0; u < 320; ++u) {
      const double wall_x = u + 125 * x, wall_y = v;  // depth 2, 250 pixels of focal length
      const auto grey = static_cast<uint8_t>(110 + 25 * std::sin(0.27 * wall_x + 2 * std::sin(0.1 * wall_y)) +
                                             25 * std::sin(0.25 * wall_y - 2.4 * std::sin(0.09 * wall_x)));
      for (int c = 0; c < 3; ++c) fine(u, v, c) = grey;
    }
  }
  const Mask mask = frame->view->mask;
  MapKeyframe keyframe;
  keyframe.keyframe = std::make_shared<const Keyframe>(Keyframe{
      frame, MakeDepthBasis(Image<float>(80, 64, 1, 2.0F), Image<float>(80, 64, 2, 0.1F), mask), fine});
  keyframe.state.world_from_camera = Rigid3(Eigen::Quaterniond::Identity(), {x, 0, 0});
  keyframe.state.code = Eigen::VectorXd::Zero(2);
  return keyframe;
}

struct Row {
  Row() {
    for (KeyframeId id = 0; id < 3; ++id) {
      keyframes.push_back(Beside(0.05 * static_cast<double>(id)));
      book.Add(id, *keyframes.back().keyframe, 2);
      values.Insert(KeyframeKey(id), MakeKeyframeValue(keyframes.back().state.world_from_camera, 0,
                                                       Eigen::VectorXd::Zero(2), 2));
    }
  }
  void Connect(KeyframeId a, KeyframeId b) {
    book.Connect(a, keyframes[static_cast<size_t>(a)], b, keyframes[static_cast<size_t>(b)]);
  }
  PointBook book{PointMapOptions{}};
  std::vector<MapKeyframe> keyframes;
  Values values;
};

TEST(PointBookTest, MakesOneFactorOfAKeyframesPoints) {
  Row row;
  EXPECT_TRUE(row.book.TakeChanged().empty());
  row.Connect(0, 1);
  EXPECT_EQ(row.book.TakeChanged(), (std::vector<KeyframeId>{0, 1}));
  row.Connect(0, 2);
  EXPECT_EQ(row.book.TakeChanged(), (std::vector<KeyframeId>{0, 2}));
  const FactorPtr factor = row.book.MakeFactor(0);
  ASSERT_TRUE(factor);
  EXPECT_EQ(factor->Keys(), (std::vector<Key>{KeyframeKey(1), KeyframeKey(2), KeyframeKey(0)}));
  // What was seen is where it is: moving a keyframe by a thousandth of the depth is worse.
  const double error = factor->Error(row.values);
  Values moved = row.values;
  Eigen::VectorXd d = Eigen::VectorXd::Zero(9);
  d[1] = 5e-3;
  moved.Set(KeyframeKey(1), Retract(row.values.At(KeyframeKey(1)), d));
  EXPECT_LT(4 * error, factor->Error(moved));
}

TEST(PointBookTest, ForgetsWhatIsCutOffOrGone) {
  Row row;
  row.Connect(0, 1);
  row.Connect(1, 2);
  row.book.TakeChanged();
  row.book.Disconnect(0, 1);
  EXPECT_EQ(row.book.TakeChanged(), (std::vector<KeyframeId>{0, 1}));
  EXPECT_FALSE(row.book.MakeFactor(0));
  EXPECT_EQ(row.book.MakeFactor(1)->Keys(), (std::vector<Key>{KeyframeKey(2), KeyframeKey(1)}));
  row.book.Remove(2);
  EXPECT_EQ(row.book.TakeChanged(), (std::vector<KeyframeId>{1}));
  EXPECT_FALSE(row.book.MakeFactor(1));
  EXPECT_EQ(row.book.NumSightings(), 0U);
  row.book.Disconnect(0, 7);  // never there
}

TEST(PointBookTest, KeepsNothingOfFramesWithoutAFinePicture) {
  Row row;
  MapKeyframe plain = Beside(0.1);
  plain.keyframe = std::make_shared<const Keyframe>(Keyframe{plain.keyframe->frame, plain.keyframe->depth});
  row.book.Add(3, *plain.keyframe, 2);
  row.book.Connect(0, row.keyframes[0], 3, plain);
  EXPECT_TRUE(row.book.TakeChanged().empty());
}

}  // namespace
}  // namespace lumen
