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
#include "lumen/train/curves.h"
#include "lumen/train/gradient_buckets.h"
#include "lumen/train/loss_log.h"
#include "lumen/train/peers.h"
#include "lumen/train/shard.h"
#include "lumen/train/validation.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

std::atomic<bool> stop_requested{false};

torch::Device ChooseDevice(const std::string& name, const Peers& peers) {
  if (name == "cuda" && !torch::cuda::is_available()) throw InputError("no CUDA device: use device=cpu");
  if (name == "cpu" || !torch::cuda::is_available()) return torch::Device(torch::kCPU);
  // Each rank a card of its own, as far as they go.
  const auto cards = std::max<size_t>(1, torch::cuda::device_count());
  return {torch::kCUDA, static_cast<c10::DeviceIndex>(static_cast<size_t>(peers.LocalRank()) % cards)};
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

// What all ranks must have alike, a line each.
std::string CommonSettings(TrainOptions options) {
  options.out = options.device = "";
  options.ranks = options.threads = 0;
  return FormatConfig(options);
}

class Training {
 public:
  Training(const TrainOptions& options, Peers& peers)
      : options_(options),
        peers_(peers),
        device_(ChooseDevice(options.device, peers)),
        on_device_(device_.is_cuda() ? c10::optional<torch::Device>(device_) : c10::nullopt),
        model_(StartingModel(options)),
        networks_(Seeded(model_, options.seed), device_),
        discriminator_(MakeDiscriminator(options.sim, device_)),
        optimizer_(networks_.Parameters(), options.weight_decay),
        adversary_(discriminator_->parameters(), options.weight_decay),
        average_(optimizer_.Values(), options.average_steps) {
    ShareOutCores();
    progress_.seed = options.seed;
    const bool first = peers_.IsFirst();
    if (options.resume && first) progress_ = LoadCheckpoint(options.out, model_, State());
    Meet();
    resumed_at_ = progress_;
    if (first) PrepareFolder();
    MakeShards();
    if (first) validation_ = MakeValidationStore(options_, device_, Threads(), stop_requested);
    buckets_ = std::make_unique<GradientBuckets>(peers_, networks_.Parameters(), optimizer_.Gradient());
    if (!peers_.IsAlone()) TellOfSums();
  }

  TrainSummary Run();
  void Save();
  int64_t Step() const { return progress_.step; }
  const std::string& ReducedBy() const { return reduced_by_; }

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
  int Threads() const {
    if (options_.threads > 0) return options_.threads;
    return std::max(1, (AvailableCores() - 2) / peers_.LocalCount());
  }

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

  void ShareOutCores() const;
  void Meet();
  void TellOfSums();
  void PrepareFolder() const;
  void MakeShards();
  bool AgreeToGoOn();
  void TakeStep();
  void EnterStage(bool first);
  void StepSeparate(double rate);
  void StepJoint(double rate, double in_stage);
  // Of the shard's joint losses; what the adversary makes of them is added to its gradient.
  void AddJoint(size_t shard, const LossOptions& losses, double& judged);
  void ShareGradient();
  void WriteLog();
  void RunValidation();
  TrainingState State() { return {optimizer_, adversary_, average_}; }
  // With the averaged weights.
  Model CurrentModel();

  TrainOptions options_;
  Peers& peers_;
  torch::Device device_;
  c10::OptionalDeviceGuard on_device_;  // whatever names no card means this rank's
  Model model_;
  PriorNetworks networks_;
  Discriminator discriminator_;
  FlatAdamW optimizer_, adversary_;
  WeightAverage average_;
  std::unique_ptr<GradientBuckets> buckets_;
  std::vector<std::unique_ptr<Shard>> shards_;  // this rank's
  std::unique_ptr<ClipStore> validation_;
  TrainingProgress progress_, resumed_at_;
  Stopwatch watch_;
  LossLog log_;
  std::string reduced_by_;
  double rate_ = 0;
};

void Training::ShareOutCores() const {
  if (device_.is_cuda()) {
    at::globalContext().setBenchmarkCuDNN(true);
    // The cores make clips; Torch's own threads would only wait for each other among them.
    torch::set_num_threads(1);
  } else if (peers_.LocalCount() > 1 && !OwnEnvironment()("OMP_NUM_THREADS")) {
    torch::set_num_threads(std::max(1, AvailableCores() / peers_.LocalCount()));
  }
}

// All ranks have the same program, settings and model, and go on from where rank 0 stands.
void Training::Meet() {
  if (peers_.IsAlone()) return;
  peers_.RequireSame("version", StrCat(Version(), " ", Commit()));
  peers_.RequireSame("setting", CommonSettings(options_));
  if (!options_.resume) peers_.RequireSame("model", HashTensors(networks_.Store()));
  reduced_by_ = peers_.Use(device_, options_.reduce_by);
  for (torch::Tensor* tensor : State().Tensors()) peers_.Broadcast(*tensor);
  torch::Tensor numbers = torch::tensor(
      std::vector<double>{static_cast<double>(progress_.step), progress_.seconds,
                          static_cast<double>(progress_.scenes), static_cast<double>(progress_.shards),
                          static_cast<double>(progress_.stage_steps), progress_.first_stage ? 1.0 : 0.0,
                          static_cast<double>(progress_.seed), static_cast<double>(progress_.scene_shift)},
      torch::kDouble);
  peers_.Broadcast(numbers);
  const auto at = [&](int i) { return numbers[i].item<double>(); };
  progress_ = {std::llround(at(0)), at(1),
               std::llround(at(2)), std::llround(at(4)),
               at(5) > 0,           std::llround(at(6)),
               std::llround(at(3)), std::llround(at(7))};
}

// What it costs to sum the gradient over all ranks, beside nothing else.
void Training::TellOfSums() {
  constexpr int kTimes = 5;
  const auto synchronise = [&] {
    if (device_.is_cuda()) torch::cuda::synchronize(device_.index());
  };
  optimizer_.ZeroGradient();
  buckets_->Finish();  // whatever is set up first
  synchronise();
  const Stopwatch watch;
  for (int i = 0; i < kTimes; ++i) buckets_->Finish();
  synchronise();
  LogInfo(peers_.Count(), " ranks, gradients summed by ", reduced_by_, " (", optimizer_.Values().numel(),
          " numbers in ", watch.ElapsedMs() / kTimes, " ms), ", progress_.shards, " shards");
}

void Training::PrepareFolder() const {
  MakeDirectories(options_.out);
  if (options_.resume) return;
  for (const char* stale : {"losses-1.csv", "losses-2.csv", "validation.csv"})
    fs::remove(fs::path(options_.out) / stale);
}

// A training keeps its number of shards, however many ranks go on with it, unless there are more ranks.
void Training::MakeShards() {
  const int64_t before = progress_.shards;
  const int64_t wanted =
      options_.shards > 0 ? options_.shards : std::max<int64_t>(options_.resume ? before : 1, peers_.Count());
  if (wanted < peers_.Count())
    throw InputError(StrCat(peers_.Count(), " ranks for ", wanted, " shards: some would have nothing to do"));
  if (wanted != before) progress_.scenes = (progress_.scenes * before + wanted - 1) / wanted;
  progress_.shards = wanted;
  const auto own = (wanted - peers_.Rank() + peers_.Count() - 1) / peers_.Count();
  for (int64_t number = peers_.Rank(); number < wanted; number += peers_.Count()) {
    const ShardPlace place{static_cast<int>(number), static_cast<int>(wanted),
                           std::max(1, Threads() / static_cast<int>(own))};
    shards_.push_back(std::make_unique<Shard>(options_, place, device_));
    // Scenes go on from where they are, at the pace of the shards there are now.
    if (wanted != before && number == peers_.Rank() && progress_.step > 0)
      progress_.scene_shift = progress_.scenes - shards_.back()->ScenesDue(progress_.step, 0);
    shards_.back()->Fill(progress_.scenes, stop_requested);
  }
}

// Rank 0's clock counts, and whoever is asked to stop stops all.
bool Training::AgreeToGoOn() {
  for (const auto& shard : shards_) progress_.scenes = std::max(progress_.scenes, shard->Scenes());
  const bool first = peers_.IsFirst();
  const std::vector<double> agreed = peers_.Largest(
      {CallIsOver() ? 1.0 : 0.0, first ? progress_.seconds : 0.0, static_cast<double>(progress_.scenes)});
  progress_.seconds = agreed[1];
  progress_.scenes = std::llround(agreed[2]);
  return !IsDone() && agreed[0] <= 0;
}

// The mean over all shards.
void Training::ShareGradient() {
  buckets_->Finish();
  if (progress_.shards > 1) optimizer_.Gradient() /= static_cast<double>(progress_.shards);
}

void Training::StepSeparate(double rate) {
  optimizer_.ZeroGradient();
  for (size_t i = 0; i < shards_.size(); ++i) {
    shards_[i]->Seed(progress_.step);
    const PairBatch batch = shards_[i]->Draw(options_.batch, options_.augmentation, progress_.step);
    const LossTerms losses = ComputeSeparateLosses(networks_, batch, options_.losses);
    if (options_.overlap && i + 1 == shards_.size()) buckets_->Arm();
    losses.Total().backward();
    if (progress_.first_stage) log_.Add(losses);
  }
  ShareGradient();
  optimizer_.Step(rate, options_.clip_norm);
}

void Training::AddJoint(size_t shard, const LossOptions& losses, double& judged) {
  AugmentationOptions augmentation = options_.augmentation;
  augmentation.turned = options_.joint_turned;
  shards_[shard]->Seed(progress_.step);
  const PairBatch batch = shards_[shard]->Draw(options_.joint_batch, augmentation, progress_.step);
  // The networks are judged by the adversary, which learns nothing from that.
  for (torch::Tensor parameter : discriminator_->parameters()) parameter.set_requires_grad(false);
  JointOutput output = ComputeJointLosses(networks_, discriminator_, batch, losses, options_.alignment);
  for (torch::Tensor parameter : discriminator_->parameters()) parameter.set_requires_grad(true);
  if (options_.overlap && shard + 1 == shards_.size()) buckets_->Arm();
  output.losses.Total().backward();
  if (losses.adversarial_weight > 0) {
    const bool dense = output.picture.size(0) > 0;
    const torch::Tensor loss =
        dense ? ComputeDiscriminatorLoss(discriminator_, output) : torch::zeros({}, batch.camera.options());
    if (dense) loss.backward();
    judged += dense ? 1 : 0;
    output.losses.terms.emplace_back("adversary", loss);
  }
  output.losses.terms.emplace_back("unaligned", output.flow_error.ge(1.0).to(torch::kFloat).mean());
  log_.Add(output.losses);
}

void Training::StepJoint(double rate, double in_stage) {
  LossOptions losses = options_.losses;
  const double reach = std::min(1.0, options_.easy_start + 2 * (1 - options_.easy_start) * in_stage);
  losses.start_rotation *= reach;
  losses.start_translation *= reach;
  optimizer_.ZeroGradient();
  adversary_.ZeroGradient();
  double judged = 0;
  for (size_t i = 0; i < shards_.size(); ++i) AddJoint(i, losses, judged);
  ShareGradient();
  // Both gradients are there before either is followed: whatever breaks off, the state is that of one step.
  if (losses.adversarial_weight > 0) {
    const torch::Tensor count = torch::full({}, judged, torch::kDouble);
    peers_.Sum(count);
    peers_.Sum(adversary_.Gradient());
    judged = count.item<double>();
    if (judged > 1) adversary_.Gradient() /= judged;
  }
  optimizer_.Step(rate, options_.clip_norm);
  if (judged > 0) adversary_.Step(options_.adversary_rate, options_.clip_norm);
}

void Training::EnterStage(bool first) {
  if (!log_.Empty()) WriteLog();
  if (progress_.step > 0 && peers_.IsFirst())
    SaveModel(fs::path(options_.out) / "stage1.safetensors", CurrentModel());
  progress_.stage_steps = 0;
  progress_.first_stage = first;
}

void Training::TakeStep() {
  const bool first = InFirstStage();
  if (first != progress_.first_stage) EnterStage(first);
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
  log_.SumOver(peers_);
  if (!peers_.IsFirst()) return log_.Forget();
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
  const auto waited = [&] {
    double seconds = 0;
    for (const auto& shard : shards_) seconds += shard->WaitedSeconds();
    return seconds;
  };
  const double waited_before = waited();
  watch_ = Stopwatch();
  double last_saved = 0;
  double last_validated = 0;
  constexpr int kUnits = 10000;
  ProgressBar bar("training", kUnits);
  while (AgreeToGoOn()) {
    for (const auto& shard : shards_) shard->TakeNewScenes(progress_.step, progress_.scene_shift);
    TakeStep();
    if (options_.steps <= 0 || progress_.step % options_.log_every == 0)
      progress_.seconds = resumed_at_.seconds + watch_.ElapsedMs() / 1000;
    if (progress_.step % options_.log_every == 0 && !log_.Empty()) {
      WriteLog();
      bar.Update(static_cast<int64_t>(kUnits * std::min(1.0, Share())),
                 StrCat("step ", progress_.step, ", loss ", log_.LastTotal()));
    }
    if (!peers_.IsFirst()) continue;
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
  if (device_.is_cuda()) torch::cuda::synchronize(device_.index());
  progress_.seconds = resumed_at_.seconds + watch_.ElapsedMs() / 1000;
  if (!log_.Empty()) WriteLog();
  bar.Finish();
  const double seconds = watch_.ElapsedMs() / 1000;
  const int64_t steps = progress_.step - resumed_at_.step;
  const double waiting = seconds > 0 ? (waited() - waited_before) / seconds : 0;
  LogInfo(steps, " steps in ", FormatDuration(seconds), " (",
          static_cast<double>(steps) / std::max(1e-3, seconds), " a second), ", 100 * waiting,
          " % of the time waiting for clips, ", progress_.scenes * progress_.shards, " scenes in all");
  if (peers_.IsFirst()) {
    RunValidation();
    Save();
  }
  return {progress_.step, progress_.seconds, IsDone(), log_.LastTotal(), waiting, peers_.IsFirst()};
}

// While it is handled: what c10 says of memory, in words that help.
[[noreturn]] void TranslateError(const c10::Error& error, const TrainOptions& options) {
  const std::string what = error.what();
  if (what.find("out of memory") != std::string::npos) {
    throw InputError(StrCat("the GPU is out of memory: try batch=", std::max(1, options.batch / 2),
                            " joint_batch=", std::max(1, options.joint_batch / 2)));
  }
  if (what.find("can't allocate memory") != std::string::npos) throw std::bad_alloc();  // the CPU's own
  throw;
}

TrainSummary TrainWith(const TrainOptions& options, Peers& peers) {
  try {
    Training training(options, peers);
    try {
      const TrainSummary summary = training.Run();
      peers.Leave();  // before scenes that nobody waits for any more are made to their end
      return summary;
    } catch (const PeerLost& lost) {
      // What NCCL left behind may be half a sum: the last checkpoint is the better place to go on from.
      if (!peers.IsFirst() || training.ReducedBy() == "nccl") throw;
      training.Save();
      throw PeerLost(
          StrCat(lost.what(), "; saved at step ", training.Step(), ": --resume goes on from there"));
    }
  } catch (const c10::Error& error) {
    TranslateError(error, options);
  }
}

std::unique_ptr<Peers> FindPeers(const TrainOptions& options) {
  const std::optional<RankPlace> place = ReadRankPlace(OwnEnvironment());
  if (place) return JoinPeers(*place);
  // Asked for by name, NCCL has its say in one process as well: that is how it can be tried with one GPU.
  const bool alone = options.ranks <= 1 && options.reduce_by == "auto";
  return alone ? TrainAlone() : StartPeers(std::max(1, options.ranks));
}

}  // namespace

TrainSummary Train(const TrainOptions& options) {
  options.Check();
  const std::unique_ptr<Peers> peers = FindPeers(options);
  if (!peers->IsFirst()) SetLogLevel(LogLevel::kWarning);
  try {
    return TrainWith(options, *peers);
  } catch (const std::exception& error) {
    // One line in all, from rank 0 if it can still be told.
    if (peers->Fail(error.what())) throw PeerLost("");
    throw;
  }
}

void RequestTrainingStop() { stop_requested = true; }

}  // namespace lumen
