#include "lumen/train/trainer.h"

#include <atomic>
#include <cmath>
#include <cstdio>

#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"
#include "lumen/base/progress.h"
#include "lumen/base/timer.h"
#include "lumen/base/version.h"
#include "lumen/train/checkpoint.h"
#include "lumen/train/clip_stream.h"
#include "lumen/train/curves.h"
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

void CheckOptions(const TrainOptions& options) {
  if (options.out.empty()) throw InputError("out=FOLDER is missing");
  if (options.steps <= 0 && options.minutes <= 0) throw InputError("say how long: steps=N or minutes=M");
  if (options.steps <= 0 && options.scenes_per_step > 0)
    throw InputError("scenes_per_step needs steps=N: with minutes alone clips are taken as they come");
  if (!options.resume && HasCheckpoint(options.out))
    throw InputError(options.out,
                     "holds a checkpoint already: resume it (--resume) or choose another folder");
}

std::shared_ptr<const ClipSource> MakeSource(const TrainOptions& options, bool for_validation) {
  if (!options.data.empty()) {
    std::vector<fs::path> recordings;
    for (const std::string& part : Split(options.data, ',')) {
      if (!part.empty()) recordings.emplace_back(part);
    }
    RecordedClipOptions recorded;
    recorded.places = options.sim.places;
    recorded.views = options.sim.views;
    recorded.seed = options.seed;
    recorded.held_out = for_validation;
    return std::make_shared<RecordedClipSource>(recordings, recorded);
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
    FillRing();
    FillValidation();
  }

  TrainSummary Run();

 private:
  static Model StartingModel(const TrainOptions& options) {
    const auto seed = static_cast<uint64_t>(options.seed);
    if (options.tiny) return MakeTinyModel(seed);
    return options.init.empty() ? MakeRandomModel(seed) : LoadModel(options.init);
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
  void Record(const LossTerms& losses);
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
  std::vector<std::pair<std::string, torch::Tensor>> sums_;
  int64_t summed_ = 0;
  double rate_ = 0, last_loss_ = 0;
  std::string logged_header_;
};

void Training::TakeScene() {
  for (const Clip& clip : stream_->NextScene()) store_.Add(clip, {});
  ++progress_.scenes;
}

// A resumed training sees the same ring: its last scenes are made again.
void Training::FillRing() {
  const int64_t whole_ring = RingSize() / source_->ClipsPerScene();
  int64_t wanted = std::max<int64_t>(progress_.scenes, options_.first_scenes);
  int64_t first = std::max<int64_t>(0, wanted - whole_ring);
  if (options_.steps <= 0 && progress_.scenes > 0) {
    // By the clock no run equals another anyway: fresh scenes are worth more than the old ones.
    first = progress_.scenes;
    wanted = first + options_.first_scenes;
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
    const auto wanted = options_.first_scenes +
                        static_cast<int64_t>(static_cast<double>(progress_.step) * options_.scenes_per_step);
    while (progress_.scenes < wanted) TakeScene();
  } else {
    // Two at most, so that the steps go on however fast clips come.
    for (int i = 0; i < 2 && stream_->IsReady(); ++i) TakeScene();
  }
}

void Training::Record(const LossTerms& losses) {
  torch::NoGradGuard no_grad;
  if (sums_.size() != losses.terms.size()) sums_.clear();
  if (sums_.empty()) {
    for (const auto& [name, term] : losses.terms) sums_.emplace_back(name, term.detach().clone());
    summed_ = 1;
    return;
  }
  for (size_t i = 0; i < sums_.size(); ++i) sums_[i].second += losses.terms[i].second.detach();
  ++summed_;
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
  if (progress_.first_stage) Record(losses);
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
  if (options_.losses.adversarial_weight > 0) {
    adversary_.ZeroGradient();  // of what the networks' own loss left there as well
    const torch::Tensor loss = ComputeDiscriminatorLoss(discriminator_, output);
    loss.backward();
    adversary_.Step(options_.adversary_rate, options_.clip_norm);
    output.losses.terms.emplace_back("adversary", loss);
  }
  output.losses.terms.emplace_back("unaligned", output.flow_error.ge(1.0).to(torch::kFloat).mean());
  Record(output.losses);
}

void Training::Step() {
  torch::manual_seed(
      MixBits(static_cast<uint64_t>(options_.seed) * 1000003 + static_cast<uint64_t>(progress_.step)) >> 1);
  const bool first = InFirstStage();
  if (first != progress_.first_stage) {
    if (summed_ > 0) WriteLog();
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
  std::string header = "step,seconds,rate";
  std::string row = StrCat(progress_.step, ",", progress_.seconds, ",", rate_);
  double total = 0;
  for (const auto& [name, sum] : sums_) {
    const double mean = sum.item<double>() / static_cast<double>(summed_);
    if (!std::isfinite(mean))
      LogWarning("step ", progress_.step, ": the loss \"", name, "\" is not finite; such steps are skipped");
    header += "," + name;
    row += StrCat(",", mean);
    if (name != "adversary" && name != "unaligned") total += mean;
  }
  last_loss_ = total;
  const fs::path path = fs::path(options_.out) / (progress_.first_stage ? "losses-1.csv" : "losses-2.csv");
  const bool fresh = !fs::exists(path) ||
                     (!options_.resume && logged_header_ != header && progress_.step <= options_.log_every);
  if (fresh && fs::exists(path)) fs::remove(path);
  AppendFile file(path);
  if (fresh) file.Append(header + "\n");
  logged_header_ = header;
  file.Append(row + "\n");
  sums_.clear();
  summed_ = 0;
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
    if (progress_.step % options_.log_every == 0 && summed_ > 0) {
      WriteLog();
      bar.Update(static_cast<int64_t>(kUnits * std::min(1.0, Share())),
                 StrCat("step ", progress_.step, ", loss ", last_loss_));
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
  if (summed_ > 0) WriteLog();
  bar.Finish();
  const double seconds = watch_.ElapsedMs() / 1000;
  const int64_t steps = progress_.step - resumed_at_.step;
  const double waiting = seconds > 0 ? (stream_->WaitedSeconds() - waited_before) / seconds : 0;
  LogInfo(steps, " steps in ", FormatDuration(seconds), " (",
          static_cast<double>(steps) / std::max(1e-3, seconds), " a second), ", 100 * waiting,
          " % of the time waiting for clips, ", progress_.scenes, " scenes in all");
  RunValidation();
  Save();
  return {progress_.step, progress_.seconds, IsDone(), last_loss_, waiting};
}

}  // namespace

void TrainOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("out", out, {.help = "folder for checkpoints, curves and the model"});
  visitor.Field("data", data, {.help = "recordings with truth, separated by commas; none: the simulator"});
  visitor.Field("init", init, {.help = "a model to start from; none: random weights"});
  visitor.Field("resume", resume, {.help = "go on where the folder's checkpoint stands"});
  visitor.Field("device", device, {.help = "where to train", .choices = {"auto", "cpu", "cuda"}});
  visitor.Field("seed", seed, {.min = 0, .help = "of weights, data and augmentation"});
  visitor.Field("steps", steps, {.min = 0, .help = "in all; 0: as many as the minutes allow"});
  visitor.Field("minutes", minutes, {.min = 0, .unit = "min", .help = "in all"});
  visitor.Field("call_minutes", call_minutes,
                {.min = 0, .unit = "min", .help = "this call ends after so many; 0: with the training"});
  visitor.Field("call_steps", call_steps,
                {.min = 0, .help = "this call ends after so many steps; 0: with the training"});
  visitor.Field("first_stage", first_stage,
                {.min = 0, .max = 1, .help = "share of the training that is stage 1"});
  visitor.Field("batch", batch, {.min = 1, .max = 4096, .help = "pairs per step in stage 1"});
  visitor.Field("joint_batch", joint_batch, {.min = 1, .max = 4096, .help = "pairs per step in stage 2"});
  visitor.Field("rate", rate, {.min = 0, .help = "learning rate of stage 1"});
  visitor.Field("joint_rate", joint_rate, {.min = 0, .help = "learning rate of stage 2"});
  visitor.Field("adversary_rate", adversary_rate, {.min = 0, .help = "learning rate of the adversary"});
  visitor.Field("warm_up", warm_up, {.min = 0, .help = "steps until a stage's full rate"});
  visitor.Field("weight_decay", weight_decay, {.min = 0, .help = "of AdamW"});
  visitor.Field("clip_norm", clip_norm, {.min = 0, .help = "largest norm of the gradient"});
  visitor.Field("average_steps", average_steps,
                {.min = 0, .help = "the model is the mean of about so many last steps; 0: the last one"});
  visitor.Field("joint_turned", joint_turned,
                {.min = 0, .max = 1, .help = "share of turned pairs in stage 2"});
  visitor.Field(
      "joint_every", joint_every,
      {.min = 1, .max = 100, .help = "one step of so many in stage 2 is joint, the others as in stage 1"});
  visitor.Field("easy_start", easy_start,
                {.min = 0, .max = 1, .help = "share of the starts' displacement when stage 2 begins"});
  visitor.Field("threads", threads,
                {.min = 0, .max = 1024, .help = "threads that make clips; 0: all cores but two"});
  visitor.Field("ring", ring, {.min = 1, .help = "clips kept on the device"});
  visitor.Field("first_scenes", first_scenes, {.min = 1, .help = "scenes made before the first step"});
  visitor.Field("scenes_per_step", scenes_per_step,
                {.min = 0, .help = "new scenes per step, where steps are given"});
  visitor.Field("log_every", log_every, {.min = 1, .unit = "steps", .help = "between lines of the curves"});
  visitor.Field("validate_minutes", validate_minutes,
                {.min = 0, .unit = "min", .help = "between validations"});
  visitor.Field("validate_steps", validate_steps,
                {.min = 0, .help = "between validations, instead of minutes"});
  visitor.Field("save_minutes", save_minutes, {.min = 0, .unit = "min", .help = "between checkpoints"});
  visitor.Field("validation_scenes", validation_scenes, {.min = 0, .help = "scenes kept for validation"});
  visitor.Field("validation_pairs", validation_pairs, {.min = 1, .help = "pairs per validation"});
  visitor.Field("tiny", tiny, {.help = "networks a few channels wide: to try out and to test"});
  visitor.Group("augmentation", augmentation);
  visitor.Group("sim", sim);
  visitor.Group("losses", losses);
  visitor.Group("alignment", alignment);
}

TrainSummary Train(const TrainOptions& options) {
  CheckOptions(options);
  try {
    Training training(options);
    return training.Run();
  } catch (const c10::Error& error) {
    const std::string what = error.what();
    if (what.find("out of memory") != std::string::npos) {
      throw InputError(StrCat("the GPU is out of memory: try batch=", std::max(1, options.batch / 2),
                              " joint_batch=", std::max(1, options.joint_batch / 2)));
    }
    throw;
  }
}

void RequestTrainingStop() { stop_requested = true; }

}  // namespace lumen
