#include "lumen/io/run_folder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/text.h"
#include "lumen/io/png.h"
#include "lumen/io/pose_uncertainty.h"
#include "lumen/io/trajectory_file.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr std::array<const char*, 5> kStatusNames = {"tracked", "weak", "lost", "relocalised", "skipped"};

// The file's whole lines; a last one without its end was being written when the run died.
std::string ReadWholeLines(const fs::path& path, std::vector<std::string>& notes) {
  if (!fs::exists(path)) return "";
  std::string text = ReadFile(path);
  const size_t end = text.rfind('\n');
  const size_t whole = end == std::string::npos ? 0 : end + 1;
  if (whole < text.size()) {
    notes.push_back(StrCat(path.filename().string(), ": the last line is cut short and was left out"));
    text.resize(whole);
  }
  return text;
}

Trajectory ReadPoses(const fs::path& path, std::vector<std::string>& notes) {
  const std::string text = ReadWholeLines(path, notes);
  return HoldsPoses(text) ? ParseTrajectory(text, path) : Trajectory{};
}

RunLoop ParseLoop(const Json& line) {
  const Json* kind = line.Find("kind");
  return {kind != nullptr ? kind->AsString() : "", line.At("from").AsInteger(), line.At("to").AsInteger(),
          false};
}

RunFrameEvent ParseFrameEvent(const Json& line) {
  const auto status = ParseFrameStatus(line.At("status").AsString());
  if (!status) throw InputError(StrCat("unknown status \"", line.At("status").AsString(), "\""));
  const Json* reason = line.Find("reason");
  const Json* keyframe = line.Find("keyframe");
  const Json* off = line.Find("off_probability");
  return {line.At("frame").AsInteger(),
          line.At("time").AsDouble(),
          *status,
          reason != nullptr && reason->IsString() ? reason->AsString() : "",
          keyframe != nullptr && keyframe->AsBool(),
          off != nullptr && off->IsNumber() ? std::clamp(off->AsDouble(), 0.0, 1.0) : -1};
}

void MarkRemoved(const RunLoop& removed, std::vector<RunLoop>& loops) {
  for (RunLoop& loop : loops) {
    const bool same = (loop.from == removed.from && loop.to == removed.to) ||
                      (loop.from == removed.to && loop.to == removed.from);
    if (same) loop.removed = true;
  }
}

void ParseEvent(const Json& line, RunFolder& run) {
  const Json* event = line.Find("event");
  const std::string kind = event != nullptr ? event->AsString() : "frame";
  if (kind == "loop") {
    run.loops.push_back(ParseLoop(line));
  } else if (kind == "loop_removed") {
    MarkRemoved(ParseLoop(line), run.loops);
  } else if (kind == "frame") {
    run.events.push_back(ParseFrameEvent(line));
  }  // other events are for other readers
}

void ReadEvents(const fs::path& path, RunFolder& run) {
  int number = 0;
  for (const std::string& line : Split(ReadWholeLines(path, run.notes), '\n')) {
    ++number;
    if (Trim(line).empty()) continue;
    try {
      ParseEvent(Json::Parse(line, "event"), run);
    } catch (const InputError& error) {
      throw InputError(path, StrCat("line ", number, ": ", error.what()));
    }
  }
}

// What the run said of its frames in the end.
void ReadDoubts(const fs::path& path, RunFolder& run) {
  constexpr double kSameTime = 1e-4;
  if (!fs::is_regular_file(path)) return;
  std::map<double, double> off_at;
  for (const PoseSigma& frame : LoadPoseSigmas(path))
    if (frame.off_probability >= 0) off_at[frame.time] = frame.off_probability;
  for (RunFrameEvent& event : run.events) {
    const auto off = off_at.lower_bound(event.time - kSameTime);
    if (off != off_at.end() && off->first <= event.time + kSameTime) event.off_at_last = off->second;
  }
}

std::string TextOr(const Json& object, const char* key) {
  const Json* found = object.Find(key);
  return found != nullptr && found->IsString() ? found->AsString() : "";
}

std::optional<Camera> ParseCameraJson(const Json& json) {
  const auto number = [&](const char* key) { return json.At(key).AsDouble(); };
  const PinholeCamera pinhole{number("fx"), number("fy"), number("cx"), number("cy")};
  const int64_t columns = json.At("width").AsInteger(), rows = json.At("height").AsInteger();
  const bool finite = std::isfinite(pinhole.cx) && std::isfinite(pinhole.cy) && std::isfinite(pinhole.fx) &&
                      std::isfinite(pinhole.fy);
  constexpr int kMostSide = 1 << 14;
  if (!finite || !(pinhole.fx > 0) || !(pinhole.fy > 0) || std::min(columns, rows) < 1 ||
      std::max(columns, rows) > kMostSide)
    throw InputError("the camera makes no sense");
  const auto width = static_cast<int>(columns), height = static_cast<int>(rows);
  if (json.Find("alpha") == nullptr) return Camera(pinhole, width, height);
  const double alpha = number("alpha");
  if (!(alpha >= 0 && alpha < 1)) throw InputError("the camera's alpha must be at least 0 and less than 1");
  return Camera(UnifiedCamera{pinhole.fx, pinhole.fy, pinhole.cx, pinhole.cy, alpha}, width, height);
}

void ReadSummary(const fs::path& path, RunFolder& run) {
  if (!fs::exists(path)) {
    run.notes.emplace_back("summary.json is missing");
    return;
  }
  const std::string text = ReadFile(path);  // a file that is broken is one thing, a disk that is another
  try {
    run.summary = Json::Parse(text, path.string());
  } catch (const InputError& error) {
    run.notes.push_back(StrCat("summary.json cannot be read: ", error.what()));
    return;
  }
  run.version = TextOr(run.summary, run_key::kVersion);
  run.commit = TextOr(run.summary, run_key::kCommit);
  run.failed = TextOr(run.summary, run_key::kFailed);
  const Json* finished = run.summary.Find(run_key::kFinished);
  run.finished = finished != nullptr && finished->IsBool() && finished->AsBool();
  const Json* scale = run.summary.Find(run_key::kDepthScale);
  if (scale != nullptr && scale->IsNumber()) {
    constexpr double kLeast = 1e-9, kMost = 1e9;  // beyond, depths are no numbers
    if (!(scale->AsDouble() >= kLeast && scale->AsDouble() <= kMost))
      throw InputError(path, "depth_scale must be a positive number");
    run.depth_scale = scale->AsDouble();
  }
  const Json* camera = run.summary.Find(run_key::kCamera);
  if (camera == nullptr || !camera->IsObject()) return;
  try {
    run.depth_camera = ParseCameraJson(*camera);
  } catch (const InputError& error) {
    throw InputError(path, error.what());
  }
}

}  // namespace

const char* FrameStatusName(FrameStatus status) { return kStatusNames.at(static_cast<size_t>(status)); }

std::optional<FrameStatus> ParseFrameStatus(const std::string& name) {
  for (size_t i = 0; i < kStatusNames.size(); ++i)
    if (name == kStatusNames[i]) return static_cast<FrameStatus>(i);
  return std::nullopt;
}

FrameStatus RunFrameEvent::LastStatus() const {
  const bool placed = status == FrameStatus::kTracked || status == FrameStatus::kRelocalised;
  return placed && off_at_last >= kWeakFrom ? FrameStatus::kWeak : status;
}

bool IsRunFolder(const fs::path& path) {
  for (const char* name : {run_file::kFrames, run_file::kKeyframes, run_file::kSummary})
    if (fs::is_regular_file(path / name)) return true;
  return false;
}

RunFolder ReadRunFolder(const fs::path& path) {
  if (!fs::is_directory(path)) throw InputError(path, "is not a folder");
  if (!IsRunFolder(path))
    throw InputError(path, "is not a run: it holds neither frames.tum, keyframes.tum nor summary.json");
  RunFolder run;
  run.path = path;
  ReadSummary(path / run_file::kSummary, run);
  run.frames = ReadPoses(path / run_file::kFrames, run.notes);
  run.keyframes = ReadPoses(path / run_file::kKeyframes, run.notes);
  ReadEvents(path / run_file::kEvents, run);
  ReadDoubts(path / run_file::kFramesUncertainty, run);
  if (fs::is_directory(path / run_file::kDepth)) run.depth = ListDepthFiles(path / run_file::kDepth);
  return run;
}

std::string DescribeBrokenRun(const RunFolder& run) {
  if (run.finished) return "";
  return run.failed.empty() ? "the run did not come to its end" : StrCat("the run failed: ", run.failed);
}

std::string RunDepthName(int64_t frame) {
  char name[40];
  std::snprintf(name, sizeof(name), "%06lld.png", static_cast<long long>(frame));
  return name;
}

DepthImage LoadScaledDepth(const fs::path& path, double depth_scale) {
  const Image<uint16_t> stored = LoadPng16(path);
  DepthImage depth(stored.Width(), stored.Height());
  for (size_t i = 0; i < depth.Size(); ++i)
    depth.Data()[i] = static_cast<float>(stored.Data()[i] / depth_scale);
  return depth;
}

Image<float> LoadRunSigma(const fs::path& folder, int64_t frame) {
  const fs::path path = folder / run_file::kSigma / RunDepthName(frame);
  return fs::is_regular_file(path) ? LoadScaledDepth(path, kRunSigmaScale) : Image<float>();
}

std::vector<RunDepthFile> ListDepthFiles(const fs::path& folder) {
  std::vector<RunDepthFile> files;
  for (const fs::path& file : ListFiles(folder)) {
    const auto number = ParseInteger(file.stem().string());
    if (ToLower(file.extension().string()) == ".png" && number && *number >= 0)
      files.push_back({*number, file});
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.frame < b.frame; });
  return files;
}

Json CameraToJson(const Camera& camera) {
  const auto unified = camera.AsUnified();
  LUMEN_CHECK(unified, "depth maps are of a view");
  Json json = Json::MakeObject();
  json["width"] = camera.Width();
  json["height"] = camera.Height();
  json["model"] = camera.ModelName();
  json["fx"] = unified->fx;
  json["fy"] = unified->fy;
  json["cx"] = unified->cx;
  json["cy"] = unified->cy;
  if (!unified->IsPinhole()) json["alpha"] = unified->alpha;
  return json;
}

Json InputOptionsToJson(const InputOptions& options) {
  Json json = Json::MakeObject();
  const InputOptions plain;
  // Absolute, since whoever reads it may be elsewhere.
  if (!options.calibration.empty())
    json["calibration"] = std::filesystem::absolute(options.calibration).string();
  if (!options.mask.empty()) json["mask"] = std::filesystem::absolute(options.mask).string();
  if (!options.sequence.empty()) json["sequence"] = options.sequence;
  if (options.flip_z) json["flip_z"] = true;
  if (options.mask_text) json["mask_text"] = true;
  if (options.fov_degrees != plain.fov_degrees) json["fov"] = options.fov_degrees;
  if (options.fps != plain.fps) json["fps"] = options.fps;
  if (options.start != plain.start) json["start"] = options.start;
  if (options.end != plain.end) json["end"] = options.end;
  if (options.stride != plain.stride) json["stride"] = options.stride;
  if (options.swap_red_and_blue) json["bgr"] = true;
  return json;
}

InputOptions InputOptionsOf(const Json& summary) {
  InputOptions options;
  const Json* json = summary.Find(run_key::kInputOptions);
  if (json == nullptr) return options;
  const auto find = [&](const char* key, auto kind) {
    const Json* value = json->Find(key);
    return value != nullptr && (value->*kind)() ? value : nullptr;
  };
  if (const Json* value = find("calibration", &Json::IsString)) options.calibration = value->AsString();
  if (const Json* value = find("sequence", &Json::IsString)) options.sequence = value->AsString();
  if (const Json* value = find("mask_text", &Json::IsBool)) options.mask_text = value->AsBool();
  if (const Json* value = find("flip_z", &Json::IsBool)) options.flip_z = value->AsBool();
  if (const Json* value = find("mask", &Json::IsString)) options.mask = value->AsString();
  if (const Json* value = find("fov", &Json::IsNumber)) options.fov_degrees = value->AsDouble();
  if (const Json* value = find("fps", &Json::IsNumber)) options.fps = value->AsDouble();
  // No video has as many frames; and a summary may say anything.
  constexpr int64_t kMostFrames = int64_t{1} << 40;
  if (const Json* value = find("start", &Json::IsInteger))
    options.start = std::clamp<int64_t>(value->AsInteger(), 0, kMostFrames);
  if (const Json* value = find("end", &Json::IsInteger)) options.end = value->AsInteger();
  if (const Json* value = find("stride", &Json::IsInteger))
    options.stride = std::clamp<int64_t>(value->AsInteger(), 1, kMostFrames);
  if (const Json* value = find("bgr", &Json::IsBool)) options.swap_red_and_blue = value->AsBool();
  return options;
}

}  // namespace lumen
