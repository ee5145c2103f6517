// Factors over sparse matches between a source and a target keyframe, with the robust Fair loss and a
// weight per match.
//   RP  (reprojection):            L = w 1/|M| Σ ω ρ_fair(|π(p) − x_tgt|²; σ W²)
//   SMG (sparse matched geometry): L = w 1/|M| Σ ω ρ_fair(|p − π⁻¹(x_tgt, D_tgt(x_tgt))|²; δ)
// with δ = σ · s_src² · mean(D̄_src²), written as for GC: the residual is measured in the source's scale.
// The loss acts on the norm, as the paper has it. M are the matches whose point lies before the camera.
#pragma once

#include "lumen/base/config.h"
#include "lumen/factors/pair_variables.h"
#include "lumen/scene/frame.h"
#include "lumen/scene/matching.h"

namespace lumen {

struct ReprojectionOptions {
  double weight = 0.1;
  double sigma = 0.03;
  void Describe(ConfigVisitor& visitor);
};

struct MatchedGeometryOptions {
  double weight = 0.1;
  double sigma = 0.1;
  void Describe(ConfigVisitor& visitor);
};

class MatchFactor : public Factor {
 public:
  // Where no match is seen the squared residual counts as this many thresholds, with no derivative.
  static constexpr double kNoOverlapRatio = 100;

  double Error(const Values& values) const override;
  NormalBlock Linearize(const Values& values) const override;

 protected:
  MatchFactor(const PairVariables& variables, std::shared_ptr<const Keyframe> source,
              std::vector<Match> matches);

  // The residual (2 or 3 numbers) of a match, and by all local unknowns if asked for; false if not seen.
  virtual bool Evaluate(const Match& match, const PairState& state, Eigen::VectorXd& residual,
                        Eigen::MatrixXd* jacobian) const = 0;
  // The depth at the source pixel, and the columns of log-scale and code for a residual that changes
  // with that depth by `by_depth`.
  double SourceDepth(const Match& match, const PairState& state) const;
  void FillSourceDepthColumns(const Match& match, const PairState& state, const Eigen::VectorXd& by_depth,
                              Eigen::MatrixXd& jacobian) const;
  const Keyframe& Source() const { return *source_; }
  const PairVariables& Variables() const { return variables_; }
  double weight_ = 0;
  double threshold_ = 1;

 private:
  PairSystem Sum(const Values& values, bool with_derivatives) const;

  PairVariables variables_;
  std::shared_ptr<const Keyframe> source_;
  std::vector<Match> matches_;
};

class ReprojectionFactor : public MatchFactor {
 public:
  // The target is known by its view alone.
  ReprojectionFactor(const PairVariables& variables, std::shared_ptr<const Keyframe> source,
                     std::shared_ptr<const View> target, std::vector<Match> matches,
                     const ReprojectionOptions& options = {});

 protected:
  bool Evaluate(const Match& match, const PairState& state, Eigen::VectorXd& residual,
                Eigen::MatrixXd* jacobian) const override;

 private:
  std::shared_ptr<const View> target_;
};

class MatchedGeometryFactor : public MatchFactor {
 public:
  MatchedGeometryFactor(const PairVariables& variables, std::shared_ptr<const Keyframe> source,
                        std::shared_ptr<const Keyframe> target, std::vector<Match> matches,
                        const MatchedGeometryOptions& options = {});

 protected:
  bool Evaluate(const Match& match, const PairState& state, Eigen::VectorXd& residual,
                Eigen::MatrixXd* jacobian) const override;

 private:
  std::shared_ptr<const Keyframe> target_;
};

}  // namespace lumen
