#include "lumen/apps/archive_index.h"

#include <algorithm>
#include <array>
#include <map>

#include "lumen/apps/archive_video.h"
#include "lumen/base/csv.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/io/input_search.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::pair<CtVerdict, const char*>, 4> kVerdicts = {
    {{CtVerdict::kNone, ""},
     {CtVerdict::kNotFound, "not found"},
     {CtVerdict::kDoubtful, "doubtful"},
     {CtVerdict::kRegistered, "registered"}}};

CtVerdict VerdictOf(const std::string& name, const std::string& source) {
  for (const auto& [verdict, known] : kVerdicts)
    if (name == known) return verdict;
  throw InputError(source, StrCat("\"", Printable(name), "\" is no verdict on a registration"));
}

std::optional<double> OptionalNumber(const Json& json, const char* key) {
  const Json* value = json.Find(key);
  return value != nullptr && value->IsNumber() ? std::optional(value->AsDouble()) : std::nullopt;
}

VideoEntry LoadFinished(const fs::path& out, const std::string& folder) {
  const fs::path file = archive_file::Record(out, folder);
  VideoEntry entry = VideoFromJson(Json::Load(file), file.string());
  entry.folder = folder;
  return entry;
}

VideoEntry LoadUnfinished(const fs::path& out, const std::string& folder, const Json& planned) {
  VideoEntry entry;
  entry.folder = folder;
  entry.name = planned.At("name").AsString();
  entry.input = planned.At("input").AsString();
  const fs::path file = archive_file::Failure(out, folder);
  if (!fs::exists(file)) return entry;
  const Json failure = Json::Load(file);
  entry.state = VideoState::kFailed;
  entry.reason = failure.At("reason").AsString();
  entry.node = failure.At("node").AsString();
  entry.attempts = static_cast<int>(failure.At("attempts").AsInteger());
  entry.seconds = failure.At("seconds").AsDouble();
  return entry;
}

const char* VerdictName(CtVerdict verdict) {
  for (const auto& [known, name] : kVerdicts)
    if (known == verdict) return name;
  return "";
}

}  // namespace

Json VideoToJson(const VideoEntry& entry) {
  Json json = Json::MakeObject();
  json["name"] = entry.name;
  json["input"] = entry.input;
  json["identity"] = entry.identity;
  json["version"] = entry.version;
  json["node"] = entry.node;
  json["seconds"] = entry.seconds;
  json["length_s"] = entry.length;
  json["frames"] = entry.frames;
  json["placed"] = entry.placed;
  json["lost_spans"] = entry.lost_spans;
  json["keyframes"] = entry.keyframes;
  json["reliable"] = entry.reliable;
  json["words"] = entry.words;
  json["coverage"] = entry.coverage ? Json(*entry.coverage) : Json();
  json["coverage_sigma"] = entry.coverage_sigma ? Json(*entry.coverage_sigma) : Json();
  json["ct"] = VerdictName(entry.ct);
  json["ct_words"] = entry.ct_words;
  json["thumbnail"] = entry.thumbnail;
  return json;
}

VideoEntry VideoFromJson(const Json& json, const std::string& source) {
  VideoEntry entry;
  entry.state = VideoState::kDone;
  entry.name = json.At("name").AsString();
  entry.input = json.At("input").AsString();
  entry.identity = json.At("identity");
  entry.version = json.At("version").AsString();
  entry.node = json.At("node").AsString();
  entry.seconds = json.At("seconds").AsDouble();
  entry.length = json.At("length_s").AsDouble();
  entry.frames = json.At("frames").AsInteger();
  entry.placed = json.At("placed").AsInteger();
  entry.lost_spans = json.At("lost_spans").AsInteger();
  entry.keyframes = json.At("keyframes").AsInteger();
  entry.reliable = json.At("reliable").AsBool();
  entry.words = json.At("words").AsString();
  entry.coverage = OptionalNumber(json, "coverage");
  entry.coverage_sigma = OptionalNumber(json, "coverage_sigma");
  entry.ct = VerdictOf(json.At("ct").AsString(), source);
  entry.ct_words = json.At("ct_words").AsString();
  entry.thumbnail = json.At("thumbnail").AsString();
  return entry;
}

Json FailureToJson(const VideoEntry& entry) {
  Json json = Json::MakeObject();
  json["name"] = entry.name;
  json["input"] = entry.input;
  json["reason"] = entry.reason;
  json["node"] = entry.node;
  json["attempts"] = entry.attempts;
  json["seconds"] = entry.seconds;
  return json;
}

fs::path archive_file::Place(const fs::path& out, const std::string& folder) {
  return out / "videos" / folder;
}
fs::path archive_file::Work(const fs::path& out, const std::string& folder) { return out / "work" / folder; }
fs::path archive_file::Record(const fs::path& out, const std::string& folder) {
  return Place(out, folder) / video_file::kRecord;
}
fs::path archive_file::Failure(const fs::path& out, const std::string& folder) {
  return Work(out, folder) / "failure.json";
}

std::vector<VideoEntry> LoadArchive(const fs::path& out) {
  if (!fs::is_regular_file(out / kBatchRecord)) throw InputError(out, "holds no batch");
  std::map<std::string, VideoEntry> entries;  // by folder, which are unlike one another
  std::error_code error;
  for (const auto& each : fs::directory_iterator(out / "videos", error)) {
    const std::string folder = each.path().filename().string();
    if (fs::is_regular_file(archive_file::Record(out, folder))) entries[folder] = LoadFinished(out, folder);
  }
  const Json batch = Json::Load(out / kBatchRecord);
  for (const Json& planned : batch.At("videos").AsArray()) {
    const std::string folder = planned.At("folder").AsString();
    if (!entries.contains(folder)) entries[folder] = LoadUnfinished(out, folder, planned);
  }
  std::vector<VideoEntry> sorted;
  for (auto& [_, entry] : entries) sorted.push_back(std::move(entry));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const VideoEntry& a, const VideoEntry& b) { return a.name < b.name; });
  return sorted;
}

ArchiveCounts CountVideos(const std::vector<VideoEntry>& entries) {
  ArchiveCounts counts;
  for (const VideoEntry& entry : entries) {
    if (entry.state == VideoState::kDone) ++counts.done;
    if (entry.state == VideoState::kFailed) ++counts.failed;
    if (entry.state == VideoState::kWaiting) ++counts.waiting;
  }
  return counts;
}

std::string FormatIndexCsv(const std::vector<VideoEntry>& entries) {
  std::string text =
      "name,input,state,length_s,frames,placed,lost_spans,keyframes,reliable,coverage,coverage_sigma,ct,"
      "ct_words,seconds,node,version,folder\n";
  for (const VideoEntry& entry : entries) {
    const bool done = entry.state == VideoState::kDone;
    text += StrCat(CsvCell(entry.name), ",", CsvCell(entry.input), ",",
                   done ? "done" : (entry.state == VideoState::kFailed ? "failed" : "waiting"), ",");
    if (done)
      text += StrCat(entry.length, ",", entry.frames, ",", entry.placed, ",", entry.lost_spans, ",",
                     entry.keyframes, ",", entry.reliable ? "yes" : "no", ",",
                     entry.coverage ? FormatDouble(*entry.coverage) : "", ",",
                     entry.coverage_sigma ? FormatDouble(*entry.coverage_sigma) : "", ",",
                     VerdictName(entry.ct), ",", CsvCell(entry.ct_words), ",");
    else
      text += ",,,,,,,,,,";
    text += StrCat(entry.seconds, ",", CsvCell(entry.node), ",", CsvCell(entry.version), ",",
                   done ? "videos/" : "work/", entry.folder, "\n");
  }
  return text;
}

std::string FormatFailuresCsv(const std::vector<VideoEntry>& entries) {
  std::string text = "name,input,reason,attempts,seconds,node,log\n";
  for (const VideoEntry& entry : entries)
    if (entry.state == VideoState::kFailed)
      text += StrCat(CsvCell(entry.name), ",", CsvCell(entry.input), ",", CsvCell(entry.reason), ",",
                     entry.attempts, ",", entry.seconds, ",", CsvCell(entry.node), ",work/", entry.folder,
                     "/log.txt\n");
  return text;
}

void WriteIndex(const std::vector<VideoEntry>& entries, const fs::path& out) {
  const std::string title = fs::absolute(out / "").lexically_normal().parent_path().filename().string();
  WriteFileAtomically(out / "index.csv", FormatIndexCsv(entries), Flush::kLater);
  WriteFileAtomically(out / "failures.csv", FormatFailuresCsv(entries), Flush::kLater);
  WriteFileAtomically(out / "index.html", FormatIndexPage(entries, title), Flush::kLater);
}

}  // namespace lumen
