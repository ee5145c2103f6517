#include "lumen/apps/final_registration.h"

#include "lumen/base/error.h"
#include "lumen/base/parallel.h"
#include "lumen/base/timer.h"
#include "lumen/io/run_folder.h"

namespace lumen {

std::shared_ptr<const CtRegistration> RegisterFinished(const std::filesystem::path& run,
                                                       const NavigationCt& ct,
                                                       const LiveRegistrationOptions& options,
                                                       const std::optional<Sim3>& guess, bool hurry) {
  if (!guess && hurry) return nullptr;
  const Stopwatch clock;
  const RegistrationInput input = LoadRegistrationInput(run, options.fusion);
  RegistrationHints hints{PathOf(input.frames), !ct.model.cavities.empty(), input.measured};
  if (!guess) hints.start = options.start;
  const int threads = AvailableCores();
  const auto fit = [&](const std::optional<Sim3>& from) {
    return RegisterSurface(input.surface, ct.model.wall, from,
                           NearBefore(options.registration, from.has_value()), threads, hints);
  };
  SurfaceRegistration result = fit(guess);
  if (guess && !result.confident && !hurry) {
    hints.start = options.start;
    result = fit(std::nullopt);
  }
  const RegistrationPlace place = FindPlace(input, ct.model, result);
  SaveRegistration(run / run_file::kRegistration, input, {ct.model, options.ct}, result, place);
  auto answer = std::make_shared<CtRegistration>();
  answer->result = std::move(result);
  answer->confident = answer->result.confident;
  answer->place = place;
  answer->grain_mm = ct.grain_mm;
  if (!input.frames.empty())
    answer->camera = answer->result.model_from_surface * input.frames.back().world_from_camera.Translation();
  answer->last = true;
  answer->seconds = clock.ElapsedMs() / 1000;
  if (answer->result.status != SurfaceRegistrationStatus::kRegistered) return nullptr;
  answer->surface = ShowResiduals(PlaceSurface(input.surface, answer->result.placement), ct, threads);
  return answer;
}

}  // namespace lumen
