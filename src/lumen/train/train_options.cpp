#include "lumen/train/train_options.h"

#include "lumen/base/error.h"
#include "lumen/train/checkpoint.h"

namespace lumen {

void RecordedOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("reach", reach,
                {.min = 1, .max = 100000, .unit = "frames", .help = "between a place and its views, up to"});
  visitor.Field(
      "point_share", point_share,
      {.min = 0, .max = 1, .help = "of a frame's depth by its points, where it has dense depth too"});
}

void TrainOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("out", out, {.help = "folder for checkpoints, curves and the model"});
  visitor.Field("data", data, {.help = "recordings with truth, separated by commas; none: the simulator"});
  visitor.Field("validate", validate,
                {.help = "recordings to validate on; none: the last tenth of each that is trained on"});
  visitor.Field("sim_share", sim_share,
                {.min = 0, .max = 0.99, .help = "share of scenes from the simulator beside the recordings"});
  visitor.Field("init", init, {.help = "a model to start from; none: random weights"});
  visitor.Field("resume", resume, {.help = "go on where the folder's checkpoint stands"});
  visitor.Field("device", device, {.help = "where to train", .choices = {"auto", "cpu", "cuda"}});
  visitor.Field(
      "ranks", ranks,
      {.min = 0, .max = 1024, .help = "processes to start here; 0: this one, or as a launcher says"});
  visitor.Field(
      "shards", shards,
      {.min = 0,
       .max = 100000,
       .help = "parts of a step's batch, shared out among the ranks; 0: as many as ranks, or as the "
               "checkpoint has"});
  visitor.Field("reduce_by", reduce_by,
                {.help = "how gradients are summed over ranks", .choices = {"auto", "gloo", "nccl"}});
  visitor.Field("overlap", overlap, {.help = "gradients are summed while backward still goes on"});
  visitor.Field("seed", seed, {.min = 0, .help = "of weights, data and augmentation"});
  visitor.Field("steps", steps, {.min = 0, .help = "in all; 0: as many as the minutes allow"});
  visitor.Field("minutes", minutes, {.min = 0, .unit = "min", .help = "in all"});
  visitor.Field("call_minutes", call_minutes,
                {.min = 0, .unit = "min", .help = "this call ends after so many; 0: with the training"});
  visitor.Field("call_steps", call_steps,
                {.min = 0, .help = "this call ends after so many steps; 0: with the training"});
  visitor.Field("first_stage", first_stage,
                {.min = 0, .max = 1, .help = "share of the training that is stage 1"});
  visitor.Field("batch", batch, {.min = 1, .max = 4096, .help = "pairs per step in stage 1"});
  visitor.Field("joint_batch", joint_batch, {.min = 1, .max = 4096, .help = "pairs per step in stage 2"});
  visitor.Field("rate", rate, {.min = 0, .help = "learning rate of stage 1"});
  visitor.Field("joint_rate", joint_rate, {.min = 0, .help = "learning rate of stage 2"});
  visitor.Field("adversary_rate", adversary_rate, {.min = 0, .help = "learning rate of the adversary"});
  visitor.Field("warm_up", warm_up, {.min = 0, .help = "steps until a stage's full rate"});
  visitor.Field("weight_decay", weight_decay, {.min = 0, .help = "of AdamW"});
  visitor.Field("clip_norm", clip_norm, {.min = 0, .help = "largest norm of the gradient"});
  visitor.Field("average_steps", average_steps,
                {.min = 0, .help = "the model is the mean of about so many last steps; 0: the last one"});
  visitor.Field("joint_turned", joint_turned,
                {.min = 0, .max = 1, .help = "share of turned pairs in stage 2"});
  visitor.Field(
      "joint_every", joint_every,
      {.min = 1, .max = 100, .help = "one step of so many in stage 2 is joint, the others as in stage 1"});
  visitor.Field("easy_start", easy_start,
                {.min = 0, .max = 1, .help = "share of the starts' displacement when stage 2 begins"});
  visitor.Field("threads", threads,
                {.min = 0, .max = 1024, .help = "threads that make clips; 0: all cores but two"});
  visitor.Field("ring", ring, {.min = 1, .help = "clips kept on the device"});
  visitor.Field("first_scenes", first_scenes, {.min = 1, .help = "scenes made before the first step"});
  visitor.Field("scenes_per_step", scenes_per_step,
                {.min = -1, .help = "new scenes per step, where steps are given; -1: one in five steps"});
  visitor.Field("log_every", log_every, {.min = 1, .unit = "steps", .help = "between lines of the curves"});
  visitor.Field("validate_minutes", validate_minutes,
                {.min = 0, .unit = "min", .help = "between validations"});
  visitor.Field("validate_steps", validate_steps,
                {.min = 0, .help = "between validations, instead of minutes"});
  visitor.Field("save_minutes", save_minutes, {.min = 0, .unit = "min", .help = "between checkpoints"});
  visitor.Field("validation_scenes", validation_scenes, {.min = 0, .help = "scenes kept for validation"});
  visitor.Field("validation_pairs", validation_pairs, {.min = 1, .help = "pairs per validation"});
  visitor.Field("tiny", tiny, {.help = "networks a few channels wide: to try out and to test"});
  visitor.Group("recorded", recorded);
  visitor.Group("augmentation", augmentation);
  visitor.Group("sim", sim);
  visitor.Group("losses", losses);
  visitor.Group("alignment", alignment);
}

void TrainOptions::Check() const {
  if (out.empty()) throw InputError("out=FOLDER is missing");
  if (steps <= 0 && minutes <= 0) throw InputError("say how long: steps=N or minutes=M");
  if (steps <= 0 && scenes_per_step > 0)
    throw InputError("scenes_per_step needs steps=N: with minutes alone clips are taken as they come");
  if (data.empty() && (sim_share > 0 || !validate.empty()))
    throw InputError("sim_share and validate go with data: without recordings everything is simulated");
  if (!resume && HasCheckpoint(out))
    throw InputError(out, "holds a checkpoint already: resume it (--resume) or choose another folder");
}

}  // namespace lumen
