#include "lumen/apps/run_trust.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "lumen/base/text.h"

namespace lumen {

namespace {

struct Span {
  double begin = 0, end = 0;  // seconds
  int frames = 0;
};

// Moments of the video, those less than half a second apart taken together.
class Spans {
 public:
  void Add(double time) {
    constexpr double kTogether = 0.5;
    if (spans_.empty() || time - spans_.back().end > kTogether) spans_.push_back({time, time, 0});
    spans_.back().end = time;
    ++spans_.back().frames;
    ++frames_;
  }
  int Frames() const { return frames_; }
  // The longest few, in their order: "at 2.1–3.3 s, 5.0–5.4 s and 3 more times".
  std::string Text() const {
    constexpr size_t kMost = 4;
    std::vector<Span> longest = spans_;
    std::stable_sort(longest.begin(), longest.end(),
                     [](const Span& a, const Span& b) { return a.frames > b.frames; });
    longest.resize(std::min(kMost, longest.size()));
    std::sort(longest.begin(), longest.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
    std::string text = "at ";
    for (size_t i = 0; i < longest.size(); ++i) {
      char span[80];
      std::snprintf(span, sizeof(span), longest[i].end > longest[i].begin ? "%.1f–%.1f s" : "%.1f s",
                    longest[i].begin, longest[i].end);
      text += (i == 0 ? "" : ", ") + std::string(span);
    }
    const size_t more = spans_.size() - longest.size();
    return more > 0 ? StrCat(text, " and ", more, more > 1 ? " more times" : " more time") : text;
  }

 private:
  std::vector<Span> spans_;
  int frames_ = 0;
};

std::string DescribePlaced(const RunFolder& run) {
  Spans lost;
  for (const RunFrameEvent& event : run.events)
    if (event.status == FrameStatus::kLost || event.status == FrameStatus::kSkipped) lost.Add(event.time);
  const auto all = static_cast<int64_t>(run.events.size());
  if (lost.Frames() == 0) return StrCat("All ", all, " frames were placed.");
  return StrCat(all - lost.Frames(), " of ", all, " frames were placed; the camera was lost ", lost.Text(),
                ".");
}

std::string DescribeDoubt(const RunFolder& run) {
  Spans doubtful;
  int64_t told = 0;
  double expected = 0;
  for (const RunFrameEvent& event : run.events) {
    if (event.off_at_last < 0) continue;
    ++told;
    expected += event.off_at_last;
    if (event.LastStatus() == FrameStatus::kWeak) doubtful.Add(event.time);
  }
  if (told == 0) return "";
  if (doubtful.Frames() == 0) return "No place of the camera is in doubt.";
  return StrCat(doubtful.Frames(), " of ", told, " places (",
                std::lround(100.0 * doubtful.Frames() / static_cast<double>(told)), " %) are in doubt, ",
                doubtful.Text(), "; about ", std::lround(expected),
                " are to be expected off, by more than a tenth of what is seen or by 5°.");
}

}  // namespace

std::vector<std::string> DescribeTrust(const RunFolder& run) {
  if (run.events.empty()) return {};
  std::vector<std::string> words{DescribePlaced(run)};
  if (std::string doubt = DescribeDoubt(run); !doubt.empty()) words.push_back(std::move(doubt));
  if (const auto paths = run.path / run_file::kSubmaps; std::filesystem::is_directory(paths))
    words.emplace_back("Parts of the video could not be connected and lie in maps of their own.");
  return words;
}

RunTrust MeasureTrust(const RunFolder& run) {
  double lost = 0, told = 0, doubtful = 0;
  for (const RunFrameEvent& event : run.events) {
    lost += event.status == FrameStatus::kLost || event.status == FrameStatus::kSkipped ? 1 : 0;
    if (event.off_at_last < 0) continue;
    ++told;
    doubtful += event.LastStatus() == FrameStatus::kWeak ? 1 : 0;
  }
  const auto all = static_cast<double>(run.events.size());
  return {all > 0 ? lost / all : 0, told > 0 ? doubtful / told : 0};
}

}  // namespace lumen
