#include "lumen/apps/ct_record.h"

#include <cstdio>

#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/io/run_folder.h"
#include "lumen/io/trajectory_file.h"

namespace lumen {

namespace {
constexpr std::chrono::milliseconds kPace(350);
constexpr const char* kPlacesHead =
    "# camera to CT, as told while the run went on: time x y z qx qy qz qw; millimetres, LPS\n";
constexpr const char* kDoubtsHead = "frame,time,registration,confident,sigma_mm\n";
}  // namespace

CtRecord::CtRecord(std::filesystem::path folder)
    : folder_(std::move(folder)),
      places_(kPlacesHead),
      doubts_(kDoubtsHead),
      ticker_(kPace, [this] { Write(); }) {}

CtRecord::~CtRecord() {
  ticker_.Stop();
  try {
    ticker_.Check();
    Write();
  } catch (const OutputError& error) {
    LogError(error.what());
  }
}

void CtRecord::OnFrame(const NavigatedFrame& frame) {
  if (!frame.ct_from_camera || frame.registration->last) return;
  char line[128];
  std::snprintf(line, sizeof(line), "%lld,%.6f,%d,%d,%.3f\n", static_cast<long long>(frame.frame), frame.time,
                frame.registration->number, frame.registration->confident ? 1 : 0, frame.sigma_mm);
  const std::lock_guard lock(mutex_);
  places_ += FormatTumLine({frame.time, *frame.ct_from_camera});
  doubts_ += line;
}

void CtRecord::Write() {
  std::string places, doubts;
  {
    const std::lock_guard lock(mutex_);
    if (places_ == kPlacesHead) return;  // no file as long as there is nothing in it
    std::swap(places, places_);
    std::swap(doubts, doubts_);
  }
  if (places_file_ == nullptr) {
    places_file_ = std::make_unique<AppendFile>(folder_ / run_file::kFramesCt);
    doubts_file_ = std::make_unique<AppendFile>(folder_ / run_file::kFramesCtUncertainty);
  }
  if (places.empty()) return;
  places_file_->Append(places);
  doubts_file_->Append(doubts);
}

}  // namespace lumen
