// A run's folder: what `lumen run` leaves behind and `lumen eval` reads. A run may have been killed at any
// moment, so the reader takes what is whole: a last line without its end is dropped, a summary that is not
// there yet only leaves its fields empty.
//   frames.tum       every placed frame             keyframes.tum   every keyframe
//   depth/000042.png 16 bit, of keyframe 42; value / depth_scale = depth along z in the map's units,
//                    0 = unknown. Twice as large as the camera in summary.json says once the run has ended
//   events.jsonl     one line a frame, one for each loop found or taken back, and for a keyframe that was
//                    mapped later than its line could wait
//   summary.json     counts, times, versions        config.toml     the resolved parameters
//   sigma/000042.png 16 bit: value / kRunSigmaScale = standard deviation of that depth, as a share of it
//   *_uncertainty.csv  how far poses may be off (pose_uncertainty.h), and of frames how likely they are, once
//                    the run has ended
//   frames_ct.tum    of a run with a CT: cameras in it (mm, LPS) as they were told while the run went on;
//   frames_ct_uncertainty.csv by which registration, and how far off; registration/ what is known in the end
//   images/000042.png  the keyframe's picture       surface.ply     the keyframes' depth fused
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lumen/base/json.h"
#include "lumen/geometry/camera.h"
#include "lumen/image/image.h"
#include "lumen/io/frame_source.h"
#include "lumen/scene/trajectory.h"

namespace lumen {

namespace run_file {
inline constexpr const char* kFrames = "frames.tum";
inline constexpr const char* kKeyframes = "keyframes.tum";
inline constexpr const char* kDepth = "depth";
inline constexpr const char* kImages = "images";  // the keyframes' pictures
inline constexpr const char* kEvents = "events.jsonl";
inline constexpr const char* kSummary = "summary.json";
inline constexpr const char* kConfig = "config.toml";
inline constexpr const char* kMap = "map.h5";
inline constexpr const char* kSubmaps = "submaps";
inline constexpr const char* kSigma = "sigma";  // how far each depth may be off
inline constexpr const char* kFramesUncertainty = "frames_uncertainty.csv";
inline constexpr const char* kKeyframesUncertainty = "keyframes_uncertainty.csv";
inline constexpr const char* kStepsUncertainty = "steps_uncertainty.csv";
inline constexpr const char* kFramesCt = "frames_ct.tum";
inline constexpr const char* kFramesCtUncertainty = "frames_ct_uncertainty.csv";
inline constexpr const char* kRegistration = "registration";  // a folder, as `lumen register` writes it
inline constexpr const char* kSurface = "surface.ply";        // the keyframes' depth fused
}  // namespace run_file

// Keys of summary.json that the reader knows; writers may add any others.
namespace run_key {
inline constexpr const char* kDepthScale = "depth_scale";  // number, from the first second on
inline constexpr const char* kCamera = "camera";      // of the depth maps: width, height, fx, fy, cx, cy, and
                                                      // alpha where it is not a pinhole
inline constexpr const char* kVersion = "version";    // "0.1.0"
inline constexpr const char* kCommit = "commit";      // short hash
inline constexpr const char* kFinished = "finished";  // true once the run came to its end
inline constexpr const char* kFailed = "failed";      // why it did not; absent if nothing failed
inline constexpr const char* kInitSeconds = "init_seconds";  // until the first frame could be taken
inline constexpr const char* kInput = "input";               // what it was made from
inline constexpr const char* kInputOptions = "input_options";
}  // namespace run_key

enum class FrameStatus { kTracked, kWeak, kLost, kRelocalised, kSkipped };
const char* FrameStatusName(FrameStatus status);  // "tracked", "weak", …
std::optional<FrameStatus> ParseFrameStatus(const std::string& name);

// {"frame": 12, "time": 0.4, "status": "weak", "reason": "…", "keyframe": false, …}
struct RunFrameEvent {
  int64_t frame = 0;  // in the input's own numbering
  double time = 0;    // seconds
  FrameStatus status = FrameStatus::kTracked;
  std::string reason;
  bool keyframe = false;
  // How likely it is off (scene/certainty.h), as was said at once and at the end; less than 0: not told.
  double off_at_once = -1, off_at_last = -1;

  // Weak as well where it was doubted once all was known.
  FrameStatus LastStatus() const;
};

// {"event": "loop", "kind": "global", "from": 300, "to": 12, …}, by frame numbers;
// {"event": "loop_removed", "from": 300, "to": 12} takes one back.
struct RunLoop {
  std::string kind;  // "local" or "global"
  int64_t from = 0, to = 0;
  bool removed = false;
};

struct RunDepthFile {
  int64_t frame = 0;
  std::filesystem::path path;
};

struct RunFolder {
  std::filesystem::path path;
  Trajectory frames;
  Trajectory keyframes;
  std::vector<RunFrameEvent> events;
  std::vector<RunLoop> loops;
  std::vector<RunDepthFile> depth;  // by frame number
  Json summary;                     // null if there is none yet
  std::optional<double> depth_scale;
  std::optional<Camera> depth_camera;
  std::string version, commit;     // empty: not known
  bool finished = false;           // false: failed, killed, or still running
  std::string failed;              // why
  std::vector<std::string> notes;  // what was dropped while reading, in words
};

bool IsRunFolder(const std::filesystem::path& path);
// Throws InputError for a folder that is no run, and for lines before the last that make no sense.
RunFolder ReadRunFolder(const std::filesystem::path& path);

// In words, for whoever shows or grades it; empty if it came to its end.
std::string DescribeBrokenRun(const RunFolder& run);

inline constexpr double kRunSigmaScale = 10000;
// Of a depth map; empty where the run does not say.
Image<float> LoadRunSigma(const std::filesystem::path& folder, int64_t frame);

std::string RunDepthName(int64_t frame);  // "000042.png"
// A depth map of 16 bits, divided by its scale; 0 = unknown.
DepthImage LoadScaledDepth(const std::filesystem::path& path, double depth_scale);
// Files of a folder that are named by a frame number ("000042.png"), in its order; others are ignored.
std::vector<RunDepthFile> ListDepthFiles(const std::filesystem::path& folder);

Json CameraToJson(const Camera& camera);  // of a view, as summary.json holds it

// How the input was read, so that it can be read again: what differs from the defaults.
Json InputOptionsToJson(const InputOptions& options);
// From a summary; the defaults where it says nothing.
InputOptions InputOptionsOf(const Json& summary);

}  // namespace lumen
