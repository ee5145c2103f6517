#include "lumen/train/shard.h"

#include "lumen/base/error.h"
#include "lumen/base/progress.h"
#include "lumen/train/recorded_clips.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr int kValidationSeedShift = 1000003;

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

std::shared_ptr<const ClipSource> MakeShardSource(const TrainOptions& options, const ShardPlace& place) {
  auto whole = MakeSource(options, false);
  if (place.shards == 1) return whole;
  return std::make_shared<ShardedClipSource>(std::move(whole), place.number, place.shards);
}

int RingSize(const TrainOptions& options, const ClipSource& source) {
  const int per_scene = source.ClipsPerScene();
  return std::max(1, options.ring / per_scene) * per_scene;
}

}  // namespace

Shard::Shard(const TrainOptions& options, const ShardPlace& place, const torch::Device& device)
    : options_(options),
      place_(place),
      source_(MakeShardSource(options, place)),
      store_(device, RingSize(options, *source_), source_->FramesPerClip(), options.sim.width,
             options.sim.height) {}

int64_t Shard::WholeRing() const { return RingSize(options_, *source_) / source_->ClipsPerScene(); }

// Of recordings everything is seen, however few the steps are; all shards together begin with what one alone
// would, but for a few scenes that each must have.
int64_t Shard::FirstScenes() const {
  constexpr int kLeast = 8;
  const int share = (options_.first_scenes + place_.shards - 1) / place_.shards;
  return std::max<int64_t>(std::max(share, std::min(kLeast, options_.first_scenes)),
                           std::min(source_->ScenesToSeeAll(), WholeRing()));
}

void Shard::TakeScene() {
  for (const Clip& clip : stream_->NextScene()) store_.Add(clip, {});
  ++scenes_;
}

void Shard::Fill(int64_t taken, const std::atomic<bool>& stop) {
  int64_t wanted = std::max(taken, FirstScenes());
  int64_t first = std::max<int64_t>(0, wanted - WholeRing());
  if (options_.steps <= 0 && taken > 0) {
    // By the clock no run equals another anyway: fresh scenes are worth more than the old ones.
    first = taken;
    wanted = first + FirstScenes();
  }
  stream_ = std::make_unique<ClipStream>(source_, first, place_.threads, 2 * place_.threads + 2);
  ProgressBar bar("first clips", wanted - first);
  scenes_ = first;
  while (scenes_ < wanted && !stop) {
    TakeScene();
    bar.Update(scenes_ - first);
  }
  bar.Finish();
  if (!stop && !store_.HasPairs()) throw InputError("no two frames of the data overlap enough to be a pair");
}

int64_t Shard::ScenesDue(int64_t step, int64_t shift) const {
  return FirstScenes() + shift + static_cast<int64_t>(static_cast<double>(step) * options_.ScenesPerStep());
}

void Shard::TakeNewScenes(int64_t step, int64_t shift) {
  if (options_.steps > 0) {
    while (scenes_ < ScenesDue(step, shift)) TakeScene();
  } else {
    // Two at most, so that the steps go on however fast clips come.
    for (int i = 0; i < 2 && stream_->IsReady(); ++i) TakeScene();
  }
}

void Shard::Seed(int64_t step) const {
  constexpr uint64_t kStride = 0x9e3779b97f4a7c15ULL;
  const uint64_t own = static_cast<uint64_t>(options_.seed) * 1000003 + static_cast<uint64_t>(step) +
                       static_cast<uint64_t>(place_.number) * kStride;
  torch::manual_seed(MixBits(own) >> 1);
}

PairBatch Shard::Draw(int pairs, const AugmentationOptions& augmentation, int64_t step) const {
  Random random =
      Random(static_cast<uint64_t>(options_.seed)).Split("batch").Split(static_cast<uint64_t>(step));
  if (place_.number > 0) random = random.Split("shard").Split(static_cast<uint64_t>(place_.number));
  return store_.Draw(pairs, augmentation, random);
}

std::unique_ptr<ClipStore> MakeValidationStore(const TrainOptions& options, const torch::Device& device,
                                               int threads, const std::atomic<bool>& stop) {
  if (options.validation_scenes == 0) return nullptr;
  const auto source = MakeSource(options, true);
  auto store = std::make_unique<ClipStore>(device, options.validation_scenes * source->ClipsPerScene(),
                                           source->FramesPerClip(), options.sim.width, options.sim.height);
  ClipStream stream(source, 0, threads, options.validation_scenes);
  for (int scene = 0; scene < options.validation_scenes && !stop; ++scene) {
    for (const Clip& clip : stream.NextScene()) store->Add(clip, {});
  }
  return store->HasPairs() ? std::move(store) : nullptr;
}

}  // namespace lumen
