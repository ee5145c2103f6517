#include "fuzz/fuzz.h"

#include <fstream>
#include <stdexcept>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"

namespace lumen::fuzz {

namespace fs = std::filesystem;

namespace {

std::vector<Target>& Known() {
  static std::vector<Target> targets;
  return targets;
}

}  // namespace

const std::vector<Target>& Targets() { return Known(); }

Registration::Registration(const char* name, Read read, Prepare prepare) {
  Known().push_back({name, read, prepare});
}

void Expect(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error("what was read does not hold: " + what);
}

bool Run(const Target& target, const std::string& input) {
  SetLogLevel(LogLevel::kOff);
  try {
    target.read(input);
  } catch (const InputError& error) {
    const std::string line = error.what();
    Expect(line.find(kName) != std::string::npos || line.find(Scratch().string()) != std::string::npos,
           "the line names the input: " + line);
    return false;
  }
  return true;
}

const fs::path& Scratch() {
  static const TemporaryFolder folder;
  return folder.Path();
}

fs::path WriteScratch(const std::string& name, std::string_view bytes) {
  const fs::path path = Scratch() / name;
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw OutputError(path, "cannot write");
  return path;
}

std::vector<std::string> CutInput(std::string_view input) {
  constexpr std::string_view kCut = "\n--8<--\n";
  std::vector<std::string> parts;
  for (size_t end = input.find(kCut); end != std::string_view::npos; end = input.find(kCut)) {
    parts.emplace_back(input.substr(0, end));
    input.remove_prefix(end + kCut.size());
  }
  parts.emplace_back(input);
  return parts;
}

fs::path WriteFolder(std::string_view input, std::initializer_list<const char*> names) {
  const std::vector<std::string> parts = CutInput(input);
  size_t k = 0;
  for (const char* name : names) {
    if (k < parts.size() && !parts[k].empty())
      WriteScratch(name, parts[k]);
    else
      fs::remove(Scratch() / name);
    ++k;
  }
  return Scratch();
}

}  // namespace lumen::fuzz
