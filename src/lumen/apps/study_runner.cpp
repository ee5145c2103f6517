// Starts `lumen run` for a study's cell as a process of its own: cells cannot disturb one another, and a
// crash of one is one failed cell.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lumen/apps/study.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace lumen {

namespace fs = std::filesystem;

namespace {

// Waits for the program; its stdout and stderr go to `log`. The exit code, or 128 + the signal that ended it.
int RunProgram(const fs::path& program, const std::vector<std::string>& arguments, const fs::path& log) {
  std::vector<char*> argv = {const_cast<char*>("lumen")};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int fault = posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (fault != 0) throw InputError(program, StrCat("cannot be started: ", std::strerror(fault)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The last line that says something.
std::string LastLine(const fs::path& log) {
  std::string last;
  if (fs::exists(log))
    for (const std::string& line : Split(ReadFile(log), '\n'))
      if (!Trim(line).empty()) last = Trim(line);
  return last;
}

}  // namespace

RunCell MakeProgramRunner(std::vector<std::string> extra_arguments) {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  return [program, extra = std::move(extra_arguments)](const StudyCell& cell, const fs::path& out) {
    std::vector<std::string> arguments = {"run", cell.folder.string(), "--out", out.string(),
                                          "--deterministic"};
    if (!cell.model.empty()) arguments.insert(arguments.end(), {"--model", cell.model.string()});
    for (const std::string& setting : cell.settings) arguments.insert(arguments.end(), {"--set", setting});
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    const fs::path log = out.parent_path() / "log.txt";
    const int code = RunProgram(program, arguments, log);
    if (code != 0) throw InputError(log, StrCat("the run ended with code ", code, ": ", LastLine(log)));
  };
}

}  // namespace lumen
