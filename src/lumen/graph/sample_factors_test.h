// Small factors for the tests and benchmarks of the solvers.
#pragma once

#include <cmath>

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

// A chain of keyframes (23 unknowns), each tied to its four predecessors.
struct ChainLink {
  Values values;
  FactorGraph factors;
};

inline ChainLink MakeChainLink(int64_t id, Random& random) {
  const KeyframeValue origin{Sim3(), Eigen::VectorXd::Zero(16)};
  ChainLink link;
  link.values.Insert(KeyframeKey(id), origin);
  link.factors.push_back(
      std::make_shared<QuadraticFactor>(std::vector<Key>{KeyframeKey(id)}, link.values, random));
  for (int64_t other = std::max<int64_t>(0, id - 4); other < id; ++other) {
    Values both = link.values;
    both.Insert(KeyframeKey(other), origin);
    link.factors.push_back(std::make_shared<QuadraticFactor>(
        std::vector<Key>{KeyframeKey(other), KeyframeKey(id)}, both, random));
  }
  return link;
}

// A measured similarity between two keyframes, and a bent relation between their codes.
class BetweenKeyframes : public RelativeFactor {
 public:
  BetweenKeyframes(int64_t a, int64_t b, const Sim3& b_from_a, const Vector7d& weights,
                   Eigen::VectorXd code_difference, double code_weight = 1)
      : RelativeFactor({KeyframeKey(a), KeyframeKey(b)}),
        b_from_a_(b_from_a),
        weights_(weights),
        code_difference_(std::move(code_difference)),
        code_weight_(code_weight) {}

  double Error(const Values& values) const override { return Make(values).error; }
  NormalBlock Linearize(const Values& values) const override { return Make(values); }

 private:
  NormalBlock Make(const Values& values) const {
    const KeyframeValue& a = values.Keyframe(Keys()[0]);
    const KeyframeValue& b = values.Keyframe(Keys()[1]);
    const Sim3 now = b.world_from_keyframe.Inverse() * a.world_from_keyframe;
    const Vector7d residual = (b_from_a_.Inverse() * now).Log();
    Matrix7d by_right;  // of Log(X Exp(d)) by d, numerically
    for (int i = 0; i < 7; ++i) {
      const Vector7d d = 1e-5 * Vector7d::Unit(i);
      by_right.col(i) =
          ((Sim3::Exp(residual) * Sim3::Exp(d)).Log() - (Sim3::Exp(residual) * Sim3::Exp(-d)).Log()) / 2e-5;
    }
    const auto codes = a.code.size();
    const int dimension = 7 + static_cast<int>(codes);
    NormalBlock block{BlockLayout(Keys(), values)};
    Eigen::MatrixXd jacobian = Eigen::MatrixXd::Zero(dimension, 2 * dimension);
    jacobian.topLeftCorner<7, 7>() = weights_.asDiagonal() * by_right;
    jacobian.block<7, 7>(0, dimension) = -(weights_.asDiagonal() * by_right * now.Inverse().Adjoint());
    Eigen::VectorXd residuals(dimension);
    residuals.head<7>() = weights_.cwiseProduct(residual);
    for (Eigen::Index i = 0; i < codes; ++i) {
      const auto row = 7 + i;
      residuals[row] = code_weight_ * (a.code[i] + 0.05 * std::sin(a.code[i]) - b.code[i] -
                                       code_difference_[i] + 0.3 * residual[i % 7]);
      jacobian(row, row) = code_weight_ * (1 + 0.05 * std::cos(a.code[i]));
      jacobian(row, dimension + row) = -code_weight_;
      jacobian.row(row).head<7>() += code_weight_ * 0.3 * by_right.row(i % 7);
      jacobian.row(row).segment<7>(dimension) -=
          code_weight_ * 0.3 * (by_right * now.Inverse().Adjoint()).row(i % 7);
    }
    block.AddResidual(residuals, jacobian, 1.0);
    return block;
  }

  Sim3 b_from_a_;
  Vector7d weights_;
  Eigen::VectorXd code_difference_;
  double code_weight_;
};

// Holds a keyframe near a place and a code.
class HoldKeyframe : public ResidualFactor {
 public:
  HoldKeyframe(int64_t id, KeyframeValue goal, double weight, double code_weight)
      : ResidualFactor({KeyframeKey(id)}),
        goal_(std::move(goal)),
        weight_(weight),
        code_weight_(code_weight) {}

  Eigen::VectorXd StepFrom(const std::vector<Value>& from, const Values& now) const override {
    Eigen::VectorXd step = Factor::StepFrom(from, now);
    if (weight_ == 0) step.head<7>().setZero();
    return step;
  }

 protected:
  Eigen::VectorXd Residual(const Values& values, Eigen::MatrixXd* jacobian) const override {
    const Value value = values.At(Keys()[0]);
    Eigen::VectorXd residual = Local(Value(goal_), value);
    if (jacobian != nullptr) {
      jacobian->setZero(residual.size(), residual.size());
      for (int i = 0; i < 7; ++i) {
        const Eigen::VectorXd d = 1e-5 * Eigen::VectorXd::Unit(residual.size(), i);
        jacobian->col(i) =
            weight_ * (Local(Value(goal_), Retract(value, d)) - Local(Value(goal_), Retract(value, -d))) /
            2e-5;
      }
      jacobian->bottomRightCorner(residual.size() - 7, residual.size() - 7)
          .diagonal()
          .setConstant(code_weight_);
    }
    residual.head<7>() *= weight_;
    residual.tail(residual.size() - 7) *= code_weight_;
    return residual;
  }

 private:
  KeyframeValue goal_;
  double weight_, code_weight_;
};

}  // namespace lumen
