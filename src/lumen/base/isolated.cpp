#include "lumen/base/isolated.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>

#include "lumen/base/error.h"
#include "lumen/base/signals.h"

namespace lumen {

namespace {

// A record is its size and its bytes. Three sizes that no record has say how a request ended.
constexpr uint64_t kFinished = ~uint64_t{0}, kFailed = ~uint64_t{1}, kNoMemory = ~uint64_t{2};
constexpr size_t kLongestMessage = 1 << 16;
// Said with a size: the bytes are not on the line, but on the board.
constexpr uint64_t kOnBoard = uint64_t{1} << 62;
constexpr size_t kBoard = size_t{4} << 20;  // for a request, and as much for its answer
constexpr size_t kWorthIt = 4096;

char* MapBoard() {
  void* board =
      ::mmap(nullptr, 2 * kBoard, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return board == MAP_FAILED ? nullptr : static_cast<char*>(board);
}

// False where the other side is gone, which must not end this process.
bool SendBytes(int socket, const void* data, size_t bytes) {
  const auto* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t count = ::send(socket, next, bytes, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    next += count;
    bytes -= static_cast<size_t>(count);
  }
  return true;
}

bool ReceiveBytes(int socket, void* data, size_t bytes) {
  auto* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t count = ::read(socket, next, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    next += count;
    bytes -= static_cast<size_t>(count);
  }
  return true;
}

// Nothing of the parent's stays open: neither files nor sockets, nor what leads to other such processes.
void CloseAllBut(int socket, int life) {
  constexpr unsigned kFirstOwn = 3;
  const auto low = static_cast<unsigned>(std::min(socket, life));
  const auto high = static_cast<unsigned>(std::max(socket, life));
  if (low > kFirstOwn) ::close_range(kFirstOwn, low - 1, 0);
  if (high > low + 1) ::close_range(low + 1, high - 1, 0);
  ::close_range(high + 1, ~0U, 0);
}

// Nobody ever writes to this line: the one thing to be heard of it is that its other end is gone, and the
// system answers that with a signal which no library's loop can hold up. (PR_SET_PDEATHSIG would be the death
// of the thread that forked.)
void DieWith(int life) {
  ::fcntl(life, F_SETOWN, ::getpid());
  ::fcntl(life, F_SETSIG, SIGKILL);
  ::fcntl(life, F_SETFL, ::fcntl(life, F_GETFL) | O_ASYNC);
  pollfd gone{life, 0, 0};  // before we listened?
  if (::poll(&gone, 1, 0) > 0) ::_exit(0);
}

void LimitSelf(uint64_t memory) {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // What is mapped now, and so much more.
  uint64_t pages = 0;
  if (const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC); file >= 0) {
    char text[64] = {};
    if (::read(file, text, sizeof(text) - 1) > 0) pages = std::strtoull(text, nullptr, 10);
    ::close(file);
  }
  const uint64_t most = pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) + memory;
  const rlimit limit{most, most};
  if (pages > 0) ::setrlimit(RLIMIT_AS, &limit);
#else
  (void)memory;
#endif
}

void SendEnd(int socket, uint64_t end, std::string_view message) {
  if (!SendBytes(socket, &end, sizeof(end)) || end != kFailed) return;
  const uint64_t size = std::min(message.size(), kLongestMessage);
  SendBytes(socket, &size, sizeof(size)) && SendBytes(socket, message.data(), size);
}

void Answer(int socket, char* board, const Isolated::Work& work) {
  uint64_t size = 0;
  if (!ReceiveBytes(socket, &size, sizeof(size))) ::_exit(0);
  RecordWriter out(socket, board == nullptr ? nullptr : board + kBoard);
  try {
    std::string sent;
    std::string_view request;
    if ((size & kOnBoard) != 0) {
      request = {board, size & ~kOnBoard};
    } else {
      sent.resize(size);
      if (!ReceiveBytes(socket, sent.data(), size)) ::_exit(0);
      request = sent;
    }
    work(request, out);
    SendEnd(socket, kFinished, "");
  } catch (const std::bad_alloc&) {
    SendEnd(socket, kNoMemory, "");
  } catch (const std::exception& error) {
    SendEnd(socket, kFailed, error.what());
  }
}

[[noreturn]] void Serve(int socket, int life, char* board, const Isolated::Work& work, uint64_t memory) {
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTERM, SIGPIPE})
    ::signal(signal, SIG_DFL);
  for (const int signal : {SIGINT, SIGHUP}) ::signal(signal, SIG_IGN);  // the parent decides
  UnguardSignals();
  CloseAllBut(socket, life);
  DieWith(life);
  // What a library has to say before it dies is not for the user.
  if (const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC); null >= 0) {
    ::dup2(null, STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
  }
  LimitSelf(memory);
  while (true) Answer(socket, board, work);
}

}  // namespace

void RecordWriter::Write(const void* data, size_t bytes) {
  const bool on_board = board_ != nullptr && bytes >= kWorthIt && bytes <= kBoard - used_;
  const uint64_t size = on_board ? bytes | kOnBoard : bytes;
  if (on_board) {
    std::memcpy(board_ + used_, data, bytes);
    used_ += bytes;
  }
  if (!SendBytes(socket_, &size, sizeof(size)) || (!on_board && !SendBytes(socket_, data, bytes))) ::_exit(0);
}

void RecordReader::ReceiveOrFail(void* data, size_t bytes) {
  if (!ReceiveBytes(owner_.socket_, data, bytes)) owner_.FailDead();
}

void RecordReader::ReadBytes(void* data, size_t bytes) {
  if (!on_board_) return ReceiveOrFail(data, bytes);
  std::memcpy(data, owner_.board_ + kBoard + used_, bytes);
  used_ += bytes;
}

size_t RecordReader::NextSize() {
  uint64_t size = 0;
  ReceiveOrFail(&size, sizeof(size));
  const bool reads = owner_.task_ == Isolated::Task::kReads;
  if (size == kNoMemory) {
    if (!reads) throw std::bad_alloc();
    owner_.Fail("asks for more memory than it may have");
  }
  if (size == kFailed) {
    ReceiveOrFail(&size, sizeof(size));
    std::string message(std::min<uint64_t>(size, kLongestMessage), '\0');
    ReceiveOrFail(message.data(), message.size());
    if (reads) throw InputError(message);
    owner_.Fail(message);
  }
  if (size == kFinished) return size;
  on_board_ = (size & kOnBoard) != 0;
  size &= ~kOnBoard;
  LUMEN_CHECK(!on_board_ || (owner_.board_ != nullptr && size <= kBoard - used_),
              "a record beyond the board");
  return size;
}

void RecordReader::Read(void* data, size_t bytes) {
  const size_t size = NextSize();
  LUMEN_CHECK(size == bytes, "a record of ", size, " bytes instead of ", bytes);
  ReadBytes(data, bytes);
}

std::string RecordReader::ReadText(size_t most) {
  const size_t size = NextSize();
  LUMEN_CHECK(size <= most, "a record of ", size, " bytes, more than ", most);
  std::string text(size, '\0');
  ReadBytes(text.data(), size);
  return text;
}

Isolated::Isolated(std::function<std::string()> file, const Work& work, Task task, uint64_t memory)
    : file_(std::move(file)), task_(task) {
  int line[2] = {-1, -1}, life[2] = {-1, -1};
  board_ = MapBoard();
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) == 0 &&
      ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, life) == 0) {
    process_ = ::fork();
    if (process_ == 0) Serve(line[1], life[1], board_, work, memory);
  }
  const int reason = errno;
  ::close(line[1]);
  ::close(life[1]);
  socket_ = line[0];
  life_ = life[0];
  if (process_ > 0) return;
  ::close(socket_);
  ::close(life_);
  if (board_ != nullptr) ::munmap(board_, 2 * kBoard);
  Fail(StrCat(task_ == Task::kReads ? "cannot be read: " : "cannot write: ", std::strerror(reason)));
}

Isolated::~Isolated() {
  ::close(socket_);
  ::close(life_);
  if (board_ != nullptr) ::munmap(board_, 2 * kBoard);
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void Isolated::Fail(const std::string& reason) const {
  if (task_ == Task::kReads) throw InputError(StrCat(file_(), ": ", reason));
  throw OutputError(file_(), reason);
}

void Isolated::FailDead() {
  const bool reads = task_ == Task::kReads;
  int status = 0;
  pid_t ended = -1;
  if (process_ > 0)
    while ((ended = ::waitpid(process_, &status, 0)) < 0 && errno == EINTR) continue;
  process_ = -1;
  if (ended > 0 && WIFSIGNALED(status)) {
    Fail(StrCat(reads ? "is damaged: the library that reads it gave up on it ("
                      : "cannot write: the library that writes it gave up on it (",
                ::sigabbrev_np(WTERMSIG(status)), ")"));
  }
  Fail(reads ? "cannot be read: the process that reads it is gone"
             : "cannot write: the process that writes it is gone");
}

void Isolated::Ask(std::string_view request, const std::function<void(RecordReader&)>& receive) {
  const std::lock_guard lock(asking_);
  if (process_ < 0) FailDead();
  const bool on_board = board_ != nullptr && request.size() >= kWorthIt && request.size() <= kBoard;
  const uint64_t size = on_board ? request.size() | kOnBoard : request.size();
  if (on_board) std::memcpy(board_, request.data(), request.size());
  std::string sent(reinterpret_cast<const char*>(&size), sizeof(size));
  if (!on_board) sent += request;
  if (!SendBytes(socket_, sent.data(), sent.size())) FailDead();
  RecordReader reader(*this);
  receive(reader);
  const size_t end = reader.NextSize();
  LUMEN_CHECK(end == kFinished, "something was sent that nobody asked for");
}

}  // namespace lumen
