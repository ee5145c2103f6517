#include "lumen/io/camera_source.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/timer.h"

namespace lumen {

namespace {

constexpr double kUsualFps = 30;
constexpr std::chrono::milliseconds kPause(20);  // before a camera that is gone is asked again

class CameraSource : public FrameSource {
 public:
  CameraSource(const std::filesystem::path& path, std::unique_ptr<CameraPort> port,
               const CameraPatience& patience)
      : path_(path), port_(std::move(port)), patience_(patience) {
    if (!port_->Open()) throw InputError(path, "no camera answers here");
    first_ = Wait();
    if (!first_) throw InputError(path, "this camera shows no picture");
    info_.name = path.stem().string();
    info_.width = first_->Width();
    info_.height = first_->Height();
    const double fps = port_->Fps();
    info_.fps = fps > 0 && fps < 1000 ? fps : kUsualFps;
    info_.live = true;
  }

  std::optional<RawFrame> Next() override {
    std::optional<RgbImage> picture = first_ ? std::exchange(first_, std::nullopt) : Wait();
    if (ended_ || !picture) return std::nullopt;
    if (picture->Width() != info_.width || picture->Height() != info_.height) {
      End(StrCat("shows pictures of ", picture->Width(), "x", picture->Height(), " now, not ", info_.width,
                 "x", info_.height));
      return std::nullopt;
    }
    if (next_ > 0) time_ += 1 / info_.fps + std::exchange(gap_, 0);
    return RawFrame{next_++, time_, std::move(*picture)};
  }

  void Stop() override { stopped_ = true; }

 private:
  // The next picture, however often the camera has to be opened for it; nothing if it is given up.
  std::optional<RgbImage> Wait() {
    const Stopwatch watch;
    const auto seconds = [&] { return watch.ElapsedMs() / 1000; };
    double reopen_at = patience_.until_reopened;
    bool said = false;
    while (!stopped_ && !ended_) {
      if (std::optional<RgbImage> picture = port_->Read()) {
        if (said) {
          LogWarning(path_.string(), ": shows pictures again after ", seconds(), " s");
          gap_ += seconds();
        }
        return picture;
      }
      if (!said && seconds() >= patience_.until_said) {
        LogWarning(path_.string(), ": no picture for ", patience_.until_said, " s, waiting up to ",
                   patience_.until_end, " s");
        said = true;
      }
      if (seconds() >= patience_.until_end) {
        End(StrCat("no picture for ", patience_.until_end, " s"));
      } else if (seconds() >= reopen_at) {
        port_->Open();
        reopen_at = seconds() + 1;
      }
      std::this_thread::sleep_for(kPause);
    }
    return std::nullopt;
  }

  // An error to be seen, and yet what was shown before it is as good as ever.
  void End(const std::string& reason) {
    ended_ = true;
    if (info_.width > 0) LogError(path_.string(), ": ", reason, ": the input ends here");
  }

  std::filesystem::path path_;
  std::unique_ptr<CameraPort> port_;
  CameraPatience patience_;
  std::optional<RgbImage> first_;  // tells the size
  int64_t next_ = 0;
  double time_ = 0, gap_ = 0;  // seconds; the gap is the time that nothing was shown
  bool ended_ = false;
  std::atomic<bool> stopped_ = false;
};

}  // namespace

std::unique_ptr<FrameSource> MakeCameraSource(const std::filesystem::path& path,
                                              std::unique_ptr<CameraPort> port,
                                              const CameraPatience& patience) {
  return std::make_unique<CameraSource>(path, std::move(port), patience);
}

}  // namespace lumen
