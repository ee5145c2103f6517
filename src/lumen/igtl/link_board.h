// What there is to be told, the newest of each kind alone: who is slow misses what was replaced, and nothing
// grows. Whoever puts something up waits for nobody.
#pragma once

#include <array>
#include <atomic>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lumen/image/image.h"

namespace lumen {

// In the order in which they are sent when several wait.
enum class LinkItem { kStatus, kText, kMachineText, kTransform, kTracking, kPicture, kSurface };
inline constexpr size_t kLinkItems = 7;

// Wakes a thread that waits in poll().
class WakeUp {
 public:
  WakeUp();
  ~WakeUp();
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;
  int Descriptor() const { return descriptor_; }
  void Ring();
  void Hear();  // until it rings again

 private:
  int descriptor_;
  std::atomic<bool> rung_ = false;
};

class LinkBoard {
 public:
  struct Note {
    uint64_t version = 0;                                // 0: there never was one
    std::shared_ptr<const std::string> bytes = nullptr;  // null: it holds no longer
    std::shared_ptr<const RgbImage> picture = nullptr;   // of kPicture, which is packed for those who ask
    double time = 0;
  };

  // At once, and gives each its version.
  void Put(std::initializer_list<std::pair<LinkItem, Note>> notes);
  Note Get(LinkItem item) const;
  std::array<uint64_t, kLinkItems> Versions() const;

  // Who rings for those who put something up, so that it costs them the same however many are woken; null:
  // they ring themselves. Before anything is put up.
  void SetBell(WakeUp* bell) { bell_ = bell; }
  // Who is woken by what is put up, and by Ring.
  void Add(WakeUp* reader);
  void Remove(WakeUp* reader);
  void Ring() const;

 private:
  mutable std::mutex mutex_;
  std::array<Note, kLinkItems> notes_;
  mutable std::mutex
      readers_mutex_;  // of its own: who is woken looks at the notes while others are still rung
  std::vector<WakeUp*> readers_;
  WakeUp* bell_ = nullptr;
};

}  // namespace lumen
