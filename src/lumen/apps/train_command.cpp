#include <unistd.h>

#include "lumen/apps/app.h"
#include "lumen/base/error.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

struct TrainCommand {
  std::string out, init, device;
  std::vector<std::string> data, settings;
  double minutes = 0, call_minutes = 0;
  int steps = 0;
  int seed = -1;
  bool resume = false;
};

// The training program beside this one: it links Torch, this one does not.
fs::path FindTrainer() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& candidate : {here / "lumen-train", here / "../lib/lumen/lumen-train"}) {
    if (fs::exists(candidate)) return candidate;
  }
  throw InputError("lumen-train is not installed: build Lumen where Torch is found");
}

std::vector<std::string> MakeArguments(const TrainCommand& command) {
  std::vector<std::string> arguments = {"lumen-train", StrCat("out=", command.out)};
  const auto add = [&](bool given, const char* name, const auto& value) {
    if (given) arguments.push_back(StrCat(name, "=", value));
  };
  std::string data;
  for (const std::string& path : command.data) data += (data.empty() ? "" : ",") + path;
  add(!data.empty(), "data", data);
  add(!command.init.empty(), "init", command.init);
  add(!command.device.empty(), "device", command.device);
  add(command.minutes > 0, "minutes", command.minutes);
  add(command.call_minutes > 0, "call_minutes", command.call_minutes);
  add(command.steps > 0, "steps", command.steps);
  add(command.seed >= 0, "seed", command.seed);
  add(command.resume, "resume", "true");
  arguments.insert(arguments.end(), command.settings.begin(), command.settings.end());
  return arguments;
}

// Becomes the trainer: signals, progress and exit code are its own.
void RunTrain(const TrainCommand& command) {
  const fs::path program = FindTrainer();
  std::vector<std::string> arguments = MakeArguments(command);
  std::vector<char*> raw;
  for (std::string& argument : arguments) raw.push_back(argument.data());
  raw.push_back(nullptr);
  ::execv(program.c_str(), raw.data());
  throw InputError(program, "cannot be started");
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
  command.Add("--device", options->device, "auto, cpu or cuda").OneOf({"auto", "cpu", "cuda"});
  command.Add("--seed", options->seed, "of weights, data and augmentation").NotNegative();
  command.Add("--set", options->settings, "any other option of the training, as name=value");
  command.Do([options] { RunTrain(*options); });
}

}  // namespace lumen
