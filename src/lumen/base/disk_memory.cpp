#include "lumen/base/disk_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace lumen {

namespace {

// A file that nobody else sees and that goes with the process; -1 if there can be none.
int OpenNameless(const std::string& folder) {
  const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  const std::string pattern = folder + "/lumen-XXXXXX";  // file systems without such files
  std::vector<char> name(pattern.begin(), pattern.end());
  name.push_back('\0');
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.data());
  return named;
}

// /tmp is memory on many systems.
std::string FolderForLargeFiles() {
  const char* given = std::getenv("TMPDIR");
  return given != nullptr && *given != '\0' ? given : "/var/tmp";
}

}  // namespace

DiskMemory::DiskMemory(std::string folder) : folder_(std::move(folder)) {}

DiskMemory::~DiskMemory() {
  for (const auto& [block, place] : blocks_) ::munmap(block, place.size);
  if (file_ >= 0) ::close(file_);
}

DiskMemory& DiskMemory::Instance() {
  static DiskMemory& memory = *new DiskMemory(FolderForLargeFiles());
  return memory;
}

void* DiskMemory::Map(size_t bytes) {
  if (!is_open_) file_ = OpenNameless(folder_);
  is_open_ = true;
  if (file_ < 0) return nullptr;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t size = (bytes + page - 1) / page * page;
  // Its room first: a disk that is full would otherwise be noticed at the first write, by a signal.
  if (::posix_fallocate(file_, static_cast<off_t>(end_), static_cast<off_t>(size)) != 0) return nullptr;
  void* block = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, static_cast<off_t>(end_));
  if (block == MAP_FAILED) return nullptr;
  blocks_.emplace(block, Place{end_, size});
  end_ += size;
  return block;
}

void* DiskMemory::do_allocate(size_t bytes, size_t alignment) {
  {
    const std::lock_guard lock(mutex_);
    if (void* block = Map(std::max<size_t>(bytes, 1))) return block;
  }
  return std::pmr::new_delete_resource()->allocate(bytes, alignment);
}

void DiskMemory::do_deallocate(void* block, size_t bytes, size_t alignment) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(block);
    if (found != blocks_.end()) {
      ::munmap(block, found->second.size);
      // What it took goes back to the disk; on file systems that cannot do that, with the process.
      static_cast<void>(::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                    static_cast<off_t>(found->second.offset),
                                    static_cast<off_t>(found->second.size)));
      blocks_.erase(found);
      return;
    }
  }
  std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
}

void DiskMemory::LetGo(void* block) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(block);
  if (found != blocks_.end()) ::madvise(block, found->second.size, MADV_DONTNEED);
}

size_t DiskMemory::BytesOnDisk() const {
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const auto& [block, place] : blocks_) bytes += place.size;
  return bytes;
}

}  // namespace lumen
