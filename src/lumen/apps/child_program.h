// Programs of ours started from here. They die with this one, however it ends.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lumen {

struct ChildOutcome {
  int code = 0;     // its exit code, or 128 + the signal that ended it
  std::string out;  // what it wrote to stdout
};

// Waits for a program whose stdout and stderr go to `log`; returns its code. Throws InputError if it cannot
// be started.
int RunLogged(const std::filesystem::path& program, const std::vector<std::string>& arguments,
              const std::filesystem::path& log);

// Waits for a program that speaks to the terminal by itself: its stderr is ours, its stdout is handed on and
// kept. Ctrl-C is its business while it runs.
ChildOutcome RunOpenly(const std::filesystem::path& program, const std::vector<std::string>& arguments);

// The training program beside this one: it links Torch, this one does not. Throws InputError.
std::filesystem::path FindTrainer();

}  // namespace lumen
