// An archive's folder, searched for all that can be opened as an input.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lumen {

struct FoundInput {
  std::filesystem::path path;  // absolute
  std::string name;            // relative to the folder that was searched, with "/"
};

struct FoundInputs {
  std::vector<FoundInput> inputs;  // by name
  int dicom_without_video = 0;     // slices, single pictures, and what is too damaged to tell
};

// Videos (by their ending), DICOM recordings, SAGE's HDF5, sequence folders, data sets' sequences, and
// folders of ten pictures or more that lie beside no video. A folder that is an input is not searched, nor is
// what Lumen wrote (runs, a batch's OUT), a folder called `ct`, or a hidden one. Throws InputError if the
// folder cannot be read.
FoundInputs FindInputs(const std::filesystem::path& folder);

// The patient's CT, where one lies in an input's folder or beside the input: a volume or a folder of DICOM
// slices called `ct` in it (an input that is a folder), `NAME.ct` beside it (NAME with or without its
// ending), or else `ct`; volumes with the endings .nii.gz, .nii, .nrrd, .nhdr, .mha, .mhd. Empty: none.
std::filesystem::path FindCtOf(const std::filesystem::path& input);

// A folder with this in it holds what a batch wrote.
inline constexpr const char* kBatchRecord = "batch.json";

}  // namespace lumen
