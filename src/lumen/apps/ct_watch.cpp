#include "lumen/apps/ct_watch.h"

#include "lumen/apps/registering.h"
#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/text.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/run_folder.h"
#include "lumen/io/volume_file.h"

namespace lumen {

namespace fs = std::filesystem;

void CtWatch::Show(const NavigationCt& ct, CtLayer& layer) {
  layer.SetCt({ct.path.filename().string(), ct.model.wall, ct.volume});
}

CtLayer* CtWatch::Layer() const {
  const std::lock_guard lock(mutex_);
  return layer_;
}

void CtWatch::Attach(CtLayer& layer) {
  std::shared_ptr<const NavigationCt> ct;
  NavigationState state;
  {
    const std::lock_guard lock(mutex_);
    layer_ = &layer;
    ct = std::exchange(ct_, nullptr);
    state = state_;
  }
  if (!targets_.empty()) layer.SetTargets(targets_);
  if (state.status != CtStatus::kNone) layer.SetState(CtStatusName(state.status), state.words);
  if (ct != nullptr) Show(*ct, layer);
}

void CtWatch::Detach() {
  const std::lock_guard lock(mutex_);
  layer_ = nullptr;
}

void CtWatch::OnCt(const std::shared_ptr<const NavigationCt>& ct) {
  {
    const std::lock_guard lock(mutex_);
    if (layer_ == nullptr) {
      ct_ = ct;
      return;
    }
  }
  Show(*ct, *Layer());
}

// A doubtful one is words (OnState), no place.
void CtWatch::OnRegistration(const std::shared_ptr<const CtRegistration>& registration) {
  if (CtLayer* layer = Layer(); layer != nullptr && registration->confident)
    layer->SetSurface(registration->surface);
}

void CtWatch::OnState(const NavigationState& state) {
  {
    const std::lock_guard lock(mutex_);
    state_ = state;
  }
  CtLayer* layer = Layer();
  if (layer == nullptr) return;
  if (state.status != CtStatus::kRegistered) {  // what was told before is not believed any more
    layer->SetPlace(std::nullopt);
    layer->SetSurface({});
  }
  layer->SetState(CtStatusName(state.status), state.words);
}

void CtWatch::OnFrame(const NavigatedFrame& frame) {
  CtLayer* layer = Layer();
  if (layer == nullptr || !frame.ct_from_map) return;
  layer->SetPlace(ViewPlace{*frame.ct_from_map, submap_, frame.registration->number});
}

namespace {

std::string StringIn(const Json& json, const char* key) {
  const Json* value = json.Find(key);
  return value != nullptr && value->IsString() ? value->AsString() : "";
}

std::string DoubtsIn(const Json& json) {
  std::string text;
  if (const Json* doubts = json.Find("doubts"); doubts != nullptr && doubts->IsArray())
    for (const Json& doubt : doubts->AsArray())
      if (doubt.IsString()) text += (text.empty() ? "" : "; ") + doubt.AsString();
  return text;
}

// A doubtful place is words alone, as while the run goes on.
void ShowRegistration(const fs::path& folder, const Json& json, CtLayer& layer) {
  const Json* confident = json.Find("confident");
  if (StringIn(json, "status") != "registered") {
    layer.SetState("not registered", DoubtsIn(json));
    return;
  }
  if (confident == nullptr || !confident->IsBool() || !confident->AsBool()) {
    const std::string words = StringIn(json, "words");
    layer.SetState("doubtful", words.empty() ? DoubtsIn(json) : words);
    return;
  }
  const Sim3 ct_from_map = RegisteredTransform(json, folder / "registration.json");
  if (fs::is_regular_file(folder / "residual.ply")) layer.SetSurface(LoadMesh(folder / "residual.ply"));
  layer.SetPlace(ViewPlace{ct_from_map});
  layer.SetState("registered", StringIn(json, "words"));
}

}  // namespace

void ShowRegisteredRun(const RunFolder& run, const std::vector<Target>& targets, const fs::path& ct,
                       CtLayer& layer, const std::atomic<bool>& stop) {
  const fs::path folder = run.path / run_file::kRegistration, file = folder / "registration.json";
  const bool registered = fs::is_regular_file(file);
  if (!registered && ct.empty() && targets.empty()) return;
  try {
    layer.SetTargets(targets);
    Json json;
    if (registered) json = Json::Load(file);
    const fs::path model = ct.empty() ? fs::path(StringIn(json, "model")) : ct;
    ViewCt shown{model.filename().string(), {}};
    if (fs::is_regular_file(folder / "wall.ply")) shown.wall = LoadMesh(folder / "wall.ply");
    layer.SetCt(shown);
    if (registered)
      ShowRegistration(folder, json, layer);
    else
      layer.SetState("not registered", "this run was not laid into a CT: lumen register, or lumen run --ct");
    // The slices last: a volume takes a while to be read.
    if (stop || model.empty() || IsMeshFile(model, false)) return;
    if (!fs::exists(model)) {
      LogWarning(model.string(), " is not there any more: no slices (--ct names another place)");
      return;
    }
    shown.volume = std::make_shared<const Volume>(LoadVolume(model, {StringIn(json, "series")}));
    layer.SetCt(shown);
  } catch (const InputError& error) {
    LogWarning(error.what());
  }
}

}  // namespace lumen
