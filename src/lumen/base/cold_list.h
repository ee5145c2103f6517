// A list that only grows and whose old elements are read seldom: a run's frames, by the hour. Full blocks lie
// in DiskMemory, so that the process's own memory does not grow with them; what is new is at hand.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <vector>

#include "lumen/base/disk_memory.h"

namespace lumen {

template <typename T>
class ColdList {
 public:
  static constexpr size_t kBlock = 1024;  // elements
  static_assert(std::is_trivially_destructible_v<T>);

  explicit ColdList(DiskMemory& disk = DiskMemory::Instance()) : disk_(disk) {}
  ~ColdList() {
    for (T* block : blocks_) disk_.deallocate(block, kBlock * sizeof(T), alignof(T));
  }
  ColdList(const ColdList&) = delete;
  ColdList& operator=(const ColdList&) = delete;

  // Named as the standard library's lists are, so that it can stand in for one.
  // NOLINTBEGIN(readability-identifier-naming)
  void push_back(const T& value) {
    if (warm_.size() == kBlock) PutAway();
    warm_.push_back(value);
  }
  size_t size() const { return blocks_.size() * kBlock + warm_.size(); }
  bool empty() const { return size() == 0; }
  const T& operator[](size_t i) const {
    const size_t block = i / kBlock;
    return block < blocks_.size() ? blocks_[block][i % kBlock] : warm_[i - blocks_.size() * kBlock];
  }
  const T& back() const { return warm_.back(); }
  // NOLINTEND(readability-identifier-naming)

  // What was read of the old blocks leaves memory again.
  void LetGo() const {
    for (T* block : blocks_) disk_.LetGo(block);
  }

  class Iterator {
   public:
    Iterator(const ColdList& list, size_t at) : list_(list), at_(at) {}
    const T& operator*() const { return list_[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const ColdList& list_;
    size_t at_;
  };
  Iterator begin() const { return {*this, 0}; }     // NOLINT(readability-identifier-naming)
  Iterator end() const { return {*this, size()}; }  // NOLINT(readability-identifier-naming)

 private:
  void PutAway() {
    T* block = static_cast<T*>(disk_.allocate(kBlock * sizeof(T), alignof(T)));
    for (size_t i = 0; i < kBlock; ++i) new (block + i) T(warm_[i]);
    disk_.LetGo(block);
    blocks_.push_back(block);
    warm_.clear();
  }

  DiskMemory& disk_;
  std::vector<T*> blocks_;
  std::vector<T> warm_;  // the newest; never empty once there is one
};

}  // namespace lumen
