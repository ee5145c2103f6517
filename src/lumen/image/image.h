// Owned and borrowed pixels. Rows are contiguous, channels interleaved; a pixel's centre lies at
// integer coordinates, so an image spans -0.5 … width - 0.5.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <type_traits>
#include <utility>
#include <vector>

#include "lumen/base/disk_memory.h"
#include "lumen/base/error.h"

namespace lumen {

// Borrowed pixels; `ImageView<const T>` only reads. Cheap to copy.
template <typename T>
class ImageView {
 public:
  ImageView() = default;
  ImageView(T* data, int width, int height, int channels)
      : data_(data), width_(width), height_(height), channels_(channels) {}
  // A view that writes is also one that reads.
  template <typename U, typename = std::enable_if_t<std::is_same_v<T, const U>>>
  ImageView(const ImageView<U>& other)  // NOLINT(google-explicit-constructor)
      : ImageView(other.Data(), other.Width(), other.Height(), other.Channels()) {}

  int Width() const { return width_; }
  int Height() const { return height_; }
  int Channels() const { return channels_; }
  bool Empty() const { return width_ == 0 || height_ == 0; }
  T* Data() const { return data_; }
  T* Row(int y) const { return data_ + static_cast<int64_t>(y) * width_ * channels_; }
  T* Pixel(int x, int y) const { return Row(y) + static_cast<int64_t>(x) * channels_; }
  T& operator()(int x, int y, int c = 0) const { return Pixel(x, y)[c]; }
  bool Contains(int x, int y) const { return x >= 0 && y >= 0 && x < width_ && y < height_; }

 private:
  T* data_ = nullptr;
  int width_ = 0;
  int height_ = 0;
  int channels_ = 0;
};

template <typename T>
class Image {
 public:
  Image() = default;
  Image(int width, int height, int channels = 1, T value = T{})
      : width_(width),
        height_(height),
        channels_(channels),
        pixels_(static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(channels),
                value) {
    LUMEN_CHECK(width >= 0 && height >= 0 && channels > 0, width, "x", height, "x", channels);
  }

  // The same pixels on the disk, until they are read. Copies of it lie in memory again.
  Image On(DiskMemory& memory) const { return Image(*this, memory); }

  int Width() const { return width_; }
  int Height() const { return height_; }
  int Channels() const { return channels_; }
  bool Empty() const { return pixels_.empty(); }
  size_t Size() const { return pixels_.size(); }
  T* Data() { return pixels_.data(); }
  const T* Data() const { return pixels_.data(); }
  T* Row(int y) { return View().Row(y); }
  const T* Row(int y) const { return View().Row(y); }
  T* Pixel(int x, int y) { return View().Pixel(x, y); }
  const T* Pixel(int x, int y) const { return View().Pixel(x, y); }
  T& operator()(int x, int y, int c = 0) { return View()(x, y, c); }
  const T& operator()(int x, int y, int c = 0) const { return View()(x, y, c); }
  bool Contains(int x, int y) const { return View().Contains(x, y); }

  ImageView<T> View() { return {pixels_.data(), width_, height_, channels_}; }
  ImageView<const T> View() const { return {pixels_.data(), width_, height_, channels_}; }
  operator ImageView<T>() { return View(); }              // NOLINT(google-explicit-constructor)
  operator ImageView<const T>() const { return View(); }  // NOLINT(google-explicit-constructor)

  friend bool operator==(const Image& a, const Image& b) {
    return a.width_ == b.width_ && a.height_ == b.height_ && a.channels_ == b.channels_ &&
           a.pixels_ == b.pixels_;
  }

 private:
  Image(const Image& other, DiskMemory& memory)
      : width_(other.width_),
        height_(other.height_),
        channels_(other.channels_),
        pixels_(other.pixels_, &memory) {
    memory.LetGo(pixels_.data());
  }

  int width_ = 0;
  int height_ = 0;
  int channels_ = 1;
  std::pmr::vector<T> pixels_;
};

using RgbImage = Image<uint8_t>;  // three channels, in this order
using DepthImage = Image<float>;  // along z; 0 = unknown
using Mask = Image<uint8_t>;      // 255 = image content, 0 = blank; anything but 0 counts as content

template <typename A, typename B>
bool SameSize(const A& a, const B& b) {
  return a.Width() == b.Width() && a.Height() == b.Height();
}

}  // namespace lumen
