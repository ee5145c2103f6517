#include "lumen/network/shared_networks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/network/network_test_data.h"

namespace lumen {
namespace {

constexpr int kWidth = 32;
constexpr int kHeight = 16;

Model SmallModel() {
  Model model;
  for (NetworkSpec* spec : {&model.depth, &model.feature}) {
    spec->input_width = kWidth;
    spec->input_height = kHeight;
  }
  model.hash = "this one";
  return model;
}

// In place of networks: the first number of each map tells what was computed from what.
class TellTale : public NetworkRows {
 public:
  explicit TellTale(int rows) : views_(2, std::vector<float>(static_cast<size_t>(rows))), rows_(rows) {
    for (auto& pictures : pictures_)
      pictures.assign(static_cast<size_t>(rows), std::vector<uint8_t>(3 * kWidth * kHeight));
  }

  int Count() const override { return rows_; }
  void SetView(Program program, int row, const LensView& view) override {
    ++set;
    views_[program][static_cast<size_t>(row)] = view.angles(3, 2);
  }
  uint8_t* Picture(Program program, int row) override {
    return pictures_[program][static_cast<size_t>(row)].data();
  }
  void Run(Program program) override {
    if (broken) throw std::runtime_error("the device is gone\nand more");
    if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const Model model = SmallModel();
    const NetworkSpec& first = program == kLive ? model.feature : model.depth;
    maps_[program].clear();
    for (size_t row = 0; row < static_cast<size_t>(rows_); ++row) {
      std::vector<std::vector<float>> maps;
      std::vector<int> channels = {first.OutputChannels(0), first.OutputChannels(1)};
      if (program == kLive) channels.push_back(model.depth.OutputChannels(0));
      for (size_t m = 0; m < channels.size(); ++m) {
        maps.emplace_back(static_cast<size_t>(channels[m] * kWidth / 2 * kHeight / 2), 0.0F);
        maps.back()[0] = static_cast<float>(pictures_[program][row][0]) + 1000 * static_cast<float>(m);
        maps.back()[1] = views_[program][row];
      }
      maps_[program].push_back(std::move(maps));
    }
  }
  std::vector<Map> Maps(Program program, int row) const override {
    std::vector<Map> all;
    for (const auto& map : maps_[program][static_cast<size_t>(row)])
      all.push_back(
          {map.data(), kWidth / 2, kHeight / 2, static_cast<int>(map.size()) / (kWidth / 2 * kHeight / 2)});
    return all;
  }

  std::atomic<bool> slow{false}, broken{false};
  std::atomic<int> set{0};

 private:
  std::vector<std::vector<float>> views_;
  std::vector<std::vector<uint8_t>> pictures_[kPrograms];
  std::vector<std::vector<std::vector<float>>> maps_[kPrograms];
  int rows_;
};

LensView View(float angle) {
  LensView view(Mask(kWidth, kHeight, 1, 255));
  view.angles(3, 2) = angle;
  return view;
}

InputFrame Frame(uint8_t value) {
  InputFrame frame{0, 0.0, RgbImage(kWidth, kHeight, 3)};
  frame.image(0, 0, 0) = value;
  return frame;
}

class SharedNetworksTest : public ::testing::Test {
 protected:
  void Serve(int rows) {
    auto made = std::make_unique<TellTale>(rows);
    rows_ = made.get();
    server_ = std::make_unique<NetworkServer>(std::move(made), SmallModel(), PriorsOptions{}, Path());
  }
  std::filesystem::path Path() const { return folder_.Path() / "networks"; }
  std::unique_ptr<Priors> Connect(float angle, const Model& model = SmallModel()) const {
    return MakeSharedPriors(Path(), model, View(angle), {.pyramid_levels = 1});
  }

  TemporaryFolder folder_;
  TellTale* rows_ = nullptr;
  std::unique_ptr<NetworkServer> server_;
};

TEST_F(SharedNetworksTest, EachGetsWhatWasMadeOfItsOwnPictureAndLens) {
  Serve(3);
  const auto one = Connect(0.25F);
  const auto other = Connect(0.5F);
  ASSERT_TRUE(one && other);
  for (uint8_t i = 0; i < 20; ++i) {
    const Priors::LiveMaps maps = one->ComputeLive(Frame(i));
    EXPECT_EQ(maps.average_depth(0, 0), 2000 + i);
    EXPECT_EQ(maps.average_depth(1, 0), 0.25F);
    EXPECT_EQ(maps.features.descriptors(0, 0), 1000 + i);
    const DepthBasis basis = other->ComputeDepthBasis(Frame(static_cast<uint8_t>(100 + i)));
    EXPECT_EQ(basis.average(0, 0), 100 + i);
    EXPECT_EQ(basis.average(1, 0), 0.5F);
  }
  EXPECT_EQ(rows_->set, 2);  // a lens is told once
}

TEST_F(SharedNetworksTest, WhatComesDuringARunIsComputedTogetherInTheNext) {
  constexpr int kClients = 6;
  constexpr int kFrames = 15;
  Serve(kClients);
  rows_->slow = true;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int c = 0; c < kClients; ++c) {
    threads.emplace_back([&, c] {
      const auto priors = Connect(static_cast<float>(c));
      for (int i = 0; i < kFrames; ++i) {
        const auto maps = priors->ComputeLive(Frame(static_cast<uint8_t>(10 * c + i % 10)));
        const bool right = maps.average_depth(0, 0) == static_cast<float>(2000 + 10 * c + i % 10) &&
                           maps.average_depth(1, 0) == static_cast<float>(c);
        wrong += right ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(server_->Count().frames, kClients * kFrames);
  EXPECT_LT(server_->Count().runs, kClients * kFrames / 2);
}

TEST_F(SharedNetworksTest, MoreVideosThanRowsTakeTurns) {
  Serve(1);
  std::vector<std::unique_ptr<Priors>> all;
  for (int c = 0; c < 3; ++c) all.push_back(Connect(static_cast<float>(c)));
  for (uint8_t i = 0; i < 3; ++i) {
    for (size_t c = 0; c < all.size(); ++c) {
      const auto maps = all[c]->ComputeLive(Frame(i));
      EXPECT_EQ(maps.average_depth(0, 0), 2000 + i);
      EXPECT_EQ(maps.average_depth(1, 0), static_cast<float>(c));
    }
  }
}

TEST_F(SharedNetworksTest, WhoGoesIsForgotten) {
  Serve(2);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(Connect(1.0F)->ComputeLive(Frame(7)).average_depth(0, 0), 2007);
  EXPECT_EQ(rows_->set, 1);  // the row is known again by its lens
}

TEST_F(SharedNetworksTest, NobodyThereOrAnotherModelMeansNetworksOfOnesOwn) {
  EXPECT_EQ(Connect(1.0F), nullptr);
  Serve(1);
  Model other = SmallModel();
  other.hash = "another";
  EXPECT_EQ(Connect(1.0F, other), nullptr);
  EXPECT_EQ(MakeSharedPriors(Path(), SmallModel(), View(1), {.pyramid_levels = 1, .precision = "float"}),
            nullptr);
  EXPECT_NE(Connect(1.0F), nullptr);
  EXPECT_EQ(MakeSharedPriors(std::string(200, 'x'), SmallModel(), View(1), {}), nullptr);
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(Path()));
  EXPECT_EQ(Connect(1.0F), nullptr);
}

TEST_F(SharedNetworksTest, ADeviceThatFailsEndsTheSharingAlone) {
  Serve(1);
  const auto priors = Connect(1.0F);
  rows_->broken = true;
  EXPECT_THROW(priors->ComputeLive(Frame(1)), InputError);
  EXPECT_EQ(Connect(1.0F), nullptr);
}

TEST_F(SharedNetworksTest, AServerThatGoesIsSaidInOneLine) {
  Serve(1);
  const auto priors = Connect(1.0F);
  priors->ComputeLive(Frame(1));
  server_.reset();
  EXPECT_THROW(priors->ComputeLive(Frame(2)), InputError);
  EXPECT_THROW(NetworkServer(std::make_unique<TellTale>(1), SmallModel(), PriorsOptions{},
                             folder_.Path() / std::string(200, 'x')),
               InputError);
  EXPECT_THROW(
      NetworkServer(std::make_unique<TellTale>(1), SmallModel(), PriorsOptions{}, folder_.Path() / "no/such"),
      InputError);
}

}  // namespace
}  // namespace lumen
