// What the fuzz targets share. A target hands bytes to one reader of outside bytes; with libFuzzer behind it
// it is a program of its own (engine.cpp), without it replay_test.cpp calls it on the inputs that are kept.
//
// The contract: reading succeeds, or throws InputError with a line that names the input. Whatever else comes
// of it (another exception, a crash, a sanitizer's report, much memory, much time) is a find.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace lumen::fuzz {

using Read = void (*)(const std::string& input);
using Prepare = void (*)();

struct Target {
  std::string name;  // of its program, its seeds, its dictionary
  Read read;
  Prepare prepare;  // done before the first input, whose time it would take otherwise; may be null
};
const std::vector<Target>& Targets();  // those that are linked

// `const Registration kTarget("json", ReadJson);` makes a target known.
struct Registration {
  Registration(const char* name, Read read, Prepare prepare = nullptr);
};

// One input, by the contract above; whether it was read. Throws what breaks the contract.
bool Run(const Target& target, const std::string& input);

// Something that must hold of what was read.
void Expect(bool holds, const std::string& what);

// What inputs that are not files are called in messages.
inline constexpr const char* kName = "fuzz-input";

// Readers of files get one in a folder of this process's own, which is overwritten by the next input.
const std::filesystem::path& Scratch();
std::filesystem::path WriteScratch(const std::string& name, std::string_view bytes);

// Readers of folders: an input is cut into files at each line "--8<--". The k-th part is the k-th name's; an
// empty part, and one that is missing, means that there is no such file. Returns the folder.
std::vector<std::string> CutInput(std::string_view input);
std::filesystem::path WriteFolder(std::string_view input, std::initializer_list<const char*> names);

}  // namespace lumen::fuzz
