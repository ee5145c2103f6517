#include "lumen/sim/path.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/random.h"
#include "lumen/base/text.h"
#include "lumen/sim/choice.h"
#include "lumen/sim/noise.h"

namespace lumen {

using Eigen::Vector3d;
using Eigen::Vector3f;

namespace {

constexpr double kSpread = 0.5;  // of log speed: the 95th percentile is then about 2.2 times the median
constexpr int kClearingRounds = 12;

// How a hand moves in an organ, per frame at 30 fps.
struct Habits {
  double speed;       // median mm
  double look_ahead;  // mm along the route to the point that is looked at
  double shaft;       // mm behind the tip that the scope is straight: a stiff one turns little
  double turn;        // median degrees, all axes together
  double looking;     // degrees off the way, standard deviation
  double tremor;      // mm
};

Habits HabitsOf(AnatomyKind kind) {
  switch (kind) {
    case AnatomyKind::kNasal:
      return {0.18, 26, 20, 0.06, 5, 0.012};
    case AnatomyKind::kColon:
      return {0.6, 30, 4, 0.25, 8, 0.03};
    case AnatomyKind::kBronchus:
      return {0.3, 14, 4, 0.15, 6, 0.015};
    case AnatomyKind::kStomach:
      return {0.6, 40, 6, 0.25, 12, 0.03};
  }
  return {};
}

// A place on the way: share of the time, share of the depth reached.
struct Stop {
  double time, depth;
};

std::vector<Stop> ItineraryOf(PathKind kind, int loops) {
  switch (kind) {
    case PathKind::kInsertion:
      return {{0, 0}, {1, 1}};
    case PathKind::kInsertionRetreat: {
      std::vector<Stop> stops;
      for (int i = 0; i <= 2 * loops; ++i) stops.push_back({0.5 * i / loops, i % 2 == 0 ? 0.0 : 1.0});
      return stops;
    }
    case PathKind::kHover:
      return {{0, 0.30}, {0.2, 0.38}, {0.45, 0.32}, {0.7, 0.40}, {1, 0.33}};
    case PathKind::kExplore:
      return {{0, 0}, {0.25, 0.4}, {0.35, 0.28}, {0.65, 0.85}, {0.75, 0.7}, {1, 1}};
    case PathKind::kRevisit:
      return {{0, 0}, {0.3, 1}, {0.52, 0.1}, {0.62, 0.15}, {0.85, 0.95}, {1, 0.45}};
  }
  return {};
}

double TravelOf(const std::vector<Stop>& stops) {
  double travel = 0;
  for (size_t i = 1; i < stops.size(); ++i) travel += std::abs(stops[i].depth - stops[i - 1].depth);
  return travel;
}

double DepthAt(const std::vector<Stop>& stops, double time) {
  size_t i = 1;
  while (i + 1 < stops.size() && stops[i].time < time) ++i;
  const double share = (time - stops[i - 1].time) / (stops[i].time - stops[i - 1].time);
  return stops[i - 1].depth + std::clamp(share, 0.0, 1.0) * (stops[i].depth - stops[i - 1].depth);
}

// Gaussian smoothing over frames, ends held.
template <typename T>
std::vector<T> SmoothOverTime(const std::vector<T>& values, double sigma) {
  const int reach = static_cast<int>(std::ceil(3 * sigma));
  const int last = static_cast<int>(values.size()) - 1;
  std::vector<T> smooth;
  smooth.reserve(values.size());
  for (int i = 0; i <= last; ++i) {
    T sum = values[static_cast<size_t>(i)];
    double total = 1;
    for (int k = 1; k <= reach; ++k) {
      const double weight = std::exp(-0.5 * k * k / (sigma * sigma));
      sum += weight * (values[static_cast<size_t>(std::max(0, i - k))] +
                       values[static_cast<size_t>(std::min(last, i + k))]);
      total += 2 * weight;
    }
    smooth.push_back(sum / total);
  }
  return smooth;
}

// Time as it is felt: runs faster and slower by bursts, 0 at the first frame, one per frame on average.
std::vector<double> BurstyTime(int frames, double fps, double spread, uint64_t seed) {
  const NoiseSignal pace(seed, 0.15, 1.2);
  std::vector<double> time = {0.0};
  for (int k = 1; k < frames; ++k) time.push_back(time.back() + std::exp(spread * pace.Value(k / fps)));
  const double scale = time.back() > 0 ? (frames - 1) / time.back() : 1.0;
  for (double& t : time) t *= scale;
  return time;
}

double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<int64_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

class PathMaker {
 public:
  PathMaker(const Anatomy& anatomy, const PathOptions& options);
  std::vector<Rigid3> Make();

 private:
  double UsableLength() const { return std::max(1.0F, route_.Length() - 2.0F); }
  std::vector<double> MakeProgress(double speed) const;
  std::vector<Vector3d> MakePositions(const std::vector<double>& progress) const;
  void KeepClear(const std::vector<double>& progress, std::vector<Vector3d>& positions) const;
  std::vector<Rigid3> MakePoses(const std::vector<double>& progress, const std::vector<Vector3d>& positions,
                                double looking) const;
  Rigid3 PoseLooking(const Vector3d& position, const Vector3d& forward, double s) const;

  const Anatomy& anatomy_;
  PathOptions options_;
  const ArcCurve& route_;
  Habits habits_;
  Random random_;
};

PathMaker::PathMaker(const Anatomy& anatomy, const PathOptions& options)
    : anatomy_(anatomy),
      options_(options),
      route_(anatomy.Routes()[static_cast<size_t>(options.route) % anatomy.Routes().size()]),
      habits_(HabitsOf(anatomy.Kind())),
      random_(Random(anatomy.Seed()).Split("path").Split(options.seed)) {
  if (options.speed > 0) habits_.speed = options.speed;
  // Habits are per frame at 30 fps; the same hand moves less between the frames of a faster camera.
  habits_.speed *= 30 / options.fps;
  habits_.turn *= 30 / options.fps;
  if (options.kind == PathKind::kExplore || options.kind == PathKind::kHover) {
    habits_.looking *= 2;
    habits_.turn *= 1.8;
  }
}

// Arc length along the route per frame.
std::vector<double> PathMaker::MakeProgress(double speed) const {
  const double wanted = speed * options_.frames * std::exp(0.5 * kSpread * kSpread);
  int loops = options_.loops;
  if (options_.kind == PathKind::kInsertionRetreat) {
    loops = std::max(loops, static_cast<int>(std::ceil(wanted / (2 * UsableLength()))));
  }
  const std::vector<Stop> stops = ItineraryOf(options_.kind, loops);
  const double reach = std::min(UsableLength(), wanted / TravelOf(stops));
  std::vector<double> progress =
      BurstyTime(options_.frames, options_.fps, kSpread, random_.Split("pace").NextBits());
  const double scale = options_.frames > 1 ? 1.0 / (options_.frames - 1) : 0.0;
  for (double& t : progress) t = reach * DepthAt(stops, t * scale);
  return SmoothOverTime(progress, 0.25 * options_.fps);
}

std::vector<Vector3d> PathMaker::MakePositions(const std::vector<double>& progress) const {
  const NoiseSignal aside(random_.Split("aside").NextBits(), 0.02, 0.15);
  const NoiseSignal up(random_.Split("up").NextBits(), 0.02, 0.15);
  const NoiseSignal tremor[3] = {{random_.Split("tremor x").NextBits(), 2, 7},
                                 {random_.Split("tremor y").NextBits(), 2, 7},
                                 {random_.Split("tremor z").NextBits(), 2, 7}};
  std::vector<double> room;
  for (const double s : progress) {
    const float clear = anatomy_.Distance(route_.At(static_cast<float>(s)).position);
    room.push_back(std::min(4.0, std::max(0.0, 0.22 * (clear - 1.2 * anatomy_.Clearance()))));
  }
  room = SmoothOverTime(room, options_.fps);
  std::vector<Vector3d> positions;
  for (size_t k = 0; k < progress.size(); ++k) {
    const double t = static_cast<double>(k) / options_.fps;
    const CurvePoint at = route_.At(static_cast<float>(progress[k]));
    positions.push_back(at.position.cast<double>() + room[k] * aside.Value(t) * at.normal.cast<double>() +
                        room[k] * up.Value(t) * at.binormal.cast<double>());
  }
  positions = SmoothOverTime(positions, 0.2 * options_.fps);
  KeepClear(progress, positions);
  for (size_t k = 0; k < positions.size(); ++k) {
    const double t = static_cast<double>(k) / options_.fps;
    positions[k] += habits_.tremor * Vector3d(tremor[0].Value(t), tremor[1].Value(t), tremor[2].Value(t));
  }
  return positions;
}

// Pulls positions towards the route, which keeps its clearance, until they keep theirs.
void PathMaker::KeepClear(const std::vector<double>& progress, std::vector<Vector3d>& positions) const {
  const float wanted = 1.05F * anatomy_.Clearance() + 4 * static_cast<float>(habits_.tremor);
  for (int round = 0; round < kClearingRounds; ++round) {
    std::vector<double> pull(positions.size(), 0.0);
    bool clear = true;
    for (size_t k = 0; k < positions.size(); ++k) {
      if (anatomy_.Distance(positions[k].cast<float>()) >= wanted) continue;
      clear = false;
      pull[k] = 1;
    }
    if (clear) return;
    // A pull that sets in gradually keeps the path smooth.
    const std::vector<double> spread = SmoothOverTime(pull, 0.3 * options_.fps);
    for (size_t k = 0; k < positions.size(); ++k) {
      const double share =
          round + 1 == kClearingRounds ? pull[k] : std::min(1.0, std::max(0.5 * pull[k], spread[k]));
      const Vector3d safe = route_.At(static_cast<float>(progress[k])).position.cast<double>();
      positions[k] += share * (safe - positions[k]);
    }
  }
}

// A camera at `position` looking along `forward`, upright as the route's frame at s is.
Rigid3 PathMaker::PoseLooking(const Vector3d& position, const Vector3d& forward, double s) const {
  const Vector3d z = forward.normalized();
  const Vector3d side = route_.At(static_cast<float>(s)).normal.cast<double>();
  const Vector3d x = (side - z * z.dot(side)).normalized();
  Eigen::Matrix3d rotation;
  rotation << x, z.cross(x), z;
  return {rotation, position};
}

std::vector<Rigid3> PathMaker::MakePoses(const std::vector<double>& progress,
                                         const std::vector<Vector3d>& positions, double looking) const {
  const std::vector<double> felt =
      BurstyTime(options_.frames, options_.fps, 0.75, random_.Split("gaze pace").NextBits());
  const NoiseSignal yaw(random_.Split("yaw").NextBits(), 0.03, 0.12);
  const NoiseSignal pitch(random_.Split("pitch").NextBits(), 0.03, 0.12);
  const NoiseSignal roll(random_.Split("roll").NextBits(), 0.01, 0.06);
  const NoiseSignal shake(random_.Split("shake").NextBits(), 2, 6);
  std::vector<Vector3d> forward;
  for (const double s : progress) {
    const auto ahead = static_cast<float>(s + habits_.look_ahead);
    const Vector3f behind = route_.At(static_cast<float>(s - habits_.shaft)).position;
    // Beyond the route's end the gaze follows its last direction.
    const CurvePoint target = route_.At(ahead);
    const float beyond = std::max(0.0F, ahead - route_.Length());
    forward.emplace_back((target.position + beyond * target.tangent - behind).cast<double>().normalized());
  }
  forward = SmoothOverTime(forward, options_.fps);
  std::vector<Rigid3> poses;
  for (size_t k = 0; k < positions.size(); ++k) {
    const double t = felt[k] / options_.fps;
    const double tremble = 0.006 * shake.Value(static_cast<double>(k) / options_.fps);
    const Vector3d gaze = looking * M_PI / 180 *
                          Vector3d(pitch.Value(t) + tremble, yaw.Value(t) - tremble, 1.5 * roll.Value(t));
    const Rigid3 level = PoseLooking(positions[k], forward[k], progress[k]);
    poses.emplace_back(level.Rotation() * ExpSO3(gaze), positions[k]);
  }
  return poses;
}

std::vector<Rigid3> PathMaker::Make() {
  // Noise and rounded turns change the speeds that come out; two corrections bring them to the habit.
  double speed = habits_.speed;
  double looking = habits_.looking;
  std::vector<Rigid3> poses;
  for (int round = 0; round < 3; ++round) {
    const std::vector<double> progress = MakeProgress(speed);
    poses = MakePoses(progress, MakePositions(progress), looking);
    const PathStatistics statistics = ComputePathStatistics(poses);
    if (statistics.median_mm > 0) speed *= std::clamp(habits_.speed / statistics.median_mm, 0.5, 2.0);
    if (statistics.median_deg > 0) looking *= std::clamp(habits_.turn / statistics.median_deg, 0.4, 1.6);
    looking = std::min(looking, 4 * habits_.looking);
  }
  return poses;
}

}  // namespace

const std::vector<std::string>& PathNames() {
  static const std::vector<std::string> names = {"insertion", "insertion-retreat", "hover", "explore",
                                                 "revisit"};
  return names;
}

std::string PathName(PathKind kind) { return PathNames()[static_cast<size_t>(kind)]; }

PathKind ParsePathKind(const std::string& name) {
  return static_cast<PathKind>(ParseChoice("path", name, PathNames()));
}

std::vector<Rigid3> MakePath(const Anatomy& anatomy, const PathOptions& options) {
  if (options.frames < 1) throw InputError(StrCat("a path needs at least one frame, not ", options.frames));
  if (!(options.fps > 0) || !std::isfinite(options.fps))
    throw InputError(StrCat("bad frame rate ", options.fps));
  if (!(options.speed >= 0) || !std::isfinite(options.speed))
    throw InputError(StrCat("bad speed ", options.speed));
  if (options.loops < 1 || options.route < 0)
    throw InputError("a path needs at least one loop, and a route from 0 on");
  return PathMaker(anatomy, options).Make();
}

PathStatistics ComputePathStatistics(const std::vector<Rigid3>& world_from_camera) {
  std::vector<double> moved;
  std::vector<double> turned;
  PathStatistics statistics;
  for (size_t k = 1; k < world_from_camera.size(); ++k) {
    const Rigid3& before = world_from_camera[k - 1];
    const Rigid3& after = world_from_camera[k];
    moved.push_back((after.Translation() - before.Translation()).norm());
    turned.push_back(RotationAngle(before.Rotation(), after.Rotation()) * 180 / M_PI);
    statistics.length_mm += moved.back();
  }
  statistics.median_mm = Percentile(moved, 0.5);
  statistics.p95_mm = Percentile(moved, 0.95);
  statistics.median_deg = Percentile(turned, 0.5);
  statistics.p95_deg = Percentile(turned, 0.95);
  return statistics;
}

}  // namespace lumen
