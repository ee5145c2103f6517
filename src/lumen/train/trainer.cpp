#include "lumen/train/trainer.h"

#include <atomic>
#include <cmath>
#include <new>

#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"
#include "lumen/base/progress.h"
#include "lumen/base/timer.h"
#include "lumen/base/version.h"
#include "lumen/train/checkpoint.h"
#include "lumen/train/clip_stream.h"
#include "lumen/train/curves.h"
#include "lumen/train/loss_log.h"
#include "lumen/train/recorded_clips.h"
#include "lumen/train/validation.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

std::atomic<bool> stop_requested{false};

constexpr int kValidationSeedShift = 1000003;

torch::Device ChooseDevice(const std::string& name) {
  if (name == "cuda" && !torch::cuda::is_available()) throw InputError("no CUDA device: use device=cpu");
  return name == "cpu" || !torch::cuda::is_available() ? torch::Device(torch::kCPU)
                                                       : torch::Device(torch::kCUDA);
}

std::vector<fs::path> SplitPaths(const std::string& text) {
  std::vector<fs::path> paths;
  for (const std::string& part : Split(text, ',')) {
    if (!part.empty()) paths.emplace_back(part);
  }
  return paths;
}

std::shared_ptr<const ClipSource> MakeRecordedSource(const TrainOptions& options, bool for_validation) {
  using Part = RecordedClipOptions::Part;
  RecordedClipOptions recorded;
  recorded.clips = options.sim.clips_per_scene;
  recorded.places = options.sim.places;
  recorded.views = options.sim.views;
  recorded.width = options.sim.width;
  recorded.height = options.sim.height;
  recorded.reach = options.recorded.reach;
  recorded.point_share = options.recorded.point_share;
  recorded.seed = options.seed;
  // Where others are validated on, nothing of these is held back.
  const bool others = !options.validate.empty();
  recorded.part = others ? Part::kWhole : for_validation ? Part::kHeldOut : Part::kRest;
  return std::make_shared<RecordedClipSource>(
      SplitPaths(for_validation && others ? options.validate : options.data), recorded);
}

std::shared_ptr<const ClipSource> MakeSource(const TrainOptions& options, bool for_validation) {
  if (!options.data.empty()) {
    auto recorded = MakeRecordedSource(options, for_validation);
    if (for_validation || options.sim_share <= 0) return recorded;
    return std::make_shared<MixedClipSource>(recorded, std::make_shared<SimClipSource>(options.sim),
                                             options.sim_share);
  }
  SimClipOptions sim = options.sim;
  if (for_validation) {
    sim.seed += kValidationSeedShift;
    sim.clips_per_scene = 1;
    sim.wildness = 0.2;
    sim.varied = 0;
    sim.degraded = 0.1;
  }
  return std::make_shared<SimClipSource>(sim);
}

// Cosine from the full rate to nothing within a stage, after a short warm-up.
double RateAt(double share, int64_t steps_in_stage, double full, int warm_up) {
  const double warm = std::min(1.0, static_cast<double>(steps_in_stage + 1) / std::max(1, warm_up));
  return full * warm * 0.5 * (1 + std::cos(M_PI * std::clamp(share, 0.0, 1.0)));
}

Model MakeTinyModel(uint64_t seed) {
  Model model;
  for (NetworkSpec* spec : {&model.depth, &model.feature}) {
    spec->widths = {4, 4, 8, 8, 8};
    spec->bottleneck = 8;
    for (HeadSpec& head : spec->heads) head.widths = {8, 8, head.widths.back()};
    model.tensors.merge(MakeRandomTensors(*spec, seed));
  }
  return model;
}

class Training {
 public:
  explicit Training(const TrainOptions& options)
      : options_(options),
        device_(ChooseDevice(options.device)),
        model_(StartingModel(options)),
        networks_(Seeded(model_, options.seed), device_),
        discriminator_(MakeDiscriminator(options.sim, device_)),
        optimizer_(networks_.Parameters(), options.weight_decay),
        adversary_(discriminator_->parameters(), options.weight_decay),
        average_(optimizer_.Values(), options.average_steps),
        source_(MakeSource(options, false)),
        store_(device_, RingSize(), source_->FramesPerClip(), options.sim.width, options.sim.height) {
    if (device_.is_cuda()) {
      at::globalContext().setBenchmarkCuDNN(true);
      // The cores make clips; Torch's own threads would only wait for each other among them.
      torch::set_num_threads(1);
    }
    progress_.seed = options.seed;
    if (options.resume) progress_ = LoadCheckpoint(options.out, model_, State());
    resumed_at_ = progress_;
    MakeDirectories(options.out);
    if (!options.resume) {
      for (const char* stale : {"losses-1.csv", "losses-2.csv", "validation.csv"})
        fs::remove(fs::path(options.out) / stale);
    }
    FillRing();
    FillValidation();
  }

  TrainSummary Run();

 private:
  static Model StartingModel(const TrainOptions& options) {
    const auto seed = static_cast<uint64_t>(options.seed);
    if (options.tiny) return MakeTinyModel(seed);
    if (options.init.empty()) return MakeRandomModel(seed);
    Model model = LoadModel(options.init);
    TellLens(model);
    return model;
  }
  // Whatever is drawn while modules are made follows from the seed as well.
  static const Model& Seeded(const Model& model, int seed) {
    torch::manual_seed(static_cast<uint64_t>(seed));
    return model;
  }
  static Discriminator MakeDiscriminator(const SimClipOptions& size, const torch::Device& device) {
    Discriminator made(size.height / 2, size.width / 2);
    made->to(device);
    return made;
  }
  int RingSize() const {
    const int per_scene = source_->ClipsPerScene();
    return std::max(1, options_.ring / per_scene) * per_scene;
  }
  // Of recordings everything is seen, however few the steps are.
  int64_t FirstScenes() const {
    const int64_t whole_ring = RingSize() / source_->ClipsPerScene();
    return std::max<int64_t>(options_.first_scenes, std::min(source_->ScenesToSeeAll(), whole_ring));
  }
  int Threads() const { return options_.threads > 0 ? options_.threads : std::max(1, AvailableCores() - 2); }

  double Share() const {
    return options_.steps > 0 ? static_cast<double>(progress_.step) / options_.steps
                              : progress_.seconds / (60 * options_.minutes);
  }
  bool IsDone() const { return Share() >= 1; }
  bool CallIsOver() const {
    return stop_requested ||
           (options_.call_minutes > 0 && watch_.ElapsedMs() > 60e3 * options_.call_minutes) ||
           (options_.call_steps > 0 && progress_.step - resumed_at_.step >= options_.call_steps);
  }
  bool InFirstStage() const { return Share() < options_.first_stage; }

  void FillRing();
  void FillValidation();
  void TakeScene();
  void TakeNewScenes();
  void Step();
  void StepSeparate(double rate);
  void StepJoint(double rate, double in_stage);
  void WriteLog();
  void RunValidation();
  void Save();
  TrainingState State() { return {optimizer_, adversary_, average_}; }
  // With the averaged weights.
  Model CurrentModel();

  TrainOptions options_;
  torch::Device device_;
  Model model_;
  PriorNetworks networks_;
  Discriminator discriminator_;
  FlatAdamW optimizer_, adversary_;
  WeightAverage average_;
  std::shared_ptr<const ClipSource> source_;
  ClipStore store_;
  std::unique_ptr<ClipStore> validation_;
  std::unique_ptr<ClipStream> stream_;
  TrainingProgress progress_, resumed_at_;
  Stopwatch watch_;
  LossLog log_;
  double rate_ = 0;
};

void Training::TakeScene() {
  for (const Clip& clip : stream_->NextScene()) store_.Add(clip, {});
  ++progress_.scenes;
}

// A resumed training sees the same ring: its last scenes are made again.
void Training::FillRing() {
  const int64_t whole_ring = RingSize() / source_->ClipsPerScene();
  int64_t wanted = std::max<int64_t>(progress_.scenes, FirstScenes());
  int64_t first = std::max<int64_t>(0, wanted - whole_ring);
  if (options_.steps <= 0 && progress_.scenes > 0) {
    // By the clock no run equals another anyway: fresh scenes are worth more than the old ones.
    first = progress_.scenes;
    wanted = first + FirstScenes();
  }
  stream_ = std::make_unique<ClipStream>(source_, first, Threads(), 2 * Threads() + 2);
  ProgressBar bar("first clips", wanted - first);
  progress_.scenes = first;
  while (progress_.scenes < wanted && !stop_requested) {
    TakeScene();
    bar.Update(progress_.scenes - first);
  }
  bar.Finish();
  if (!stop_requested && !store_.HasPairs())
    throw InputError("no two frames of the data overlap enough to be a pair");
}

void Training::FillValidation() {
  if (options_.validation_scenes == 0) return;
  const auto source = MakeSource(options_, true);
  validation_ = std::make_unique<ClipStore>(device_, options_.validation_scenes * source->ClipsPerScene(),
                                            source->FramesPerClip(), options_.sim.width, options_.sim.height);
  ClipStream stream(source, 0, Threads(), options_.validation_scenes);
  for (int scene = 0; scene < options_.validation_scenes && !stop_requested; ++scene) {
    for (const Clip& clip : stream.NextScene()) validation_->Add(clip, {});
  }
  if (!validation_->HasPairs()) validation_.reset();
}

void Training::TakeNewScenes() {
  if (options_.steps > 0) {
    const auto wanted =
        FirstScenes() + static_cast<int64_t>(static_cast<double>(progress_.step) * options_.ScenesPerStep());
    while (progress_.scenes < wanted) TakeScene();
  } else {
    // Two at most, so that the steps go on however fast clips come.
    for (int i = 0; i < 2 && stream_->IsReady(); ++i) TakeScene();
  }
}

void Training::StepSeparate(double rate) {
  const Random random = Random(static_cast<uint64_t>(options_.seed))
                            .Split("batch")
                            .Split(static_cast<uint64_t>(progress_.step));
  const PairBatch batch = store_.Draw(options_.batch, options_.augmentation, random);
  optimizer_.ZeroGradient();
  const LossTerms losses = ComputeSeparateLosses(networks_, batch, options_.losses);
  losses.Total().backward();
  optimizer_.Step(rate, options_.clip_norm);
  if (progress_.first_stage) log_.Add(losses);
}

void Training::StepJoint(double rate, double in_stage) {
  const Random random = Random(static_cast<uint64_t>(options_.seed))
                            .Split("batch")
                            .Split(static_cast<uint64_t>(progress_.step));
  AugmentationOptions augmentation = options_.augmentation;
  augmentation.turned = options_.joint_turned;
  const PairBatch batch = store_.Draw(options_.joint_batch, augmentation, random);
  optimizer_.ZeroGradient();
  LossOptions losses = options_.losses;
  const double reach = std::min(1.0, options_.easy_start + 2 * (1 - options_.easy_start) * in_stage);
  losses.start_rotation *= reach;
  losses.start_translation *= reach;
  JointOutput output = ComputeJointLosses(networks_, discriminator_, batch, losses, options_.alignment);
  output.losses.Total().backward();
  optimizer_.Step(rate, options_.clip_norm);
  if (options_.losses.adversarial_weight > 0 && output.picture.size(0) > 0) {
    adversary_.ZeroGradient();  // of what the networks' own loss left there as well
    const torch::Tensor loss = ComputeDiscriminatorLoss(discriminator_, output);
    loss.backward();
    adversary_.Step(options_.adversary_rate, options_.clip_norm);
    output.losses.terms.emplace_back("adversary", loss);
  }
  output.losses.terms.emplace_back("unaligned", output.flow_error.ge(1.0).to(torch::kFloat).mean());
  log_.Add(output.losses);
}

void Training::Step() {
  torch::manual_seed(
      MixBits(static_cast<uint64_t>(options_.seed) * 1000003 + static_cast<uint64_t>(progress_.step)) >> 1);
  const bool first = InFirstStage();
  if (first != progress_.first_stage) {
    if (!log_.Empty()) WriteLog();
    if (progress_.step > 0) SaveModel(fs::path(options_.out) / "stage1.safetensors", CurrentModel());
    progress_.stage_steps = 0;
    progress_.first_stage = first;
  }
  const double share = Share();
  const double in_stage = first ? share / options_.first_stage
                                : (share - options_.first_stage) / std::max(1e-9, 1 - options_.first_stage);
  rate_ =
      RateAt(in_stage, progress_.stage_steps, first ? options_.rate : options_.joint_rate, options_.warm_up);
  if (first || progress_.stage_steps % options_.joint_every != 0) {
    StepSeparate(rate_);
  } else {
    StepJoint(rate_, in_stage);
  }
  ++progress_.stage_steps;
  ++progress_.step;
  average_.Update(optimizer_.Values(), progress_.step);
}

void Training::WriteLog() {
  log_.Write(fs::path(options_.out) / (progress_.first_stage ? "losses-1.csv" : "losses-2.csv"),
             {progress_.step, progress_.seconds, rate_});
}

void Training::RunValidation() {
  if (!validation_) return;
  const AveragedWeights averaged(optimizer_.Values(), average_.Mean());
  const ValidationNumbers n =
      Validate(networks_, *validation_, options_.validation_pairs, options_.losses, options_.alignment);
  const fs::path path = fs::path(options_.out) / "validation.csv";
  const bool fresh = !fs::exists(path);
  AppendFile file(path);
  if (fresh)
    file.Append(
        "step,seconds,ard,threshold,match_precision,match_kept,aligned,flow_error,ard_before,ard_after\n");
  file.Append(StrCat(progress_.step, ",", progress_.seconds, ",", n.ard, ",", n.threshold, ",",
                     n.match_precision, ",", n.match_kept, ",", n.aligned, ",", n.flow_error, ",",
                     n.ard_before, ",", n.ard_after, "\n"));
  LogInfo("step ", progress_.step, " (", FormatDuration(progress_.seconds), "): ARD ", n.ard,
          ", 1.25: ", n.threshold, ", matches ", n.match_precision, " of ", n.match_kept, " kept, aligned ",
          n.aligned, " (flow ", n.flow_error, " px), ARD ", n.ard_before, " -> ", n.ard_after);
}

Model Training::CurrentModel() {
  const AveragedWeights averaged(optimizer_.Values(), average_.Mean());
  Model model = model_;
  model.tensors = networks_.Store();
  model.metadata["steps"] = StrCat(progress_.step);
  model.metadata["seconds"] = StrCat(progress_.seconds);
  model.metadata["seed"] = StrCat(options_.seed);
  model.metadata["data"] = options_.data.empty() ? "simulated" : options_.data;
  model.metadata["version"] = StrCat(Version(), " ", Commit());
  return model;
}

void Training::Save() {
  SaveCheckpoint(options_.out, progress_, CurrentModel(), State());
  for (const char* name : {"losses-1", "losses-2"}) {
    const fs::path csv = fs::path(options_.out) / StrCat(name, ".csv");
    if (fs::exists(csv)) SaveCurves(csv, fs::path(options_.out) / StrCat(name, ".svg"));
  }
}

TrainSummary Training::Run() {
  const double waited_before = stream_->WaitedSeconds();
  watch_ = Stopwatch();
  double last_saved = 0;
  double last_validated = 0;
  constexpr int kUnits = 10000;
  ProgressBar bar("training", kUnits);
  while (!IsDone() && !CallIsOver()) {
    TakeNewScenes();
    Step();
    if (options_.steps <= 0 || progress_.step % options_.log_every == 0)
      progress_.seconds = resumed_at_.seconds + watch_.ElapsedMs() / 1000;
    if (progress_.step % options_.log_every == 0 && !log_.Empty()) {
      WriteLog();
      bar.Update(static_cast<int64_t>(kUnits * std::min(1.0, Share())),
                 StrCat("step ", progress_.step, ", loss ", log_.LastTotal()));
    }
    const double minutes = watch_.ElapsedMs() / 60e3;
    const bool by_steps = options_.validate_steps > 0 && progress_.step % options_.validate_steps == 0;
    if (by_steps || (options_.validate_steps <= 0 && minutes - last_validated > options_.validate_minutes)) {
      RunValidation();
      last_validated = watch_.ElapsedMs() / 60e3;
    }
    if (minutes - last_saved > options_.save_minutes) {
      Save();
      last_saved = watch_.ElapsedMs() / 60e3;
    }
  }
  if (device_.is_cuda()) torch::cuda::synchronize();
  progress_.seconds = resumed_at_.seconds + watch_.ElapsedMs() / 1000;
  if (!log_.Empty()) WriteLog();
  bar.Finish();
  const double seconds = watch_.ElapsedMs() / 1000;
  const int64_t steps = progress_.step - resumed_at_.step;
  const double waiting = seconds > 0 ? (stream_->WaitedSeconds() - waited_before) / seconds : 0;
  LogInfo(steps, " steps in ", FormatDuration(seconds), " (",
          static_cast<double>(steps) / std::max(1e-3, seconds), " a second), ", 100 * waiting,
          " % of the time waiting for clips, ", progress_.scenes, " scenes in all");
  RunValidation();
  Save();
  return {progress_.step, progress_.seconds, IsDone(), log_.LastTotal(), waiting};
}

}  // namespace

TrainSummary Train(const TrainOptions& options) {
  options.Check();
  try {
    Training training(options);
    return training.Run();
  } catch (const c10::Error& error) {
    const std::string what = error.what();
    if (what.find("out of memory") != std::string::npos) {
      throw InputError(StrCat("the GPU is out of memory: try batch=", std::max(1, options.batch / 2),
                              " joint_batch=", std::max(1, options.joint_batch / 2)));
    }
    if (what.find("can't allocate memory") != std::string::npos) throw std::bad_alloc();  // the CPU's own
    throw;
  }
}

void RequestTrainingStop() { stop_requested = true; }

}  // namespace lumen
