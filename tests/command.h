// Runs a command line as a user would and keeps what came of it.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "lumen/base/file.h"

namespace lumen {

struct CommandResult {
  int code = -1;
  std::string out;
  std::string err;
};

// `line` is a shell command; "lumen" in it stands for the program just built.
inline CommandResult RunCommand(const std::string& line) {
  const TemporaryFolder folder;
  const std::string out = (folder.Path() / "out").string();
  const std::string err = (folder.Path() / "err").string();
  const std::string path = std::string("PATH=") + LUMEN_BINARY_DIR + ":$PATH; ";
  const int status = std::system((path + "{ " + line + " ; } >" + out + " 2>" + err + " </dev/null").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadFile(out), ReadFile(err)};
}

}  // namespace lumen
