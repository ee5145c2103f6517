#include "lumen/apps/app.h"
#include "lumen/apps/interrupt.h"
#include "lumen/apps/simulate_sequence.h"
#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"
#include "lumen/io/calibration.h"
#include "lumen/sim/suite.h"

namespace lumen {

namespace {

struct SimulateOptions {
  std::filesystem::path output;
  std::string subject;  // of the benchmark suite, instead of anatomy and seed
  std::string anatomy = "nasal";
  uint64_t seed = 1;
  int frames = 300;
  std::string size = "320x256";
  double fov_degrees = 77;
  std::string lens = "narrow";
  std::filesystem::path camera;
  std::string path = "insertion-retreat";
  double fps = 30;
  double speed = 0;
  int loops = 1;
  bool fine_vessels = false;
  std::string degradations;
  bool model = true;
  bool coverage = true;
  std::string ct;  // its voxels; empty: none
  CtScanOptions scan;
  int threads = 0;
};

SequenceOptions ResolveOptions(const SimulateOptions& options, const Command& command) {
  SequenceOptions sequence;
  if (!options.subject.empty()) sequence = MakeSuiteOptions(FindSuiteSubject(options.subject));
  const bool wide = ParseSuiteLens(options.lens) == SuiteLens::kWide;
  const auto given = [&](const char* name) { return options.subject.empty() || command.Given(name); };
  if (given("--anatomy")) sequence.anatomy = ParseAnatomyKind(options.anatomy);
  if (given("--seed")) sequence.seed = options.seed;
  if (given("--frames")) sequence.path.frames = options.frames;
  if (given("--path")) sequence.path.kind = ParsePathKind(options.path);
  if (given("--fps")) sequence.path.fps = options.fps;
  if (given("--speed")) sequence.path.speed = options.speed;
  if (given("--loops")) sequence.path.loops = options.loops;
  if (given("--fov")) sequence.field_of_view = options.fov_degrees;
  if (given("--size")) {
    const PixelSize size = ParsePixelSize(options.size);
    sequence.width = size.width;
    sequence.height = size.height;
  }
  if (wide) sequence.camera = MakeWideLens(sequence.width, sequence.height);
  if (!options.camera.empty()) sequence.camera = LoadCalibration(options.camera);
  sequence.fine_vessels = options.fine_vessels;
  sequence.degradations = ParseDegradations(options.degradations);
  sequence.threads = options.threads > 0 ? options.threads : AvailableCores();
  return sequence;
}

// "1" or "0.7x1.5".
CtScanOptions ParseCtSpacing(const std::string& text, CtScanOptions scan) {
  const std::vector<std::string> parts = Split(text, 'x');
  const auto pixel = ParseDouble(parts.front());
  const auto slice = ParseDouble(parts.back());
  if (parts.size() > 2 || !pixel || !slice)
    throw InputError(StrCat("--ct \"", text, "\": expected the pixels' size in mm, or PIXELxSLICE"));
  scan.pixel_mm = *pixel;
  scan.slice_mm = *slice;
  CheckCtScan(scan);
  return scan;
}

std::optional<CtScanOptions> ResolveCt(const SimulateOptions& options, uint64_t seed,
                                       const Command& command) {
  for (const char* option : {"--ct-offset", "--ct-fluid", "--ct-noise"}) {
    if (options.ct.empty() && command.Given(option)) throw InputError(StrCat(option, " needs --ct"));
  }
  if (options.ct.empty()) return std::nullopt;
  CtScanOptions scan = ParseCtSpacing(options.ct, options.scan);
  scan.seed = seed;
  return scan;
}

void RunSimulate(const SimulateOptions& options, const Command& command) {
  const SequenceOptions resolved = ResolveOptions(options, command);
  const std::string name =
      options.subject.empty() ? StrCat(AnatomyName(resolved.anatomy), "-", resolved.seed) : options.subject;
  const std::optional<CtScanOptions> ct = ResolveCt(options, resolved.seed, command);
  CatchInterrupts();  // what was begun goes
  const int frames =
      WriteSimulatedSequence(resolved, name, options.output, {options.model, options.coverage, ct});
  LogInfo("wrote ", frames, " frames of ", name, " with their truth to ", options.output.string());
}

}  // namespace

void AddSimulateCommand(Command& app) {
  Command& command = app.AddCommand("simulate", "an endoscopy in synthetic anatomy, with exact truth");
  auto options = std::make_shared<SimulateOptions>();
  command.Add("OUT", options->output, "folder to write; must be absent or empty").Required();
  command.Add("--subject", options->subject,
              "one of the benchmark suite (e.g. nasal-1), instead of anatomy and seed");
  command.Add("--anatomy", options->anatomy, "nasal, colon, bronchus or stomach")
      .Hint({"nasal", "colon", "bronchus", "stomach"})
      .ShowDefault();
  command.Add("--seed", options->seed, "which one; the same seed gives the same bytes").ShowDefault();
  command.Add("--frames", options->frames, "how many frames").ShowDefault();
  command.Add("--size", options->size, "of the images, WIDTHxHEIGHT").ShowDefault();
  command.Add("--fov", options->fov_degrees, "horizontal field of view in degrees")
      .Within(10.0, 170.0)
      .ShowDefault();
  command.Add("--lens", options->lens, "wide: a colonoscope's fisheye, instead of a field of view")
      .OneOf({"narrow", "wide"})
      .ShowDefault();
  command.Add("--camera", options->camera, "calibration of the camera to simulate, distortion included");
  command.Add("--path", options->path, "insertion, insertion-retreat, hover, explore or revisit")
      .Hint({"insertion", "insertion-retreat", "hover", "explore", "revisit"})
      .ShowDefault();
  command.Add("--fps", options->fps, "frames a second").Within(1.0, 1000.0).ShowDefault();
  command.Add("--speed", options->speed, "median mm per frame; 0: usual for the anatomy").Within(0.0, 50.0);
  command.Add("--loops", options->loops, "times in and out, at least").Within(1, 100).ShowDefault();
  command.AddFlag("--fine-vessels", options->fine_vessels, "a dense net of fine vessels all over the wall");
  command.Add("--degrade", options->degradations, "what goes wrong, e.g. smoke:3,motion-blur:2");
  command.AddFlag("!--no-model", options->model,
                  "do not write the surface (model.ply), nor what was seen of it");
  command.AddFlag("!--no-coverage", options->coverage,
                  "do not write what was seen of it (coverage_mesh.obj)");
  command.Add(
      "--ct", options->ct,
      "write a CT of the body around the organ (ct.nii, ct_from_world.txt): its voxels in mm, e.g. 1, "
      "or 0.7x1.5 for pixel and slice");
  command.Add("--ct-offset", options->scan.offset, "added to the CT's Hounsfield units")
      .Within(-20000.0, 20000.0);
  command.Add("--ct-noise", options->scan.noise, "of the CT, Hounsfield units")
      .Within(0.0, 500.0)
      .ShowDefault();
  command.AddFlag("--ct-fluid", options->scan.fluid, "water lies in the low parts of the organ");
  command.Add("--threads", options->threads, "0: all cores").Within(0, 1024);
  command.Do([options, &command] { RunSimulate(*options, command); });
}

}  // namespace lumen
