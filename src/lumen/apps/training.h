// The trainer as a step of something larger: its program called, and the words for places made of what it
// leaves behind.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lumen {

struct TrainingRequest {
  std::filesystem::path out;  // the trainer's folder
  std::vector<std::filesystem::path> data;
  std::vector<std::string> arguments;  // name=value, beside out and data
  std::string device = "auto";
  bool words = true;       // make the vocabulary
  int word_subjects = 48;  // simulated ones it is made of, beside the data
};

// The training program beside this one: it links Torch, this one does not. Throws InputError.
std::filesystem::path FindTrainer();

// Where it leaves its model.
std::filesystem::path TrainedModel(const std::filesystem::path& out);
// False if it was stopped before its end. Throws ExitRequest with the trainer's code where it failed, after
// it said why.
bool RunTraining(const TrainingRequest& request);

}  // namespace lumen
