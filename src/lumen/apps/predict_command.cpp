#include <cstdio>

#include "lumen/apps/app.h"
#include "lumen/apps/model_path.h"
#include "lumen/apps/prior_pictures.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/progress.h"
#include "lumen/image/resize.h"
#include "lumen/io/image_file.h"
#include "lumen/io/input_stream.h"
#include "lumen/io/png.h"
#include "lumen/network/torch_backend.h"

namespace lumen {

namespace {

struct PredictOptions {
  std::filesystem::path input;
  std::filesystem::path output;
  InputOptions selection;
  std::string model;
  std::string device = "auto";
};

constexpr double kDepthScale = 10000;  // the networks' depth is of the order of 1
constexpr int kEnlargement = 4;

// A picture alone has no calibration, and needs none to be looked at.
std::unique_ptr<FrameSource> OpenForPrediction(PredictOptions& options) {
  if (std::filesystem::is_regular_file(options.input) && IsImageFile(options.input)) {
    struct SingleImage : FrameSource {
      explicit SingleImage(const std::filesystem::path& path) : image(LoadRgb(path)) {
        info_.name = path.stem().string();
        info_.width = image.Width();
        info_.height = image.Height();
        info_.frame_count = 1;
        info_.camera = Camera::FromFieldOfView(77, image.Width(), image.Height());
      }
      std::optional<RawFrame> Next() override {
        if (std::exchange(done, true)) return std::nullopt;
        return RawFrame{0, 0.0, image};
      }
      RgbImage image;
      bool done = false;
    };
    return std::make_unique<SingleImage>(options.input);
  }
  return OpenInput(options.input, options.selection);
}

class PredictionWriter {
 public:
  PredictionWriter(const std::filesystem::path& folder, const Camera& camera, const Mask& input_mask)
      : folder_(folder), camera_(camera.AsUnified()->Scaled(0.5, 0.5)) {
    const Mask half = ResizeNearest(input_mask, input_mask.Width() / 2, input_mask.Height() / 2);
    mask_ = half;
    MakeDirectories(folder);
  }

  void Write(const InputFrame& frame, const DepthBasis& depth, const FeaturePyramid& features) {
    char number[16];
    std::snprintf(number, sizeof(number), "%06lld", static_cast<long long>(frame.index));
    const auto path = [&](const char* kind) { return folder_ / StrCat(number, "_", kind, ".png"); };
    const DepthImage z = ZOfViewDepth(depth.average, camera_);
    Image<uint16_t> stored(depth.average.Width(), depth.average.Height());
    for (size_t i = 0; i < stored.Size(); ++i) {
      const double value = static_cast<double>(z.Data()[i]) * kDepthScale + 0.5;
      stored.Data()[i] = mask_.Data()[i] != 0 && value < 65536 ? static_cast<uint16_t>(value) : 0;
    }
    SavePng(path("depth"), stored.View());
    SavePng(path("depth_color"), Enlarge(DepthPicture(depth.average, mask_), kEnlargement).View());
    SavePng(path("features"), Enlarge(features_.Paint(FinestFeatures(features), mask_), kEnlargement).View());
    SavePng(path("descriptors"),
            Enlarge(descriptors_.Paint(features.descriptors, mask_), kEnlargement).View());
    SavePng(path("input"), Enlarge(frame.image, kEnlargement / 2).View());
  }

 private:
  std::filesystem::path folder_;
  UnifiedCamera camera_;
  Mask mask_;
  ComponentPainter features_, descriptors_;
};

// Pictures written among those that are read would be read, too.
void RequireOutside(const std::filesystem::path& input, const std::filesystem::path& output) {
  if (!std::filesystem::is_directory(input)) return;
  const auto within =
      std::filesystem::weakly_canonical(output).lexically_relative(std::filesystem::canonical(input));
  if (!within.empty() && *within.begin() != "..")
    throw InputError(output, "lies inside the input; give --out a folder elsewhere");
}

void RunPredict(PredictOptions& options) {
  RequireOutside(options.input, options.output);
  const auto model_path = FindModel(options.model);
  if (!model_path) throw InputError("no model found: give --model FILE");
  const Model model = LoadModel(*model_path);
  InputStream stream(OpenForPrediction(options), options.input,
                     {model.depth.input_width, model.depth.input_height});
  const auto priors = MakePriors(model, LensView(stream.GetCamera(), stream.GetMask()), {}, options.device);
  PredictionWriter writer(options.output, stream.GetCamera(), stream.GetMask());
  ProgressBar progress("predict", stream.Info().frame_count);
  int64_t done = 0;
  while (const auto frame = stream.Next()) {
    writer.Write(*frame, priors->ComputeDepthBasis(*frame), priors->ComputeFeatures(*frame));
    progress.Update(++done);
  }
  progress.Finish();
  LogInfo("wrote depth along z (value / ", kDepthScale, "), features and descriptors of ", done,
          " frames to ", options.output.string());
}

}  // namespace

void AddPredictCommand(Command& app) {
  Command& command =
      app.AddCommand("predict", "what the networks see: depth, features and descriptors as pictures");
  auto options = std::make_shared<PredictOptions>();
  command.Add("INPUT", options->input, "a picture, or any input").Required();
  command.Add("--out", options->output, "folder for the pictures").Required();
  command.Add("--model", options->model, "weights");
  AddDeviceOption(command, options->device);
  AddInputOptions(command, options->selection);
  command.Do([options] { RunPredict(*options); });
}

}  // namespace lumen
