#include <cstdio>
#include <iostream>

#include "lumen/apps/app.h"
#include "lumen/apps/ct_model.h"
#include "lumen/apps/registering.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr int kNotRegistered = 4;

struct RegisterOptions {
  fs::path input;
  ModelChoice model;
  fs::path initial, pairs, out, json;
  ConfigChoice config;
};

std::optional<Sim3> LoadGuess(const RegisterOptions& options) {
  if (!options.initial.empty() && !options.pairs.empty())
    throw InputError("give --initial or --pairs, not both");
  if (!options.initial.empty()) return LoadSimilarity(options.initial);
  if (!options.pairs.empty()) return LoadPairs(options.pairs);
  return std::nullopt;
}

void Print(const SurfaceRegistration& registration) {
  char line[160];
  std::snprintf(line, sizeof(line), "residual        mean %.3f  median %.3f  95 %% %.3f mm\n",
                registration.residual_mean, registration.residual_median, registration.residual_p95);
  std::cout << line;
  std::snprintf(line, sizeof(line), "of all points   mean %.3f mm, no drift taken out\n",
                registration.all_residual_mean);
  std::cout << line;
  std::snprintf(line, sizeof(line), "matched         %.1f %% of the surface\nscale           %.6g\n",
                100 * registration.matched_share, registration.model_from_surface.Scale());
  std::cout << line;
  if (registration.most_scale > registration.least_scale) {
    std::snprintf(line, sizeof(line), "drift taken out %.3f to %.3f of the scale\n", registration.least_scale,
                  registration.most_scale);
    std::cout << line;
  }
  std::cout << "confident       " << (registration.confident ? "yes" : "no") << '\n';
  for (const Constraint& constraint : registration.constraints) {
    std::snprintf(line, sizeof(line), "%-42s visible %.3f, about ±%.2f mm\n", constraint.Words().c_str(),
                  constraint.visibility, constraint.uncertainty);
    std::cout << line;
  }
}

void Register(const RegisterOptions& options) {
  if (!options.json.empty()) RequireWritable(options.json);
  const AppConfig config = ResolveConfig(options.config);
  const std::optional<Sim3> guess = LoadGuess(options);
  const RegistrationInput input = LoadRegistrationInput(options.input, config.fusion);
  const RegistrationModel model = LoadRegistrationModel(options.model);
  LogInfo("registering ", input.surface.triangles.size(), " triangles to ", model.wall.triangles.size(),
          model.cavities.empty() ? "" : StrCat(" of ", model.cavities.size(), " air spaces"));
  const SurfaceRegistration registration =
      RegisterSurface(input.surface, model.wall, guess, config.registration, AvailableCores(),
                      {PathOf(input.frames), !model.cavities.empty(), input.measured});
  const RegistrationPlace place = FindPlace(input, model, registration);
  if (!options.json.empty())
    WriteFileAtomically(options.json, RegistrationToJson(registration, place).Dump(2) + "\n");
  if (!options.out.empty()) SaveRegistration(options.out, input, {model, options.model}, registration, place);
  if (registration.status != SurfaceRegistrationStatus::kRegistered) {
    std::string why;
    for (const std::string& doubt : registration.doubts) why += (why.empty() ? "" : "; ") + doubt;
    std::cerr << "lumen: not registered: " << why
              << " (is it the CT of this organ? if so, --initial or --pairs may help)\n";
    throw ExitRequest{kNotRegistered};
  }
  Print(registration);
  if (place.cavity > 0) std::cout << "in              cavity " << place.cavity << ": " << place.words << '\n';
  for (const std::string& note : place.notes) std::cout << "                " << note << '\n';
  for (const std::string& doubt : registration.doubts) LogWarning(doubt);
}

}  // namespace

void AddRegisterCommand(Command& app) {
  Command& command = app.AddCommand("register", "a surface or a run to the CT, by a similarity");
  auto options = std::make_shared<RegisterOptions>();
  command.Add("SURFACE", options->input, "a mesh, or the folder of a run").Required();
  command
      .Add("--model", options->model.path,
           "the CT: a surface (PLY, STL, OBJ) or a volume (NIfTI, NRRD, MetaImage, DICOM folder)")
      .Required();
  AddModelChoice(command, options->model);
  command.Add("--initial", options->initial, "rough transform, CT from surface: a 4x4 matrix as text");
  command.Add("--pairs", options->pairs, "rough transform by points: lines x y z X Y Z, surface and CT");
  command.Add("--out", options->out, "folder for transform, surfaces and camera path in the CT");
  command.Add("--json", options->json, "write the outcome there too");
  AddConfigOptions(command, options->config);
  command.Do([options] { Register(*options); });
}

}  // namespace lumen
