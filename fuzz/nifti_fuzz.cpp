// NIfTI, plain and packed: which it is shows in the bytes.
#include "fuzz/volume_checks.h"
#include "lumen/io/volume_formats.h"

namespace lumen::fuzz {
namespace {

void ReadNifti(const std::string& input) {
  const Volume volume = LoadVolume(WriteScratch("scan.nii", input));
  ExpectSound(volume);
  const Volume again = volume_formats::ParseNifti(volume_formats::FormatNifti(volume), kName);
  Expect(again.size == volume.size, "what is written reads back");
}

const Registration kTarget("nifti", ReadNifti);

}  // namespace
}  // namespace lumen::fuzz
