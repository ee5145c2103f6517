#include "lumen/base/isolated.h"

#include <fcntl.h>
#include <sys/prctl.h>
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

namespace lumen {

namespace {

// A record is its size and its bytes. Two sizes that no record has say how a request ended.
constexpr uint64_t kFinished = ~uint64_t{0}, kFailed = ~uint64_t{1};
constexpr size_t kLongestMessage = 1 << 16;

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
void CloseAllBut(int socket) {
  constexpr unsigned kFirstOwn = 3;
  const auto kept = static_cast<unsigned>(socket);
  if (kept > kFirstOwn) ::close_range(kFirstOwn, kept - 1, 0);
  ::close_range(kept + 1, ~0U, 0);
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
  if (!SendBytes(socket, &end, sizeof(end)) || end == kFinished) return;
  const uint64_t size = std::min(message.size(), kLongestMessage);
  SendBytes(socket, &size, sizeof(size)) && SendBytes(socket, message.data(), size);
}

void Answer(std::string_view request, const Isolated::Work& work, int socket) {
  try {
    RecordWriter out(socket);
    work(request, out);
    SendEnd(socket, kFinished, "");
  } catch (const std::bad_alloc&) {
    SendEnd(socket, kFailed, "asks for more memory than it may have");
  } catch (const std::exception& error) {
    SendEnd(socket, kFailed, error.what());
  }
}

[[noreturn]] void Serve(int socket, const Isolated::Work& work, uint64_t memory) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTERM, SIGPIPE})
    ::signal(signal, SIG_DFL);
  ::signal(SIGINT, SIG_IGN);  // the parent decides
  CloseAllBut(socket);
  // What a library has to say before it dies is not for the user.
  if (const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC); null >= 0) {
    ::dup2(null, STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
  }
  LimitSelf(memory);
  while (true) {
    uint64_t size = 0;
    if (!ReceiveBytes(socket, &size, sizeof(size))) ::_exit(0);
    std::string request(size, '\0');
    if (!ReceiveBytes(socket, request.data(), size)) ::_exit(0);
    Answer(request, work, socket);
  }
}

}  // namespace

void RecordWriter::Write(const void* data, size_t bytes) {
  const uint64_t size = bytes;
  if (!SendBytes(socket_, &size, sizeof(size)) || !SendBytes(socket_, data, bytes)) ::_exit(0);
}

void RecordReader::ReadBytes(void* data, size_t bytes) {
  if (!ReceiveBytes(socket_, data, bytes)) fail_();
}

size_t RecordReader::NextSize() {
  uint64_t size = 0;
  ReadBytes(&size, sizeof(size));
  if (size == kFailed) {
    ReadBytes(&size, sizeof(size));
    std::string message(std::min<uint64_t>(size, kLongestMessage), '\0');
    ReadBytes(message.data(), message.size());
    throw InputError(message);
  }
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

Isolated::Isolated(std::function<std::string()> source, const Work& work, uint64_t memory)
    : source_(std::move(source)) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw InputError(StrCat(source_(), ": cannot be read: ", std::strerror(errno)));
  process_ = ::fork();
  if (process_ == 0) Serve(ends[1], work, memory);
  const int reason = errno;
  ::close(ends[1]);
  socket_ = ends[0];
  if (process_ > 0) return;
  ::close(socket_);
  throw InputError(StrCat(source_(), ": cannot be read: ", std::strerror(reason)));
}

Isolated::~Isolated() {
  ::close(socket_);
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void Isolated::FailDead() {
  int status = 0;
  pid_t ended = -1;
  if (process_ > 0)
    while ((ended = ::waitpid(process_, &status, 0)) < 0 && errno == EINTR) continue;
  process_ = -1;
  if (ended > 0 && WIFSIGNALED(status)) {
    throw InputError(StrCat(source_(), ": is damaged: the library that reads it gave up on it (",
                            ::sigabbrev_np(WTERMSIG(status)), ")"));
  }
  throw InputError(StrCat(source_(), ": cannot be read: the process that reads it is gone"));
}

void Isolated::Ask(std::string_view request, const std::function<void(RecordReader&)>& receive) {
  const std::lock_guard lock(asking_);
  if (process_ < 0)
    throw InputError(StrCat(source_(), ": cannot be read: the process that reads it is gone"));
  const uint64_t size = request.size();
  if (!SendBytes(socket_, &size, sizeof(size)) || !SendBytes(socket_, request.data(), size)) FailDead();
  RecordReader reader(socket_, [this] { FailDead(); });
  receive(reader);
  const size_t end = reader.NextSize();
  LUMEN_CHECK(end == kFinished, "something was sent that nobody asked for");
}

}  // namespace lumen
