#include "lumen/apps/simulate_sequence.h"

#include <algorithm>
#include <atomic>

#include "lumen/apps/interrupt.h"
#include "lumen/base/parallel.h"
#include "lumen/base/progress.h"
#include "lumen/coverage/sightings.h"
#include "lumen/io/coverage_mesh.h"
#include "lumen/io/sequence_folder.h"

namespace lumen {

namespace {

constexpr double kDepthScale = 256;  // 0.004 mm steps, up to 256 mm

// Frames are rendered side by side and written as they come; which thread made which does not matter.
void WriteFrames(const SimulatedSequence& sequence, int threads, SequenceWriter& writer) {
  ProgressBar progress("simulate", sequence.Size());
  std::atomic<int64_t> done = 0;
  const int batch = 4 * threads;
  for (int first = 0; first < sequence.Size(); first += batch) {
    EndIfInterrupted();
    const int count = std::min(batch, sequence.Size() - first);
    ParallelFor(count, threads, [&](int64_t i) {
      const SimulatedFrame frame = sequence.Render(first + static_cast<int>(i));
      writer.WriteFrame(frame.index, frame.image);
      writer.WriteDepth(frame.index, frame.depth);
      ++done;
    });
    progress.Update(done);
  }
}

// A face is seen if its middle lies in the mask of some frame, is not hidden, and is not looked at too
// flatly.
CoverageMesh FindCoverage(const SimulatedSequence& sequence, const TriangleMesh& surface, int threads) {
  std::vector<Rigid3> poses;
  for (int i = 0; i < sequence.Size(); ++i) poses.push_back(sequence.Pose(i));
  return {surface, FindSeenPieces(PiecesOf(surface), TriangleTree(surface),
                                  {sequence.View(), sequence.ContentMask()}, poses, {}, threads)};
}

}  // namespace

int WriteSimulatedSequence(const SequenceOptions& options, const std::string& name,
                           const std::filesystem::path& output, const SimulatedExtras& extras) {
  RequireFreshSequence(output);  // before seconds are spent on the scene
  SequenceOptions one_thread = options;
  one_thread.threads = 1;  // frames run side by side instead
  const std::shared_ptr<const Anatomy> anatomy = MakeAnatomy(options.anatomy, options.seed, options.threads);
  const SimulatedSequence sequence(anatomy, one_thread);
  SequenceWriter writer(output, {name, options.path.fps, "mm", kDepthScale, sequence.View()});
  WriteFrames(sequence, options.threads, writer);
  writer.WriteMask(sequence.ContentMask());
  writer.WriteTruth(sequence.GroundTruth());
  if (extras.model) {
    const TriangleMesh surface = sequence.Surface();
    writer.WriteModel(surface);
    if (extras.coverage) writer.WriteCoverage(FindCoverage(sequence, surface, options.threads));
  }
  if (extras.ct) {
    const SimulatedCt ct = ScanBody(*anatomy, *extras.ct, options.threads);
    writer.WriteCt(ct.volume, ct.lps_from_anatomy.Matrix());
  }
  writer.Finish();
  return sequence.Size();
}

}  // namespace lumen
