#include "lumen/io/file_list_source.h"

#include "lumen/base/text.h"
#include "lumen/io/image_file.h"

namespace lumen {

void FileListSource::SetFiles(std::vector<std::filesystem::path> files, int64_t first) {
  LUMEN_CHECK(!files.empty());
  files_ = std::move(files);
  first_ = first;
  const RgbImage picture = LoadRgb(files_.front());
  info_.width = picture.Width();
  info_.height = picture.Height();
  info_.frame_count = static_cast<int64_t>(files_.size());
}

std::optional<RawFrame> FileListSource::Next() {
  if (next_ >= files_.size()) return std::nullopt;
  const int64_t index = first_ + static_cast<int64_t>(next_);
  // Moves on first: a caller may pass over a frame that cannot be read.
  const std::filesystem::path& file = files_[next_++];
  RgbImage image = LoadRgb(file);
  if (image.Width() != info_.width || image.Height() != info_.height) {
    throw InputError(
        file, StrCat("is ", image.Width(), "x", image.Height(), ", not ", info_.width, "x", info_.height));
  }
  return RawFrame{index, static_cast<double>(index) / info_.fps, std::move(image)};
}

bool FileListSource::Skip() {
  if (next_ >= files_.size()) return false;
  ++next_;
  return true;
}

std::filesystem::path FileListSource::FrameFile(int64_t index) const {
  const int64_t at = index - first_;
  return at >= 0 && at < static_cast<int64_t>(files_.size()) ? files_[static_cast<size_t>(at)]
                                                             : std::filesystem::path();
}

}  // namespace lumen
