#include "lumen/io/tar_stream.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lumen/base/error.h"
#include "lumen/base/limits.h"
#include "lumen/base/text.h"

namespace lumen {

namespace {

constexpr size_t kBlock = 512;
// Fields of a header's block: where they begin, how long they are.
constexpr size_t kName = 0, kNameLength = 100, kSize = 124, kSizeLength = 12, kSum = 148, kSumLength = 8,
                 kType = 156, kPrefix = 345, kPrefixLength = 155;

std::string TextOf(const std::array<char, kBlock>& block, size_t at, size_t length) {
  const std::string text(block.data() + at, length);
  return text.substr(0, text.find('\0'));
}

// Digits to the base of eight, among blanks and zero bytes. Sizes of 8 GB and more are written otherwise, and
// are none of ours.
std::optional<uint64_t> OctalOf(const std::array<char, kBlock>& block, size_t at, size_t length) {
  const std::string digits = Trim(TextOf(block, at, length));
  if (digits.empty() || digits.find_first_not_of("01234567") != std::string::npos) return std::nullopt;
  uint64_t value = 0;
  for (const char digit : digits) value = value * 8 + static_cast<uint64_t>(digit - '0');
  return value;
}

// The sum of all bytes, those of the sum itself taken for blanks.
bool SumIsRight(const std::array<char, kBlock>& block) {
  uint64_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    const bool own = i >= kSum && i < kSum + kSumLength;
    sum += own ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return OctalOf(block, kSum, kSumLength) == sum;
}

}  // namespace

struct TarStream::File {
  gzFile handle = nullptr;
};

TarStream::TarStream(const std::filesystem::path& path) : path_(path), file_(std::make_unique<File>()) {
  if (!std::filesystem::is_regular_file(path)) throw InputError(path, "is no regular file");
  file_->handle = gzopen(path.c_str(), "rb");
  if (file_->handle == nullptr) throw InputError(path, "cannot be opened");
  most_ = std::filesystem::file_size(path) * limits::kDeflateRatio;
}

TarStream::~TarStream() {
  if (file_->handle != nullptr) gzclose(file_->handle);
}

void TarStream::ReadExactly(char* to, size_t bytes) {
  while (bytes > 0) {
    const auto part = static_cast<unsigned>(std::min<size_t>(bytes, 1 << 24));
    const int got = gzread(file_->handle, to, part);
    if (got <= 0) throw InputError(path_, "is cut short or damaged");
    to += got;
    bytes -= static_cast<size_t>(got);
  }
}

void TarStream::Pass(uint64_t bytes) {
  std::array<char, 1 << 14> nothing;
  while (bytes > 0) {
    const auto part = static_cast<size_t>(std::min<uint64_t>(bytes, nothing.size()));
    ReadExactly(nothing.data(), part);
    bytes -= part;
  }
}

std::optional<TarEntry> TarStream::Next() {
  for (;;) {
    Pass(std::exchange(unread_, 0));
    std::array<char, kBlock> block;
    ReadExactly(block.data(), kBlock);
    if (std::all_of(block.begin(), block.end(), [](char c) { return c == 0; }))
      return std::nullopt;  // the end
    const auto size = OctalOf(block, kSize, kSizeLength);
    if (!size || !SumIsRight(block)) throw InputError(path_, "is not a tar archive");
    // Neither more than we read of any file, nor more than this one can hold when it is unpacked.
    if (*size > std::min(limits::kFileBytes, most_))
      throw InputError(path_, StrCat("holds a file of ", *size, " bytes: too large"));
    unread_ = (*size + kBlock - 1) / kBlock * kBlock;
    const char type = block[kType];
    if (type != '0' && type != '\0') continue;  // folders, links, and notes on what follows
    const std::string prefix = TextOf(block, kPrefix, kPrefixLength);
    const std::string name = TextOf(block, kName, kNameLength);
    entry_ = {prefix.empty() ? name : StrCat(prefix, "/", name), *size};
    return entry_;
  }
}

std::string TarStream::Read() {
  LUMEN_CHECK(unread_ >= entry_.bytes);
  std::string content(entry_.bytes, '\0');
  ReadExactly(content.data(), content.size());
  unread_ -= entry_.bytes;
  return content;
}

}  // namespace lumen
