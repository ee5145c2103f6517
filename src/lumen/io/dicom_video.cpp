#include "lumen/io/dicom_video.h"

#include <array>
#include <cmath>
#include <fstream>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/limits.h"
#include "lumen/base/text.h"
#include "lumen/io/dataset_frames.h"
#include "lumen/io/image_file.h"
#include "lumen/io/opencv_codec.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kPreamble = 128;
constexpr uint32_t kUndefined = 0xffffffff;
constexpr uint64_t kLongestValue = 256;  // of those that are read
constexpr size_t kMostFragments = 1 << 22;

constexpr uint32_t Tag(uint32_t group, uint32_t element) { return group << 16 | element; }
constexpr uint32_t kTransferSyntax = Tag(0x0002, 0x0010), kDisplayRate = Tag(0x0008, 0x2144),
                   kCineRate = Tag(0x0018, 0x0040), kFrameTime = Tag(0x0018, 0x1063),
                   kFrameCount = Tag(0x0028, 0x0008), kPixelData = Tag(0x7fe0, 0x0010),
                   kItem = Tag(0xfffe, 0xe000), kItemEnd = Tag(0xfffe, 0xe00d),
                   kSequenceEnd = Tag(0xfffe, 0xe0dd);

struct Element {
  uint32_t tag = 0;
  uint32_t length = 0;  // kUndefined: until its end's mark
};

// Elements of an explicit, little-endian file, which all encapsulated ones are.
class DicomWalk {
 public:
  explicit DicomWalk(const fs::path& path)
      : path_(path), size_(fs::file_size(path)), file_(path, std::ios::binary) {
    if (!file_) throw InputError(path, "cannot be opened");
    Seek(kPreamble + 4);
  }

  bool AtEnd() const { return at_ >= size_; }
  uint64_t Position() const { return at_; }

  Element Next() {
    std::array<unsigned char, 8> head;
    Read(head.data(), head.size());
    const uint32_t tag = Tag(Two(&head[0]), Two(&head[2]));
    if (tag >> 16 == 0xfffe) return {tag, Four(&head[4])};  // marks have no kind
    const std::string kind(reinterpret_cast<const char*>(&head[4]), 2);
    for (const char* wide : {"OB", "OD", "OF", "OL", "OV", "OW", "SQ", "SV", "UC", "UN", "UR", "UT", "UV"}) {
      if (kind != wide) continue;
      std::array<unsigned char, 4> length;
      Read(length.data(), length.size());
      return {tag, Four(length.data())};
    }
    return {tag, Two(&head[6])};
  }

  void Skip(const Element& element) {
    if (element.length == kUndefined)
      SkipItems(limits::kNesting);
    else
      Seek(at_ + element.length);
  }

  std::string Text(const Element& element) {
    if (element.length > kLongestValue) throw InputError(path_, "is damaged: a number longer than any");
    std::string text(element.length, '\0');
    Read(reinterpret_cast<unsigned char*>(text.data()), text.size());
    return Trim(text.substr(0, text.find('\0')));
  }

 private:
  static uint32_t Two(const unsigned char* bytes) { return bytes[0] | uint32_t{bytes[1]} << 8; }
  static uint32_t Four(const unsigned char* bytes) { return Two(bytes) | Two(bytes + 2) << 16; }

  void Seek(uint64_t to) {
    if (to > size_) throw InputError(path_, "is cut short or damaged");
    file_.seekg(static_cast<std::streamoff>(to));
    at_ = to;
  }

  void Read(unsigned char* to, size_t bytes) {
    if (bytes > size_ - at_ || !file_.read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(bytes)))
      throw InputError(path_, "is cut short or damaged");
    at_ += bytes;
  }

  // A sequence whose end is marked: items, each of which has a length or an end's mark of its own.
  void SkipItems(int depth) {
    if (depth == 0) throw InputError(path_, "is damaged: sequences within sequences without end");
    for (;;) {
      const Element item = Next();
      if (item.tag == kSequenceEnd) return;
      if (item.tag != kItem) throw InputError(path_, "is damaged: no item where one must be");
      if (item.length != kUndefined) {
        Seek(at_ + item.length);
        continue;
      }
      for (Element inner = Next(); inner.tag != kItemEnd; inner = Next()) {
        if (inner.length == kUndefined)
          SkipItems(depth - 1);
        else
          Seek(at_ + inner.length);
      }
    }
  }

  fs::path path_;
  uint64_t size_ = 0;
  std::ifstream file_;
  uint64_t at_ = 0;
};

// By the transfer syntax: 100 and 101 MPEG-2, 102 to 106 H.264, 107 and 108 HEVC, each whole or in fragments;
// 50 JPEG.
DicomStream::Kind KindOfSyntax(const std::string& syntax, const fs::path& path) {
  constexpr std::string_view kEncapsulated = "1.2.840.10008.1.2.4.";
  if (StartsWith(syntax, kEncapsulated)) {
    const std::string rest = syntax.substr(kEncapsulated.size());
    const auto number = ParseInteger(rest.substr(0, rest.find('.')));
    if (number && *number >= 100 && *number <= 108) return DicomStream::Kind::kVideo;
    if (number && *number == 50) return DicomStream::Kind::kPictures;
  }
  throw InputError(path,
                   StrCat("is DICOM, but neither a video (MPEG-2, H.264, HEVC) nor JPEG pictures: transfer "
                          "syntax ",
                          syntax.empty() ? "not given" : Printable(syntax)));
}

double PositiveNumber(const std::string& text) {
  const auto number = ParseDouble(text);
  return number && std::isfinite(*number) && *number > 0 ? *number : 0;
}

void ReadFragments(DicomWalk& walk, const fs::path& path, DicomStream& stream) {
  bool table = true;  // the first item lists where frames begin, or is empty
  for (;;) {
    const Element item = walk.Next();
    if (item.tag == kSequenceEnd) break;
    if (item.tag != kItem || item.length == kUndefined)
      throw InputError(path, "is damaged: its stream has no end");
    if (!std::exchange(table, false)) stream.fragments.push_back({walk.Position(), item.length});
    if (stream.fragments.size() > kMostFragments)
      throw InputError(path, "holds more fragments than any video");
    walk.Skip(item);
  }
  if (stream.fragments.empty()) throw InputError(path, "is DICOM, but holds no picture");
}

std::string ReadFragment(std::ifstream& file, const DicomStream::Fragment& fragment, const fs::path& path) {
  if (fragment.bytes > limits::kFileBytes) throw InputError(path, "holds a picture that is too large");
  std::string bytes(fragment.bytes, '\0');
  file.seekg(static_cast<std::streamoff>(fragment.offset));
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())))
    throw InputError(path, "cannot be read");
  return bytes;
}

// The stream as a file of its own, piece by piece: it may be larger than the memory.
void CopyStream(const fs::path& path, const DicomStream& stream, const fs::path& target) {
  std::ifstream from(path, std::ios::binary);
  std::ofstream to(target, std::ios::binary);
  std::vector<char> piece(1 << 20);
  for (const DicomStream::Fragment& fragment : stream.fragments) {
    from.seekg(static_cast<std::streamoff>(fragment.offset));
    for (uint64_t left = fragment.bytes; left > 0;) {
      const auto part = static_cast<std::streamsize>(std::min<uint64_t>(left, piece.size()));
      if (!from.read(piece.data(), part)) throw InputError(path, "cannot be read");
      if (!to.write(piece.data(), part))
        throw OutputError(target, "cannot write: no room for the video's stream");
      left -= static_cast<uint64_t>(part);
    }
  }
  to.close();
  if (!to) throw OutputError(target, "cannot write: no room for the video's stream");
}

class DicomVideoSource : public DescribedSource {
 public:
  DicomVideoSource(const fs::path& path, const DicomStream& stream, std::unique_ptr<TemporaryFolder> folder,
                   const fs::path& video)
      : DescribedSource(OpenVideo(video)), folder_(std::move(folder)) {
    info_.name = path.stem().string();
    // A bare stream does not say how many frames it has, nor how fast they are shown; the file around it
    // does.
    if (stream.frame_count > 0) info_.frame_count = stream.frame_count;
    if (stream.fps > 0 && stream.fps < 1000) rate_ = info_.fps = stream.fps;
  }
  std::optional<RawFrame> Next() override {
    std::optional<RawFrame> frame = DescribedSource::Next();
    if (frame && rate_ > 0) frame->time = static_cast<double>(frame->index) / rate_;
    return frame;
  }

 private:
  std::unique_ptr<TemporaryFolder> folder_;
  double rate_ = 0;  // 0: the stream's own times
};

class DicomPictures : public FrameSource {
 public:
  DicomPictures(const fs::path& path, DicomStream stream)
      : path_(path), stream_(std::move(stream)), file_(path, std::ios::binary) {
    const auto pictures = static_cast<int64_t>(stream_.fragments.size());
    if (stream_.frame_count > 0 && stream_.frame_count != pictures)
      throw InputError(path, StrCat("holds ", pictures, " fragments of ", stream_.frame_count,
                                    " pictures: pictures in several fragments are not supported"));
    info_.name = path.stem().string();
    info_.frame_count = pictures;
    if (stream_.fps > 0 && stream_.fps < 1000) info_.fps = stream_.fps;
    const RgbImage first = Decode(0);
    info_.width = first.Width();
    info_.height = first.Height();
  }
  std::optional<RawFrame> Next() override {
    if (next_ >= info_.frame_count) return std::nullopt;
    const int64_t index = next_++;
    RgbImage image = Decode(index);
    if (image.Width() != info_.width || image.Height() != info_.height)
      throw InputError(path_, StrCat("picture ", index, " is of another size"));
    return RawFrame{index, static_cast<double>(index) / info_.fps, std::move(image)};
  }
  bool Skip() override { return next_ < info_.frame_count && ++next_ > 0; }

 private:
  RgbImage Decode(int64_t index) {
    return DecodeRgb(ReadFragment(file_, stream_.fragments[static_cast<size_t>(index)], path_),
                     StrCat(path_.string(), ": picture ", index));
  }

  fs::path path_;
  DicomStream stream_;
  std::ifstream file_;
  int64_t next_ = 0;
};

}  // namespace

bool IsDicomFile(const fs::path& path) {
  if (!fs::is_regular_file(path)) return false;
  std::ifstream file(path, std::ios::binary);
  std::array<char, 4> letters{};
  file.seekg(kPreamble);
  return file.read(letters.data(), letters.size()) &&
         std::string_view(letters.data(), letters.size()) == "DICM";
}

DicomStream ReadDicomStream(const fs::path& path) {
  if (!IsDicomFile(path)) throw InputError(path, "is not DICOM");
  DicomWalk walk(path);
  DicomStream stream;
  std::string syntax;
  while (!walk.AtEnd()) {
    const Element element = walk.Next();
    // Only the head is sure to be written as we read; what follows is, if it is a video.
    if (element.tag >> 16 > 0x0002) stream.kind = KindOfSyntax(syntax, path);
    switch (element.tag) {
      case kTransferSyntax:
        syntax = walk.Text(element);
        break;
      case kFrameTime: {
        const double milliseconds = PositiveNumber(walk.Text(element));
        if (milliseconds > 0) stream.fps = 1000 / milliseconds;
        break;
      }
      case kCineRate:
      case kDisplayRate: {
        const double rate = PositiveNumber(walk.Text(element));
        if (stream.fps == 0) stream.fps = rate;
        break;
      }
      case kFrameCount: {
        const double count = PositiveNumber(walk.Text(element));
        if (count < 1e9) stream.frame_count = static_cast<int64_t>(count);
        break;
      }
      case kPixelData:
        if (element.length != kUndefined) throw InputError(path, "is DICOM, but its pixels are not a stream");
        ReadFragments(walk, path, stream);
        return stream;
      default:
        walk.Skip(element);
    }
  }
  KindOfSyntax(syntax, path);
  throw InputError(path, "is DICOM, but holds no picture");
}

std::unique_ptr<FrameSource> OpenDicomVideo(const fs::path& path) {
  DicomStream stream = ReadDicomStream(path);
  if (stream.kind == DicomStream::Kind::kPictures)
    return std::make_unique<DicomPictures>(path, std::move(stream));
  auto folder = std::make_unique<TemporaryFolder>();
  const fs::path video = folder->Path() / "stream.mpg";
  CopyStream(path, stream, video);
  try {
    return std::make_unique<DicomVideoSource>(path, stream, std::move(folder), video);
  } catch (const InputError&) {
    throw InputError(path, "its video cannot be decoded: no reader for this stream is here");
  }
}

}  // namespace lumen
