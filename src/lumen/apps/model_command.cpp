#include <cstdio>
#include <iostream>

#include "lumen/apps/app.h"
#include "lumen/apps/cavity_picture.h"
#include "lumen/apps/ct_model.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"
#include "lumen/io/mesh_file.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

struct ModelOptions {
  ModelChoice choice;
  fs::path out;
  double least_ml = 0.5;
};

void PrintSpaces(const AirSpaces& all) {
  char line[200];
  for (const AirSpace& space : all.spaces) {
    std::snprintf(line, sizeof(line), "%3d  %8.1f ml  %6.0f cm2  widest %4.0f mm  %4.0f x %4.0f x %4.0f mm  ",
                  space.number, space.volume_ml, space.area_cm2, space.widest_mm, space.box.sizes().x(),
                  space.box.sizes().y(), space.box.sizes().z());
    std::cout << line << KindInWords(space) << space.place;
    constexpr double kLeastOpening = 0.1;  // cm²
    if (space.open_cm2 > kLeastOpening) {
      std::snprintf(line, sizeof(line), "; opens outwards, closed over %.1f cm2", space.open_cm2);
      std::cout << line;
    }
    std::cout << '\n';
    for (const std::string& note : space.notes) std::cout << "     " << note << '\n';
  }
  std::snprintf(line, sizeof(line), "air at %.0f, tissue at %.0f, the wall between at %.0f\n", all.levels.air,
                all.levels.tissue, all.threshold);
  std::cout << line;
  for (const std::string& note : all.notes) std::cout << note << '\n';
  if (all.small > 0) {
    std::snprintf(line, sizeof(line), "%d more, smaller: %.1f ml in all\n", all.small, all.small_ml);
    std::cout << line;
  }
}

void RunModel(const ModelOptions& options) {
  if (!options.out.empty()) MakeDirectories(options.out);
  const Volume volume = LoadVolume(options.choice.path, options.choice.volume);
  AirSpaceOptions air;
  air.threshold = options.choice.threshold;
  air.least_ml = options.least_ml;
  const AirSpaces all = FindAirSpaces(volume, options.choice.path.string(), air, AvailableCores());
  PrintSpaces(all);
  if (options.out.empty()) return;
  for (const AirSpace& space : all.spaces) {
    char name[32];
    std::snprintf(name, sizeof(name), "cavity_%02d.ply", space.number);
    SaveMesh(options.out / name, space.wall, "SPACE=LPS");
  }
  WriteFileAtomically(options.out / "cavities.svg", DrawAirSpaces(volume, all));
  WriteFileAtomically(options.out / "cavities.json", AirSpacesToJson(all).Dump(2) + "\n");
  LogInfo("wrote ", all.spaces.size(), " meshes (LPS, mm), cavities.svg to look at and cavities.json to ",
          options.out.string());
}

}  // namespace

void AddModelCommand(Command& app) {
  Command& command = app.AddCommand("model", "the air spaces in a CT, each a model to register to");
  auto options = std::make_shared<ModelOptions>();
  command.Add("CT", options->choice.path, "a volume: NIfTI, NRRD, MetaImage, or a DICOM folder").Required();
  command.Add("--out", options->out, "folder for meshes, a picture and a list");
  command.Add("--threshold", options->choice.threshold, "between air and tissue; otherwise by the values");
  command.Add("--series", options->choice.volume.series, "of a DICOM folder that holds several");
  command.Add("--least", options->least_ml, "ml; smaller ones are only counted")
      .Within(0.01, 1e6)
      .ShowDefault();
  command.Do([options] { RunModel(*options); });
}

}  // namespace lumen
