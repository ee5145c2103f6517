// Somebody who watches a run. Every call must return at once: the run waits for it.
#pragma once

#include "lumen/base/json.h"
#include "lumen/slam/front_end.h"

namespace lumen {

// As it stands, one who does not look.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // `truth` is what the input knows of it, mostly nothing.
  virtual void OnStart(const std::shared_ptr<const View>& /*view*/, const Trajectory& /*truth*/) {}
  virtual void OnPicture(const InputFrame& /*frame*/) {}  // on its way in
  virtual void OnFrame(const FrameResult& /*result*/, const PlacedFrame& /*placed*/,
                       const std::shared_ptr<const MapSnapshot>& /*map*/) {}
  virtual void OnEnd() {}  // no frames come any more
  // What goes on after the last frame, in words, with the map as it is before.
  virtual void OnPhase(const std::string& /*what*/) {}
  // Lines for events.jsonl, since the last time.
  virtual std::vector<Json> TakeEvents() { return {}; }
  virtual void AddToSummary(Json& /*summary*/) const {}
};

// Several who watch, one after the other.
class RunObservers : public RunObserver {
 public:
  void Add(RunObserver* observer) { observers_.push_back(observer); }
  void OnStart(const std::shared_ptr<const View>& view, const Trajectory& truth) override {
    for (RunObserver* observer : observers_) observer->OnStart(view, truth);
  }
  void OnPicture(const InputFrame& frame) override {
    for (RunObserver* observer : observers_) observer->OnPicture(frame);
  }
  void OnFrame(const FrameResult& result, const PlacedFrame& placed,
               const std::shared_ptr<const MapSnapshot>& map) override {
    for (RunObserver* observer : observers_) observer->OnFrame(result, placed, map);
  }
  void OnEnd() override {
    for (RunObserver* observer : observers_) observer->OnEnd();
  }
  void OnPhase(const std::string& what) override {
    for (RunObserver* observer : observers_) observer->OnPhase(what);
  }
  std::vector<Json> TakeEvents() override {
    std::vector<Json> all;
    for (RunObserver* observer : observers_)
      for (Json& line : observer->TakeEvents()) all.push_back(std::move(line));
    return all;
  }
  void AddToSummary(Json& summary) const override {
    for (const RunObserver* observer : observers_) observer->AddToSummary(summary);
  }

 private:
  std::vector<RunObserver*> observers_;
};

}  // namespace lumen
