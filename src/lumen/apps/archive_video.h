// One video of an archive, from its frames to its report: what `lumen batch` has a process of its own do.
//   VIDEO/run            what `lumen run` leaves, with surface, registration and coverage
//   VIDEO/report.html    what `lumen report` makes of it       VIDEO/thumbnail.jpg (or .png)
//   VIDEO/video.json     what the archive's index shows of it
#pragma once

#include "lumen/apps/app.h"
#include "lumen/apps/ct_model.h"
#include "lumen/apps/live_registration.h"
#include "lumen/apps/made_with.h"
#include "lumen/apps/run_setup.h"

namespace lumen {

struct VideoOptions {
  RunOptions run;  // but for its model, vocabulary and config
  std::filesystem::path model, vocabulary;
  ConfigChoice config;
  ModelChoice ct;  // its path is empty: there is none
  std::string ct_start;
};

// What a video may have for itself, or a batch for all of its videos.
void AddVideoOptions(Command& command, VideoOptions& options);
// What holds for all videos of a batch.
void AddSharedVideoOptions(Command& command, VideoOptions& options);

// All that a video's results hang on: a finished one is the same if this is. Throws InputError for settings
// that make no sense.
Json VideoIdentity(const VideoOptions& options, ModelHashes& models);

struct VideoTask {
  VideoOptions options;
  std::string name;             // as people know it
  std::filesystem::path place;  // where the finished video goes, all at once
  std::filesystem::path work;   // the folder beside which it is made
  // Of --calibration, --fov and --mask those that are meant for inputs that have none of their own.
  std::vector<std::string> if_none;
  int cores = 0;  // that it may keep busy; 0: all
};

inline constexpr const char* kVideoCommand = "batch-video";
// The same as options of that command, with the input as its argument.
void AddVideoTaskOptions(Command& command, VideoTask& task);

// Throws InputError or OutputError with what is wrong; ExitRequest if it was interrupted. Where another
// process has finished the same video meanwhile, that one stays.
void RunVideo(const VideoTask& task);

// What attempts left in `work` that were broken off.
void RemoveAttempts(const std::filesystem::path& work);

namespace video_file {
inline constexpr const char* kRecord = "video.json";
inline constexpr const char* kReport = "report.html";
inline constexpr const char* kRun = "run";
}  // namespace video_file

}  // namespace lumen
