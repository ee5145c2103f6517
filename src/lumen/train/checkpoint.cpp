#include "lumen/train/checkpoint.h"

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/json.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr const char* kIndex = "checkpoint.json";

Tensor ToPlain(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.detach().to(torch::kCPU, torch::kFloat).contiguous();
  const auto* values = flat.data_ptr<float>();
  return {flat.sizes().vec(), std::vector<float>(values, values + flat.numel())};
}

void CopyInto(const TensorFile& file, const fs::path& path, const std::string& name, torch::Tensor& target) {
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end() || found->second.Size() != target.numel()) {
    throw InputError(path, StrCat("a checkpoint of another architecture (", name, ": ",
                                  found == file.tensors.end() ? 0 : found->second.Size(),
                                  " numbers instead of ", target.numel(), ")"));
  }
  torch::NoGradGuard no_grad;
  target.copy_(
      torch::from_blob(const_cast<float*>(found->second.values.data()), target.sizes(), torch::kFloat));
}

// The parts of a checkpoint: file name stem, and what it holds.
struct Part {
  const char* stem;
  std::vector<std::pair<std::string, torch::Tensor*>> tensors;
};

std::vector<Part> ListParts(const TrainingState& state) {
  return {{"values", {{"values", &state.networks.Values()}}},
          {"first", {{"first", &state.networks.FirstMoment()}, {"steps", &state.networks.Steps()}}},
          {"second", {{"second", &state.networks.SecondMoment()}}},
          {"average", {{"average", &state.average.Mean()}}},
          {"adversary",
           {{"values", &state.adversary.Values()},
            {"first", &state.adversary.FirstMoment()},
            {"second", &state.adversary.SecondMoment()},
            {"steps", &state.adversary.Steps()}}}};
}

}  // namespace

std::vector<torch::Tensor*> TrainingState::Tensors() const {
  std::vector<torch::Tensor*> all;
  for (const Part& part : ListParts(*this))
    for (const auto& [name, tensor] : part.tensors) all.push_back(tensor);
  return all;
}

bool HasCheckpoint(const fs::path& folder) { return fs::exists(folder / kIndex); }

void SaveCheckpoint(const fs::path& folder, const TrainingProgress& progress, const Model& model,
                    const TrainingState& state) {
  MakeDirectories(folder);
  Json index;
  index["step"] = progress.step;
  index["seconds"] = progress.seconds;
  index["scenes"] = progress.scenes;
  index["shards"] = progress.shards;
  index["scene_shift"] = progress.scene_shift;
  index["stage_steps"] = progress.stage_steps;
  index["first_stage"] = progress.first_stage;
  index["seed"] = progress.seed;
  index["depth"] = DescribeSpec(model.depth);
  index["feature"] = DescribeSpec(model.feature);
  std::vector<std::string> kept = {kIndex};
  for (const Part& part : ListParts(state)) {
    TensorFile file;
    for (const auto& [name, tensor] : part.tensors) file.tensors[name] = ToPlain(*tensor);
    kept.push_back(StrCat("checkpoint-", progress.step, "-", part.stem, ".safetensors"));
    SaveSafetensors(folder / kept.back(), file);
    index[part.stem] = kept.back();
  }
  SaveModel(folder / "model.safetensors", model);
  WriteFileAtomically(folder / kIndex, index.Dump(2) + "\n");
  // Only now are the older ones of no more use.
  for (const fs::path& path : ListFiles(folder)) {
    const std::string name = path.filename().string();
    if (name.rfind("checkpoint-", 0) == 0 && std::find(kept.begin(), kept.end(), name) == kept.end()) {
      std::error_code ignored;
      fs::remove(path, ignored);
    }
  }
}

TrainingProgress LoadCheckpoint(const fs::path& folder, const Model& model, const TrainingState& state) {
  if (!HasCheckpoint(folder)) throw InputError(folder, "no checkpoint to resume from");
  const Json index = Json::Load(folder / kIndex);
  if (index.At("depth").AsString() != DescribeSpec(model.depth) ||
      index.At("feature").AsString() != DescribeSpec(model.feature)) {
    throw InputError(folder / kIndex, "a checkpoint of another architecture");
  }
  for (const Part& part : ListParts(state)) {
    const fs::path path = folder / index.At(part.stem).AsString();
    const TensorFile file = LoadSafetensors(path);
    for (const auto& [name, tensor] : part.tensors) CopyInto(file, path, name, *tensor);
  }
  TrainingProgress progress;
  progress.step = index.At("step").AsInteger();
  progress.seconds = index.At("seconds").AsDouble();
  progress.scenes = index.At("scenes").AsInteger();
  const Json* shards = index.Find("shards");  // checkpoints of before there were any
  const Json* shift = index.Find("scene_shift");
  progress.scene_shift = shift != nullptr ? shift->AsInteger() : 0;
  progress.shards = shards != nullptr ? std::max<int64_t>(1, shards->AsInteger()) : 1;
  progress.stage_steps = index.At("stage_steps").AsInteger();
  progress.first_stage = index.At("first_stage").AsBool();
  progress.seed = index.At("seed").AsInteger();
  return progress;
}

}  // namespace lumen
