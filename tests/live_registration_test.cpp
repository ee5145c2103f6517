// A run registered to its CT while it goes on: what the map's movements do to an answer, when one is
// believed, and what is told and written of it. The maps are true ones; the CT is the anatomy itself.
#include "lumen/apps/live_registration.h"

#include <gtest/gtest.h>

#include "lumen/apps/ct_record.h"
#include "lumen/apps/navigator.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/run_folder.h"
#include "lumen/io/trajectory_file.h"
#include "tests/small_run.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;
using Eigen::Vector3d;

TEST(StartRegion, IsAPlaceABallOrABox) {
  const Eigen::AlignedBox3d place = ParseStartRegion("1, -2,3.5");
  EXPECT_TRUE(place.center().isApprox(Vector3d(1, -2, 3.5)));
  EXPECT_NEAR(place.sizes().x(), 30, 1e-9);
  const Eigen::AlignedBox3d ball = ParseStartRegion("1,-2,3.5,4");
  EXPECT_TRUE(ball.min().isApprox(Vector3d(-3, -6, -0.5)));
  const Eigen::AlignedBox3d box = ParseStartRegion("-1,1,-20,-10,5,6");
  EXPECT_TRUE(box.min().isApprox(Vector3d(-1, -20, 5)));
  EXPECT_TRUE(box.max().isApprox(Vector3d(1, -10, 6)));
}

TEST(StartRegion, AnythingElseIsAFault) {
  for (const char* text : {"", "1,2", "a,2,3", "1,2,3,0", "1,2,3,-4", "1,2,3,4,5", "1,-1,0,1,0,1", "nan,2,3",
                           "1,2,3,4,5,6,7", "1e999,2,3"})
    EXPECT_THROW(ParseStartRegion(text), InputError) << text;
}

// A video's truth as SLAM's map would have it, keyframe by keyframe.
struct TrueRun {
  explicit TrueRun(int frames) {
    SequenceOptions options{.anatomy = AnatomyKind::kNasal, .seed = 3, .width = 160, .height = 128};
    options.path.frames = frames;
    options.threads = 2;
    const SimulatedSequence sequence(options);
    anatomy = sequence.Surface();
    const auto view = MakeView(sequence.View(), sequence.ContentMask());
    auto map = std::make_shared<const MapSnapshot>();
    KeyframeId reference = 0;
    for (int i = 0; i < frames; ++i) {
      truth.push_back(sequence.Pose(i));
      const Rigid3 pose = ToMap(truth.back());
      if (i % 6 == 0) {
        auto next = std::make_shared<MapSnapshot>(*map);
        reference = static_cast<KeyframeId>(next->keyframes.size());
        ++next->version;
        // Without anything to match: points would know less than such surfaces.
        SimulatedFrame shown = sequence.Render(i);
        std::fill_n(shown.image.Data(), shown.image.Size(), uint8_t{128});
        next->keyframes[reference] = {
            MakeSmallKeyframe(shown, i, view), {pose, 0, Eigen::VectorXd::Zero(1)}, 0};
        map = next;
      }
      const Rigid3 in_reference = map->keyframes.at(reference).state.world_from_camera.Inverse() * pose;
      frames_.push_back({i, i / 30.0, reference, in_reference, 0});
      maps.push_back(map);
    }
  }
  std::vector<PlacedFrame> Frames(size_t count) const {
    return {frames_.begin(), frames_.begin() + static_cast<std::ptrdiff_t>(count)};
  }

  TriangleMesh anatomy;
  std::vector<Rigid3> truth;
  std::vector<PlacedFrame> frames_;
  std::vector<std::shared_ptr<const MapSnapshot>> maps;
};
const TrueRun& Nose() {
  static const TrueRun run(120);
  return run;
}

std::shared_ptr<const NavigationCt> NoseCt() {
  auto ct = std::make_shared<NavigationCt>();
  ct->model.wall = Nose().anatomy;
  ct->tree = std::make_shared<const TriangleTree>(ct->model.wall);
  return ct;
}

LiveRegistrationOptions Plain() {
  LiveRegistrationOptions options;
  options.depth.views = 0;
  options.in_step = true;
  return options;
}

double CameraError(const Sim3& ct_from_map, size_t frame) {
  const Vector3d camera = ToMap(Nose().truth[frame]).Translation();
  return (ct_from_map * camera - Nose().truth[frame].Translation()).norm();
}

TEST(RegistrationSeries, IsBelievedOnceALargerSurfaceSaysTheSame) {
  RegistrationSeries series(Plain(), NoseCt());
  EXPECT_FALSE(series.Due(7));
  EXPECT_TRUE(series.Due(8));
  const auto first = series.Try(Nose().Frames(72), Nose().maps[71], 2);
  ASSERT_NE(first, nullptr);
  EXPECT_TRUE(first->result.confident);
  EXPECT_FALSE(first->confident);
  EXPECT_EQ(series.State().status, CtStatus::kDoubtful);
  EXPECT_NE(series.State().words.find("to be confirmed"), std::string::npos);
  EXPECT_FALSE(series.Due(13));
  EXPECT_TRUE(series.Due(14));
  const auto second = series.Try(Nose().Frames(120), Nose().maps[119], 2);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->number, 2);
  EXPECT_TRUE(second->confident);
  EXPECT_FALSE(second->jump);
  EXPECT_EQ(second->frame, 119);
  EXPECT_EQ(series.State().status, CtStatus::kRegistered);
  EXPECT_LT(CameraError(second->result.model_from_surface, 119), 0.5);
  EXPECT_LT((second->camera - Nose().truth[119].Translation()).norm(), 0.5);
  EXPECT_EQ(second->surface.colors.size(), second->surface.vertices.size());
}

TEST(RegistrationSeries, WhatBeginsElsewhereIsNotFoundAndWhereItBeginsIs) {
  LiveRegistrationOptions options = Plain();
  const Vector3d begin = Nose().truth[0].Translation();
  options.start = StartAround(begin + Vector3d(200, 0, 0));
  RegistrationSeries elsewhere(options, NoseCt());
  EXPECT_EQ(elsewhere.Try(Nose().Frames(120), Nose().maps[119], 2), nullptr);
  EXPECT_EQ(elsewhere.State().status, CtStatus::kSearching);
  elsewhere.SetStart(StartAround(begin));
  const auto told = elsewhere.Try(Nose().Frames(120), Nose().maps[119], 2);
  ASSERT_NE(told, nullptr);
  EXPECT_LT(CameraError(told->result.model_from_surface, 119), 0.5);
}

TEST(RegistrationSeries, GivesUpOnceItIsToldTo) {
  RegistrationSeries series(Plain(), NoseCt());
  const std::atomic<bool> stop = true;
  EXPECT_EQ(series.Try(Nose().Frames(120), Nose().maps[119], 2, &stop), nullptr);
}

CtRegistration AnswerFor(const MapSnapshot& map) {
  CtRegistration answer;
  answer.result.model_from_surface = Sim3(20, ExpSO3({0.1, 0.2, 0.3}), {10, 20, 30});
  for (const auto& [id, keyframe] : map.keyframes) answer.anchors.emplace(id, PlaceOf(keyframe.state));
  return answer;
}

// A loop closed, or all of it rescaled: cameras stay where they were in the CT.
TEST(FollowMap, GoesWithAMapThatMoves) {
  const MapSnapshot& before = *Nose().maps[119];
  const CtRegistration answer = AnswerFor(before);
  const Sim3 move(1.7, ExpSO3({-0.4, 0.2, 1}), {3, 1, -2});
  MapSnapshot after = before;
  for (auto& [id, keyframe] : after.keyframes) {
    keyframe.state.world_from_camera = move.TransformPose(keyframe.state.world_from_camera);
    keyframe.state.log_scale += std::log(move.Scale());
  }
  const auto moved = FollowMap(answer, after, 0);
  ASSERT_TRUE(moved);
  const Vector3d x(1, 2, 3);
  EXPECT_TRUE((*moved * (move * x)).isApprox(answer.result.model_from_surface * x, 1e-6));
}

TEST(FollowMap, HoldsOnToWhatIsLeft) {
  const CtRegistration answer = AnswerFor(*Nose().maps[119]);
  MapSnapshot left = *Nose().maps[119];
  while (left.keyframes.size() > 1) left.keyframes.erase(left.keyframes.begin());
  const auto followed = FollowMap(answer, left, 0);
  ASSERT_TRUE(followed);
  const Vector3d x(1, 2, 3);
  EXPECT_TRUE((*followed * x).isApprox(answer.result.model_from_surface * x, 1e-6));
  EXPECT_FALSE(FollowMap(answer, left, 1));
  left.keyframes.clear();
  EXPECT_FALSE(FollowMap(answer, left, 0));
}

TEST(CameraSigma, IsNeverBelowWhatTheCtKnows) {
  CtRegistration answer;
  answer.result.radius = 10;
  answer.result.constraints = {{Vector3d(1, 0, 0), Vector3d::Zero(), 0, 1, 0.3}};
  EXPECT_NEAR(CameraSigma(answer, Vector3d(5, 5, 5)), 0.3, 1e-12);
  answer.grain_mm = 0.4;
  EXPECT_NEAR(CameraSigma(answer, Vector3d(5, 5, 5)), 0.5, 1e-12);
}

class Listener : public NavigationListener {
 public:
  void OnRegistration(const std::shared_ptr<const CtRegistration>& registration) override {
    registrations.push_back(registration);
  }
  void OnState(const NavigationState& state) override { states.push_back(state); }
  void OnFrame(const NavigatedFrame& frame) override { frames.push_back(frame); }
  std::vector<std::shared_ptr<const CtRegistration>> registrations;
  std::vector<NavigationState> states;
  std::vector<NavigatedFrame> frames;
};

void Play(Navigator& navigator) {
  for (size_t i = 0; i < Nose().maps.size(); ++i) {
    FrameResult result;
    result.index = static_cast<int64_t>(i);
    result.time = Nose().frames_[i].time;
    navigator.OnFrame(result, Nose().frames_[i], Nose().maps[i]);
  }
  navigator.OnEnd();
}

TEST(Navigator, TellsEveryFrameInTheCtOnceItIsFound) {
  const TemporaryFolder folder;
  SaveMesh(folder.Path() / "ct.ply", Nose().anatomy);
  LiveRegistrationOptions options = Plain();
  options.ct.path = folder.Path() / "ct.ply";
  options.registration.coarse_points = 250;
  options.registration.fine_points = 2500;
  Listener told;
  Json summary = Json::MakeObject();
  size_t events = 0;
  {
    CtRecord record(folder.Path());
    Navigator navigator(options, {&told, &record});
    Play(navigator);
    events = navigator.TakeEvents().size();
    navigator.AddToSummary(summary);
  }
  ASSERT_EQ(told.frames.size(), 120U);
  EXPECT_EQ(events, told.registrations.size());
  size_t placed = 0;
  for (const NavigatedFrame& frame : told.frames) {
    if (!frame.ct_from_camera) continue;
    ++placed;
    const Rigid3& truth = Nose().truth[static_cast<size_t>(frame.frame)];
    EXPECT_LT((frame.ct_from_camera->Translation() - truth.Translation()).norm(), 1);
    EXPECT_LT(RotationAngle(frame.ct_from_camera->Rotation(), truth.Rotation()), 0.1);
    EXPECT_TRUE(frame.registration->confident);
  }
  EXPECT_GT(placed, 30U);
  EXPECT_FALSE(told.frames.front().ct_from_camera);
  EXPECT_EQ(told.states.back().status, CtStatus::kRegistered);
  const Json& ct = summary.At("ct");
  EXPECT_EQ(ct.At("status").AsString(), "registered");
  EXPECT_EQ(static_cast<size_t>(ct.At("frames").AsDouble()), placed);
  EXPECT_EQ(LoadTrajectory(folder.Path() / run_file::kFramesCt).size(), placed);
}

TEST(Navigator, WithoutACtFramesAreToldInTheMap) {
  Listener told;
  Navigator navigator(std::nullopt, {&told});
  Play(navigator);
  ASSERT_EQ(told.frames.size(), 120U);
  EXPECT_TRUE(told.frames.back().placed);
  EXPECT_FALSE(told.frames.back().ct_from_map);
  EXPECT_LT(
      (told.frames.back().map_from_camera.Translation() - ToMap(Nose().truth[119]).Translation()).norm(),
      1e-9);
}

TEST(Navigator, ACtThatCannotBeReadIsAStateAndTheRunGoesOn) {
  const TemporaryFolder folder;
  WriteFileAtomically(folder.Path() / "ct.nii", "no volume");
  LiveRegistrationOptions options = Plain();
  options.ct.path = folder.Path() / "ct.nii";
  Listener told;
  Navigator navigator(options, {&told});
  Play(navigator);
  EXPECT_EQ(told.states.back().status, CtStatus::kUnusable);
  EXPECT_EQ(told.frames.size(), 120U);
}

// On a thread of its own, and stopped while it searches.
TEST(LiveRegistration, EndsWhileItSearches) {
  const TemporaryFolder folder;
  SaveMesh(folder.Path() / "ct.ply", Nose().anatomy);
  LiveRegistrationOptions options = Plain();
  options.ct.path = folder.Path() / "ct.ply";
  options.in_step = false;
  Listener told;
  LiveRegistration live(options, told);
  for (size_t i = 0; i < Nose().maps.size(); ++i) live.Add(Nose().frames_[i], Nose().maps[i]);
  live.SetStart(StartAround(Nose().truth[0].Translation()));
  live.Stop();
  EXPECT_EQ(live.Newest(), told.registrations.empty() ? nullptr : told.registrations.back());
}

}  // namespace
}  // namespace lumen
