#include "lumen/apps/export_points.h"

#include <Eigen/Dense>
#include <algorithm>
#include <map>

#include "lumen/base/parallel.h"

namespace lumen {

namespace {

// The point nearest to all rays, where it begins.
std::optional<Eigen::Vector3d> NearestToRays(const PinholeCamera& camera,
                                             const std::vector<RaySighting>& sightings) {
  Eigen::Matrix3d sum = Eigen::Matrix3d::Zero();
  Eigen::Vector3d right = Eigen::Vector3d::Zero();
  for (const RaySighting& seen : sightings) {
    if (!seen.kept) continue;
    const Rigid3 pose = seen.camera_from_world.Inverse();
    const Eigen::Vector3d ray =
        (pose.Rotation() * Eigen::Vector3d((seen.pixel.x() - camera.cx) / camera.fx,
                                           (seen.pixel.y() - camera.cy) / camera.fy, 1))
            .normalized();
    const Eigen::Matrix3d across = Eigen::Matrix3d::Identity() - ray * ray.transpose();
    sum += across;
    right += across * pose.Translation();
  }
  const Eigen::LDLT<Eigen::Matrix3d> solver(sum);
  const Eigen::Vector3d point = solver.solve(right);
  return solver.info() == Eigen::Success && point.allFinite() ? std::optional(point) : std::nullopt;
}

struct PixelMiss {
  Eigen::Vector2d residual;
  Eigen::Matrix<double, 2, 3> by_point;
};
std::optional<PixelMiss> MissOf(const PinholeCamera& camera, const RaySighting& seen,
                                const Eigen::Vector3d& point) {
  const Eigen::Vector3d x = seen.camera_from_world * point;
  if (!(x.z() > 1e-9)) return std::nullopt;
  const double u = camera.fx * x.x() / x.z(), v = camera.fy * x.y() / x.z();
  Eigen::Matrix<double, 2, 3> by_x;
  by_x << camera.fx / x.z(), 0, -u / x.z(), 0, camera.fy / x.z(), -v / x.z();
  return PixelMiss{Eigen::Vector2d(u + camera.cx, v + camera.cy) - seen.pixel,
                   by_x * seen.camera_from_world.RotationMatrix()};
}

// Gauss and Newton's steps from there.
std::optional<Eigen::Vector3d> Refine(const PinholeCamera& camera, const std::vector<RaySighting>& sightings,
                                      Eigen::Vector3d point) {
  constexpr int kSteps = 6;
  for (int step = 0; step < kSteps; ++step) {
    Eigen::Matrix3d h = Eigen::Matrix3d::Zero();
    Eigen::Vector3d b = Eigen::Vector3d::Zero();
    for (const RaySighting& seen : sightings) {
      if (!seen.kept) continue;
      const auto miss = MissOf(camera, seen, point);
      if (!miss) return std::nullopt;
      h += miss->by_point.transpose() * miss->by_point;
      b += miss->by_point.transpose() * miss->residual;
    }
    const Eigen::LDLT<Eigen::Matrix3d> solver(h);
    const Eigen::Vector3d shift = solver.solve(b);
    if (solver.info() != Eigen::Success || !shift.allFinite()) return std::nullopt;
    point -= shift;
  }
  return point;
}

double WidestAngle(const std::vector<RaySighting>& sightings, const Eigen::Vector3d& point) {
  double least = 1;
  std::vector<Eigen::Vector3d> rays;
  for (const RaySighting& seen : sightings)
    if (seen.kept) rays.push_back((point - seen.camera_from_world.Inverse().Translation()).normalized());
  for (size_t i = 0; i < rays.size(); ++i)
    for (size_t k = i + 1; k < rays.size(); ++k) least = std::min(least, rays[i].dot(rays[k]));
  return std::acos(std::clamp(least, -1.0, 1.0)) * 180 / M_PI;
}

// Others that see the same, as far as their places and directions tell; the nearest first.
std::vector<size_t> PartnersOf(const std::vector<PointedView>& views, size_t source, int most) {
  std::vector<std::pair<double, size_t>> others;
  for (size_t i = 0; i < views.size(); ++i) {
    if (i == source) continue;
    const Rigid3 motion = views[i].world_from_camera.Inverse() * views[source].world_from_camera;
    const double turn = Eigen::AngleAxisd(motion.Rotation()).angle();
    constexpr double kMostTurn = 1;  // radian
    if (turn < kMostTurn) others.emplace_back(motion.Translation().norm() * (1 + turn), i);
  }
  const size_t count = std::min(others.size(), static_cast<size_t>(most));
  std::partial_sort(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(count), others.end());
  std::vector<size_t> chosen;
  for (size_t i = 0; i < count; ++i) chosen.push_back(others[i].second);
  return chosen;
}

// A corner of one picture with its sightings; the first is its own.
struct Track {
  std::array<uint8_t, 3> colour{};
  std::vector<size_t> images;
  std::vector<RaySighting> sightings;
  MetPoint point;
};

std::vector<Track> TrackCorners(const std::vector<PointedView>& views, size_t source,
                                const PinholeCamera& camera, const ExportPointOptions& options) {
  const PointedView& mine = views[source];
  std::vector<Track> tracks(mine.points.points.size());
  for (size_t k = 0; k < tracks.size(); ++k)
    tracks[k] = {mine.colours[k],
                 {source},
                 {{mine.world_from_camera.Inverse(), mine.points.points[k].cast<double>(), true}},
                 {}};
  for (const size_t other : PartnersOf(views, source, options.partners)) {
    const PointedView& theirs = views[other];
    const Rigid3 motion = theirs.world_from_camera.Inverse() * mine.world_from_camera;
    for (const Sighting& seen :
         SeePoints({&mine.points, &mine.depth}, {&theirs.points, &theirs.depth}, motion)) {
      Track& track = tracks[static_cast<size_t>(seen.point)];
      track.images.push_back(other);
      track.sightings.push_back({theirs.world_from_camera.Inverse(), seen.pixel, true});
    }
  }
  std::vector<Track> good;
  for (Track& track : tracks) {
    if (track.sightings.size() < options.least_sightings) continue;
    const auto point = MeetRays(camera, track.sightings, options.most_error);
    const auto kept = static_cast<size_t>(std::count_if(track.sightings.begin(), track.sightings.end(),
                                                        [](const RaySighting& s) { return s.kept; }));
    if (!point || kept < options.least_sightings || !track.sightings.front().kept) continue;
    if (WidestAngle(track.sightings, point->position) < options.least_angle) continue;
    track.point = *point;
    good.push_back(std::move(track));
  }
  return good;
}

// A pixel of the pictures that points were found in, in pictures so many times as fine.
Eigen::Vector2d Finer(const Eigen::Vector2d& pixel, double times) {
  return (pixel.array() + 0.5) * times - 0.5;
}

}  // namespace

std::optional<MetPoint> MeetRays(const PinholeCamera& camera, std::vector<RaySighting>& sightings,
                                 double most_error) {
  for (;;) {
    const auto kept =
        std::count_if(sightings.begin(), sightings.end(), [](const RaySighting& s) { return s.kept; });
    if (kept < 2) return std::nullopt;
    const auto begin = NearestToRays(camera, sightings);
    const auto point = begin ? Refine(camera, sightings, *begin) : std::nullopt;
    if (!point) return std::nullopt;
    double sum = 0, worst = 0;
    RaySighting* worst_one = nullptr;
    for (RaySighting& seen : sightings) {
      if (!seen.kept) continue;
      const auto miss = MissOf(camera, seen, *point);
      if (!miss) return std::nullopt;
      const double error = miss->residual.norm();
      sum += error;
      if (error > worst) {
        worst = error;
        worst_one = &seen;
      }
    }
    if (worst <= most_error) return MetPoint{*point, sum / static_cast<double>(kept)};
    worst_one->kept = false;
  }
}

PointedView MakePointedView(const Rigid3& world_from_camera, const std::shared_ptr<const View>& view,
                            const RgbImage& fine, DepthImage depth, int corners) {
  auto frame = std::make_shared<Frame>();
  frame->view = view;
  Keyframe keyframe;
  keyframe.frame = frame;
  keyframe.depth.average = std::move(depth);
  keyframe.fine = fine;
  PointOptions options;
  options.corners.count = corners;
  PointedView made{world_from_camera, FindPoints(keyframe, options), std::move(keyframe.depth.average), {}};
  for (const Eigen::Vector2i& at : made.points.points)
    made.colours.push_back({fine(at.x(), at.y(), 0), fine(at.x(), at.y(), 1), fine(at.x(), at.y(), 2)});
  return made;
}

void AddMatchedPoints(const std::vector<PointedView>& views, const std::vector<size_t>& images,
                      const PinholeCamera& camera, const ExportPointOptions& options, ExportedScene& scene,
                      int threads) {
  LUMEN_CHECK(views.size() == images.size());
  const double finer = scene.camera.AsPinhole()->fx / camera.fx;
  std::vector<std::vector<Track>> found(views.size());
  ParallelFor(static_cast<int64_t>(views.size()), threads, [&](int64_t i) {
    found[static_cast<size_t>(i)] = TrackCorners(views, static_cast<size_t>(i), camera, options);
  });
  for (const std::vector<Track>& tracks : found) {
    for (const Track& track : tracks) {
      ExportedPoint point{track.point.position, track.colour, finer * track.point.error, {}};
      const auto number = static_cast<int>(scene.points.size());
      for (size_t k = 0; k < track.sightings.size(); ++k) {
        if (!track.sightings[k].kept) continue;
        const size_t image = images[track.images[k]];
        auto& pixels = scene.images[image].pixels;
        point.sightings.push_back({static_cast<int>(image), static_cast<int>(pixels.size())});
        pixels.push_back({Finer(track.sightings[k].pixel, finer), number});
      }
      scene.points.push_back(std::move(point));
    }
  }
}

}  // namespace lumen
