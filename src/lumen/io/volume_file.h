// Scalar volumes: NIfTI (.nii, .nii.gz), NRRD (.nrrd, .nhdr), MetaImage (.mha, .mhd), and folders of DICOM
// slices through GDCM, in a module that is loaded when first needed.
#pragma once

#include <filesystem>
#include <string>

#include "lumen/scene/volume.h"

namespace lumen {

struct VolumeOptions {
  std::string series;  // of a DICOM folder with several: its number in the list, or its UID
};

// In Hounsfield units and LPS. Throws InputError with what is wrong; a volume that does not say how large its
// voxels are is refused.
Volume LoadVolume(const std::filesystem::path& path, const VolumeOptions& options = {});
// By the ending: .nii, .nrrd, .mha. 16-bit integers.
void SaveVolume(const std::filesystem::path& path, const Volume& volume);

// The DICOM module's face: one object behind one C function.
class DicomModule {
 public:
  virtual ~DicomModule() = default;
  virtual Volume Load(const std::filesystem::path& folder, const VolumeOptions& options) const = 0;
};
constexpr const char* kDicomModuleEntry = "LumenDicomModule";
bool HaveDicom();  // the module can be loaded

}  // namespace lumen
