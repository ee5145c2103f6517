// SLAM step by step, its map, and the networks by themselves.
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "arrays.h"
#include "lumen/base/error.h"
#include "lumen/base/parallel.h"
#include "lumen/network/torch_backend.h"
#include "lumen/slam/frame_log.h"
#include "lumen/surface/map_surface.h"
#include "objects.h"
#include "session.h"

namespace lumen {

namespace {

SessionOptions MakeOptions(const std::string& model, const std::string& vocabulary, const py::object& config,
                           const std::string& device, bool live) {
  SessionOptions options;
  options.model = model;
  options.vocabulary = vocabulary;
  options.device = device;
  options.live = live;
  ApplyConfig(config, options.config);
  return options;
}

std::unique_ptr<Session> MakeSession(const py::object& of, const py::object& mask, const std::string& model,
                                     const std::string& vocabulary, const py::object& config,
                                     const std::string& device, bool live) {
  const SessionOptions options = MakeOptions(model, vocabulary, config, device, live);
  if (py::isinstance<InputStream>(of)) {
    const auto& stream = py::cast<const InputStream&>(of);
    if (!mask.is_none()) throw InputError("an input has its mask: give it to open()");
    const py::gil_scoped_release unlocked;
    return std::make_unique<Session>(stream, options);
  }
  if (!py::isinstance<Camera>(of)) throw InputError("Slam is made for an Input or a Camera");
  const auto camera = py::cast<Camera>(of);
  const std::optional<Mask> content = mask.is_none() ? std::nullopt : std::optional(CopyMask(mask));
  const py::gil_scoped_release unlocked;
  return std::make_unique<Session>(camera, content, options);
}

FrameResult ProcessFrame(Session& session, const InputFrame& frame) { return session.Process(frame); }
FrameResult ProcessPicture(Session& session, const py::object& picture, double time) {
  const LentPicture lent = BorrowPicture(picture);
  const py::gil_scoped_release unlocked;
  return session.Process(session.Maker().Make(session.NextIndex(), time, lent.pixels, lent.owner));
}
bool SubmitFrame(Session& session, const InputFrame& frame) { return session.Submit(frame); }
// The caller may use the array again at once: it is copied.
bool SubmitPicture(Session& session, const py::object& picture, double time) {
  RawFrame raw{session.NextIndex(), time, CopyPicture(picture)};
  const py::gil_scoped_release unlocked;
  return session.Submit(session.Maker().Make(std::move(raw)));
}

py::object PoseOrNone(const FrameResult& result) {
  return result.track.Placed() ? py::object(ToArray(result.track.world_from_camera.Matrix())) : py::none();
}

void BindResult(py::module_& module) {
  py::class_<FrameResult>(module, "FrameResult")
      .def_readonly("index", &FrameResult::index)
      .def_readonly("time", &FrameResult::time)
      .def_property_readonly("status",
                             [](const FrameResult& result) { return ToString(result.track.status); })
      .def_property_readonly("reason", [](const FrameResult& result) { return result.track.reason; })
      .def_property_readonly("placed", [](const FrameResult& result) { return result.track.Placed(); })
      .def_property_readonly("pose", &PoseOrNone)
      .def_readonly("keyframe", &FrameResult::is_keyframe)
      .def_readonly("submap", &FrameResult::submap)
      .def_property_readonly("inliers", [](const FrameResult& result) { return result.track.inliers; })
      .def_property_readonly("keypoints", [](const FrameResult& result) { return result.track.keypoints; })
      .def("__repr__", [](const FrameResult& result) {
        return StrCat("<frame ", result.index, ": ", ToString(result.track.status),
                      result.track.reason.empty() ? "" : ", ", result.track.reason, ">");
      });
}

void BindSession(py::module_& module) {
  using Unlocked = py::call_guard<py::gil_scoped_release>;
  py::class_<Session>(module, "Slam")
      .def(py::init(&MakeSession), py::arg("input"), py::kw_only(), py::arg("mask") = py::none(),
           py::arg("model") = "", py::arg("vocabulary") = "", py::arg("config") = py::none(),
           py::arg("device") = "auto", py::arg("live") = false)
      .def("process", &ProcessFrame, py::arg("frame"), Unlocked())
      .def("process", &ProcessPicture, py::arg("image"), py::arg("time"))
      .def("submit", &SubmitFrame, py::arg("frame"), Unlocked())
      .def("submit", &SubmitPicture, py::arg("image"), py::arg("time"))
      .def("results", &Session::TakeResults, Unlocked())
      .def("finish", &Session::Finish, py::kw_only(), py::arg("refine") = false, Unlocked())
      .def_property_readonly("finished", &Session::Finished)
      .def_property_readonly("trajectory",
                             [](const Session& session) {
                               Trajectory trajectory;
                               {
                                 const py::gil_scoped_release unlocked;
                                 trajectory = session.FramePoses();
                               }
                               return ToArrays(trajectory);
                             })
      .def_property_readonly("config", [](const Session& session) { return ConfigToDict(session.Config()); })
      .def_property_readonly("camera",
                             [](const Session& session) {
                               const View& view = session.GetView();
                               return Camera(view.camera, view.mask.Width(), view.mask.Height());
                             })
      .def("map", [](const Session& session) {
        return MapObject{session.Snapshot(), session.Config()};
      });
}

// Pixels with depth as points of the world, with the picture's colours.
py::tuple PointsOf(const KeyframeOfMap& keyframe) {
  const MapKeyframe& entry = keyframe.Get();
  const View& view = *entry.keyframe->frame->view;
  const Camera camera(view.camera, view.mask.Width(), view.mask.Height());
  const RgbImage& picture = entry.keyframe->frame->image;
  auto points = std::make_shared<std::vector<Eigen::Vector3f>>();
  auto colours = std::make_shared<std::vector<std::array<uint8_t, 3>>>();
  {
    const py::gil_scoped_release unlocked;
    const DepthImage depth = KeyframeDepth(entry);
    for (int y = 0; y < depth.Height(); ++y) {
      for (int x = 0; x < depth.Width(); ++x) {
        const auto ray = depth(x, y) > 0 ? camera.Unproject({x, y}) : std::nullopt;
        if (!ray || !(ray->z() > 0)) continue;
        const Eigen::Vector3d seen = *ray * (static_cast<double>(depth(x, y)) / ray->z());
        points->push_back((entry.state.world_from_camera * seen).cast<float>());
        const uint8_t* rgb =
            picture.Pixel(x * picture.Width() / depth.Width(), y * picture.Height() / depth.Height());
        colours->push_back({rgb[0], rgb[1], rgb[2]});
      }
    }
  }
  return py::make_tuple(
      LendTable(reinterpret_cast<const float*>(points->data()), points->size(), 3, points),
      LendTable(reinterpret_cast<const uint8_t*>(colours->data()), colours->size(), 3, colours));
}

py::array PictureOf(const KeyframeOfMap& keyframe) {
  const Keyframe& stored = *keyframe.Get().keyframe;
  return LendImage(stored.fine.Empty() ? stored.frame->image : stored.fine, keyframe.map);
}

MeshObject SurfaceOf(const MapObject& object, const py::object& config) {
  AppConfig resolved = object.config;
  ApplyConfig(config, resolved);
  const py::gil_scoped_release unlocked;
  FusionResult fused =
      FuseMap(object.map, LargestSubmap(*object.map), resolved.depth, resolved.fusion, AvailableCores());
  if (fused.status != FusionStatus::kOk) throw InputError("the map has no depth to make a surface of");
  return std::make_shared<TriangleMesh>(std::move(fused.mesh));
}

const char* KindName(EdgeKind kind) {
  return kind == EdgeKind::kTemporal    ? "temporal"
         : kind == EdgeKind::kLocalLoop ? "local_loop"
                                        : "global_loop";
}

void BindMap(py::module_& module) {
  py::class_<KeyframeOfMap>(module, "Keyframe")
      .def_readonly("id", &KeyframeOfMap::id)
      .def_property_readonly("index", [](const KeyframeOfMap& k) { return k.Get().keyframe->frame->index; })
      .def_property_readonly("time", [](const KeyframeOfMap& k) { return k.Get().keyframe->frame->time; })
      .def_property_readonly("submap", [](const KeyframeOfMap& k) { return k.Get().submap; })
      .def_property_readonly(
          "pose", [](const KeyframeOfMap& k) { return ToArray(k.Get().state.world_from_camera.Matrix()); })
      .def_property_readonly("image", &PictureOf)
      .def_property_readonly("depth",
                             [](const KeyframeOfMap& k) { return LendImage(KeyframeDepth(k.Get())); })
      .def("points", &PointsOf);
  py::class_<MapObject>(module, "Map")
      .def_property_readonly("version", [](const MapObject& object) { return object.map->version; })
      .def_property_readonly("keyframes",
                             [](const MapObject& object) {
                               py::list keyframes;
                               for (const auto& entry : object.map->keyframes)
                                 keyframes.append(KeyframeOfMap{object.map, entry.first});
                               return keyframes;
                             })
      .def_property_readonly("edges",
                             [](const MapObject& object) {
                               py::list edges;
                               for (const MapEdge& edge : object.map->edges)
                                 edges.append(py::make_tuple(edge.first, edge.second, KindName(edge.kind)));
                               return edges;
                             })
      .def_property_readonly("trajectory",
                             [](const MapObject& object) {
                               return ToArrays(KeyframeTrajectory(*object.map, LargestSubmap(*object.map)));
                             })
      .def("surface", &SurfaceOf, py::arg("config") = py::none());
}

// The networks by themselves, for pictures of one camera.
class Networks {
 public:
  Networks(const Camera& camera, const std::optional<Mask>& mask, const SessionOptions& options) {
    const Trained trained = LoadTrained(options.model, options.vocabulary);
    maker_ = MakeFrames(camera, mask, options.config.view, trained.model);
    priors_ = MakePriors(trained.model, LensView(maker_->GetCamera(), maker_->GetMask()),
                         options.config.engine, options.device);
  }
  py::dict Run(const py::object& picture) {
    const LentPicture lent = BorrowPicture(picture);
    InputFrame frame;
    FeaturePyramid features;
    DepthBasis basis;
    {
      const py::gil_scoped_release unlocked;
      frame = maker_->Make(next_++, 0, lent.pixels, lent.owner);
      features = priors_->ComputeFeatures(frame);
      basis = priors_->ComputeDepthBasis(frame);
    }
    py::dict result;
    result["image"] = LendImage(std::move(frame.image));
    result["features"] = LendImage(FinestFeatures(features));
    result["descriptors"] = LendImage(std::move(features.descriptors));
    result["depth"] = LendImage(std::move(basis.average));
    result["bases"] = LendImage(std::move(basis.bases));
    return result;
  }
  const Camera& GetCamera() const { return maker_->GetCamera(); }

 private:
  std::unique_ptr<FrameMaker> maker_;
  std::shared_ptr<Priors> priors_;
  int64_t next_ = 0;
};

void BindNetworks(py::module_& module) {
  py::class_<Networks>(module, "Networks")
      .def(py::init([](const Camera& camera, const py::object& mask, const std::string& model,
                       const py::object& config, const std::string& device) {
             const SessionOptions options = MakeOptions(model, "", config, device, false);
             const std::optional<Mask> content =
                 mask.is_none() ? std::nullopt : std::optional(CopyMask(mask));
             const py::gil_scoped_release unlocked;
             return std::make_unique<Networks>(camera, content, options);
           }),
           py::arg("camera"), py::kw_only(), py::arg("mask") = py::none(), py::arg("model") = "",
           py::arg("config") = py::none(), py::arg("device") = "auto")
      .def("__call__", &Networks::Run, py::arg("image"))
      .def_property_readonly("camera", &Networks::GetCamera);
}

}  // namespace

void BindSlam(py::module_& module) {
  BindResult(module);
  BindMap(module);
  BindSession(module);
  BindNetworks(module);
}

}  // namespace lumen
