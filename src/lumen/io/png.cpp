#include "lumen/io/png.h"

#include <png.h>

#include <bit>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <new>

#include "lumen/base/file.h"
#include "lumen/base/limits.h"

namespace lumen {

namespace {

// A row, or what a file holds beside its pixels: texts, colour profiles. A damaged length asks for more.
constexpr png_alloc_size_t kMostBlock = png_alloc_size_t{8} << 20;

// libpng reports faults by longjmp, which skips destructors: everything it could skip lives in these
// structs, outside the functions that call setjmp.
struct Reader {
  explicit Reader(const std::string& file_bytes) : bytes(file_bytes) {}
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  const std::string& bytes;
  size_t position = 0;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::string fault;
  bool no_memory = false;
  std::vector<png_bytep> rows;
};

struct Writer {
  ~Writer() { png_destroy_write_struct(&png, &info); }
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::string bytes;
  std::string fault;
  bool no_memory = false;
  std::vector<png_const_bytep> rows;
};

template <typename State>
void OnError(png_structp png, png_const_charp message) {
  static_cast<State*>(png_get_error_ptr(png))->fault = message;
  png_longjmp(png, 1);
}
void OnWarning(png_structp, png_const_charp) {}

// A want of memory is none of the file's faults: libpng's own allocator would not let us tell them apart.
template <typename State>
png_voidp Allocate(png_structp png, png_alloc_size_t size) {
  if (size > kMostBlock) return nullptr;
  void* block = std::malloc(size);
  if (block == nullptr) static_cast<State*>(png_get_mem_ptr(png))->no_memory = true;
  return block;
}
void Free(png_structp, png_voidp block) { std::free(block); }

void OnRead(png_structp png, png_bytep out, size_t size) {
  auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
  if (reader->bytes.size() - reader->position < size) png_error(png, "the file is cut short");
  std::memcpy(out, reader->bytes.data() + reader->position, size);
  reader->position += size;
}

void OnWrite(png_structp png, png_bytep data, size_t size) {
  static_cast<Writer*>(png_get_io_ptr(png))->bytes.append(reinterpret_cast<const char*>(data), size);
}
void OnFlush(png_structp) {}

// Reads the header and asks for plain 8-bit grey/RGB, or leaves 16-bit grey as it is.
bool ReadHeader(Reader& reader, bool want_16) {
  reader.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &reader, OnError<Reader>, OnWarning, &reader,
                                        Allocate<Reader>, Free);
  if (reader.png == nullptr) throw std::bad_alloc();
  if (setjmp(png_jmpbuf(reader.png))) return false;  // NOLINT(cert-err52-cpp)
  reader.info = png_create_info_struct(reader.png);
  png_set_read_fn(reader.png, &reader, OnRead);
  png_set_user_limits(reader.png, 1 << 15, 1 << 15);
  png_read_info(reader.png, reader.info);
  if (uint64_t{png_get_image_width(reader.png, reader.info)} * png_get_image_height(reader.png, reader.info) >
      limits::kImagePixels)
    png_error(reader.png, "the image is too large");
  if (png_get_rowbytes(reader.png, reader.info) * png_get_image_height(reader.png, reader.info) /
          limits::kDeflateRatio >
      reader.bytes.size())
    png_error(reader.png, "the file is cut short");
  if (want_16) {
    if (png_get_bit_depth(reader.png, reader.info) != 16 ||
        png_get_color_type(reader.png, reader.info) != PNG_COLOR_TYPE_GRAY) {
      png_error(reader.png, "expected a 16-bit grey image");
    }
    if constexpr (std::endian::native == std::endian::little) png_set_swap(reader.png);
  } else {
    png_set_expand(reader.png);
    png_set_strip_16(reader.png);
    png_set_strip_alpha(reader.png);
  }
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

bool ReadRows(Reader& reader) {
  if (setjmp(png_jmpbuf(reader.png))) return false;  // NOLINT(cert-err52-cpp)
  png_read_image(reader.png, reader.rows.data());
  png_read_end(reader.png, nullptr);
  return true;
}

template <typename T>
Image<T> Decode(const std::string& bytes, const std::string& name) {
  if (bytes.size() < 8 || png_sig_cmp(reinterpret_cast<png_const_bytep>(bytes.data()), 0, 8) != 0) {
    throw InputError(name, bytes.empty() ? "is empty" : "is not a PNG file");
  }
  Reader reader(bytes);
  const auto require = [&](bool good) {
    if (reader.no_memory) throw std::bad_alloc();
    if (!good) throw InputError(name, reader.fault);
  };
  require(ReadHeader(reader, sizeof(T) == 2));
  Image<T> image(static_cast<int>(png_get_image_width(reader.png, reader.info)),
                 static_cast<int>(png_get_image_height(reader.png, reader.info)),
                 png_get_channels(reader.png, reader.info));
  for (int y = 0; y < image.Height(); ++y) reader.rows.push_back(reinterpret_cast<png_bytep>(image.Row(y)));
  require(ReadRows(reader));
  return image;
}

bool WriteAll(Writer& writer, int width, int height, int channels, int bits) {
  writer.png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &writer, OnError<Writer>, OnWarning, &writer,
                                         Allocate<Writer>, Free);
  if (writer.png == nullptr) throw std::bad_alloc();
  if (setjmp(png_jmpbuf(writer.png))) return false;  // NOLINT(cert-err52-cpp)
  writer.info = png_create_info_struct(writer.png);
  png_set_write_fn(writer.png, &writer, OnWrite, OnFlush);
  png_set_IHDR(writer.png, writer.info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height),
               bits, channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_compression_level(writer.png, 3);  // half the time of the default for a few per cent of size
  png_write_info(writer.png, writer.info);
  if constexpr (std::endian::native == std::endian::little) {
    if (bits == 16) png_set_swap(writer.png);
  }
  png_write_image(writer.png, const_cast<png_bytepp>(writer.rows.data()));
  png_write_end(writer.png, nullptr);
  return true;
}

template <typename T>
std::string Encode(ImageView<const T> image) {
  LUMEN_CHECK(!image.Empty() && (image.Channels() == 1 || image.Channels() == 3), image.Channels(),
              " channels");
  Writer writer;
  for (int y = 0; y < image.Height(); ++y)
    writer.rows.push_back(reinterpret_cast<png_const_bytep>(image.Row(y)));
  const bool good =
      WriteAll(writer, image.Width(), image.Height(), image.Channels(), 8 * static_cast<int>(sizeof(T)));
  if (writer.no_memory) throw std::bad_alloc();
  LUMEN_CHECK(good, writer.fault);
  return std::move(writer.bytes);
}

}  // namespace

Image<uint8_t> LoadPng8(const std::filesystem::path& path) {
  return Decode<uint8_t>(ReadFile(path), path.string());
}
Image<uint16_t> LoadPng16(const std::filesystem::path& path) {
  return Decode<uint16_t>(ReadFile(path), path.string());
}
Image<uint8_t> DecodePng8(const std::string& bytes, const std::string& name) {
  return Decode<uint8_t>(bytes, name);
}
std::string EncodePng(ImageView<const uint8_t> image) { return Encode(image); }

void SavePng(const std::filesystem::path& path, ImageView<const uint8_t> image) {
  WriteFileAtomically(path, Encode(image), Flush::kLater);
}
void SavePng(const std::filesystem::path& path, ImageView<const uint16_t> image) {
  WriteFileAtomically(path, Encode(image), Flush::kLater);
}

}  // namespace lumen
