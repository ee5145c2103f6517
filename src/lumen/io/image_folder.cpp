#include "lumen/io/image_folder.h"

#include <algorithm>
#include <cctype>

#include "lumen/base/file.h"
#include "lumen/base/text.h"
#include "lumen/io/file_list_source.h"
#include "lumen/io/image_file.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

// Compares runs of digits as numbers, the rest as text.
bool NaturallyBefore(const std::string& a, const std::string& b) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
      continue;
    }
    const auto run = [&](const std::string& text, size_t& at) {
      while (at + 1 < text.size() && text[at] == '0' && is_digit(text[at + 1])) ++at;
      const size_t begin = at;
      while (at < text.size() && is_digit(text[at])) ++at;
      return text.substr(begin, at - begin);
    };
    const std::string x = run(a, i);
    const std::string y = run(b, j);
    if (x != y) return x.size() != y.size() ? x.size() < y.size() : x < y;
  }
  return a.size() - i < b.size() - j;
}

class ImageFolderSource : public FileListSource {
 public:
  explicit ImageFolderSource(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const fs::path& file : ListFiles(folder)) {
      // Hidden files are other systems' notes on the pictures beside them.
      const bool hidden = StartsWith(file.filename().string(), ".");
      if (IsImageFile(file) && file.stem() != "mask" && !hidden) files.push_back(file);
    }
    if (files.empty()) throw InputError(folder, "holds no images");
    std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
      return NaturallyBefore(a.filename().string(), b.filename().string());
    });
    SetFiles(std::move(files), 0);
    info_.name = fs::absolute(folder).filename().string();
    if (fs::exists(folder / "mask.png")) info_.mask = LoadMask(folder / "mask.png");
  }
};

}  // namespace

std::unique_ptr<FrameSource> OpenImageFolder(const fs::path& folder) {
  return std::make_unique<ImageFolderSource>(folder);
}

}  // namespace lumen
