// The whole state of a view as items that are replaced, never queued: an item that changes gets a new version
// number, and a client that knows everything up to version v is owed the items above v, whatever happened in
// between. So a page opened late gets all there is, a slow one skips to the newest, and what is owed to
// anybody is bounded by the state itself.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace lumen {

enum class ItemKind : uint8_t {
  kInfo = 1,         // JSON: what is viewed
  kStatus = 2,       // JSON: the newest numbers
  kFrames = 3,       // a chunk of frames
  kKeyframes = 4,    // a chunk of keyframes' places
  kCloud = 5,        // one keyframe's depth and colours
  kEdges = 6,        // JSON: loops
  kPicture = 7,      // the newest frame's picture
  kTruth = 8,        // the true path
  kCoverage = 9,     // JSON: what of the wall was seen
  kSigmas = 10,      // how far frames' places may be off
  kCt = 11,          // JSON: the patient's CT
  kNavigation = 12,  // JSON: where in it the run is
};

// Where an item waits for somebody to ask: what is kept long and will hardly change on disk, so that a view
// does not grow with the hours (base/disk_memory.h).
enum class Kept { kInMemory, kOnDisk };

class ItemBytes {
 public:
  ItemBytes(std::string bytes, Kept kept);
  ~ItemBytes();
  ItemBytes(const ItemBytes&) = delete;
  ItemBytes& operator=(const ItemBytes&) = delete;

  std::string_view View() const {
    return disk_ == nullptr ? std::string_view(bytes_) : std::string_view(disk_, size_);
  }
  size_t Size() const { return disk_ == nullptr ? bytes_.size() : size_; }
  void LetGo() const;  // it has been read

 private:
  std::string bytes_;
  char* disk_ = nullptr;
  size_t size_ = 0;
};

struct Item {
  ItemKind kind = ItemKind::kInfo;
  uint32_t id = 0;
  uint64_t version = 0;
  std::shared_ptr<const ItemBytes> bytes;
};

// Thread-safe.
class ItemStore {
 public:
  // Does nothing if these are the item's bytes already.
  void Put(ItemKind kind, uint32_t id, std::string bytes, Kept kept = Kept::kInMemory);
  uint64_t Version() const;

  struct Batch {
    std::vector<Item> items;  // in order of version
    uint64_t version = 0;     // what a client knows once it has these
  };
  // What somebody who knows `version` is owed: at least one item if any is, and no more than about
  // `most_bytes`.
  Batch Since(uint64_t version, size_t most_bytes) const;

  // Called after every change, from the thread that made it; must be quick. Null: nobody. Once this returns,
  // the callback before is not being called any more.
  void OnChange(std::function<void()> callback);

 private:
  using Key = std::pair<uint8_t, uint32_t>;
  mutable std::mutex mutex_;
  std::map<Key, Item> items_;
  std::map<uint64_t, Key> by_version_;
  uint64_t version_ = 0;
  std::mutex callback_mutex_;
  std::function<void()> callback_;
};

// The items of a batch as one binary message:
//   "LUM1", count u32, version u64, then per item: kind u32, id u32, size u32, bytes, padding to 4.
// Little-endian throughout.
std::string EncodeBatch(const ItemStore::Batch& batch);

}  // namespace lumen
