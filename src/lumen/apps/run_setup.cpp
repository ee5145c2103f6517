#include "lumen/apps/run_setup.h"

#include <chrono>

#include "lumen/apps/model_path.h"
#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/version.h"
#include "lumen/io/run_writer.h"
#include "lumen/network/torch_backend.h"
#include "lumen/slam/async_slam.h"
#include "lumen/slam/slam.h"

namespace lumen {

namespace {

namespace fs = std::filesystem;

std::shared_ptr<const Vocabulary> LoadVocabulary(const fs::path& path, const Model& model) {
  auto vocabulary = std::make_shared<Vocabulary>(Vocabulary::Load(path));
  if (vocabulary->Channels() != model.feature.OutputChannels(1))
    throw InputError(path, "made for another model: its descriptors have another size");
  const auto made_for = vocabulary->notes.find("model_hash");
  if (made_for != vocabulary->notes.end() && made_for->second != model.hash)
    throw InputError(path, "made for another model; lumen vocabulary makes one for this");
  return vocabulary;
}

// An earlier map fits only a video of the same camera, seen by the same networks.
StoredMap LoadEarlierMap(const fs::path& given, const RunSetup& setup) {
  const fs::path path = fs::is_directory(given) ? given / run_file::kMap : given;
  StoredMap stored = LoadMap(path);
  if (stored.model_hash != setup.model.hash) throw InputError(path, "made with another model");
  const View& view = *stored.map.keyframes.begin()->second.keyframe->frame->view;
  if (!SameSize(view.mask, setup.view->mask)) throw InputError(path, "made with maps of another size");
  return stored;
}

// The fastest kernels of a GPU add in any order: what promises the same bytes every time runs on the CPU.
std::string ChooseDevice(const RunOptions& options) {
  if (!options.deterministic || options.device == "cpu") return options.device;
  if (options.device == "cuda" || MayHaveGpu())
    LogWarning(
        "--deterministic: the networks run on the CPU, since a GPU's results do not repeat bit for bit");
  return "cpu";
}

std::unique_ptr<SlamPipeline> MakeSlam(const RunOptions& options, const RunSetup& setup) {
  const auto priors = MakeRunPriors(options, setup);
  const SlamOptions& slam = options.config.slam;
  if (options.deterministic) return std::make_unique<Slam>(priors, setup.view, setup.vocabulary, slam);
  return std::make_unique<AsyncSlam>(priors, MakeRunPriors(options, setup), setup.view, setup.vocabulary,
                                     slam);
}

// A file is found again from any folder; a camera or an address stays as it was named.
std::string NameOfInput(const fs::path& input) {
  return (fs::exists(input) ? fs::absolute(input).lexically_normal() : input).string();
}

Json DescribeRun(const RunOptions& options, const RunSetup& setup, const fs::path& model,
                 const fs::path& vocabulary) {
  Json summary = Json::MakeObject();
  summary[run_key::kVersion] = Version();
  summary[run_key::kCommit] = Commit();
  summary[run_key::kInput] = NameOfInput(options.input);
  summary[run_key::kInputOptions] = InputOptionsToJson(options.selection);
  summary["model"] = model.filename().string();
  summary["model_hash"] = setup.model.hash;
  summary["vocabulary"] = vocabulary.filename().string();
  summary["deterministic"] = options.deterministic;
  summary[run_key::kDepthScale] = kRunDepthScale;
  summary[run_key::kCamera] =
      CameraToJson(Camera(setup.view->camera, setup.view->mask.Width(), setup.view->mask.Height()));
  summary[run_key::kFinished] = false;
  return summary;
}

}  // namespace

std::shared_ptr<Priors> MakeRunPriors(const RunOptions& options, const RunSetup& setup) {
  return MakePriors(setup.model, LensView(setup.stream->GetCamera(), setup.stream->GetMask()),
                    options.config.engine, ChooseDevice(options));
}

Trained LoadTrained(const fs::path& given_model, const fs::path& given_vocabulary) {
  Trained trained;
  const auto model = FindModel(given_model);
  if (!model) throw InputError("no model found: give --model FILE");
  trained.model_path = *model;
  trained.model = LoadModel(*model);
  trained.vocabulary_path =
      given_vocabulary.empty() ? FindVocabulary(*model).value_or(fs::path()) : given_vocabulary;
  if (!trained.vocabulary_path.empty()) {
    trained.vocabulary = LoadVocabulary(trained.vocabulary_path, trained.model);
  } else {
    LogWarning("no vocabulary beside ", model->string(),
               ": no global loops, and only the last place is searched when lost");
  }
  return trained;
}

RunSetup PrepareRun(const RunOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  RunSetup setup;
  Trained trained =
      LoadTrained(options.model.empty() ? options.config.model : options.model, options.vocabulary);
  setup.model = std::move(trained.model);
  setup.vocabulary = trained.vocabulary;
  RectifierOptions view = options.config.view;
  view.width = setup.model.depth.input_width;
  view.height = setup.model.depth.input_height;
  setup.stream =
      std::make_unique<InputStream>(OpenInput(options.input, options.selection), options.input, view);
  setup.view = MakeView(setup.stream->GetCamera(), setup.stream->GetMask());
  std::optional<StoredMap> earlier;
  if (!options.map.empty()) earlier = LoadEarlierMap(options.map, setup);
  setup.summary = DescribeRun(options, setup, trained.model_path, trained.vocabulary_path);
  setup.slam = MakeSlam(options, setup);
  if (earlier) setup.slam->Restore(earlier->map, earlier->words);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  setup.summary[run_key::kInitSeconds] = taken.count();
  return setup;
}

}  // namespace lumen
