// A library for LD_PRELOAD that makes the n-th call of some kind fail, counted over a program and all that it
// starts, from the beginning of main on. Its environment:
//   LUMEN_FAULT_BOOK   the file to count in (fault_book.h); without it nothing happens
//   LUMEN_FAULT_CALLS  which: some of open, create, read, write, rename, sync, close, mkdir, map, memory
//   LUMEN_FAULT_AT     the n; 0 counts alone
//   LUMEN_FAULT_STAYS  1: all from the n-th on
//   LUMEN_FAULT_ERROR  EIO, ENOSPC, EMFILE, EACCES; "short": a write takes half; KILL, INT, TERM: no fault
//   but
//                      the signal, to the whole program, before the call
//   LUMEN_FAULT_UNDER  only files below this folder; without it, all regular files
//   LUMEN_FAULT_SIZE   memory: only blocks of at least so many bytes
// A disk that is full (ENOSPC) still takes what fits into the blocks a file has, as real ones do.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/faults/fault_book.h"

extern "C" {
// The C library's own allocator, which the names below stand before.
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace {

using lumen::FaultBook;
using lumen::kFaultKinds;

// Bits, in the order of kFaultKinds.
enum Kind : unsigned {
  kOpen = 1,
  kCreate = 2,
  kRead = 4,
  kWrite = 8,
  kRename = 16,
  kSync = 32,
  kClose = 64,
  kMkdir = 128,
  kMap = 256,
  kMemory = 512
};

enum class Way { kFail, kShort, kSignal };

FaultBook* book = nullptr;
unsigned kinds = 0;
uint64_t at = 0, least_size = 0;
bool stays = false, armed = false;
Way way = Way::kFail;
int fault = EIO;  // or the signal
const char* under = nullptr;

unsigned ParseKinds(const char* text) {
  unsigned parsed = 0;
  for (unsigned i = 0; i < std::size(kFaultKinds); ++i) {
    const char* found = std::strstr(text, kFaultKinds[i]);
    if (found != nullptr) parsed |= 1U << i;
  }
  return parsed;
}

void ParseError(const char* text) {
  struct Named {
    const char* name;
    Way way;
    int number;
  };
  constexpr Named kNamed[] = {
      {"EIO", Way::kFail, EIO},       {"ENOSPC", Way::kFail, ENOSPC},  {"EMFILE", Way::kFail, EMFILE},
      {"EACCES", Way::kFail, EACCES}, {"short", Way::kShort, 0},       {"KILL", Way::kSignal, SIGKILL},
      {"INT", Way::kSignal, SIGINT},  {"TERM", Way::kSignal, SIGTERM}, {"ENOMEM", Way::kFail, ENOMEM}};
  for (const Named& named : kNamed) {
    if (std::strcmp(named.name, text) != 0) continue;
    way = named.way;
    fault = named.number;
  }
}

uint64_t NumberOf(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
}

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}
// The function that this one stands before. Looked up without a lock: who loads a library holds the loader's,
// and may call any of these.
#define REAL(name)                                         \
  static std::atomic<void*> found = nullptr;               \
  if (found == nullptr) found = ::dlsym(RTLD_NEXT, #name); \
  auto* const real = reinterpret_cast<decltype(name)*>(found.load())

void ReadEnvironment() {
  const char* file = std::getenv("LUMEN_FAULT_BOOK");
  if (file == nullptr) return;
  const int descriptor = Next<int(const char*, int, ...)>("open")(file, O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return;
  void* map = Next<decltype(mmap)>("mmap")(nullptr, sizeof(FaultBook), PROT_READ | PROT_WRITE, MAP_SHARED,
                                           descriptor, 0);
  Next<decltype(close)>("close")(descriptor);
  if (map == MAP_FAILED) return;
  if (const char* calls = std::getenv("LUMEN_FAULT_CALLS")) kinds = ParseKinds(calls);
  if (const char* error = std::getenv("LUMEN_FAULT_ERROR")) ParseError(error);
  at = NumberOf("LUMEN_FAULT_AT");
  least_size = NumberOf("LUMEN_FAULT_SIZE");
  stays = NumberOf("LUMEN_FAULT_STAYS") > 0;
  under = std::getenv("LUMEN_FAULT_UNDER");
  book = static_cast<FaultBook*>(map);
}

bool IsMeant(const char* path) {
  if (path == nullptr) return false;
  return under == nullptr || std::strncmp(path, under, std::strlen(under)) == 0;
}

// The path behind a descriptor; null for what is no file or not meant.
const char* PathOf(int descriptor, char (&buffer)[512]) {
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0 || (!S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode)))
    return nullptr;
  char link[64];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
  const ssize_t length = ::readlink(link, buffer, sizeof(buffer) - 1);
  if (length <= 0) return nullptr;
  buffer[length] = '\0';
  return IsMeant(buffer) ? buffer : nullptr;
}

// Counts a call; true if it is to fail.
bool Strike(unsigned kind, const char* what) {
  for (unsigned i = 0; i < std::size(kFaultKinds); ++i)
    if ((kind & kinds & (1U << i)) != 0) ++book->calls_of[i];
  const uint64_t number = ++book->calls;
  if (at == 0 || (stays ? number < at : number != at)) return false;
  if (book->struck++ == 0) std::strncpy(book->what, what, sizeof(book->what) - 1);
  if (way != Way::kSignal) return true;
  ::kill(0, fault);
  return false;
}

bool StrikePath(unsigned kind, const char* path) {
  return armed && (kinds & kind) != 0 && IsMeant(path) && Strike(kind, path);
}

bool StrikeFile(unsigned kind, int descriptor) {
  if (!armed || (kinds & kind) == 0) return false;
  const int before = errno;
  char buffer[512];
  const char* path = PathOf(descriptor, buffer);
  errno = before;
  return path != nullptr && Strike(kind, path);
}

bool StrikeMemory(size_t size) {
  if (!armed || (kinds & kMemory) == 0 || size < least_size) return false;
  char text[32];
  std::snprintf(text, sizeof(text), "%zu bytes", size);
  return Strike(kMemory, text);
}

unsigned KindOfOpen(int flags) { return (flags & O_CREAT) != 0 ? kOpen | kCreate : kOpen; }

unsigned KindOfOpen(const char* mode) {
  return mode[0] == 'r' && std::strchr(mode, '+') == nullptr ? kOpen : kOpen | kCreate;
}

// Whether a file has room for this already.
bool HasRoom(int descriptor, off_t offset, size_t size) {
  struct stat facts {};
  if (fault != ENOSPC || ::fstat(descriptor, &facts) != 0) return false;
  if (offset < 0) {
    const bool appends = (::fcntl(descriptor, F_GETFL) & O_APPEND) != 0;
    offset = appends ? facts.st_size : ::lseek(descriptor, 0, SEEK_CUR);
  }
  constexpr off_t kBlock = 512;
  return offset + static_cast<off_t>(size) <= facts.st_blocks * kBlock;
}

// How much of a write goes through: all, half, or none (-1, with errno).
ssize_t Allow(int descriptor, off_t offset, size_t size) {
  if (!StrikeFile(kWrite, descriptor) || HasRoom(descriptor, offset, size)) return static_cast<ssize_t>(size);
  if (way == Way::kShort && size > 1) return static_cast<ssize_t>(size / 2);
  if (way == Way::kShort) return static_cast<ssize_t>(size);
  errno = fault;
  return -1;
}

mode_t ModeOf(int flags, va_list& arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

int (*program_main)(int, char**, char**) = nullptr;

int CountedMain(int argc, char** argv, char** environment) {
  armed = book != nullptr;
  const int code = program_main(argc, argv, environment);
  armed = false;
  return code;
}

}  // namespace

extern "C" {

int __libc_start_main(int (*main_function)(int, char**, char**), int argc, char** argv, void (*init)(),
                      void (*fini)(), void (*loader)(), void* stack) {
  REAL(__libc_start_main);
  ReadEnvironment();
  program_main = main_function;
  return real(CountedMain, argc, argv, init, fini, loader, stack);
}

#define OPEN(name)                                                            \
  int name(const char* path, int flags, ...) {                                \
    REAL(name);                                                               \
    va_list arguments;                                                        \
    va_start(arguments, flags);                                               \
    const mode_t mode = ModeOf(flags, arguments);                             \
    va_end(arguments);                                                        \
    if (!StrikePath(KindOfOpen(flags), path)) return real(path, flags, mode); \
    errno = fault;                                                            \
    return -1;                                                                \
  }
OPEN(open)
OPEN(open64)
#define OPENAT(name)                                                                  \
  int name(int folder, const char* path, int flags, ...) {                            \
    REAL(name);                                                                       \
    va_list arguments;                                                                \
    va_start(arguments, flags);                                                       \
    const mode_t mode = ModeOf(flags, arguments);                                     \
    va_end(arguments);                                                                \
    if (!StrikePath(KindOfOpen(flags), path)) return real(folder, path, flags, mode); \
    errno = fault;                                                                    \
    return -1;                                                                        \
  }
OPENAT(openat)
OPENAT(openat64)
#define FOPEN(name)                                                   \
  FILE* name(const char* path, const char* mode) {                    \
    REAL(name);                                                       \
    if (!StrikePath(KindOfOpen(mode), path)) return real(path, mode); \
    errno = fault;                                                    \
    return nullptr;                                                   \
  }
FOPEN(fopen)
FOPEN(fopen64)

DIR* opendir(const char* path) {
  REAL(opendir);
  if (!StrikePath(kOpen, path)) return real(path);
  errno = fault;
  return nullptr;
}

ssize_t read(int descriptor, void* data, size_t size) {
  REAL(read);
  if (!StrikeFile(kRead, descriptor)) return real(descriptor, data, size);
  errno = fault;
  return -1;
}

ssize_t __read_chk(int descriptor, void* data, size_t size, size_t) { return read(descriptor, data, size); }

#define PREAD(name, Offset)                                                          \
  ssize_t name(int descriptor, void* data, size_t size, Offset offset) {             \
    REAL(name);                                                                      \
    if (!StrikeFile(kRead, descriptor)) return real(descriptor, data, size, offset); \
    errno = fault;                                                                   \
    return -1;                                                                       \
  }
PREAD(pread, off_t)
PREAD(pread64, off64_t)

ssize_t __pread64_chk(int descriptor, void* data, size_t size, off64_t offset, size_t) {
  return pread64(descriptor, data, size, offset);
}

size_t fread(void* data, size_t size, size_t count, FILE* file) {
  REAL(fread);
  if (!StrikeFile(kRead, ::fileno(file))) return real(data, size, count, file);
  errno = fault;
  return 0;
}

size_t __fread_chk(void* data, size_t, size_t size, size_t count, FILE* file) {
  return fread(data, size, count, file);
}

ssize_t write(int descriptor, const void* data, size_t size) {
  REAL(write);
  const ssize_t allowed = Allow(descriptor, -1, size);
  return allowed < 0 ? -1 : real(descriptor, data, static_cast<size_t>(allowed));
}

#define PWRITE(name, Offset)                                                                \
  ssize_t name(int descriptor, const void* data, size_t size, Offset offset) {              \
    REAL(name);                                                                             \
    const ssize_t allowed = Allow(descriptor, offset, size);                                \
    return allowed < 0 ? -1 : real(descriptor, data, static_cast<size_t>(allowed), offset); \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t writev(int descriptor, const iovec* parts, int count) {
  REAL(writev);
  if (!StrikeFile(kWrite, descriptor)) return real(descriptor, parts, count);
  if (way == Way::kShort) return real(descriptor, parts, 1);
  errno = fault;
  return -1;
}

size_t fwrite(const void* data, size_t size, size_t count, FILE* file) {
  REAL(fwrite);
  if (!StrikeFile(kWrite, ::fileno(file)) || way == Way::kShort) return real(data, size, count, file);
  errno = fault;
  return 0;
}

int posix_fallocate(int descriptor, off_t offset, off_t size) {
  REAL(posix_fallocate);
  if (!StrikeFile(kWrite, descriptor) || way == Way::kShort) return real(descriptor, offset, size);
  return fault;
}

int posix_fallocate64(int descriptor, off64_t offset, off64_t size) {
  return posix_fallocate(descriptor, offset, size);
}

int rename(const char* from, const char* to) {
  REAL(rename);
  if (!StrikePath(kRename, to)) return real(from, to);
  errno = fault;
  return -1;
}

#define SYNC(name)                                               \
  int name(int descriptor) {                                     \
    REAL(name);                                                  \
    if (!StrikeFile(kSync, descriptor)) return real(descriptor); \
    errno = fault;                                               \
    return -1;                                                   \
  }
SYNC(fsync)
SYNC(fdatasync)
SYNC(syncfs)

// The file is closed in any case.
int close(int descriptor) {
  REAL(close);
  const bool fails = StrikeFile(kClose, descriptor);
  const int result = real(descriptor);
  if (!fails) return result;
  errno = fault;
  return -1;
}

int fclose(FILE* file) {
  REAL(fclose);
  const bool fails = StrikeFile(kClose, ::fileno(file));
  const int result = real(file);
  if (!fails) return result;
  errno = fault;
  return EOF;
}

int mkdir(const char* path, mode_t mode) {
  REAL(mkdir);
  if (!StrikePath(kMkdir, path)) return real(path, mode);
  errno = fault;
  return -1;
}

char* mkdtemp(char* pattern) {
  REAL(mkdtemp);
  if (!StrikePath(kMkdir, pattern)) return real(pattern);
  errno = fault;
  return nullptr;
}

#define MMAP(name, Offset)                                                                         \
  void* name(void* place, size_t size, int protection, int flags, int descriptor, Offset offset) { \
    REAL(name);                                                                                    \
    if (descriptor < 0 || !StrikeFile(kMap, descriptor))                                           \
      return real(place, size, protection, flags, descriptor, offset);                             \
    errno = fault;                                                                                 \
    return MAP_FAILED;                                                                             \
  }
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

void* malloc(size_t size) {
  if (!StrikeMemory(size)) return __libc_malloc(size);
  errno = ENOMEM;
  return nullptr;
}

void* calloc(size_t count, size_t size) {
  if (!StrikeMemory(count * size)) return __libc_calloc(count, size);
  errno = ENOMEM;
  return nullptr;
}

void* realloc(void* block, size_t size) {
  if (size == 0 || !StrikeMemory(size)) return __libc_realloc(block, size);
  errno = ENOMEM;
  return nullptr;
}

void* memalign(size_t alignment, size_t size) {
  if (!StrikeMemory(size)) return __libc_memalign(alignment, size);
  errno = ENOMEM;
  return nullptr;
}

void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void** block, size_t alignment, size_t size) {
  void* made = memalign(alignment, size);
  if (made == nullptr) return ENOMEM;
  *block = made;
  return 0;
}

}  // extern "C"
