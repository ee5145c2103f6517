#include "lumen/apps/made_with.h"

#include <cstdio>

#include "lumen/apps/model_path.h"
#include "lumen/base/file.h"
#include "lumen/base/random.h"
#include "lumen/base/text.h"
#include "lumen/base/version.h"

namespace lumen {

std::string OwnVersion() { return StrCat(Version(), " ", Commit()); }

std::string HashText(std::string_view text) {
  uint64_t hash = text.size();
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3ULL;  // FNV-1a
  char digits[20];
  std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(MixBits(hash)));
  return digits;
}

std::string HashModel(const std::filesystem::path& model) {
  const auto path = FindModel(model);
  return path && std::filesystem::is_regular_file(*path) ? HashText(ReadFile(*path)) : "none";
}

const std::string& ModelHashes::Of(const std::filesystem::path& model) {
  const auto found = hashes_.find(model);
  return found != hashes_.end() ? found->second : hashes_[model] = HashModel(model);
}

std::string FolderName(const std::string& name) {
  std::string safe;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    safe += plain ? c : '_';
  }
  return safe.empty() || safe.front() == '.' ? "_" + safe : safe;
}

}  // namespace lumen
