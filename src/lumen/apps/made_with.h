// What a stored result was made with, so that it is told from another's.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace lumen {

// "0.1.0 d02d2eb2a8"
std::string OwnVersion();

std::string HashText(std::string_view text);  // 16 hexadecimal digits

// Of the model's content, "none" where there is none. Throws InputError if the one that is named is not
// there.
std::string HashModel(const std::filesystem::path& model);

// Each model once: many runs share them.
class ModelHashes {
 public:
  const std::string& Of(const std::filesystem::path& model);

 private:
  std::map<std::filesystem::path, std::string> hashes_;
};

// A name that is safe as a folder's.
std::string FolderName(const std::string& name);

}  // namespace lumen
