// Scalar volumes: NIfTI (.nii, .nii.gz), NRRD (.nrrd, .nhdr), MetaImage (.mha, .mhd), and folders of DICOM
// slices through GDCM, in a module that is loaded when first needed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

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

// What the DICOM module delivers.
class VolumeSink {
 public:
  virtual ~VolumeSink() = default;
  virtual void Reading(const std::string& file) = 0;  // from now on: what a crash is blamed on
  virtual void Begin(const Eigen::Vector3i& size, const Eigen::Matrix4d& lps_from_index) = 0;
  virtual void Add(const std::vector<float>& slice) = 0;  // one after the other along the third axis
};

// The DICOM module's face: one object behind one C function. It runs in a process of its own
// (base/isolated.h), because GDCM ends its process when a file breaks its assertions.
class DicomModule {
 public:
  virtual ~DicomModule() = default;
  virtual void Load(const std::filesystem::path& folder, const VolumeOptions& options,
                    VolumeSink& sink) const = 0;
};
constexpr const char* kDicomModuleEntry = "LumenDicomModule";
bool HaveDicom();  // the module can be loaded

}  // namespace lumen
