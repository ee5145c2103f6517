// Registration while a run goes on, against the truth: how early each video is found in the whole CT around
// its organ, how exactly from then on and how sure it says it is; and whether a wrong CT is refused to the
// end.
#pragma once

#include "lumen/apps/ct_volume_study.h"

namespace lumen {

struct CtLiveEntry {
  std::string run, patient, kind;  // whose video, whose CT
  std::string failure;
  int frames = 0;              // of the video
  int told = 0;                // that were told in the CT
  int first = -1;              // the first of these
  double mean = 0, worst = 0;  // how far their cameras were off, mm
  int far = 0;                 // those that were farther off than they may be
  double sigma = 0;            // what was said of it, mm, root mean square
  double within = 0;           // share of them within two of these
  int registrations = 0, jumps = 0;
  double seconds = 0;  // of a registration, the median

  bool Wrong() const { return run != patient; }
};

// What a finished run told of the CT. `ct_from_world`: where the world of the video's truth lies in it.
CtLiveEntry MeasureLive(const std::filesystem::path& run, const std::filesystem::path& sequence,
                        const Rigid3& ct_from_world);

// Each video with its own CT of each kind, and so many with another's of the first kind.
std::vector<CtLiveEntry> StudyCtLive(const std::vector<NamedSequence>& sequences,
                                     const std::vector<CtKind>& kinds, int wrong_pairs,
                                     const StudyRunOptions& options);
std::string FormatCtLive(const std::vector<CtLiveEntry>& entries);

}  // namespace lumen
