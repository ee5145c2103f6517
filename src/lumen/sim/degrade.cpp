#include "lumen/sim/degrade.h"

#include <algorithm>

#include "lumen/base/error.h"
#include "lumen/base/random.h"
#include "lumen/base/text.h"
#include "lumen/sim/choice.h"
#include "lumen/sim/degrade_effects.h"

namespace lumen {

namespace {

// Disturbances of the sequence come once per window of frames, at a random place in it.
struct Window {
  int frames;
  int per_severity;  // frames affected
};

constexpr Window kDropped = {30, 1};
constexpr Window kDuplicated = {30, 1};
constexpr Window kBlackout = {75, 3};
constexpr Window kJump = {100, 12};

// How far into the disturbance `frame` is, counted from 0; -1 if it is outside. The first frames of a
// window stay clean, so that a sequence never begins disturbed.
int PlaceInDisturbance(const Window& window, int severity, int frame, const Random& stream) {
  const int length = window.per_severity * severity;
  const int number = frame / window.frames;
  Random random = stream.Split(static_cast<uint64_t>(number));
  const auto start = static_cast<int>(random.UniformInt(window.frames / 4, window.frames / 2));
  const int place = frame - number * window.frames - start;
  return place >= 0 && place < length ? place : -1;
}

}  // namespace

const std::vector<std::string>& DegradationNames() {
  static const std::vector<std::string> names = {
      "motion-blur", "defocus", "overexposure", "underexposure", "smudge",         "blood",
      "smoke",       "bubbles", "tool",         "instrument",    "dropped-frames", "duplicated-frames",
      "blackout",    "jump",    "breathing"};
  return names;
}

std::string DegradationName(DegradationKind kind) { return DegradationNames()[static_cast<size_t>(kind)]; }

std::vector<Degradation> ParseDegradations(const std::string& text) {
  std::vector<Degradation> degradations;
  if (Trim(text).empty()) return degradations;
  for (const std::string& part : Split(text, ',')) {
    const std::vector<std::string> pair = Split(Trim(part), ':');
    if (pair.size() != 2)
      throw InputError(StrCat("degradation \"", part, "\" is not of the form name:severity"));
    const auto kind = static_cast<DegradationKind>(ParseChoice("degradation", pair[0], DegradationNames()));
    const auto severity = ParseInteger(pair[1]);
    if (!severity || *severity < 0 || *severity > kMaxSeverity) {
      throw InputError(
          StrCat("severity of ", pair[0], " must be 0 to ", kMaxSeverity, ", not \"", pair[1], "\""));
    }
    degradations.push_back({kind, static_cast<int>(*severity)});
  }
  return degradations;
}

Degrader::Degrader(std::vector<Degradation> degradations, uint64_t seed)
    : degradations_(std::move(degradations)), seed_(seed) {
  for (const Degradation& degradation : degradations_) {
    LUMEN_CHECK(degradation.severity >= 0 && degradation.severity <= kMaxSeverity);
  }
  noise_ = std::make_shared<const NoiseVolume>(Random(seed).Split("degrade").NextBits());
}

int Degrader::SeverityOf(DegradationKind kind) const {
  int severity = 0;
  for (const Degradation& degradation : degradations_) {
    if (degradation.kind == kind) severity = std::max(severity, degradation.severity);
  }
  return severity;
}

bool Degrader::IsBlackedOut(int frame) const {
  const int severity = SeverityOf(DegradationKind::kBlackout);
  return PlaceInDisturbance(kBlackout, severity, frame, Random(seed_).Split("blackout")) >= 0;
}

double Degrader::TissueMillimetres() const {
  constexpr double kPerSeverity = 2;
  return kPerSeverity * SeverityOf(DegradationKind::kBreathing);
}

std::vector<int> Degrader::MakeTimeline(int frames) const {
  const Random random(seed_);
  const auto starts = [&](const Window& window, DegradationKind kind, int frame) {
    const int severity = SeverityOf(kind);
    return PlaceInDisturbance(window, severity, frame, random.Split(DegradationName(kind))) == 0
               ? window.per_severity * severity
               : 0;
  };
  std::vector<int> timeline;
  int shown = 0;
  for (int frame = 0; frame < frames; ++frame) {
    if (frame > 0) {
      const int duplicate = PlaceInDisturbance(kDuplicated, SeverityOf(DegradationKind::kDuplicatedFrames),
                                               frame, random.Split("duplicated-frames"));
      shown += duplicate >= 0 ? 0 : 1;
      shown += starts(kDropped, DegradationKind::kDroppedFrames, frame);
      shown += starts(kJump, DegradationKind::kJump, frame);
    }
    timeline.push_back(shown);
  }
  return timeline;
}

RgbImage Degrader::Apply(const RgbImage& image, ImageView<const uint8_t> mask, int frame) const {
  LUMEN_CHECK(SameSize(image, mask) && image.Channels() == 3);
  if (IsBlackedOut(frame)) return RgbImage(image.Width(), image.Height(), 3);
  const bool untouched =
      std::all_of(degradations_.begin(), degradations_.end(), [](const Degradation& degradation) {
        return degradation.severity == 0 || degradation.kind >= DegradationKind::kDroppedFrames;
      });
  if (untouched) return image;
  EffectContext context = {mask, *noise_, Random(seed_), frame};
  Image<float> light = ToLinear(image);
  for (const Degradation& degradation : degradations_) {
    if (degradation.severity > 0) ApplyEffect(degradation, context, light);
  }
  return FromLinear(light, mask);
}

}  // namespace lumen
