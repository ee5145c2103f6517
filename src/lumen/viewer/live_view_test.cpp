#include "lumen/viewer/live_view.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

namespace lumen {
namespace {

std::shared_ptr<const View> MakeSmallView() {
  return std::make_shared<View>(View{{50, 50, 39.5, 31.5}, Mask(80, 64, 1, 255), Mask(80, 64, 1, 255)});
}

MapKeyframe MakeKeyframe(const std::shared_ptr<const View>& view, int64_t index, double code) {
  auto frame = std::make_shared<Frame>();
  frame->index = index;
  frame->image = RgbImage(160, 128, 3, 90);
  frame->view = view;
  auto keyframe = std::make_shared<Keyframe>();
  keyframe->frame = frame;
  keyframe->depth = MakeDepthBasis(Image<float>(80, 64, 1, 2.0F), Image<float>(80, 64, 1, 1.0F), view->mask);
  return {keyframe, {Rigid3(), 0, Eigen::VectorXd::Constant(1, code)}, 0};
}

// Whether the store comes to hold `count` items of this kind.
bool ComesToHold(ItemStore& store, ItemKind kind, size_t count) {
  for (int i = 0; i < 1000; ++i) {
    size_t found = 0;
    for (const Item& item : store.Since(0, SIZE_MAX).items) found += item.kind == kind ? 1 : 0;
    if (found == count) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

std::string BytesOf(ItemStore& store, ItemKind kind, uint32_t id) {
  for (const Item& item : store.Since(0, SIZE_MAX).items)
    if (item.kind == kind && item.id == id) return std::string(item.bytes->View());
  return "";
}

TEST(LiveView, FramesKeyframesPicturesAndEdgesBecomeItems) {
  const auto view = MakeSmallView();
  LiveView live("test", view);
  auto map = std::make_shared<MapSnapshot>();
  map->version = 1;
  map->keyframes[0] = MakeKeyframe(view, 0, 0);
  map->keyframes[1] = MakeKeyframe(view, 6, 0);
  map->edges = {{0, 1, EdgeKind::kGlobalLoop}};
  live.AddPicture(6, RgbImage(160, 128, 3, 7));
  ViewFrame frame{6, 0.2};
  frame.reference = 1;
  frame.pose = Rigid3();
  live.AddFrame(frame, Json::MakeObject(), map);
  EXPECT_TRUE(ComesToHold(live.Store(), ItemKind::kStatus, 1));  // the last that is put
  EXPECT_TRUE(ComesToHold(live.Store(), ItemKind::kCloud, 2));
  EXPECT_EQ(BytesOf(live.Store(), ItemKind::kFrames, 0).size(), 56U);
  EXPECT_EQ(BytesOf(live.Store(), ItemKind::kKeyframes, 0).size(), 2U * 44);
  EXPECT_EQ(BytesOf(live.Store(), ItemKind::kPicture, 0).size(), 12U + 160 * 128 * 3);
  EXPECT_EQ(BytesOf(live.Store(), ItemKind::kEdges, 0), "[[0, 1, 2, 0]]");
}

TEST(LiveView, OnlyDepthThatChangedIsSentAgain) {
  const auto view = MakeSmallView();
  LiveView live("test", view);
  auto map = std::make_shared<MapSnapshot>();
  map->version = 1;
  for (KeyframeId id = 0; id < 3; ++id) map->keyframes[id] = MakeKeyframe(view, id, 0);
  live.AddFrame({0, 0}, Json::MakeObject(), map);
  ASSERT_TRUE(ComesToHold(live.Store(), ItemKind::kCloud, 3));
  const std::string before = BytesOf(live.Store(), ItemKind::kCloud, 1);
  const uint64_t known = live.Store().Version();
  auto next = std::make_shared<MapSnapshot>(*map);
  next->version = 2;
  next->keyframes[1].state.code[0] = 0.5;
  live.AddFrame({1, 0}, Json::MakeObject(), next);
  for (int i = 0; i < 1000 && BytesOf(live.Store(), ItemKind::kCloud, 1) == before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_NE(BytesOf(live.Store(), ItemKind::kCloud, 1), before);
  for (const Item& item : live.Store().Since(known, SIZE_MAX).items)
    EXPECT_TRUE(item.kind != ItemKind::kCloud || item.id == 1) << item.id;
}

TEST(LiveView, ALargeMapComesInPartsAndWhole) {
  const auto view = MakeSmallView();
  LiveView live("test", view);
  auto map = std::make_shared<MapSnapshot>();
  map->version = 1;
  for (KeyframeId id = 0; id < 20; ++id) map->keyframes[id] = MakeKeyframe(view, id, 0);
  live.AddFrame({0, 0}, Json::MakeObject(), map);
  EXPECT_TRUE(ComesToHold(live.Store(), ItemKind::kCloud, 20)) << "although nothing else comes";
}

TEST(LiveView, FramesOfALongRunAreAllThereHoweverTheyCame) {
  LiveView live("test", MakeSmallView());
  constexpr int64_t kFrames = 5 * kFramesPerItem + 3;
  for (int64_t i = 0; i < kFrames; ++i) {
    live.AddFrame({i, 0}, Json::MakeObject(), nullptr);
    if (i % 50 == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(40));  // now and then it catches up
  }
  ASSERT_TRUE(ComesToHold(live.Store(), ItemKind::kFrames, 6));
  for (uint32_t chunk = 0; chunk < 6; ++chunk) {
    const size_t expected = chunk < 5 ? kFramesPerItem : 3;
    std::string bytes;
    for (int i = 0; i < 1000 && bytes.size() != 56 * expected; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      bytes = BytesOf(live.Store(), ItemKind::kFrames, chunk);
    }
    ASSERT_EQ(bytes.size(), 56 * expected) << chunk;
    for (size_t i = 0; i < expected; ++i) {
      int32_t index = -1;
      std::memcpy(&index, bytes.data() + 56 * i, sizeof(index));
      ASSERT_EQ(index, static_cast<int32_t>(chunk * kFramesPerItem + i));
    }
  }
}

TEST(LiveView, WhatGoesOnAfterTheLastFrameIsSaid) {
  LiveView live("test", MakeSmallView());
  live.SetPhase("refining the map");
  ASSERT_TRUE(ComesToHold(live.Store(), ItemKind::kStatus, 1));
  EXPECT_NE(BytesOf(live.Store(), ItemKind::kStatus, 0).find("refining"), std::string::npos);
}

TEST(LiveView, TheTruthLiesOnTheRunsPath) {
  const auto view = MakeSmallView();
  Trajectory truth;
  auto map = std::make_shared<MapSnapshot>();
  map->version = 1;
  for (int i = 0; i < 5; ++i) {
    const Eigen::Vector3d at(i, i * i, 0.5 * i);
    MapKeyframe keyframe = MakeKeyframe(view, i, 0);
    auto frame = std::make_shared<Frame>(*keyframe.keyframe->frame);
    frame->time = i;
    keyframe.keyframe = std::make_shared<Keyframe>(Keyframe{frame, keyframe.keyframe->depth});
    keyframe.state.world_from_camera = Rigid3(Eigen::Quaterniond::Identity(), at);
    map->keyframes[i] = keyframe;
    truth.push_back({static_cast<double>(i), Rigid3(Eigen::Quaterniond::Identity(), 20 * at)});
  }
  LiveView live("test", view, truth);
  live.AddFrame({0, 0}, Json::MakeObject(), map);
  ASSERT_TRUE(ComesToHold(live.Store(), ItemKind::kTruth, 1));
  const std::string bytes = BytesOf(live.Store(), ItemKind::kTruth, 0);
  ASSERT_EQ(bytes.size(), 5U * 16);
  float last[4];
  std::memcpy(last, bytes.data() + 64, sizeof(last));
  EXPECT_NEAR(last[1], 4, 1e-4);
  EXPECT_NEAR(last[2], 16, 1e-4);
}

TEST(LiveView, ServesKeyframesPicturesAndNothingElse) {
  const auto view = MakeSmallView();
  LiveView live("test", view);
  EXPECT_FALSE(live.Find("/frame/0.png")) << "no keyframe yet";
  auto map = std::make_shared<MapSnapshot>();
  map->keyframes[0] = MakeKeyframe(view, 5, 0);
  live.AddFrame({5, 0}, Json::MakeObject(), map);
  EXPECT_TRUE(live.Find("/frame/7.png")) << "the keyframe before it";
  for (const char* path : {"/frame/4.png", "/frame/x.png", "/frame/7", "/frame/", "/features/5.png",
                           "/download/frames.tum", "/surface.bin", "/../secret"})
    EXPECT_FALSE(live.Find(path)) << path;
}

}  // namespace
}  // namespace lumen
