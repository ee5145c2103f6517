// Small factors for the tests and benchmarks of the solvers.
#pragma once

#include "lumen/base/random.h"
#include "lumen/graph/factor.h"

namespace lumen {

inline Vector6d RandomTangent(Random& random, double scale) {
  Vector6d tangent;
  for (int i = 0; i < 6; ++i) tangent[i] = random.Normal(0, scale);
  return tangent;
}

inline Eigen::VectorXd RandomVector(Random& random, int size, double scale = 1) {
  Eigen::VectorXd vector(size);
  for (int i = 0; i < size; ++i) vector[i] = random.Normal(0, scale);
  return vector;
}

// Local(measured, T): keeps a pose.
class AnchorFactor : public ResidualFactor {
 public:
  AnchorFactor(Key key, Rigid3 measured, double weight = 1)
      : ResidualFactor({key}), measured_(measured), weight_(weight) {}

 protected:
  Eigen::VectorXd Residual(const Values& values, Eigen::MatrixXd* jacobian) const override {
    const Vector6d residual = measured_.Local(values.Pose(Keys()[0]));
    if (jacobian != nullptr) *jacobian = weight_ * InverseLeftJacobian(residual);
    return weight_ * residual;
  }

 public:
  // d Log(Exp(d) T) by d, numerically exact enough for a test's factor.
  static Matrix6d InverseLeftJacobian(const Vector6d& x) {
    Matrix6d jacobian;
    const Rigid3 transform = Rigid3::Exp(x);
    for (int i = 0; i < 6; ++i) {
      const Vector6d d = 1e-5 * Vector6d::Unit(i);
      jacobian.col(i) = (transform.Retract(d).Log() - transform.Retract(-d).Log()) / 2e-5;
    }
    return jacobian;
  }

 private:
  Rigid3 measured_;
  double weight_;
};

// Log(measured⁻¹ · b⁻¹ a): a relative pose.
class BetweenFactor : public ResidualFactor {
 public:
  BetweenFactor(Key a, Key b, Rigid3 b_from_a, double weight = 1)
      : ResidualFactor({a, b}), b_from_a_(b_from_a), weight_(weight) {}

 protected:
  Eigen::VectorXd Residual(const Values& values, Eigen::MatrixXd* jacobian) const override {
    const Rigid3 b_from_world = values.Pose(Keys()[1]).Inverse();
    const Rigid3 left = b_from_a_.Inverse() * b_from_world;
    const Vector6d residual = (left * values.Pose(Keys()[0])).Log();
    if (jacobian != nullptr) {
      const Matrix6d by_a = weight_ * AnchorFactor::InverseLeftJacobian(residual) * left.Adjoint();
      jacobian->resize(6, 12);
      *jacobian << by_a, -by_a;
    }
    return weight_ * residual;
  }

 private:
  Rigid3 b_from_a_;
  double weight_;
};

// A x - c over the vectors or scalars of its keys, slightly bent so that relinearisation matters.
class BentFactor : public ResidualFactor {
 public:
  BentFactor(std::vector<Key> keys, const Values& truth, Random& random, double bend = 0.05)
      : ResidualFactor(std::move(keys)), layout_(Keys(), truth), bend_(bend) {
    const int dimension = layout_.TotalDimension();
    A_ = Eigen::MatrixXd::NullaryExpr(dimension, dimension, [&] { return random.Normal(); });
    A_ += 2 * Eigen::MatrixXd::Identity(dimension, dimension);
    c_.setZero(dimension);
    c_ = Residual(truth, nullptr) + RandomVector(random, dimension, 0.02);
  }

 protected:
  Eigen::VectorXd Residual(const Values& values, Eigen::MatrixXd* jacobian) const override {
    Eigen::VectorXd x(layout_.TotalDimension());
    for (int i = 0; i < layout_.Size(); ++i) {
      const Value& value = values.At(Keys()[static_cast<size_t>(i)]);
      if (const auto* scalar = std::get_if<double>(&value)) {
        x[layout_.Offset(i)] = *scalar;
      } else {
        x.segment(layout_.Offset(i), layout_.Dimension(i)) = std::get<Eigen::VectorXd>(value);
      }
    }
    if (jacobian != nullptr) {
      const Eigen::VectorXd slope = 1.0 + bend_ * x.array().cos();
      *jacobian = A_ * slope.asDiagonal();
    }
    return A_ * (x.array() + bend_ * x.array().sin()).matrix() - c_;
  }

 private:
  BlockLayout layout_;
  double bend_;
  Eigen::MatrixXd A_;
  Eigen::VectorXd c_;
};

// A constant quadratic over all variables of its keyframes: what is left of a dense factor when only the
// linear algebra is of interest.
class QuadraticFactor : public Factor {
 public:
  QuadraticFactor(std::vector<Key> keys, const Values& values, Random& random) : Factor(std::move(keys)) {
    block_ = NormalBlock(BlockLayout(Keys(), values));
    const int dimension = block_.layout.TotalDimension();
    const Eigen::MatrixXd A =
        Eigen::MatrixXd::NullaryExpr(dimension, dimension, [&] { return random.Normal(); });
    block_.AddResidual(RandomVector(random, dimension, 1e-9), A, 1.0 / dimension);
  }
  double Error(const Values&) const override { return block_.error; }
  NormalBlock Linearize(const Values&) const override { return block_; }

 private:
  NormalBlock block_;
};

// A chain of keyframes (pose, log-scale, code: 23 unknowns), each tied to its four predecessors.
struct ChainLink {
  Values values;
  FactorGraph factors;
};

inline ChainLink MakeChainLink(int64_t id, Random& random) {
  const auto keys_of = [](int64_t i) { return std::vector<Key>{PoseKey(i), LogScaleKey(i), CodeKey(i)}; };
  const auto add = [](Values& values, int64_t i) {
    values.Insert(PoseKey(i), Rigid3());
    values.Insert(LogScaleKey(i), 0.0);
    values.Insert(CodeKey(i), Eigen::VectorXd(Eigen::VectorXd::Zero(16)));
  };
  ChainLink link;
  add(link.values, id);
  link.factors.push_back(std::make_shared<QuadraticFactor>(keys_of(id), link.values, random));
  for (int64_t other = std::max<int64_t>(0, id - 4); other < id; ++other) {
    Values both = link.values;
    add(both, other);
    std::vector<Key> keys = keys_of(other);
    for (const Key& key : keys_of(id)) keys.push_back(key);
    link.factors.push_back(std::make_shared<QuadraticFactor>(std::move(keys), both, random));
  }
  return link;
}

}  // namespace lumen
