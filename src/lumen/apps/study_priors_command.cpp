#include <cstdio>

#include "lumen/apps/app.h"
#include "lumen/apps/model_path.h"
#include "lumen/apps/study_commands.h"
#include "lumen/apps/study_priors.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"
#include "lumen/base/version.h"

namespace lumen {

namespace {

struct PriorsCommand {
  std::string model;
  std::filesystem::path vocabulary, json, real;
  PriorStudyOptions study;
};

struct Goal {
  const char* key;
  const char* meaning;
};

constexpr Goal kRows[] = {{"ard_average", "average depth: ARD"},
                          {"threshold_average", "average depth: within 1.25"},
                          {"ard_gain", "depth after alignment: ARD lower by"},
                          {"alignment_success", "pairs aligned below 1 px"},
                          {"flow_error_median", "flow error after alignment, px"},
                          {"match_precision", "matches within 2 px"},
                          {"match_precision_rolled", "the same, rolled by 30 degrees"},
                          {"match_precision_all", "the same, unseen keypoints counted as wrong"},
                          {"matches_kept", "keypoints kept by the cycle check"},
                          {"place_auc", "same place or not: area under curve"},
                          {"real_ard", "real frames: ARD"},
                          {"real_threshold", "real frames: within 1.25"},
                          {"real_epipolar_precision", "real frames: matches on epipolar line"}};

void Print(const Json& result) {
  if (const Json* subjects = result.Find("subjects")) {
    std::printf("%-12s %7s %7s %7s %8s %7s %7s %7s\n", "subject", "ARD", "1.25", "gain", "aligned", "match",
                "rolled", "place");
    for (const Json& row : subjects->AsArray()) {
      const auto cell = [&](const char* key) {
        return row.Find(key) != nullptr ? row.Find(key)->AsDouble() : NAN;
      };
      std::printf("%-12s %7.3f %7.3f %7.3f %8.3f %7.3f %7.3f %7.3f\n", row.At("name").AsString().c_str(),
                  cell("ard_average"), cell("threshold_average"), cell("ard_gain"), cell("alignment_success"),
                  cell("match_precision"), cell("match_precision_rolled"), cell("place_auc"));
    }
  }
  for (const Goal& row : kRows) {
    if (const Json* value = result.Find(row.key))
      std::printf("%-42s %8.4f\n", row.meaning, value->AsDouble());
  }
}

void RunPriorsStudy(PriorsCommand command) {
  if (!command.json.empty()) RequireWritable(command.json);
  const auto path = FindModel(command.model);
  if (!path) throw InputError("no model found: give --model FILE");
  const Model model = LoadModel(*path);
  const auto vocabulary_path = command.vocabulary.empty()
                                   ? FindVocabulary(*path)
                                   : std::optional<std::filesystem::path>(command.vocabulary);
  std::optional<Vocabulary> vocabulary;
  if (vocabulary_path) vocabulary = Vocabulary::Load(*vocabulary_path);
  if (!vocabulary) LogWarning("no vocabulary beside ", path->string(), ": place recognition is not graded");
  Json result = StudyPriors(model, vocabulary, command.study);
  if (!command.real.empty()) {
    const Json real = StudyRealPriors(model, command.real);
    for (const auto& [key, value] : real.AsObject()) result[key] = value;
  }
  result["model"] = model.hash;
  result["version"] = Version();
  Print(result);
  if (!command.json.empty()) WriteFileAtomically(command.json, result.Dump(2) + "\n");
}

}  // namespace

void AddStudyPriorsCommand(Command& study) {
  Command& command = study.AddCommand("priors", "grade the networks themselves on the suite's subjects");
  auto options = std::make_shared<PriorsCommand>();
  options->study.threads = AvailableCores();
  command.Add("--model", options->model, "weights, instead of the usual ones");
  command.Add("--vocabulary", options->vocabulary, "words for places, instead of those beside the model");
  command.Add("--json", options->json, "also write the numbers to this file");
  command.Add("--real", options->real, "a sequence folder of real frames with sparse_depth.csv and poses");
  command.Add("--subjects", options->study.subjects, "only these, e.g. nasal-1,colon-5").SplitAt(',');
  command.Add("--lens", options->study.lens, "narrow (77°) or wide (a colonoscope's fisheye)")
      .OneOf({"narrow", "wide"})
      .ShowDefault();
  command.Add("--frames", options->study.frames, "frames per subject").Within(2, 100000);
  command.Add("--pairs", options->study.pairs, "pairs per subject").Within(0, 100000);
  command.Do([options] { RunPriorsStudy(*options); });
}

}  // namespace lumen
