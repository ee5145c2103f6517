#include "lumen/apps/coverage_grading.h"

#include <cmath>
#include <limits>

#include "lumen/apps/coverage_words.h"
#include "lumen/apps/run_coverage.h"
#include "lumen/base/parallel.h"
#include "lumen/io/coverage_mesh.h"

namespace lumen {

namespace {

constexpr double kHalf = 0.5;  // of a spot that must be called so

// A wall whose pieces are known to be seen or not; others are of no way.
struct KnownWall {
  TriangleMesh mesh;
  std::vector<WallPiece> pieces;
  std::vector<char> seen;
  std::vector<std::optional<PlaceOnWay>> places;  // empty: not graded
};

// The truth in the run's own unit.
KnownWall PlaceTruth(const CoverageMesh& truth, const Sim3& run_from_truth, const WallCoverage& coverage,
                     int threads) {
  KnownWall known;
  known.mesh = truth.mesh;
  for (Eigen::Vector3f& v : known.mesh.vertices) v = (run_from_truth * v.cast<double>()).cast<float>();
  known.pieces = PiecesOf(known.mesh);
  known.seen = truth.seen;
  known.places.resize(known.pieces.size());
  const WayLocator locator(coverage.ways, static_cast<float>(2 * coverage.widths.front()));
  std::vector<WallPiece> near;
  std::vector<size_t> index;
  for (size_t i = 0; i < known.pieces.size(); ++i) {
    known.places[i] = locator.Locate(known.pieces[i].middle.cast<float>());
    if (!known.places[i]) continue;
    near.push_back(known.pieces[i]);
    index.push_back(i);
  }
  const std::vector<char> open =
      FindOpenPieces(near, TriangleTree(known.mesh), LookoutsOf(coverage.ways, coverage.widths), {}, threads);
  for (size_t k = 0; k < near.size(); ++k)
    if (open[k] == 0) known.places[index[k]].reset();
  return known;
}

// What was said, without what is of no way.
KnownWall SaidWall(const WallCoverage& coverage) {
  CoverageMesh mesh = AsCoverageMesh(coverage);
  KnownWall said;
  said.mesh = std::move(mesh.mesh);
  said.seen = std::move(mesh.seen);
  said.pieces = PiecesOf(said.mesh);
  return said;
}

// What each piece of one wall is called on the other, at the nearest place; of graded pieces only.
std::vector<char> SeenOnTheOther(const KnownWall& wall, const KnownWall& other, int threads) {
  constexpr int64_t kChunk = 500;
  const TriangleTree tree(other.mesh);
  std::vector<char> seen(wall.pieces.size(), 0);
  ParallelChunks(static_cast<int64_t>(seen.size()), kChunk, threads, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      if (!wall.places.empty() && !wall.places[i]) continue;
      const auto hit = tree.FindNearest(wall.pieces[i].middle, std::numeric_limits<double>::max());
      seen[i] = hit ? other.seen[static_cast<size_t>(hit->triangle)] : 0;
    }
  });
  return seen;
}

void ScoreStretches(const WallCoverage& coverage, const KnownWall& truth, CoverageScore& score) {
  struct Areas {
    double all = 0, seen = 0;
  };
  std::vector<Areas> areas(coverage.stretches.size());
  Areas whole;
  for (size_t i = 0; i < truth.pieces.size(); ++i) {
    if (!truth.places[i]) continue;
    for (size_t k = 0; k < areas.size(); ++k) {
      const Stretch& stretch = coverage.stretches[k];
      const auto s = static_cast<double>(truth.places[i]->place.s);
      if (stretch.way != truth.places[i]->way || s < stretch.from || s >= stretch.to) continue;
      areas[k].all += truth.pieces[i].area;
      areas[k].seen += truth.seen[i] != 0 ? truth.pieces[i].area : 0;
    }
    whole.all += truth.pieces[i].area;
    whole.seen += truth.seen[i] != 0 ? truth.pieces[i].area : 0;
  }
  for (size_t k = 0; k < areas.size(); ++k)
    if (areas[k].all > 0)
      score.stretches.push_back(
          {areas[k].seen / areas[k].all, coverage.stretches[k].seen, coverage.stretches[k].sigma});
  score.truth = whole.all > 0 ? whole.seen / whole.all : 0;
  score.said = coverage.seen;
}

void ScoreFaces(const KnownWall& truth, const std::vector<char>& said_seen, double unit_area,
                CoverageScore& score) {
  for (size_t i = 0; i < truth.pieces.size(); ++i) {
    if (!truth.places[i]) continue;
    const double area = unit_area * truth.pieces[i].area;
    score.missed += truth.seen[i] == 0 ? area : 0;
    score.missed_said += said_seen[i] == 0 ? area : 0;
    score.missed_found += truth.seen[i] == 0 && said_seen[i] == 0 ? area : 0;
  }
}

// How many of one wall's spots are mostly called so on the other.
struct SpotCount {
  int all = 0, agreed = 0;
};
SpotCount CountSpots(const KnownWall& wall, const std::vector<char>& wanted,
                     const std::vector<char>& other_seen, double least_area) {
  SpotCount count;
  for (const std::vector<int>& spot : FindSpots(wall.mesh, wall.pieces, wanted, least_area)) {
    double area = 0, agreed = 0;
    for (const int i : spot) {
      const auto k = static_cast<size_t>(i);
      area += wall.pieces[k].area;
      agreed += other_seen[k] == 0 ? wall.pieces[k].area : 0;
    }
    ++count.all;
    count.agreed += agreed >= kHalf * area ? 1 : 0;
  }
  return count;
}

void ScoreSpots(const WallCoverage& coverage, const CoverageOptions& options, const KnownWall& truth,
                const std::vector<char>& said_seen, const KnownWall& said,
                const std::vector<char>& truly_seen, CoverageScore& score) {
  const double least = LeastSpot(options, coverage.widths.front());
  std::vector<char> missed(truth.pieces.size(), 0), said_missed(said.pieces.size(), 0);
  for (size_t i = 0; i < missed.size(); ++i) missed[i] = truth.places[i].has_value() && truth.seen[i] == 0;
  for (size_t i = 0; i < said_missed.size(); ++i) said_missed[i] = said.seen[i] == 0;
  const SpotCount found = CountSpots(truth, missed, said_seen, least);
  const SpotCount right = CountSpots(said, said_missed, truly_seen, least);
  score.spots = found.all;
  score.spots_found = found.agreed;
  score.spots_said = right.all;
  score.spots_right = right.agreed;
}

}  // namespace

double CoverageScore::MeanError() const {
  double sum = 0;
  for (const OfStretch& stretch : stretches) sum += std::abs(stretch.said - stretch.truth);
  return stretches.empty() ? 0 : sum / static_cast<double>(stretches.size());
}

double CoverageScore::WithinSigmas(double sigmas) const {
  int within = 0;
  for (const OfStretch& stretch : stretches)
    within += std::abs(stretch.said - stretch.truth) <= sigmas * stretch.sigma ? 1 : 0;
  return stretches.empty() ? 0 : within / static_cast<double>(stretches.size());
}

void CoverageScore::Add(const CoverageScore& other) {
  stretches.insert(stretches.end(), other.stretches.begin(), other.stretches.end());
  missed += other.missed;
  missed_found += other.missed_found;
  missed_said += other.missed_said;
  spots += other.spots;
  spots_found += other.spots_found;
  spots_said += other.spots_said;
  spots_right += other.spots_right;
}

Json CoverageScore::ToJson() const {
  Json json = Json::MakeObject();
  json["true_share"] = truth;
  json["said_share"] = said;
  json["mean_error"] = MeanError();
  json["missed_area"] = missed;
  json["missed_area_found"] = missed_found;
  json["missed_area_said"] = missed_said;
  json["spots"] = spots;
  json["spots_found"] = spots_found;
  json["spots_said"] = spots_said;
  json["spots_right"] = spots_right;
  json["stretches"] = Json::MakeArray();
  for (const OfStretch& stretch : stretches) {
    Json one = Json::MakeObject();
    one["truth"] = stretch.truth;
    one["said"] = stretch.said;
    one["sigma"] = stretch.sigma;
    json["stretches"].Append(one);
  }
  return json;
}

CoverageScore CoverageScore::FromJson(const Json& json) {
  const auto number = [&](const char* key) { return json.At(key).AsDouble(); };
  const auto count = [&](const char* key) { return static_cast<int>(json.At(key).AsDouble()); };
  CoverageScore score;
  score.truth = number("true_share");
  score.said = number("said_share");
  score.missed = number("missed_area");
  score.missed_found = number("missed_area_found");
  score.missed_said = number("missed_area_said");
  score.spots = count("spots");
  score.spots_found = count("spots_found");
  score.spots_said = count("spots_said");
  score.spots_right = count("spots_right");
  for (const Json& one : json.At("stretches").AsArray())
    score.stretches.push_back(
        {one.At("truth").AsDouble(), one.At("said").AsDouble(), one.At("sigma").AsDouble()});
  return score;
}

std::optional<CoverageScore> GradeCoverage(const Estimate& estimate, const Truth& truth,
                                           const TrajectoryErrors& errors, int threads) {
  if (truth.coverage.empty() || estimate.folder.empty() || estimate.surface.empty() ||
      errors.status != TrajectoryStatus::kGood)
    return std::nullopt;
  const CoverageMesh true_wall = LoadCoverageMesh(truth.coverage);
  const double unit = errors.truth_from_estimate.Scale();
  CoverageOptions options;
  // Where the truth has no millimetres either, its unit is as good as any.
  options.mm_per_unit = unit;
  const WallCoverage coverage = MeasureRunCoverage(ReadRunFolder(estimate.folder), options, threads);
  if (coverage.ways.empty()) return std::nullopt;
  const KnownWall known = PlaceTruth(true_wall, errors.truth_from_estimate.Inverse(), coverage, threads);
  const KnownWall said = SaidWall(coverage);
  const std::vector<char> said_seen = SeenOnTheOther(known, said, threads);
  const std::vector<char> truly_seen = SeenOnTheOther(said, known, threads);
  CoverageScore score;
  ScoreStretches(coverage, known, score);
  ScoreFaces(known, said_seen, unit * unit, score);
  ScoreSpots(coverage, options, known, said_seen, said, truly_seen, score);
  return score;
}

}  // namespace lumen
