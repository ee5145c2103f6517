#include "lumen/apps/app.h"
#include "lumen/apps/fuse_run.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/io/mesh_file.h"

namespace lumen {

namespace {

constexpr double kFineFarthest = 2;  // median depths: what is seen from farther away alone is known badly

void Fuse(const std::filesystem::path& run, const std::filesystem::path& output, bool fine,
          const ConfigChoice& choice) {
  if (!IsMeshFile(output, true)) throw InputError(output, "must end in .ply, .obj, .stl or .glb");
  RequireWritable(output);
  AppConfig config = ResolveConfig(choice);
  if (fine && config.fusion.farthest == 0) config.fusion.farthest = kFineFarthest;
  const RunFolder folder = ReadRunFolder(run);
  const FusionResult result =
      fine ? FuseRunFinely(folder, config.fusion, config.depth) : FuseRun(folder, config.fusion);
  SaveMesh(output, result.mesh, "Lumen: in the map's unit and frame");
  LogInfo(result.mesh.vertices.size(), " vertices, ", result.mesh.triangles.size(), " triangles, voxels of ",
          result.voxel, " (", result.memory_bytes / 1000000, " MB): ", output.string());
}

}  // namespace

void AddFuseCommand(Command& app) {
  Command& command = app.AddCommand("fuse", "a run's depth maps into one surface");
  struct State {
    std::filesystem::path run, output;
    bool fine = false;
    ConfigChoice choice;
  };
  auto state = std::make_shared<State>();
  command.Add("RUN", state->run, "folder of a run").Required();
  command.Add("--out", state->output, "the surface: .ply, .obj, .stl or .glb").Required();
  command.AddFlag("--fine", state->fine,
                  "as finely as the pictures allow, and only what was seen from near enough: for printing");
  AddConfigOptions(command, state->choice);
  command.Do([state] { Fuse(state->run, state->output, state->fine, state->choice); });
}

}  // namespace lumen
