// The fixed benchmark suite: eleven subjects that no training has seen, since training seeds start at 1000.
#pragma once

#include <array>
#include <string>

#include "lumen/sim/sequence.h"

namespace lumen {

struct SuiteSubject {
  const char* name;
  AnatomyKind anatomy;
  uint64_t seed;
};

inline constexpr uint64_t kFirstTrainingSeed = 1000;
inline constexpr int kSuiteFrames = 320;

inline constexpr std::array<SuiteSubject, 11> kBenchmarkSuite = {{
    {"nasal-1", AnatomyKind::kNasal, 1},
    {"nasal-2", AnatomyKind::kNasal, 2},
    {"nasal-3", AnatomyKind::kNasal, 3},
    {"nasal-4", AnatomyKind::kNasal, 4},
    {"colon-5", AnatomyKind::kColon, 5},
    {"colon-6", AnatomyKind::kColon, 6},
    {"colon-7", AnatomyKind::kColon, 7},
    {"bronchus-8", AnatomyKind::kBronchus, 8},
    {"bronchus-9", AnatomyKind::kBronchus, 9},
    {"stomach-10", AnatomyKind::kStomach, 10},
    {"stomach-11", AnatomyKind::kStomach, 11},
}};

// Through a pinhole of 77°, or through a colonoscope's fisheye of 126° from side to side and more in the
// corners (the calibration of an Olympus CF-HQ190L as a Kannala–Brandt fit).
enum class SuiteLens { kNarrow, kWide };
SuiteLens ParseSuiteLens(const std::string& name);  // "narrow" or "wide"
Camera MakeWideLens(int width, int height);         // 5:4

// In and out again along the subject's main way, at the default size.
SequenceOptions MakeSuiteOptions(const SuiteSubject& subject, SuiteLens lens = SuiteLens::kNarrow);

// The subject of that name; throws InputError, with the nearest name, if there is none.
const SuiteSubject& FindSuiteSubject(const std::string& name);

}  // namespace lumen
