// SAGE's fusion_data.hdf5: color, mask, intrinsics; extrinsics and depth where they are there.
#pragma once

#include <memory>

#include "lumen/io/frame_source.h"

namespace lumen {

bool HaveHdf5();
// The authors' files hold BGR; it is turned to RGB here.
std::unique_ptr<FrameSource> OpenSageHdf5(const std::filesystem::path& path);

}  // namespace lumen
