// A whole training, made of calls that may each be short: what one leaves behind, the next resumes.
#pragma once

#include "lumen/train/train_options.h"

namespace lumen {

struct TrainSummary {
  int64_t step = 0;
  double seconds = 0;
  bool finished = false;     // false: this call ended before the training did
  double final_loss = 0;     // mean over the last logged steps
  double waiting_share = 0;  // of the time, for clips
  bool first = true;         // of several ranks: the one that tells
};

// Throws InputError for bad options, data or checkpoints, and for a device that is out of memory.
TrainSummary Train(const TrainOptions& options);

// Asks a running training to save and return after its current step; safe in a signal handler.
void RequestTrainingStop();

}  // namespace lumen
