// Fitting the networks to an endoscope by its own videos, without labels: what SLAM makes of a video with the
// model there is, as far as several keyframes agree on it, teaches a model that knows that scope. The last
// part of each video is held back, and the new model is measured on it against the old one.
#pragma once

#include <atomic>
#include <optional>

#include "lumen/apps/run_setup.h"

namespace lumen {

struct AdaptOptions {
  std::vector<std::filesystem::path> videos;
  std::filesystem::path out;   // the model's file; its vocabulary goes beside it
  std::filesystem::path work;  // what is made on the way; kept, so that --resume can go on with it
  InputOptions selection;
  std::string model;  // to start from; empty: the usual one
  std::string device = "auto";
  double minutes = 0;                 // of training; 0: by the device
  double held_back = 0.25;            // of each video, its last part
  double sim_share = 0.5;             // of simulated scenes beside, so that nothing is forgotten
  double blend = 0.4;                 // how far the weights go from the old model's to the trained one's
  std::vector<std::string> settings;  // of the training
  AppConfig config;
};

// One folder of frames with poses and agreed depth to learn from, one to be measured on, and the same
// backwards.
struct Lessons {
  std::filesystem::path lessons, exam, backwards;
};
// Runs SLAM over a video, refines, and writes what may be believed of it. What is there already stays. Throws
// InputError where too little can be learnt.
Lessons PrepareLessons(const AdaptOptions& options, size_t video, const std::atomic<bool>& stop);

// A model on what was held back.
struct Exam {
  double depth = 0;              // see SelfAgreement
  std::optional<double> points;  // the same
  double epipolar = 0;
  std::optional<double> backwards;  // distance between the paths forwards and backwards, % of their length
};
Exam ExamineModel(const AdaptOptions& options, const std::filesystem::path& model,
                  const std::vector<Lessons>& lessons, const std::filesystem::path& scratch,
                  const std::atomic<bool>& stop);

// Weights between two models of one architecture: the first's at 0, the second's at 1.
Model BlendModels(const Model& from, const Model& to, double share);

// Why the second is no better than the first, in words; empty if it is.
std::string WhyNoBetter(const Exam& before, const Exam& after);

}  // namespace lumen
