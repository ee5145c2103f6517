// What `lumen batch` keeps up to date in its folder: an archive's videos on one page, and as tables.
//   index.html           sorted by a click, searched by a word; pictures and reports are linked, so the page
//                        works where the folder lies
//   index.csv            the same as a table           failures.csv        what failed, and why
//   batch.json           what the newest batch was asked for
//   videos/NAME          a finished video, whole (archive_video.h)
//   work/NAME            log.txt of the newest attempt, failure.json if it failed
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lumen/base/json.h"

namespace lumen {

enum class VideoState { kWaiting, kDone, kFailed };
enum class CtVerdict { kNone, kNotFound, kDoubtful, kRegistered };

struct VideoEntry {
  std::string name;    // as people know it
  std::string folder;  // of OUT/videos and OUT/work
  std::string input;
  VideoState state = VideoState::kWaiting;
  double seconds = 0;  // it took
  std::string node;
  // Of a finished one.
  Json identity;
  std::string version;
  double length = 0;  // seconds
  int64_t frames = 0, placed = 0, lost_spans = 0, keyframes = 0;
  bool reliable = false;                           // by its own account
  std::string words;                               // that account
  std::optional<double> coverage, coverage_sigma;  // shares of the wall
  CtVerdict ct = CtVerdict::kNone;                 // kNone: there is no CT
  std::string ct_words;
  std::string thumbnail;  // its file's name; empty: there is none
  // Of a failed one.
  std::string reason;
  int attempts = 0;
};

// video.json. The folder is not in it: it lies there.
Json VideoToJson(const VideoEntry& entry);
// Throws InputError, naming the source.
VideoEntry VideoFromJson(const Json& json, const std::string& source);

// failure.json
Json FailureToJson(const VideoEntry& entry);

namespace archive_file {
std::filesystem::path Place(const std::filesystem::path& out, const std::string& folder);
std::filesystem::path Work(const std::filesystem::path& out, const std::string& folder);
std::filesystem::path Record(const std::filesystem::path& out, const std::string& folder);
std::filesystem::path Failure(const std::filesystem::path& out, const std::string& folder);
}  // namespace archive_file

// All videos of OUT, by name: those of the newest batch, and those of earlier ones that are finished. Throws
// InputError where there is no batch.
std::vector<VideoEntry> LoadArchive(const std::filesystem::path& out);

struct ArchiveCounts {
  size_t done = 0, failed = 0, waiting = 0;
};
ArchiveCounts CountVideos(const std::vector<VideoEntry>& entries);

std::string FormatIndexPage(const std::vector<VideoEntry>& entries, const std::string& title);
std::string FormatIndexCsv(const std::vector<VideoEntry>& entries);
std::string FormatFailuresCsv(const std::vector<VideoEntry>& entries);
// index.html, index.csv and failures.csv.
void WriteIndex(const std::vector<VideoEntry>& entries, const std::filesystem::path& out);

}  // namespace lumen
