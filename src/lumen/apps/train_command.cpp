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

void AddTrainCommand(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("train", "learn the networks: from the simulator, or from recordings with truth");
  auto options = std::make_shared<TrainCommand>();
  command->add_option("--out", options->out, "folder for checkpoints, curves and the model")->required();
  const CLI::Range minutes(1e-3, 1e6);
  command->add_option("--minutes", options->minutes, "length of the training")->check(minutes);
  command->add_option("--steps", options->steps, "length of the training in steps: repeatable")
      ->check(CLI::Range(1, 1000000000));
  command
      ->add_option("--call-minutes", options->call_minutes, "stop after so many; go on later with --resume")
      ->check(minutes);
  command->add_flag("--resume", options->resume, "go on where the folder's checkpoint stands");
  command->add_option("--init", options->init, "a model to start from");
  command->add_option("--data", options->data, "recordings with poses and depth, instead of the simulator");
  command->add_option("--device", options->device, "auto, cpu or cuda")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  command->add_option("--seed", options->seed, "of weights, data and augmentation")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--set", options->settings, "any other option of the training, as name=value")
      ->take_all();
  command->callback([options] { RunTrain(*options); });
}

}  // namespace lumen
