// Brings what a system left on disk and the truth of its sequence together, and grades the one by the other.
// Any system's files are graded alike: Lumen's own are only read more comfortably.
#pragma once

#include <filesystem>
#include <memory>

#include "lumen/eval/calibration.h"
#include "lumen/eval/grades.h"
#include "lumen/eval/status_score.h"
#include "lumen/io/frame_source.h"
#include "lumen/io/run_folder.h"
#include "lumen/io/sparse_depth.h"

namespace lumen {

struct Truth {
  std::filesystem::path path;
  std::string name;
  std::string units = "arbitrary";
  double fps = 30;
  int64_t frames = 0;
  Trajectory trajectory;
  std::shared_ptr<const FrameSource> source;  // for depth; null if the truth is a trajectory alone
  SparseDepth sparse;                         // at single places; graded by where frames have no depth map
  std::filesystem::path model;                // the true surface; empty: there is none
  std::filesystem::path coverage;             // … and what was seen of it (io/coverage_mesh.h)
};

// A sequence with true poses (whatever `OpenInput` reads), or a trajectory file, whose poses come at `fps`
// where it says no times.
Truth LoadTruth(const std::filesystem::path& path, double fps = 30);

// What a system says. The paper grades keyframes only; `frames` is what else was placed.
struct Estimate {
  std::string name;
  std::filesystem::path folder;  // of a run; empty for other systems
  Trajectory keyframes;
  Trajectory frames;
  std::vector<RunDepthFile> depth;
  std::optional<double> depth_scale;
  std::optional<Camera> depth_camera;
  std::vector<RunFrameEvent> events;
  std::vector<RunLoop> loops;
  std::filesystem::path surface;  // empty: there is none
  std::string version;            // with commit; empty for other systems
  std::vector<std::string> notes;
};

Estimate LoadRunEstimate(const std::filesystem::path& run);

struct ForeignFiles {
  std::filesystem::path trajectory;  // TUM, KITTI or COLMAP
  std::filesystem::path depth;       // folder of 16-bit 000042.png by frame number; empty: none
  double depth_scale = 1000;
  std::filesystem::path depth_camera;  // calibration of the depth maps, if not the sequence's own view
};
Estimate LoadForeignEstimate(const ForeignFiles& files, double fps);

struct GradingOptions {
  double max_time_gap = kMaxTimeGap;
  int step_poses = 7;
  double step_frames = 0;    // video frames, instead of poses; 0: not given
  bool all_frames = false;   // every placed frame besides
  bool one_scale = false;    // the errors at one scale a sequence besides (eval/one_scale_error.h)
  bool only_frames = false;  // every placed frame instead of the keyframes, where a system tells them apart
  bool coverage = false;     // how true it is what the run says it has not seen
  int threads = 1;
};

struct CoverageScore;
struct DepthMapGrade {
  int64_t frame = 0;
  double frame_scale = 0;  // median of truth / estimate
  DepthScores by_frame;
  std::optional<DepthScores> by_trajectory;
  std::optional<DepthScores> at_folds;  // in the frame's scale, near depth edges alone
};

struct Grading {
  Grades grades;
  std::optional<Grades> all_frames;
  TrajectoryErrors keyframes;
  std::optional<TrajectoryErrors> frames;
  std::vector<DepthMapGrade> maps;
  std::map<std::string, CalibrationScore> calibration;    // by what is said to be so sure
  std::optional<StatusScore> statuses_at_once, statuses;  // at the end
  std::shared_ptr<const CoverageScore> coverage;          // null: not graded
  std::vector<std::string> notes;
};

Grading GradeEstimate(const Estimate& estimate, const Truth& truth, const GradingOptions& options);
Json GradingToJson(const Grading& grading, const Estimate& estimate, const Truth& truth);

// Points of the truth where a map shows them.
struct PointOnMap {
  int x = 0, y = 0;
  double depth = 0;  // true
};
std::vector<PointOnMap> PlacePoints(ImageView<const float> map, const std::vector<SparsePoint>& points,
                                    const Camera& map_camera, const Camera& truth_camera);

// Truth on the grid of a depth map of that size, or the reason why there is no such thing.
struct SamplerChoice {
  std::optional<TruthSampler> sampler;
  std::string reason;
};
SamplerChoice MakeTruthSampler(const Estimate& estimate, const Truth& truth, ImageView<const float> map,
                               ImageView<const float> true_map);

}  // namespace lumen
