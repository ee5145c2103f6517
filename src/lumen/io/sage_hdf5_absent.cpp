// The build without HDF5.
#include "lumen/io/sage_hdf5.h"

namespace lumen {

bool HaveHdf5() { return false; }
std::unique_ptr<FrameSource> OpenSageHdf5(const std::filesystem::path& path) {
  throw InputError(path, "this build of Lumen has no HDF5 and cannot read this kind of file");
}

}  // namespace lumen
