// What a run is asked to do, and all that it is made of, ready to start: model, vocabulary, input, SLAM.
#pragma once

#include <optional>

#include "lumen/apps/app_config.h"
#include "lumen/apps/run_observer.h"
#include "lumen/base/json.h"
#include "lumen/io/input_stream.h"
#include "lumen/io/map_file.h"
#include "lumen/network/weights.h"
#include "lumen/slam/slam_pipeline.h"

namespace lumen {

struct RunOptions {
  std::filesystem::path input;
  std::filesystem::path output;
  InputOptions selection;
  std::string model;       // weights; empty: look in the usual places
  std::string vocabulary;  // empty: the one beside the model, if any
  std::string device = "auto";
  std::filesystem::path map;   // an earlier run, or its map, to find oneself in and to extend
  bool deterministic = false;  // one frame after the other, the same bytes every time
  bool realtime = false;       // a recording paced as if live: frames that come too late are dropped
  bool refine = false;         // go on mapping after the last frame
  AppConfig config;
  RunObserver* observer = nullptr;  // nobody, by default
};

// What was trained. Throws InputError where there is no model, or a vocabulary that was made for another.
struct Trained {
  std::filesystem::path model_path, vocabulary_path;
  Model model;
  std::shared_ptr<const Vocabulary> vocabulary;  // null: there is none
};
Trained LoadTrained(const std::filesystem::path& model, const std::filesystem::path& vocabulary);

struct RunSetup {
  Model model;
  std::shared_ptr<const Vocabulary> vocabulary;
  std::unique_ptr<InputStream> stream;
  std::shared_ptr<const View> view;
  Json summary = Json::MakeObject();  // what is known of the run before it begins
  std::unique_ptr<SlamPipeline> slam;
};

// Throws InputError for what cannot be used; nothing is written yet.
RunSetup PrepareRun(const RunOptions& options);

// The networks on the device asked for. Each thread that uses them needs its own.
std::shared_ptr<Priors> MakeRunPriors(const RunOptions& options, const RunSetup& setup);

}  // namespace lumen
