// What a surface is registered to: a mesh, or the air spaces of a CT, all of them that an endoscope might be
// in, or the one that was asked for.
#pragma once

#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lumen/apps/command.h"
#include "lumen/base/json.h"
#include "lumen/ct/air_spaces.h"
#include "lumen/io/volume_file.h"
#include "lumen/scene/mesh.h"

namespace lumen {

struct ModelChoice {
  std::filesystem::path path;
  double threshold =
      std::numeric_limits<double>::quiet_NaN();  // air below, tissue above; none: by the values
  VolumeOptions volume = {};
  int cavity = -1;        // its number; 0: everything between air and tissue; -1: all that are plausible
  std::string crop = {};  // "L0,L1,P0,P1,S0,S1" in mm: nothing outside; empty: all
};

// --threshold, --series, --cavity and --crop, or with another prefix instead of "--".
void AddModelChoice(Command& command, ModelChoice& choice, const std::string& prefix = "--");

struct ModelCavity {
  int number = 0;
  std::string words;          // "63 ml, front, in the midline, upper"
  size_t triangles_from = 0;  // of the wall
  std::vector<std::string> notes;
};
struct RegistrationModel {
  TriangleMesh wall;                  // millimetres, LPS
  std::vector<ModelCavity> cavities;  // none: a mesh, or everything
  // Which cavity most of these places are nearest to; 0: there are none.
  int CavityAt(const std::vector<Eigen::Vector3f>& places) const;
  TriangleMesh WallOf(int cavity) const;  // all, where there is no such
};

// Throws InputError. `volume`: what it was made from is put there; null where that is a mesh.
RegistrationModel LoadRegistrationModel(const ModelChoice& choice,
                                        std::shared_ptr<const Volume>* volume = nullptr);
// A mesh that can be registered has triangles and an area.
void RequireSurface(const TriangleMesh& mesh, const std::filesystem::path& path);
// The plausible ones, or the one that was chosen.
RegistrationModel JoinAirSpaces(const ModelChoice& choice, const AirSpaces& all);
AirSpaces LoadAirSpaces(const ModelChoice& choice, int threads);

// "lungs, ", "airways, " or nothing, to stand before the rest.
const char* KindInWords(const AirSpace& space);
// "63 ml, front, in the midline, upper"
std::string AirSpaceInWords(const AirSpace& space);
Json AirSpacesToJson(const AirSpaces& all);
// Whether a scope may have been in it.
bool IsPlausible(const AirSpace& space);

}  // namespace lumen
