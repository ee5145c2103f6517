#include "lumen/graph/normal_block.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/graph/sample_factors_test.h"

namespace lumen {
namespace {

NormalBlock RandomBlock(const BlockLayout& layout, Random& random) {
  NormalBlock block(layout);
  const int dimension = layout.TotalDimension();
  const Eigen::MatrixXd J = Eigen::MatrixXd::NullaryExpr(4, dimension, [&] { return random.Normal(); });
  block.AddResidual(RandomVector(random, 4), J, 0.7);
  return block;
}

TEST(FactorNormalBlock, AddsResidualsAsHalfWeightedSquares) {
  Random random(1);
  const BlockLayout layout({PoseKey(0), LogScaleKey(0)}, std::vector<int>{6, 1});
  NormalBlock block(layout);
  const Eigen::MatrixXd J = Eigen::MatrixXd::NullaryExpr(3, 7, [&] { return random.Normal(); });
  const Eigen::VectorXd r = RandomVector(random, 3);
  block.AddResidual(r, J, 2.0);
  EXPECT_NEAR(block.error, r.squaredNorm(), 1e-15);
  EXPECT_LT((block.b - 2 * J.transpose() * r).norm(), 1e-14);
  EXPECT_LT((block.H - 2 * J.transpose() * J).norm(), 1e-13);
  EXPECT_EQ(block.count, 1);
  const Eigen::VectorXd d = RandomVector(random, 7);
  EXPECT_NEAR(block.PredictError(d), (r + J * d).squaredNorm(), 1e-12);
}

TEST(FactorNormalBlock, SumPutsEveryBlockInItsPlace) {
  Random random(2);
  const std::vector<Key> keys{PoseKey(0), PoseKey(1), CodeKey(0), LogScaleKey(0)};
  NormalBlock sum(BlockLayout(keys, std::vector<int>{6, 6, 4, 1}));
  const NormalBlock part =
      RandomBlock(BlockLayout({LogScaleKey(0), PoseKey(1)}, std::vector<int>{1, 6}), random);
  const NormalBlock whole = RandomBlock(sum.layout, random);
  sum += part;
  sum += whole;
  EXPECT_NEAR(sum.error, part.error + whole.error, 1e-15);
  EXPECT_EQ(sum.count, 2);
  const auto H = [&](const NormalBlock& block, Key a, Key b) { return block.Hessian(a, b); };
  EXPECT_LT((H(sum, PoseKey(1), LogScaleKey(0)) - H(part, PoseKey(1), LogScaleKey(0)) -
             H(whole, PoseKey(1), LogScaleKey(0)))
                .norm(),
            1e-14);
  EXPECT_LT((sum.Gradient(PoseKey(1)) - part.Gradient(PoseKey(1)) - whole.Gradient(PoseKey(1))).norm(),
            1e-14);
  EXPECT_LT((H(sum, PoseKey(0), CodeKey(0)) - H(whole, PoseKey(0), CodeKey(0))).norm(), 1e-15);
  EXPECT_LT((sum.H - sum.H.transpose()).norm(), 1e-14);
}

TEST(FactorNormalBlock, ForeignKeysBreakTheContract) {
  Random random(3);
  NormalBlock block(BlockLayout({PoseKey(0)}, std::vector<int>{6}));
  EXPECT_THROW(block += RandomBlock(BlockLayout({PoseKey(1)}, std::vector<int>{6}), random), ContractError);
  EXPECT_THROW(block.Gradient(CodeKey(0)), ContractError);
  EXPECT_THROW(block.Hessian(PoseKey(0), CodeKey(0)), ContractError);
}

}  // namespace
}  // namespace lumen
