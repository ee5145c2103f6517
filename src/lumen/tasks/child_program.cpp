#include "lumen/tasks/child_program.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "lumen/base/error.h"
#include "lumen/base/signals.h"
#include "lumen/base/text.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace lumen {

namespace fs = std::filesystem;

namespace {

// What becomes of a program's streams: they stay, or lead to a file.
struct Streams {
  int in = STDIN_FILENO, out = STDOUT_FILENO, err = STDERR_FILENO;
};

// In the child, where nothing may be called that takes memory or a lock. It dies with us: nobody would know
// of it, and it would write where the next one does. The thread that starts a program waits for it, so its
// death is ours.
[[noreturn]] void Become(const fs::path& program, char* const* arguments, const Streams& streams,
                         pid_t parent, int said) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  ::signal(SIGINT, SIG_DFL);  // whatever this program ignores, its child does not
  UnguardSignals();
  if (::dup2(streams.in, STDIN_FILENO) >= 0 && ::dup2(streams.out, STDOUT_FILENO) >= 0 &&
      ::dup2(streams.err, STDERR_FILENO) >= 0)
    ::execve(program.c_str(), arguments, environ);
  const int fault = errno;
  (void)!::write(said, &fault, sizeof(fault));
  ::_exit(127);
}

pid_t Start(const fs::path& program, const std::vector<std::string>& arguments, const Streams& streams) {
  std::string name = program.filename().string();
  std::vector<char*> argv = {name.data()};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  int said[2];  // what keeps it from starting; nothing if it does
  if (::pipe2(said, O_CLOEXEC) != 0)
    throw InputError(program, StrCat("cannot be started: ", std::strerror(errno)));
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) Become(program, argv.data(), streams, parent, said[1]);
  int fault = child < 0 ? errno : 0;
  ::close(said[1]);
  while (child > 0 && ::read(said[0], &fault, sizeof(fault)) < 0 && errno == EINTR) continue;
  ::close(said[0]);
  if (fault == 0) return child;
  if (child > 0) ::waitpid(child, nullptr, 0);
  throw InputError(program, StrCat("cannot be started: ", std::strerror(fault)));
}

// A program that is asked to end asks its child.
std::atomic<pid_t> running_child = 0;
extern "C" void PassOn(int signal) {
  if (const pid_t child = running_child; child > 0) kill(child, signal);
}

int CodeOf(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

int Await(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return CodeOf(status);
}

// The same, but a program that is to stop stops its child, which a terminal may have done already.
int AwaitOrStop(pid_t child, const ShouldStop& stop) {
  constexpr useconds_t kPause = 20000;
  int status = 0;
  bool told = false;
  while (true) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended > 0 || (ended < 0 && errno != EINTR)) break;
    if (!told && stop()) told = kill(child, SIGTERM) == 0;
    usleep(kPause);
  }
  return CodeOf(status);
}

// All that was written to a file that is open here.
std::string ReadBack(int file) {
  std::string text;
  std::array<char, 4096> buffer;
  ::lseek(file, 0, SEEK_SET);
  for (ssize_t got = 0; (got = ::read(file, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<size_t>(got));
  return text;
}

}  // namespace

int RunLogged(const fs::path& program, const std::vector<std::string>& arguments, const fs::path& log,
              const ShouldStop& stop) {
  std::error_code gone;
  fs::remove(log, gone);  // whoever still writes the old one, on a node that was given up, keeps to it
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const int fault = errno;
  const auto close_both = [&] {
    ::close(null);
    ::close(file);
  };
  if (null < 0 || file < 0) {
    close_both();
    throw OutputError(log, StrCat("cannot write: ", std::strerror(fault)));
  }
  pid_t child = 0;
  try {
    child = Start(program, arguments, {null, file, file});
  } catch (...) {
    close_both();
    throw;
  }
  close_both();
  return AwaitOrStop(child, stop);
}

int RunBeside(const fs::path& program, const std::vector<std::string>& arguments, const ShouldStop& stop) {
  return AwaitOrStop(Start(program, arguments, {}), stop);
}

CapturedOutcome RunCaptured(const fs::path& program, const std::vector<std::string>& arguments,
                            const ShouldStop& stop) {
  // Memory with a name for a file: a pipe would have to be read while it runs.
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int out = ::memfd_create("out", MFD_CLOEXEC);
  const int err = ::memfd_create("err", MFD_CLOEXEC);
  const auto close_all = [&] {
    for (const int each : {null, out, err}) ::close(each);
  };
  CapturedOutcome outcome;
  try {
    if (null < 0 || out < 0 || err < 0)
      throw InputError(program, "cannot be started: no file is left to open");
    outcome.code = AwaitOrStop(Start(program, arguments, {null, out, err}), stop);
    outcome.out = ReadBack(out);
    outcome.err = ReadBack(err);
  } catch (...) {
    close_all();
    throw;
  }
  close_all();
  return outcome;
}

ChildOutcome RunOpenly(const fs::path& program, const std::vector<std::string>& arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw InputError(program, "cannot be started: no pipe");
  const auto before = HandleSignal(SIGINT, SIG_IGN);
  const auto before_end = HandleSignal(SIGTERM, PassOn);
  ChildOutcome outcome;
  pid_t child = 0;
  try {
    child = Start(program, arguments, {.out = ends[1]});
  } catch (...) {
    close(ends[0]);
    close(ends[1]);
    HandleSignal(SIGINT, before);
    HandleSignal(SIGTERM, before_end);
    throw;
  }
  running_child = child;
  close(ends[1]);
  std::array<char, 4096> buffer;
  while (true) {
    const ssize_t got = read(ends[0], buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    outcome.out.append(buffer.data(), static_cast<size_t>(got));
    std::fwrite(buffer.data(), 1, static_cast<size_t>(got), stdout);
    std::fflush(stdout);
  }
  close(ends[0]);
  outcome.code = Await(child);
  running_child = 0;
  HandleSignal(SIGINT, before);
  HandleSignal(SIGTERM, before_end);
  return outcome;
}

std::string CodeInWords(int code) {
  constexpr int kSignals = 128;
  if (code <= kSignals) return StrCat("ended with code ", code);
  const char* name = ::sigabbrev_np(code - kSignals);
  return name != nullptr ? StrCat("was ended by SIG", name) : StrCat("was ended by signal ", code - kSignals);
}

std::string LastLine(const fs::path& file) {
  constexpr std::streamoff kEnd = 1 << 16;
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  if (!stream) return "";
  stream.seekg(std::max<std::streamoff>(0, stream.tellg() - kEnd));
  std::string last;
  for (std::string line; std::getline(stream, line);)
    if (!Trim(line).empty()) last = Trim(line);
  return last;
}

fs::path FindOnPath(const std::string& name) {
  const char* path = std::getenv("PATH");
  for (const std::string& folder : Split(path != nullptr ? path : "", ':')) {
    const fs::path candidate = fs::absolute(folder) / name;
    std::error_code error;
    if (fs::is_regular_file(candidate, error) && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

fs::path OwnProgram() { return fs::read_symlink("/proc/self/exe"); }

}  // namespace lumen
