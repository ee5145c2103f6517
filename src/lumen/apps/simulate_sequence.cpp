#include "lumen/apps/simulate_sequence.h"

#include <algorithm>
#include <atomic>

#include "lumen/apps/interrupt.h"
#include "lumen/base/parallel.h"
#include "lumen/base/progress.h"
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

}  // namespace

int WriteSimulatedSequence(const SequenceOptions& options, const std::string& name,
                           const std::filesystem::path& output, bool with_model) {
  RequireFreshSequence(output);  // before seconds are spent on the scene
  SequenceOptions one_thread = options;
  one_thread.threads = 1;  // frames run side by side instead
  const std::shared_ptr<const Anatomy> anatomy = MakeAnatomy(options.anatomy, options.seed, options.threads);
  const SimulatedSequence sequence(anatomy, one_thread);
  SequenceWriter writer(output, {name, options.path.fps, "mm", kDepthScale, sequence.View()});
  WriteFrames(sequence, options.threads, writer);
  writer.WriteMask(sequence.ContentMask());
  writer.WriteTruth(sequence.GroundTruth());
  if (with_model) writer.WriteModel(sequence.Surface());
  writer.Finish();
  return sequence.Size();
}

}  // namespace lumen
