// A camera that shows what a test has written for it: pictures, silence, and being gone.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <thread>

#include "lumen/io/camera_source.h"

namespace lumen {

class FakeCamera : public CameraPort {
 public:
  struct Act {
    enum class Kind { kPicture, kSilence, kGone } kind = Kind::kPicture;
    int times = 1;  // pictures; reads without one; openings without an answer
  };
  using Paint = std::function<RgbImage(int64_t number)>;

  // What comes after the last act is being gone for good, which `at_end` is told.
  FakeCamera(std::deque<Act> acts, Paint paint, std::function<void()> at_end = nullptr)
      : acts_(std::move(acts)), paint_(std::move(paint)), at_end_(std::move(at_end)) {}

  bool Open() override {
    ++openings_;
    if (openings_ == 1) return !acts_.empty();
    if (acts_.empty() || acts_.front().kind != Act::Kind::kGone) return !acts_.empty();
    Use();
    return false;
  }
  std::optional<RgbImage> Read() override {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (acts_.empty() && at_end_) at_end_();
    if (acts_.empty() || acts_.front().kind == Act::Kind::kGone) return std::nullopt;
    const bool shows = acts_.front().kind == Act::Kind::kPicture;
    Use();
    return shows ? std::optional(paint_(number_++)) : std::nullopt;
  }
  double Fps() const override { return 20; }

 private:
  void Use() {
    if (--acts_.front().times == 0) acts_.pop_front();
  }
  std::deque<Act> acts_;
  Paint paint_;
  std::function<void()> at_end_;
  int64_t number_ = 0;
  int openings_ = 0;
};

}  // namespace lumen
