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

#if defined(LUMEN_SANITIZED_THREADS)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#if defined(LUMEN_SANITIZED)
inline constexpr bool kSanitizer = true;  // everything takes ten times as long
#else
inline constexpr bool kSanitizer = false;
#endif

// For a shell: no file may grow beyond so many blocks of 512 bytes, as on a full disk. The thread sanitizer
// maps a temporary file of its own when a program starts, and dies where that cannot grow: it is given no
// place for one.
inline std::string FullDisk(int blocks) {
  return (kThreadSanitizer ? "export TMPDIR=/nowhere; ulimit -f " : "ulimit -f ") + std::to_string(blocks) +
         "; ";
}

// `line` is a shell command; "lumen" in it stands for the program just built.
inline CommandResult RunCommand(const std::string& line) {
  const TemporaryFolder folder;
  const std::string out = (folder.Path() / "out").string();
  const std::string err = (folder.Path() / "err").string();
  // Looking for leaks takes seconds of every process; the program's rooms are looked through by their own
  // tests, the program by those that ask for it.
  const std::string path = std::string("PATH=") + LUMEN_BINARY_DIR + ":$PATH; " +
                           (kSanitizer ? "export ASAN_OPTIONS=detect_leaks=0; " : "");
  const int status = std::system((path + "{ " + line + " ; } >" + out + " 2>" + err + " </dev/null").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadFile(out), ReadFile(err)};
}

}  // namespace lumen
