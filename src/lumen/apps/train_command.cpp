#include "lumen/apps/app.h"
#include "lumen/apps/training.h"
#include "lumen/base/error.h"

namespace lumen {

namespace {

struct TrainCommand {
  std::string out, init, device = "auto";
  std::vector<std::string> data, validate, settings;
  double sim_share = 0;
  double minutes = 0, call_minutes = 0;
  int steps = 0;
  int seed = -1;
  int ranks = 0;
  bool resume = false;
  bool no_vocabulary = false;
};

// The trainer, then the words for places that go with what it made.
void RunTrain(const TrainCommand& command) {
  TrainingRequest request;
  request.out = command.out;
  request.data.assign(command.data.begin(), command.data.end());
  request.device = command.device;
  request.words = !command.no_vocabulary;
  const auto add = [&](bool given, const char* name, const auto& value) {
    if (given) request.arguments.push_back(StrCat(name, "=", value));
  };
  std::string validate;
  for (const std::string& path : command.validate) validate += (validate.empty() ? "" : ",") + path;
  add(!validate.empty(), "validate", validate);
  add(command.sim_share > 0, "sim_share", command.sim_share);
  add(!command.init.empty(), "init", command.init);
  add(command.minutes > 0, "minutes", command.minutes);
  add(command.call_minutes > 0, "call_minutes", command.call_minutes);
  add(command.steps > 0, "steps", command.steps);
  add(command.seed >= 0, "seed", command.seed);
  add(command.ranks > 1, "ranks", command.ranks);
  add(command.resume, "resume", "true");
  request.arguments.insert(request.arguments.end(), command.settings.begin(), command.settings.end());
  RunTraining(request);
}

}  // namespace

void AddTrainCommand(Command& app) {
  Command& command =
      app.AddCommand("train", "learn the networks: from the simulator, or from recordings with truth");
  auto options = std::make_shared<TrainCommand>();
  command.Add("--out", options->out, "folder for checkpoints, curves and the model").Required();
  constexpr double kLeastMinutes = 1e-3;
  constexpr double kMostMinutes = 1e6;
  command.Add("--minutes", options->minutes, "length of the training").Within(kLeastMinutes, kMostMinutes);
  command.Add("--steps", options->steps, "length of the training in steps: repeatable").Within(1, 1000000000);
  command.Add("--call-minutes", options->call_minutes, "stop after so many; go on later with --resume")
      .Within(kLeastMinutes, kMostMinutes);
  command.AddFlag("--resume", options->resume, "go on where the folder's checkpoint stands");
  command.Add("--init", options->init, "a model to start from");
  command.Add("--data", options->data, "recordings with poses and depth, instead of the simulator");
  command.Add("--sim-share", options->sim_share, "share of the simulator's scenes beside the recordings")
      .Within(0.0, 0.99);
  command.Add("--validate", options->validate,
              "recordings to validate on, instead of the last tenth of each that is trained on");
  command.AddFlag("--no-vocabulary", options->no_vocabulary,
                  "make no words for place recognition when the training has come to its end");
  command.Add("--device", options->device, "auto, cpu or cuda").OneOf({"auto", "cpu", "cuda"});
  command
      .Add("--ranks", options->ranks, "processes that train together here, on a GPU each as far as they go")
      .Within(1, 1024);
  command.Add("--seed", options->seed, "of weights, data and augmentation").NotNegative();
  command.Add("--set", options->settings, "any other option of the training, as name=value");
  command.Do([options] { RunTrain(*options); });
}

}  // namespace lumen
