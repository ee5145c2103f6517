// The build without HDF5.
#include "lumen/io/map_file.h"
#include "lumen/io/sage_hdf5.h"

namespace lumen {

bool HaveHdf5() { return false; }
std::unique_ptr<FrameSource> OpenSageHdf5(const std::filesystem::path& path) {
  throw InputError(path, "this build of Lumen has no HDF5 and cannot read this kind of file");
}

void SaveMap(const std::filesystem::path& path, const StoredMap& /*stored*/) {
  throw OutputError(path, "this build of Lumen has no HDF5 and cannot write maps");
}
StoredMap LoadMap(const std::filesystem::path& path, int /*pyramid_levels*/) {
  throw InputError(path, "this build of Lumen has no HDF5 and cannot read maps");
}
MapOutline LoadMapOutline(const std::filesystem::path& path) {
  throw InputError(path, "this build of Lumen has no HDF5 and cannot read maps");
}
MapKeyframe LoadMapKeyframe(const std::filesystem::path& path, KeyframeId /*id*/, int /*pyramid_levels*/) {
  throw InputError(path, "this build of Lumen has no HDF5 and cannot read maps");
}

}  // namespace lumen
