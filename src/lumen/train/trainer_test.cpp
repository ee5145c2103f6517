#include "lumen/train/trainer.h"

#include <gtest/gtest.h>

#include "lumen/base/file.h"
#include "lumen/train/checkpoint.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

TrainOptions TinyOptions(const fs::path& out) {
  TrainOptions options;
  options.out = out.string();
  options.tiny = true;
  options.device = "cpu";
  options.threads = 2;
  options.steps = 4;
  options.batch = options.joint_batch = 1;
  options.ring = 4;
  options.first_scenes = 1;
  options.scenes_per_step = 0.5;
  options.log_every = 1;
  options.validation_scenes = 0;
  options.warm_up = 1;
  options.sim.width = options.sim.height = 64;
  options.sim.clips_per_scene = 2;
  options.sim.places = 1;
  options.sim.views = 3;
  options.losses.keypoints = 64;
  options.losses.samples = 128;
  options.losses.histogram_pixels = 64;
  options.alignment.iterations = 2;
  return options;
}

std::string Column(const fs::path& csv, int from) {
  std::string rows;
  for (const std::string& line : Split(ReadFile(csv), '\n')) {
    const auto cells = Split(line, ',');
    for (size_t i = static_cast<size_t>(from); i < cells.size(); ++i) rows += cells[i] + ",";
    rows += "\n";
  }
  return rows;
}

TEST(Training, ResumedRunEqualsAnUninterruptedOne) {
  const TemporaryFolder folder;
  const fs::path whole = folder.Path() / "whole";
  const fs::path parts = folder.Path() / "parts";
  EXPECT_TRUE(Train(TinyOptions(whole)).finished);
  TrainOptions options = TinyOptions(parts);
  options.call_steps = 3;  // into stage 2
  EXPECT_FALSE(Train(options).finished);
  options.resume = true;
  EXPECT_TRUE(Train(options).finished);
  // The same losses (without the clock's column), the same weights, bit for bit.
  EXPECT_EQ(Column(whole / "losses-1.csv", 2), Column(parts / "losses-1.csv", 2));
  EXPECT_EQ(Column(whole / "losses-2.csv", 2), Column(parts / "losses-2.csv", 2));
  const TensorFile a = LoadSafetensors(whole / "checkpoint-4-values.safetensors");
  const TensorFile b = LoadSafetensors(parts / "checkpoint-4-values.safetensors");
  EXPECT_EQ(a.tensors.at("values").values, b.tensors.at("values").values);
  // The model that is kept is the average of the last steps, not the last one.
  const auto weights = [](const fs::path& path) {
    std::vector<float> all;
    for (const auto& [name, tensor] : LoadSafetensors(path).tensors)
      all.insert(all.end(), tensor.values.begin(), tensor.values.end());
    std::sort(all.begin(), all.end());
    return all;
  };
  const std::vector<float> model = weights(whole / "model.safetensors");
  EXPECT_EQ(model, weights(parts / "model.safetensors"));
  EXPECT_EQ(model, weights(whole / "checkpoint-4-average.safetensors"));
  EXPECT_NE(model, weights(whole / "checkpoint-4-values.safetensors"));
}

TEST(Training, LossFalls) {
  const TemporaryFolder folder;
  TrainOptions options = TinyOptions(folder.Path() / "run");
  options.steps = 16;
  options.first_stage = 1;
  options.scenes_per_step = 0;
  options.augmentation = {0, 0, 0, 0};
  options.rate = 3e-3;
  options.losses.histogram_weight = 0;
  Train(options);
  const auto lines = Split(ReadFile(folder.Path() / "run/losses-1.csv"), '\n');
  const auto total = [&](size_t first, size_t last) {
    double sum = 0;
    for (size_t i = first; i < last; ++i) {
      const auto cells = Split(lines[i], ',');
      for (size_t c = 3; c < cells.size(); ++c) sum += ParseDouble(cells[c]).value();
    }
    return sum / static_cast<double>(last - first);
  };
  EXPECT_LT(total(13, 17), 0.9 * total(1, 5));
}

TEST(Training, RefusesWhatCannotWork) {
  const TemporaryFolder folder;
  TrainOptions options = TinyOptions(folder.Path() / "run");
  options.resume = true;
  EXPECT_THROW(Train(options), InputError);  // nothing to resume
  options = TinyOptions("");
  EXPECT_THROW(Train(options), InputError);
  options = TinyOptions(folder.Path() / "run");
  options.steps = 0;
  EXPECT_THROW(Train(options), InputError);
  options = TinyOptions(folder.Path() / "run");
  options.data = (folder.Path() / "nothing").string();
  EXPECT_THROW(Train(options), InputError);
}

TEST(Checkpoint, OfAnotherArchitectureIsRefused) {
  const TemporaryFolder folder;
  torch::Tensor few = torch::ones({5});
  torch::Tensor more = torch::ones({6});
  FlatAdamW small({few});
  FlatAdamW large({more});
  Model model;
  model.tensors = MakeRandomModel(1).tensors;
  WeightAverage average(small.Values(), 10);
  SaveCheckpoint(folder.Path(), {}, model, {small, small, average});
  EXPECT_NO_THROW(LoadCheckpoint(folder.Path(), model, {small, small, average}));
  EXPECT_THROW(LoadCheckpoint(folder.Path(), model, {large, small, average}), InputError);
  Model other = model;
  other.depth.bottleneck = 64;
  EXPECT_THROW(LoadCheckpoint(folder.Path(), other, {small, small, average}), InputError);
}

TEST(FlatAdamW, FindsAMinimumAndSurvivesAGradientThatIsNotFinite) {
  torch::Tensor x = torch::tensor({3.0F, -2.0F}).set_requires_grad(true);
  FlatAdamW optimizer({x}, 0);
  for (int i = 0; i < 400; ++i) {
    optimizer.ZeroGradient();
    (x - torch::tensor({1.0F, 1.0F})).square().sum().backward();
    optimizer.Step(0.05, 5);
  }
  EXPECT_NEAR(x[0].item<float>(), 1, 1e-2);
  EXPECT_NEAR(x[1].item<float>(), 1, 1e-2);
  const torch::Tensor before = x.detach().clone();
  optimizer.ZeroGradient();
  (x.sum() * std::numeric_limits<float>::quiet_NaN()).backward();
  optimizer.Step(0.05, 5);
  EXPECT_TRUE(torch::equal(before, x.detach()));
}

TEST(WeightAverage, ForgetsWhatLiesBeyondItsHorizon) {
  torch::Tensor value = torch::full({1}, 7.0F);
  WeightAverage average(value, 20);
  const auto run = [&](float to, int64_t from, int64_t until) {
    value.fill_(to);
    for (int64_t step = from; step <= until; ++step) average.Update(value, step);
    return average.Mean().item<float>();
  };
  EXPECT_NEAR(run(1, 1, 10), 1, 0.01);  // a young average follows
  EXPECT_NEAR(run(1, 11, 1000), 1, 1e-5);
  EXPECT_NEAR(run(0, 1001, 1020), std::pow(0.95, 20), 1e-4);
  EXPECT_LT(run(0, 1021, 1200), 1e-3);
  WeightAverage none(value, 0);
  value.fill_(3);
  none.Update(value, 500);
  EXPECT_EQ(none.Mean().item<float>(), 3);
}

TEST(AveragedWeights, AreThereForAWhileOnly) {
  torch::Tensor x = torch::tensor({3.0F, -2.0F});
  FlatAdamW optimizer({x});
  {
    const AveragedWeights averaged(optimizer.Values(), torch::tensor({1.0F, 1.0F}));
    EXPECT_EQ(x[0].item<float>(), 1);
  }
  EXPECT_EQ(x[0].item<float>(), 3);
}

}  // namespace
}  // namespace lumen
