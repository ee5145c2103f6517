#include "lumen/apps/app.h"
#include "lumen/apps/model_path.h"
#include "lumen/apps/vocabulary_request.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"
#include "lumen/base/progress.h"
#include "lumen/base/version.h"
#include "lumen/io/input_stream.h"
#include "lumen/loop/vocabulary.h"
#include "lumen/network/torch_backend.h"
#include "lumen/sim/suite.h"

namespace lumen {

namespace {

using ImageDescriptors = std::vector<std::vector<float>>;

void AddDescriptors(const Model& model, const Camera& camera, const Mask& mask, const std::string& device,
                    const std::vector<InputFrame>& frames, ImageDescriptors& images) {
  const auto priors = MakePriors(model, LensView(camera, mask), {}, device);
  const auto view = MakeView(camera, mask);
  for (const InputFrame& frame : frames)
    images.push_back(CollectDescriptors(priors->ComputeFeatures(frame).descriptors, view->eroded_mask));
}

// Subjects of training seeds, all kinds in turn; the benchmark's subjects are never among them.
ImageDescriptors FromSimulator(const VocabularyRequest& command, const Model& model) {
  ImageDescriptors images;
  ProgressBar progress("vocabulary", command.subjects);
  const auto kinds = static_cast<int>(AnatomyNames().size());
  for (int subject = 0; subject < command.subjects; ++subject) {
    SequenceOptions options;
    options.anatomy = static_cast<AnatomyKind>(subject % kinds);
    options.seed = kFirstTrainingSeed + static_cast<uint64_t>(subject);
    options.width = model.feature.input_width;
    options.height = model.feature.input_height;
    // Every other round through the kinds looks through a fisheye of 130°.
    if (subject / kinds % 2 == 1)
      options.camera = Camera(UnifiedCamera{0.44 * options.width, 0.44 * options.width,
                                            0.5 * (options.width - 1), 0.5 * (options.height - 1), 0.62},
                              options.width, options.height);
    options.path.kind = PathKind::kExplore;
    options.threads = AvailableCores();
    const SimulatedSequence sequence(options);
    std::vector<InputFrame> frames;
    for (int i = 0; i < command.images; ++i) {
      SimulatedFrame frame = sequence.Render(i * sequence.Size() / command.images);
      frames.push_back({frame.index, frame.time, std::move(frame.image)});
    }
    AddDescriptors(model, sequence.View(), sequence.ContentMask(), command.device, frames, images);
    progress.Update(subject + 1);
  }
  return images;
}

ImageDescriptors FromInputs(const VocabularyRequest& command, const Model& model) {
  ImageDescriptors images;
  for (const auto& input : command.inputs) {
    InputStream stream(OpenInput(input, command.selection), input,
                       {model.feature.input_width, model.feature.input_height});
    std::vector<InputFrame> frames;
    const int64_t count = stream.Info().frame_count;
    const int64_t step = count > 0 ? std::max<int64_t>(1, count / command.images) : 30;
    for (int64_t i = 0; auto frame = stream.Next(); ++i) {
      if (i % step == 0) frames.push_back(std::move(*frame));
    }
    AddDescriptors(model, stream.GetCamera(), stream.GetMask(), command.device, frames, images);
  }
  return images;
}

}  // namespace

int WriteVocabulary(const VocabularyRequest& command) {
  const auto path = FindModel(command.model);
  if (!path) throw InputError("no model found: give --model FILE");
  const Model model = LoadModel(*path);
  ImageDescriptors images;
  if (command.subjects > 0) images = FromSimulator(command, model);
  ImageDescriptors seen = FromInputs(command, model);
  images.insert(images.end(), std::make_move_iterator(seen.begin()), std::make_move_iterator(seen.end()));
  if (images.empty()) throw InputError("no images to make a vocabulary of");
  Vocabulary vocabulary = Vocabulary::Train(images, model.feature.OutputChannels(1), command.options);
  vocabulary.notes["model_hash"] = model.hash;
  vocabulary.notes["images"] = StrCat(images.size());
  vocabulary.notes["program"] = StrCat("lumen ", Version());
  vocabulary.Save(command.output);
  LogInfo(vocabulary.NumWords(), " words from ", images.size(), " images: ", command.output.string());
  return vocabulary.NumWords();
}

void AddVocabularyCommand(Command& app) {
  Command& command = app.AddCommand(
      "vocabulary", "make the words for place recognition, from videos or from simulated subjects");
  auto options = std::make_shared<VocabularyRequest>();
  command.Add("INPUT", options->inputs, "any inputs; none: simulated training subjects");
  command.Add("--out", options->output, "the vocabulary's file").Required();
  command.Add("--model", options->model, "weights");
  auto subjects = std::make_shared<int>(-1);
  command.Add("--subjects", *subjects, "simulated subjects; 48 where there are no inputs, beside them none")
      .Within(0, 10000);
  command.Add("--images", options->images, "images of each subject or input").Within(1, 10000);
  command.Add("--seed", options->options.seed, "of the clustering");
  AddDeviceOption(command, options->device);
  AddInputOptions(command, options->selection);
  command.Do([options, subjects] {
    options->subjects = *subjects >= 0 ? *subjects : options->inputs.empty() ? 48 : 0;
    WriteVocabulary(*options);
  });
}

}  // namespace lumen
