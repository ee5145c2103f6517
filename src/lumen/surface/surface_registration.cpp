#include "lumen/surface/surface_registration.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lumen/base/parallel.h"
#include "lumen/base/text.h"
#include "lumen/geometry/alignment.h"
#include "lumen/surface/lumen_prior.h"
#include "lumen/surface/model_parts.h"
#include "lumen/surface/registration_judge.h"
#include "lumen/surface/similarity_icp.h"

namespace lumen {

using Eigen::Vector3d;

void SurfaceRegistrationOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("coarse_points", coarse_points,
                {.min = 50, .max = 100000, .help = "of the surface, for starts"});
  visitor.Field("fine_points", fine_points,
                {.min = 50, .max = 1000000, .help = "of the surface, at the end"});
  visitor.Field("match_distance", match_distance,
                {.min = 0, .unit = "mm", .help = "points farther from the model are not matched"});
  visitor.Field("least_matched", least_matched,
                {.min = 0, .max = 1, .help = "share of the surface; below it nothing is registered"});
  visitor.Field("least_visible", least_visible,
                {.min = 0, .max = 1, .help = "motions that show less than this across the wall are free"});
  visitor.Field("guess_degrees", guess_degrees, {.min = 0, .max = 180, .help = "how far a guess may be off"});
  visitor.Field("guess_distance", guess_distance,
                {.min = 0, .unit = "mm", .help = "how far a guess may be off"});
  visitor.Field("guess_scale", guess_scale, {.min = 1, .help = "factor by which a guess may be off"});
  visitor.Field("least_scale", least_scale, {.min = 0, .help = "smallest scale; 0: by the extents"});
  visitor.Field("most_scale", most_scale, {.min = 0, .help = "largest scale; 0: by the extents"});
  visitor.Field("drift", drift,
                {.min = 0,
                 .max = 1,
                 .help = "expected change of log scale over the surface's radius; 0: the scale is one"});
}

double PlaceSigma(const SurfaceRegistration& registration, const Vector3d& place) {
  const Vector3d arm = (place - registration.centre) / std::max(registration.radius, 1e-12);
  double variance = 0;
  for (const Constraint& motion : registration.constraints)
    variance += std::pow(motion.uncertainty, 2) *
                (motion.translation + motion.rotation.cross(arm) + motion.growth * arm).squaredNorm();
  return std::sqrt(variance);
}

TriangleMesh PlaceSurface(TriangleMesh surface, const DriftingSimilarity& model_from_surface) {
  std::vector<Vector3d> seen_from = SeenFrom(surface);
  for (size_t i = 0; i < surface.vertices.size(); ++i) {
    const Vector3d x = surface.vertices[i].cast<double>();
    const Sim3 there = model_from_surface.At(seen_from.empty() ? x : seen_from[i]);
    surface.vertices[i] = (there * x).cast<float>();
    if (!surface.normals.empty())
      surface.normals[i] = (there.Rotation() * surface.normals[i].cast<double>()).cast<float>();
    if (!seen_from.empty()) seen_from[i] = there * seen_from[i];
  }
  for (VertexAttribute& attribute : surface.attributes)
    for (size_t k = 0; k < kSeenFrom.size(); ++k)
      for (size_t i = 0; i < seen_from.size() && attribute.name == kSeenFrom[k]; ++i)
        attribute.values[i] = static_cast<float>(seen_from[i][static_cast<Eigen::Index>(k)]);
  return surface;
}

namespace {

// Depth errs in proportion to itself, and alike from view to view: what was seen from afar says less than its
// area would have it. How much less was found on subjects outside the suite.
SurfacePoints TrustTheNear(SurfacePoints points) {
  constexpr double kNear = 0.6;  // of the median distance
  std::vector<double> distances;
  for (size_t i = 0; i < points.Size(); ++i)
    distances.push_back((points.points[i] - points.seen_from[i]).norm());
  std::vector<double> sorted = distances;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const double near = sorted.empty() ? 0 : kNear * *middle;
  if (!(near > 0)) return points;  // nobody knows what it was seen from
  for (size_t i = 0; i < points.Size(); ++i) points.weights[i] /= 1 + std::pow(distances[i] / near, 3);
  return points;
}

struct Answer {
  IcpResult fit;      // a similarity
  IcpResult settled;  // with what its scale drifts
  bool slid = false;  // found from another, along a motion that shows little
};

// A registration under way: both surfaces at several resolutions.
class Registrar {
 public:
  Registrar(const TriangleMesh& surface, const TriangleMesh& model, const RegistrationHints& hints,
            const SurfaceRegistrationOptions& options, int threads)
      : options_(options),
        threads_(threads),
        quick_(SampleSurface(surface, std::max(options.coarse_points / 3, 50))),
        coarse_(SampleSurface(surface, options.coarse_points)),
        middle_(SampleSurface(surface, options.fine_points / 4)),
        fine_(SampleSurface(surface, options.fine_points, "confidence")),
        near_(TrustTheNear(fine_)),
        parts_(SampleParts(model)),
        tree_(model),
        radius_(ComputeRadius(coarse_)),
        prior_(coarse_, hints, tree_),
        measured_(Tells(hints.measured) ? Thin(hints.measured) : SurfacePoints()),
        stop_(hints.stop) {}

  const TriangleTree& Tree() const { return tree_; }
  const SurfacePoints& Fine() const { return fine_; }
  bool Measured() const { return measured_.Size() > 0; }
  // What the last fit is made with.
  const SurfacePoints& Last() const { return Measured() ? measured_ : near_; }
  double Radius() const { return radius_; }
  bool Stopped() const { return stop_ != nullptr && *stop_; }

  std::vector<StartCandidate> FindAllStarts(const std::optional<Sim3>& guess) const {
    GlobalStartOptions global;
    global.least_scale = options_.least_scale;
    global.most_scale = options_.most_scale;
    global.weigh = [this](const Sim3& start) { return prior_.Weigh(start); };
    global.stop = stop_;
    if (prior_.KnowsStart()) global.possible = [this](const Sim3& start) { return prior_.Begins(start); };
    std::vector<StartCandidate> starts;
    const int trials = global.trials;
    for (const ModelPart& part : parts_) {
      if (!prior_.MayBeginIn(part.dense)) continue;
      global.trials = static_cast<int>(part.share * part.share * trials);
      const GuessRange range{options_.guess_degrees, options_.guess_distance, options_.guess_scale};
      std::vector<StartCandidate> found = guess
                                              ? FindStartsNear(coarse_, part.dense, *guess, range, global)
                                              : FindStarts(coarse_, part.model, part.dense, global, threads_);
      const auto most = static_cast<size_t>(part.share * kMostStarts);
      if (found.size() > most) found.resize(most);
      starts.insert(starts.end(), found.begin(), found.end());
    }
    return starts;
  }

  // All starts coarsely, a few finely; best first.
  std::vector<Answer> Solve(const std::vector<StartCandidate>& starts) const {
    std::vector<Answer> answers = SolveQuickly(starts);
    ParallelFor(static_cast<int64_t>(answers.size()), threads_, [&](int64_t i) {
      IcpResult& fit = answers[static_cast<size_t>(i)].fit;
      const Sim3 start = fit.model_from_surface.AtCentre();
      fit = RefineSimilarity(coarse_, tree_, start, Reaches(start, kQuickReach, 0.06));
    });
    std::erase_if(answers, [&](const Answer& answer) { return !IsPossible(answer); });
    answers = Distinct(std::move(answers), 1);
    if (answers.size() > kFine) answers.resize(kFine);
    ParallelFor(static_cast<int64_t>(answers.size()), threads_, [&](int64_t i) {
      Answer& answer = answers[static_cast<size_t>(i)];
      const Sim3 start = answer.fit.model_from_surface.AtCentre();
      const double reach = kScoreReach * radius_ * start.Scale();
      answer.fit = RefineSimilarity(middle_, tree_, start, Reaches(start, 0.08, kMiddleReach));
      answer.fit = ScoreSimilarity(middle_, tree_, answer.fit.model_from_surface, reach);
      answer.settled =
          ScoreSimilarity(middle_, tree_, Settle(answer.fit.model_from_surface.AtCentre()), reach);
    });
    // Neighbouring minima of a noisy surface are one answer in the end.
    return Distinct(std::move(answers), 2);
  }

  // Where points were measured, it is they that say which of the answers is best, and by how much.
  std::vector<Answer> Weigh(std::vector<Answer> answers) const {
    if (!Measured()) return answers;
    ParallelFor(static_cast<int64_t>(answers.size()), threads_, [&](int64_t i) {
      IcpResult& settled = answers[static_cast<size_t>(i)].settled;
      const double reach = kScoreReach * radius_ * settled.model_from_surface.AtCentre().Scale();
      settled = ScoreSimilarity(measured_, tree_, FitLast(measured_, settled.model_from_surface), reach);
    });
    std::stable_sort(answers.begin(), answers.end(),
                     [](const Answer& a, const Answer& b) { return a.settled.cost < b.settled.cost; });
    return answers;
  }

  // Rings of a tube look alike, so that an answer may lie one of them too far: what the first one comes to
  // from some way along each motion that shows little is an answer too. Best first where points were
  // measured; else such a neighbour is a doubt and no more.
  std::vector<Answer> AddNeighbours(std::vector<Answer> answers) const {
    constexpr size_t kMost = 2;
    const double least = LeastApart(answers.front());
    const size_t known = answers.size();
    for (const Answer& answer : FindNeighbours(answers.front())) {
      const auto near = [&](const Answer& other) { return Apart(answer, other) < 2 * least; };
      if (answers.size() < known + kMost && std::none_of(answers.begin(), answers.end(), near))
        answers.push_back(answer);
    }
    const SurfacePoints& points = Measured() ? measured_ : middle_;
    ParallelFor(static_cast<int64_t>(answers.size() - known), threads_, [&](int64_t i) {
      IcpResult& settled = answers[known + static_cast<size_t>(i)].settled;
      const double reach = kScoreReach * radius_ * settled.model_from_surface.AtCentre().Scale();
      settled = ScoreSimilarity(points, tree_, FitLast(points, settled.model_from_surface), reach);
    });
    const Answer first = answers.front();
    std::erase_if(answers, [&](const Answer& answer) { return answer.slid && !IsNeighbour(answer, first); });
    std::stable_sort(answers.begin() + (Measured() ? 0 : 1), answers.end(),
                     [](const Answer& a, const Answer& b) { return a.settled.cost < b.settled.cost; });
    return answers;
  }

  // The cost of the best neighbour relative to the first answer's; 0: there is none.
  double Neighbour(const std::vector<Answer>& answers) const {
    const Answer& best = answers.front();
    for (size_t i = 1; i < answers.size(); ++i)
      if ((best.slid || answers[i].slid) && Apart(best, answers[i]) > LeastApart(best))
        return answers[i].settled.cost / std::max(best.settled.cost, 1e-3);
    return 0;
  }

  // The cost of the best other answer relative to the first one's; 0: there is none.
  double RunnerUp(const std::vector<Answer>& answers) const {
    const IcpResult& best = answers.front().settled;
    double least = 0;
    for (const Answer& answer : answers) {
      // Some come to the same place only when they have settled.
      const IcpResult& other = answer.settled;
      if (answer.slid || Same(best.model_from_surface.AtCentre(), other.model_from_surface.AtCentre(), 1))
        continue;
      const double ratio = other.cost / std::max(best.cost, 1e-3);
      least = least > 0 ? std::min(least, ratio) : ratio;
    }
    return least;
  }

  // How far apart, in the model's unit, the halves of the surface that are trusted more and less would have
  // it: what systematic errors do to an answer shows here and not in its residual.
  std::optional<double> Discord(const DriftingSimilarity& placement) const {
    const SurfacePoints& points = Last();
    std::vector<double> weights = points.weights;
    std::nth_element(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(weights.size() / 2),
                     weights.end());
    const double middle = weights[weights.size() / 2];
    SurfacePoints halves[2];
    for (size_t i = 0; i < points.Size(); ++i)
      AddPoint(points, i, halves[points.weights[i] > middle ? 1 : 0]);
    if (halves[0].Size() < 100 || halves[1].Size() < 100) return std::nullopt;
    const DriftingSimilarity by[2] = {FitLast(halves[0], placement), FitLast(halves[1], placement)};
    Vector3d apart[2] = {Vector3d::Zero(), Vector3d::Zero()};
    for (size_t i = 0; i < points.Size(); ++i)
      for (int k = 0; k < 2; ++k)
        apart[k] += PlacePoint(by[k], points, i).point / static_cast<double>(points.Size());
    return (apart[0] - apart[1]).norm();
  }

  // The last word, from an answer that has settled: that of the points that were measured, which has been
  // said. What of a surface lies far off by the measure of the whole is wrong there and stays out: the less
  // there is of it, the more it would pull.
  DriftingSimilarity Finish(const DriftingSimilarity& start) const {
    if (Measured()) return start;
    const double radius = radius_ * start.AtCentre().Scale();
    const double typical = TypicalDistance(middle_, tree_, start, kLastReach * radius);
    return FitToRest(near_, start, std::clamp(kOutlying * typical / radius, kMiddleReach, kLastReach));
  }

 private:
  static constexpr int kModelPoints = 3500;
  static constexpr int kDensePoints = 30000;
  static constexpr size_t kFine = 3;
  // The place is found with a short reach, which outliers and missing parts do not mislead; a long one at the
  // end has the surface fit as a whole, and not where it happens to lie best, and reaches what drifted most.
  static constexpr double kQuickReach = 0.12, kMeasuredReach = 0.05, kMiddleReach = 0.045, kScoreReach = 0.06,
                          kLastReach = 0.1;
  static constexpr int kLastIterations = 100;  // along a tube steps are short
  static constexpr double kMeasuredAlong = 15;
  static constexpr double kOutlying = 10;  // medians; of SLAM's own errors 95 % lie within four or five

  // Few points and steps tell most wrong starts from right ones.
  std::vector<Answer> SolveQuickly(const std::vector<StartCandidate>& starts) const {
    std::vector<Answer> answers(starts.size());
    ParallelFor(static_cast<int64_t>(starts.size()), threads_, [&](int64_t i) {
      const Sim3& start = starts[static_cast<size_t>(i)].model_from_surface;
      IcpOptions icp = Reaches(start, 0.3, kQuickReach);
      icp.iterations = 2;
      icp.last_iterations = 3;
      answers[static_cast<size_t>(i)] = {RefineSimilarity(quick_, tree_, start, icp), {}};
    });
    std::erase_if(answers, [&](const Answer& answer) { return !IsPossible(answer); });
    std::stable_sort(answers.begin(), answers.end(),
                     [](const Answer& a, const Answer& b) { return a.fit.cost < b.fit.cost; });
    constexpr size_t kMost = 48;
    if (answers.size() > kMost) answers.resize(kMost);
    return answers;
  }

  // Where an answer rests from along such motions, roughly, as far as that is nearly as good; best first.
  std::vector<Answer> FindNeighbours(const Answer& answer) const {
    constexpr size_t kFew = 250;
    constexpr double kNearlyAsGood = 1.6, kSlightly = 0.01;
    const DriftingSimilarity& from = answer.settled.model_from_surface;
    const double reach = kScoreReach * radius_ * from.AtCentre().Scale();
    const std::vector<DriftingSimilarity> starts = SlideAway(answer);
    const SurfacePoints& points = Measured() ? measured_ : middle_;
    const SurfacePoints few = EveryNth(points, points.Size() / kFew);
    std::vector<Answer> neighbours(starts.size(), {answer.fit, {}, true});
    ParallelFor(static_cast<int64_t>(starts.size()), threads_, [&](int64_t i) {
      if (Stopped()) return;
      IcpOptions icp = Reaches(from.AtCentre(), kMeasuredReach, kMeasuredReach);
      icp.iterations = 8;
      icp.last_iterations = 4;
      icp.drift = options_.drift;
      if (Measured()) icp.along_wall = kMeasuredAlong;
      const auto rest = RefineSimilarity(few, tree_, starts[static_cast<size_t>(i)], icp).model_from_surface;
      neighbours[static_cast<size_t>(i)].settled = ScoreSimilarity(few, tree_, rest, reach);
    });
    if (Stopped()) return {};
    const double most = kSlightly + kNearlyAsGood * ScoreSimilarity(few, tree_, from, reach).cost;
    std::erase_if(neighbours, [&](const Answer& neighbour) {
      return neighbour.settled.cost > most || !IsNeighbour(neighbour, answer);
    });
    std::stable_sort(neighbours.begin(), neighbours.end(),
                     [](const Answer& a, const Answer& b) { return a.settled.cost < b.settled.cost; });
    return neighbours;
  }

  // A ring farther along the same surface is as large.
  bool IsNeighbour(const Answer& one, const Answer& other) const {
    constexpr double kSameScale = 0.05;
    const Sim3 there = one.settled.model_from_surface.AtCentre();
    const double growth = there.Scale() / other.settled.model_from_surface.AtCentre().Scale();
    return std::abs(std::log(growth)) < kSameScale && prior_.Weigh(there) > 0;
  }

  std::vector<DriftingSimilarity> SlideAway(const Answer& answer) const {
    constexpr double kShowsLittle = 0.25, kStep = 0.09, kFarthest = 0.55;  // of the radius
    const DriftingSimilarity& from = answer.settled.model_from_surface;
    const double radius = radius_ * from.AtCentre().Scale();
    std::vector<DriftingSimilarity> starts;
    for (const Constraint& motion : ComputeConstraints(middle_, tree_, from, kScoreReach * radius)) {
      if (motion.visibility > kShowsLittle) continue;
      for (double way = kStep; way < kFarthest; way += kStep)
        for (const double sign : {-1.0, 1.0}) {
          const Sim3 away = motion.Move(sign * way * radius, from * ComputeCentre(coarse_), radius);
          starts.emplace_back(away * from.AtCentre(), from.Centre(), from.Drift());
        }
    }
    return starts;
  }

  // Closer than this, in the model's unit, two are one.
  double LeastApart(const Answer& answer) const {
    constexpr double kShare = 0.06;
    return kShare * radius_ * answer.settled.model_from_surface.AtCentre().Scale();
  }
  double Apart(const Answer& a, const Answer& b) const {
    const Vector3d centre = ComputeCentre(coarse_);
    return (a.settled.model_from_surface * centre - b.settled.model_from_surface * centre).norm();
  }

  bool IsPossible(const Answer& answer) const {
    return prior_.Weigh(answer.fit.model_from_surface.AtCentre()) > 0;
  }

  // Only once the similarity is found: before that a surface would be bent to fit where it does not belong.
  DriftingSimilarity Settle(const Sim3& fit) const {
    return options_.drift > 0 ? FitToRest(middle_, fit, kLastReach) : DriftingSimilarity(fit);
  }

  DriftingSimilarity FitToRest(const SurfacePoints& points, const DriftingSimilarity& start,
                               double reach) const {
    IcpOptions icp = Reaches(start.AtCentre(), reach, reach);
    icp.last_iterations = kLastIterations;
    icp.drift = options_.drift;
    return RefineSimilarity(points, tree_, start, icp).model_from_surface;
  }

  // Too few, or all in one corner: the surface knows more.
  bool Tells(const SurfacePoints& measured) const {
    constexpr size_t kLeast = 300;
    constexpr double kLeastSpread = 0.5;
    return measured.Size() >= kLeast && ComputeRadius(measured) > kLeastSpread * radius_;
  }
  SurfacePoints Thin(const SurfacePoints& measured) const {
    return EveryNth(measured, 1 + measured.Size() / static_cast<size_t>(options_.fine_points / 2));
  }
  static SurfacePoints EveryNth(const SurfacePoints& points, size_t step) {
    SurfacePoints thinned;
    for (size_t i = 0; i < points.Size(); i += std::max<size_t>(step, 1)) AddPoint(points, i, thinned);
    return thinned;
  }
  static void AddPoint(const SurfacePoints& from, size_t i, SurfacePoints& to) {
    to.points.push_back(from.points[i]);
    to.normals.push_back(from.normals[i]);
    to.weights.push_back(from.weights[i]);
    to.seen_from.push_back(from.seen_from[i]);
  }

  // Of all or a part of what the last fit is made with. Points that were measured slide freely along the
  // wall, which rests sooner, and end with a shorter reach: they may be a few per cent off, not more.
  DriftingSimilarity FitLast(const SurfacePoints& points, const DriftingSimilarity& start) const {
    if (!Measured()) return FitToRest(points, start, kLastReach);
    IcpOptions icp = Reaches(start.AtCentre(), kLastReach, kMeasuredReach);
    icp.iterations = 10;
    icp.last_iterations = kLastIterations;
    icp.drift = options_.drift;
    icp.along_wall = kMeasuredAlong;
    return RefineSimilarity(points, tree_, start, icp).model_from_surface;
  }

  // Reaches in the surface's radius; the scale stays near the start's.
  IcpOptions Reaches(const Sim3& start, double first, double last) const {
    const double radius = radius_ * start.Scale();
    IcpOptions icp;
    icp.first_reach = first * radius;
    icp.last_reach = last * radius;
    icp.least_scale = start.Scale() / kScaleRange;
    icp.most_scale = start.Scale() * kScaleRange;
    icp.iterations = 3;
    icp.last_iterations = 8;
    return icp;
  }
  static constexpr double kScaleRange = 1.5;

  // `width` 1: the same minimum.
  bool Same(const Sim3& a, const Sim3& b, double width) const {
    const Vector3d centre = ComputeCentre(coarse_);
    return RotationAngle(a.Rotation(), b.Rotation()) < 0.2 * width &&
           std::abs(std::log(a.Scale() / b.Scale())) < 0.15 * width &&
           (a * centre - b * centre).norm() < 0.25 * width * radius_ * b.Scale();
  }

  std::vector<Answer> Distinct(std::vector<Answer> answers, double width) const {
    std::stable_sort(answers.begin(), answers.end(),
                     [](const Answer& a, const Answer& b) { return a.fit.cost < b.fit.cost; });
    std::vector<Answer> distinct;
    for (const Answer& answer : answers) {
      const bool known = std::any_of(distinct.begin(), distinct.end(), [&](const Answer& other) {
        return Same(answer.fit.model_from_surface.AtCentre(), other.fit.model_from_surface.AtCentre(), width);
      });
      if (!known) distinct.push_back(answer);
    }
    return distinct;
  }

  struct ModelPart {
    SurfacePoints model, dense;
    double share = 1;  // of the largest part's extent, as far as it asks for points
  };
  // Smaller parts are told by fewer points.
  static std::vector<ModelPart> SampleParts(const TriangleMesh& model) {
    constexpr double kLeastShare = 0.02;
    std::vector<ModelPart> parts;
    double largest = 0;
    for (const TriangleMesh& piece : SplitModel(model, kLeastShare)) {
      const double area = ComputeArea(piece);
      largest = std::max(largest, area);
      const double share = std::max(std::sqrt(area / largest), 0.25);
      parts.push_back({SampleSurface(piece, static_cast<int>(share * kModelPoints)),
                       SampleSurface(piece, static_cast<int>(share * kDensePoints)), share});
    }
    return parts;
  }

  const SurfaceRegistrationOptions& options_;
  int threads_;
  // Where the surface lies, all of it says alike; how exactly, those parts say that were seen from near.
  SurfacePoints quick_, coarse_, middle_, fine_, near_;
  std::vector<ModelPart> parts_;
  TriangleTree tree_;
  double radius_;
  LumenPrior prior_;
  SurfacePoints measured_;
  const std::atomic<bool>* stop_;
};

void AddResiduals(const Registrar& registrar, double match_distance, SurfaceRegistration& result) {
  const Residuals placed =
      MeasureResiduals(registrar.Fine(), registrar.Tree(), result.placement, match_distance);
  result.residual_mean = placed.mean;
  result.residual_median = placed.median;
  result.residual_p95 = placed.p95;
  result.matched_share = placed.matched_share;
  result.similarity_residual_mean =
      MeasureResiduals(registrar.Fine(), registrar.Tree(), result.model_from_surface, match_distance).mean;
  result.all_residual_mean = MeanDistance(registrar.Fine(), registrar.Tree(), result.model_from_surface);
}

// The similarity nearest to the placement, and how far the scale leaves its own.
void AddSimilarity(const SurfacePoints& points, SurfaceRegistration& result) {
  std::vector<Vector3d> from, to;
  std::vector<double> weights;
  double least = std::numeric_limits<double>::max(), most = 0;
  for (size_t i = 0; i < points.Size(); ++i) {
    const Sim3 there = result.placement.At(points.seen_from[i]);
    for (const Vector3d& x : {points.points[i], points.seen_from[i]}) {
      from.push_back(x);
      to.push_back(there * x);
      weights.push_back(points.weights[i]);
    }
    least = std::min(least, there.Scale());
    most = std::max(most, there.Scale());
  }
  result.model_from_surface = EstimateAlignment(from, to, {}, weights).value_or(result.placement.AtCentre());
  result.least_scale = least / result.model_from_surface.Scale();
  result.most_scale = most / result.model_from_surface.Scale();
}

SurfaceRegistration RegisterOnce(const TriangleMesh& surface, const TriangleMesh& model,
                                 const std::optional<Sim3>& guess, const RegistrationHints& hints,
                                 const SurfaceRegistrationOptions& options, int threads) {
  SurfaceRegistration result;
  constexpr size_t kLeastTriangles = 20;
  for (const TriangleMesh* mesh : {&surface, &model}) {
    if (mesh->triangles.size() >= kLeastTriangles && HasArea(*mesh)) continue;
    result.doubts.push_back(
        StrCat("the ", mesh == &surface ? "surface" : "model", " is hardly more than a few points"));
    return result;
  }
  const Registrar registrar(surface, model, hints, options, threads);
  const std::vector<StartCandidate> starts = registrar.FindAllStarts(guess);
  std::vector<Answer> answers =
      registrar.Stopped() ? std::vector<Answer>() : registrar.Weigh(registrar.Solve(starts));
  if (answers.empty()) {
    result.status = SurfaceRegistrationStatus::kNotRegistered;
    result.doubts.emplace_back("no place in the model resembles the surface");
    return result;
  }
  if (!registrar.Stopped()) answers = registrar.AddNeighbours(std::move(answers));
  const Answer& best = answers.front();
  result.placement = registrar.Finish(best.settled.model_from_surface);
  AddSimilarity(registrar.Last(), result);
  if (registrar.Measured())
    result.misfit = MeasureMisfit(registrar.Last(), registrar.Tree(), result.placement);
  constexpr double kClearlyWorse = 1.25, kFarWorse = 2, kMatchShare = 0.1;
  result.runner_up = registrar.RunnerUp(answers);
  result.neighbour = registrar.Neighbour(answers);
  result.ambiguous = result.runner_up > 0 && result.runner_up < (Misfits(result) ? kFarWorse : kClearlyWorse);
  // A small surface must not be matched because it is small.
  const double radius = registrar.Radius() * result.model_from_surface.Scale();
  const double match_distance = std::min(options.match_distance, kMatchShare * radius);
  AddResiduals(registrar, match_distance, result);
  const double reach = 0.06 * radius;
  result.centre = result.placement * ComputeCentre(registrar.Fine());
  result.radius = registrar.Radius() * result.placement.AtCentre().Scale();
  result.constraints = ComputeConstraints(registrar.Fine(), registrar.Tree(), result.placement, reach);
  const double similar_share =
      MeasureResiduals(registrar.Fine(), registrar.Tree(), best.fit.model_from_surface, match_distance)
          .matched_share;
  if (IsMatched(options, similar_share, result)) result.discord = registrar.Discord(result.placement);
  Judge(options, guess.has_value(), match_distance, similar_share, result);
  return result;
}

}  // namespace

SurfaceRegistration RegisterSurface(const TriangleMesh& surface, const TriangleMesh& model,
                                    const std::optional<Sim3>& guess,
                                    const SurfaceRegistrationOptions& options, int threads,
                                    const RegistrationHints& hints) {
  SurfaceRegistration result = RegisterOnce(surface, model, guess, hints, options, threads);
  const bool stopped = hints.stop != nullptr && *hints.stop;
  if (result.status != SurfaceRegistrationStatus::kNotRegistered || hints.faces_air || stopped) return result;
  // A model whose triangles face the tissue, as segmentations of the air do, is turned inside out.
  const SurfaceRegistration turned =
      RegisterOnce(surface, FlipTriangles(model), guess, hints, options, threads);
  return turned.matched_share > result.matched_share ? turned : result;
}

}  // namespace lumen
