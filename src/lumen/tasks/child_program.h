// Programs started from here. They die with this one, however it ends.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace lumen {

// Asked now and then while something long goes on: whether it shall end.
using ShouldStop = std::function<bool()>;

struct ChildOutcome {
  int code = 0;     // its exit code, or 128 + the signal that ended it
  std::string out;  // what it wrote to stdout
};

// Waits for a program whose stdout and stderr go to `log`, a new file even where there was one; returns its
// code as above. It is asked to end as soon as `stop` says so. Throws InputError if it cannot be started and
// OutputError if the log cannot be written.
int RunLogged(const std::filesystem::path& program, const std::vector<std::string>& arguments,
              const std::filesystem::path& log, const ShouldStop& stop);

// The same, but it speaks where we do.
int RunBeside(const std::filesystem::path& program, const std::vector<std::string>& arguments,
              const ShouldStop& stop);

struct CapturedOutcome {
  int code = 0;
  std::string out, err;
};
// The same, but what it says is kept for us alone.
CapturedOutcome RunCaptured(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                            const ShouldStop& stop);

// Waits for a program that speaks to the terminal by itself: its stderr is ours, its stdout is handed on and
// kept. Ctrl-C is its business while it runs.
ChildOutcome RunOpenly(const std::filesystem::path& program, const std::vector<std::string>& arguments);

// What a code says to people: "ended with code 2", "was ended by SIGSEGV".
std::string CodeInWords(int code);

// The last line that says something, of a log or whatever else; empty if there is none. Of a long file only
// the end is read.
std::string LastLine(const std::filesystem::path& file);

// The program that a shell would start by this name; empty if there is none.
std::filesystem::path FindOnPath(const std::string& name);
// This very program.
std::filesystem::path OwnProgram();

}  // namespace lumen
