// Memory that lies in a file without a name: for what is kept long and read seldom. What is written there
// leaves the process as soon as it is let go of, and comes back from the disk where it is read.
#pragma once

#include <cstddef>
#include <map>
#include <memory_resource>
#include <mutex>
#include <string>

namespace lumen {

class DiskMemory : public std::pmr::memory_resource {
 public:
  // In this folder; where it takes nothing, blocks come from the heap as others do.
  explicit DiskMemory(std::string folder);
  ~DiskMemory() override;
  DiskMemory(const DiskMemory&) = delete;
  DiskMemory& operator=(const DiskMemory&) = delete;

  // Of the whole process, in the folder for large temporary files. Never goes.
  static DiskMemory& Instance();

  // The block has been written and will not be read for a while.
  void LetGo(void* block);
  size_t BytesOnDisk() const;

 private:
  struct Place {
    size_t offset = 0, size = 0;
  };

  void* do_allocate(size_t bytes, size_t alignment) override;
  void do_deallocate(void* block, size_t bytes, size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
  void* Map(size_t bytes);

  std::string folder_;
  mutable std::mutex mutex_;  // guards all below
  int file_ = -1;
  bool is_open_ = false;  // or was tried
  size_t end_ = 0;
  std::map<void*, Place> blocks_;
};

}  // namespace lumen
