#include "lumen/viewer/item_store.h"

#include <gtest/gtest.h>

#include "lumen/base/disk_memory.h"
#include "lumen/viewer/scene_view.h"

namespace lumen {
namespace {

TEST(ItemStore, WhoeverComesLateIsOwedTheWholeState) {
  ItemStore store;
  for (uint32_t id = 0; id < 3; ++id) store.Put(ItemKind::kCloud, id, "abc");
  const ItemStore::Batch batch = store.Since(0, 1 << 20);
  EXPECT_EQ(batch.items.size(), 3U);
  EXPECT_EQ(batch.version, store.Version());
  EXPECT_TRUE(store.Since(batch.version, 1 << 20).items.empty());
}

TEST(ItemStore, ASlowClientSkipsToTheNewest) {
  ItemStore store;
  for (int i = 0; i < 1000; ++i) store.Put(ItemKind::kStatus, 0, std::to_string(i));
  const ItemStore::Batch batch = store.Since(0, 1 << 20);
  ASSERT_EQ(batch.items.size(), 1U);
  EXPECT_EQ(batch.items[0].bytes->View(), "999");
}

TEST(ItemStore, WhatLiesOnDiskIsReadAsOftenAsAnybodyAsks) {
  ItemStore store;
  const size_t before = DiskMemory::Instance().BytesOnDisk();
  const std::string bytes(50'000, 'x');
  store.Put(ItemKind::kCloud, 7, bytes, Kept::kOnDisk);
  EXPECT_GE(DiskMemory::Instance().BytesOnDisk(), before + bytes.size());
  for (int reading = 0; reading < 2; ++reading) {
    const ItemStore::Batch batch = store.Since(0, 1 << 20);
    ASSERT_EQ(batch.items.size(), 1U);
    EXPECT_NE(EncodeBatch(batch).find(bytes), std::string::npos);
  }
  const uint64_t version = store.Version();
  store.Put(ItemKind::kCloud, 7, bytes, Kept::kOnDisk);
  EXPECT_EQ(store.Version(), version) << "nothing has changed";
  store.Put(ItemKind::kCloud, 7, "little", Kept::kOnDisk);
  EXPECT_EQ(store.Since(0, 1 << 20).items[0].bytes->View(), "little");
}

TEST(ItemStore, OnlyWhatChangedIsOwed) {
  ItemStore store;
  store.Put(ItemKind::kKeyframes, 0, "same");
  store.Put(ItemKind::kKeyframes, 1, "old");
  const uint64_t known = store.Version();
  int changes = 0;
  store.OnChange([&] { ++changes; });
  store.Put(ItemKind::kKeyframes, 0, "same");
  store.Put(ItemKind::kKeyframes, 1, "new");
  const ItemStore::Batch batch = store.Since(known, 1 << 20);
  ASSERT_EQ(batch.items.size(), 1U);
  EXPECT_EQ(batch.items[0].id, 1U);
  EXPECT_EQ(changes, 1);
}

TEST(ItemStore, BatchesAreBoundedAndLoseNothing) {
  ItemStore store;
  for (uint32_t id = 0; id < 100; ++id) store.Put(ItemKind::kCloud, id, std::string(1000, 'x'));
  uint64_t known = 0;
  size_t items = 0;
  while (true) {
    const ItemStore::Batch batch = store.Since(known, 10000);
    if (batch.items.empty()) break;
    EXPECT_LE(batch.items.size(), 10U);
    items += batch.items.size();
    known = batch.version;
  }
  EXPECT_EQ(items, 100U);
  store.Put(ItemKind::kPicture, 0, std::string(50000, 'x'));
  EXPECT_EQ(store.Since(known, 10000).items.size(), 1U) << "one too large alone is still sent";
}

TEST(SceneView, MessagesHaveTheSizesThePageExpects) {
  EXPECT_EQ(EncodeFrames(std::vector<ViewFrame>(3)).size(), 3U * 56);
  EXPECT_EQ(EncodeKeyframes(std::vector<ViewKeyframe>(3)).size(), 3U * 44);
  const DepthImage depth(4, 2, 1, 3.0F);
  const RgbImage rgb(4, 2, 3, 7);
  EXPECT_EQ(EncodeCloud({depth.View(), rgb.View()}).size(), 12U + 8 * 2 + 8 * 3);
}

TEST(SceneView, ANewFrameChangesTheLastChunkOnly) {
  ItemStore store;
  std::vector<ViewFrame> frames(300);
  for (size_t i = 0; i < frames.size(); ++i) frames[i].index = static_cast<int64_t>(i);
  PutFrames(frames, 0, store);
  const uint64_t known = store.Version();
  frames.push_back({.index = 300});
  PutFrames(frames, 0, store);
  const ItemStore::Batch batch = store.Since(known, 1 << 20);
  ASSERT_EQ(batch.items.size(), 1U);
  EXPECT_EQ(batch.items[0].id, 2U);
}

}  // namespace
}  // namespace lumen
