// What goes wrong in real videos, on demand: each kind with a severity from 0 (nothing) to 5 (hardly
// usable), reproducible from a seed. Works on any picture with its mask, simulated or real.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lumen/image/image.h"
#include "lumen/sim/noise.h"

namespace lumen {

enum class DegradationKind {
  // of the picture
  kMotionBlur,
  kDefocus,
  kOverexposure,
  kUnderexposure,
  kSmudge,  // dirt on the lens
  kBlood,   // a film of blood or fluid
  kSmoke,
  kBubbles,
  kTool,        // an instrument in the way
  kInstrument,  // one that comes in, works and goes
  // of the sequence
  kDroppedFrames,
  kDuplicatedFrames,
  kBlackout,
  kJump,      // the camera is suddenly elsewhere
  kBreathing  // the tissue moves by up to two millimetres a degree
};

inline constexpr int kMaxSeverity = 5;

const std::vector<std::string>& DegradationNames();
std::string DegradationName(DegradationKind kind);

struct Degradation {
  DegradationKind kind = DegradationKind::kMotionBlur;
  int severity = 0;
};

// From "smoke:3,blood:1"; an empty text is none. Throws InputError (with the nearest name) for anything else.
std::vector<Degradation> ParseDegradations(const std::string& text);

class Degrader {
 public:
  Degrader() : Degrader({}, 0) {}
  Degrader(std::vector<Degradation> degradations, uint64_t seed);

  // Which frame of the undisturbed video each of the `frames` frames shows: what is dropped or jumped over
  // is missing, what is duplicated comes twice. Never falls; needs a video of Timeline().back() + 1 frames.
  std::vector<int> MakeTimeline(int frames) const;
  bool IsBlackedOut(int frame) const;
  double TissueMillimetres() const;  // by which the tissue moves at most
  // The picture of frame number `frame`, spoilt. Black outside the mask, whatever was there.
  RgbImage Apply(const RgbImage& image, ImageView<const uint8_t> mask, int frame) const;

 private:
  int SeverityOf(DegradationKind kind) const;

  std::vector<Degradation> degradations_;
  uint64_t seed_;
  std::shared_ptr<const NoiseVolume> noise_;
};

}  // namespace lumen
