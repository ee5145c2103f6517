#include "lumen/apps/training.h"

#include "lumen/apps/app.h"
#include "lumen/apps/vocabulary_request.h"
#include "lumen/base/error.h"
#include "lumen/tasks/child_program.h"

namespace lumen {

namespace fs = std::filesystem;

fs::path FindTrainer() {
  const fs::path here = OwnProgram().parent_path();
  for (const fs::path& candidate : {here / "lumen-train", here / "../lib/lumen/lumen-train"}) {
    if (fs::exists(candidate)) return candidate;
  }
  throw InputError("lumen-train is not installed: build Lumen where Torch is found");
}

fs::path TrainedModel(const fs::path& out) { return out / "model.safetensors"; }

bool RunTraining(const TrainingRequest& request) {
  std::vector<std::string> arguments = {StrCat("out=", request.out.string())};
  std::string data;
  for (const fs::path& path : request.data) data += (data.empty() ? "" : ",") + path.string();
  if (!data.empty()) arguments.push_back("data=" + data);
  if (!request.device.empty()) arguments.push_back("device=" + request.device);
  arguments.insert(arguments.end(), request.arguments.begin(), request.arguments.end());
  const ChildOutcome outcome = RunOpenly(FindTrainer(), arguments);
  if (outcome.code != 0) throw ExitRequest{outcome.code};
  if (outcome.out.find("\"finished\": true") == std::string::npos) return false;
  if (!request.words) return true;
  VocabularyRequest words;
  words.model = TrainedModel(request.out).string();
  words.output = fs::path(request.out) / "model.vocabulary.safetensors";
  words.device = request.device;
  words.inputs = request.data;
  words.subjects = request.word_subjects;
  WriteVocabulary(words);
  return true;
}

}  // namespace lumen
