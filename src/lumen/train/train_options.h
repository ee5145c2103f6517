// Everything a training can be told.
#pragma once

#include "lumen/train/pair_batch.h"
#include "lumen/train/sim_clips.h"
#include "lumen/train/stages.h"

namespace lumen {

// How recordings are learnt from.
struct RecordedOptions {
  int reach = 30;
  double point_share = 0.9;

  void Describe(ConfigVisitor& visitor);
};

struct TrainOptions {
  std::string out;       // folder for checkpoints, curves and the model
  std::string data;      // recordings with truth, separated by commas; none: the simulator
  std::string validate;  // recordings to validate on; none: the last tenth of each that is trained on
  double sim_share = 0;  // of the scenes, from the simulator beside the recordings
  std::string init;      // a model to start from; none: random weights
  bool resume = false;   // go on where the folder's checkpoint stands
  std::string device = "auto";
  int ranks = 0;                   // processes to start here; 0: this one, or as a launcher says
  int shards = 0;                  // parts of a step's batch; 0: as many as ranks, or as the checkpoint has
  std::string reduce_by = "auto";  // how gradients are summed over ranks
  bool overlap = true;             // … while backward still goes on
  int seed = 1;
  int steps = 0;              // in all; 0: as many as the minutes allow
  double minutes = 0;         // in all
  double call_minutes = 0;    // this call ends after so many; 0: with the training
  int call_steps = 0;         // likewise in steps
  double first_stage = 0.62;  // share of the training; the rest is stage 2
  int batch = 48;             // pairs per step and shard
  int joint_batch = 48;       // in stage 2
  double rate = 1e-3;
  double joint_rate = 3e-4;
  double adversary_rate = 3e-4;
  int warm_up = 100;  // steps
  double weight_decay = 1e-4;
  double clip_norm = 5;
  int average_steps = 200;      // the model is the mean of about so many last steps; 0: the last one
  double joint_turned = 0.1;    // share of turned pairs in stage 2: turning back blurs the maps
  int joint_every = 2;          // in stage 2 one step of so many is joint, the others as in stage 1
  double easy_start = 0.3;      // stage 2 begins with this share of the starts' displacement
  int threads = 0;              // that make clips; 0: all cores but two
  int ring = 1500;              // clips kept on the device
  int first_scenes = 48;        // made before the first step
  double scenes_per_step = -1;  // new scenes per step, where steps are given; -1: one in five steps
  int log_every = 20;
  double validate_minutes = 1.5;
  int validate_steps = 0;  // instead of minutes
  double save_minutes = 2;
  int validation_scenes = 16;
  int validation_pairs = 96;
  bool tiny = false;  // networks a few channels wide: to try out and to test
  RecordedOptions recorded;
  AugmentationOptions augmentation;
  SimClipOptions sim;
  LossOptions losses;
  AlignmentOptions alignment;

  void Describe(ConfigVisitor& visitor);
  // Throws InputError for what does not go together.
  void Check() const;
  double ScenesPerStep() const { return scenes_per_step >= 0 ? scenes_per_step : 0.2; }
};

}  // namespace lumen
