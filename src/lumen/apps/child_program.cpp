#include "lumen/apps/child_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "lumen/base/error.h"
#include "lumen/base/text.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace lumen {

namespace fs = std::filesystem;

namespace {

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* Get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

pid_t Start(const fs::path& program, const std::vector<std::string>& arguments, FileActions& actions) {
  std::string name = program.filename().string();
  std::vector<char*> argv = {name.data()};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  // Whatever this program ignores, its child does not.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t usual;
  sigemptyset(&usual);
  sigaddset(&usual, SIGINT);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int fault = posix_spawn(&child, program.c_str(), actions.Get(), &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (fault != 0) throw InputError(program, StrCat("cannot be started: ", std::strerror(fault)));
  return child;
}

// A program that is asked to end asks its child.
volatile std::sig_atomic_t running_child = 0;
extern "C" void PassOn(int signal) {
  if (running_child > 0) kill(running_child, signal);
}

int Await(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int RunLogged(const fs::path& program, const std::vector<std::string>& arguments, const fs::path& log) {
  FileActions actions;
  posix_spawn_file_actions_addopen(actions.Get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(actions.Get(), STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   0644);
  posix_spawn_file_actions_adddup2(actions.Get(), STDOUT_FILENO, STDERR_FILENO);
  return Await(Start(program, arguments, actions));
}

ChildOutcome RunOpenly(const fs::path& program, const std::vector<std::string>& arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw InputError(program, "cannot be started: no pipe");
  FileActions actions;
  posix_spawn_file_actions_adddup2(actions.Get(), ends[1], STDOUT_FILENO);
  const auto before = std::signal(SIGINT, SIG_IGN);
  const auto before_end = std::signal(SIGTERM, PassOn);
  ChildOutcome outcome;
  pid_t child = 0;
  try {
    child = Start(program, arguments, actions);
  } catch (...) {
    close(ends[0]);
    close(ends[1]);
    std::signal(SIGINT, before);
    std::signal(SIGTERM, before_end);
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
  std::signal(SIGINT, before);
  std::signal(SIGTERM, before_end);
  return outcome;
}

fs::path FindTrainer() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& candidate : {here / "lumen-train", here / "../lib/lumen/lumen-train"}) {
    if (fs::exists(candidate)) return candidate;
  }
  throw InputError("lumen-train is not installed: build Lumen where Torch is found");
}

}  // namespace lumen
