#include <atomic>
#include <cstdio>

#include "lumen/apps/adapting.h"
#include "lumen/apps/app.h"
#include "lumen/apps/interrupt.h"
#include "lumen/apps/model_path.h"
#include "lumen/apps/training.h"
#include "lumen/apps/vocabulary_request.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/io/sequence_folder.h"
#include "lumen/network/torch_backend.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr int kNoBetter = 4;

std::string HowToGoOn(const AdaptOptions& options) {
  return StrCat("--resume goes on with what is in ", options.work.string());
}

void EndIfStopped(const AdaptOptions& options) { EndIfInterrupted(HowToGoOn(options).c_str()); }

bool UsesGpu(const AdaptOptions& options) {
  if (options.device != "auto") return options.device == "cuda";
  const TorchBackend* torch = MayHaveGpu() ? FindTorchBackend() : nullptr;
  return torch != nullptr && torch->HaveCuda();
}

// Gentle steps from where the model is, in the way its training ended; without a GPU small ones, each network
// by itself.
TrainingRequest MakeTraining(const AdaptOptions& options, const fs::path& model,
                             const std::vector<Lessons>& lessons, const fs::path& out) {
  constexpr double kGpuMinutes = 4, kCpuMinutes = 30;
  const bool gpu = UsesGpu(options);
  const double usual = gpu ? kGpuMinutes : kCpuMinutes;
  TrainingRequest request;
  request.out = out;
  for (const Lessons& part : lessons) request.data.push_back(part.lessons);
  request.device = options.device;
  request.words = false;
  request.arguments = {StrCat("init=", model.string()),
                       StrCat("minutes=", options.minutes > 0 ? options.minutes : usual),
                       StrCat("sim_share=", options.sim_share),
                       "rate=2e-4",
                       "joint_rate=2e-4",
                       StrCat("first_stage=", gpu ? 0 : 1)};
  const auto add = [&](const std::vector<std::string>& more) {
    request.arguments.insert(request.arguments.end(), more.begin(), more.end());
  };
  if (!gpu)
    add({"batch=4", "ring=200", "first_scenes=12", "warm_up=10", "validation_scenes=4", "validation_pairs=16",
         "validate_minutes=10"});
  if (fs::exists(out / "checkpoint.json")) add({"resume=true"});
  add(options.settings);
  return request;
}

fs::path TrainOn(const AdaptOptions& options, const fs::path& model, const std::vector<Lessons>& lessons) {
  const fs::path training = options.work / "training";
  const fs::path made = training / "adapted.safetensors";
  const fs::path finished = training / "finished";
  if (fs::exists(finished)) return made;
  if (!RunTraining(MakeTraining(options, model, lessons, training))) {
    LogWarning("interrupted: ", HowToGoOn(options));
    throw ExitRequest{kInterrupted};
  }
  EndIfStopped(options);
  Model start = LoadModel(model);
  TellLens(start);  // as training does
  SaveModel(made, BlendModels(start, LoadModel(TrainedModel(training)), options.blend));
  VocabularyRequest words;
  words.model = made.string();
  words.output = training / "adapted.vocabulary.safetensors";
  words.device = options.device;
  words.subjects = 24;
  words.images = 24;
  for (const Lessons& part : lessons) words.inputs.push_back(part.lessons);
  WriteVocabulary(words);
  WriteFileAtomically(finished, "");
  return made;
}

void PrintExams(const Exam& before, const Exam& after) {
  const auto row = [](const char* name, double a, double b, const char* unit) {
    std::printf("%-44s %8.4f %8.4f%s\n", name, a, b, unit);
  };
  std::printf("%-44s %8s %8s\n", "on the part held back", "before", "after");
  if (before.points && after.points)
    row("depth at points where rays meet is off by", *before.points, *after.points, "");
  row("depth of one place from two frames differs by", before.depth, after.depth, "");
  row("matches on their epipolar line", before.epipolar, after.epipolar, "");
  row("paths forwards and backwards lie apart", before.backwards.value_or(NAN), after.backwards.value_or(NAN),
      " %");
}

void RunAdapt(AdaptOptions options, const ConfigChoice& choice, bool resume) {
  options.config = ResolveConfig(choice);
  if (options.out.extension() != ".safetensors")
    throw InputError(options.out, "a model's file ends in .safetensors");
  if (options.work.empty()) options.work = options.out.string() + ".work";
  if (!resume) RequireFreshFolder(options.work);
  const auto model = FindModel(options.model);
  if (!model) throw InputError("no model found: give --model FILE");
  options.model = model->string();
  const Model start = LoadModel(*model);
  options.config.view.width = start.depth.input_width;
  options.config.view.height = start.depth.input_height;
  for (const fs::path& video : options.videos) {
    if (OpenInput(video, options.selection)->Info().live)
      throw InputError(video, "is a camera, which cannot be read twice: record it first");
  }
  FindTrainer();
  const std::atomic<bool>& stop_requested = CatchInterrupts();
  std::vector<Lessons> lessons;
  for (size_t i = 0; i < options.videos.size(); ++i) {
    lessons.push_back(PrepareLessons(options, i, stop_requested));
    EndIfStopped(options);
  }
  const fs::path made = TrainOn(options, *model, lessons);
  const Exam before = ExamineModel(options, *model, lessons, options.work, stop_requested);
  EndIfStopped(options);
  const Exam after = ExamineModel(options, made, lessons, options.work, stop_requested);
  EndIfStopped(options);
  PrintExams(before, after);
  const std::string why = WhyNoBetter(before, after);
  if (!why.empty()) {
    std::fprintf(stderr, "lumen: no model written: %s\n", why.c_str());
    throw ExitRequest{kNoBetter};
  }
  WriteFileAtomically(options.out, ReadFile(made));
  fs::path words = options.out;
  words.replace_extension(".vocabulary.safetensors");
  WriteFileAtomically(words, ReadFile(options.work / "training" / "adapted.vocabulary.safetensors"));
  LogInfo("wrote ", options.out.string(), " and its vocabulary; lumen run --model ", options.out.string());
}

}  // namespace

void AddAdaptCommand(Command& app) {
  Command& command =
      app.AddCommand("adapt", "fit the networks to an endoscope by its own videos, unlabelled");
  auto options = std::make_shared<AdaptOptions>();
  auto choice = std::make_shared<ConfigChoice>();
  auto resume = std::make_shared<bool>(false);
  command.Add("VIDEO", options->videos, "videos of one endoscope: a minute of calm motion or more")
      .Required();
  command.Add("--out", options->out, "the model to write").Required();
  command.Add("--work", options->work, "folder for what is made on the way (default: OUT.work)");
  command.AddFlag("--resume", *resume, "go on with what the work folder holds");
  command.Add("--minutes", options->minutes, "of training (default: 4 on a GPU, 30 without)")
      .Within(1e-3, 1e6);
  command.Add("--model", options->model, "weights to start from");
  command
      .Add("--blend", options->blend,
           "how far to go from the old weights to those that training finds: less forgets less")
      .Within(0.05, 1.0)
      .ShowDefault();
  command.Add("--train-set", options->settings, "any option of the training, as name=value");
  AddDeviceOption(command, options->device);
  AddConfigOptions(command, *choice);
  AddInputOptions(command, options->selection);
  command.Do([options, choice, resume] { RunAdapt(*options, *choice, *resume); });
}

}  // namespace lumen
