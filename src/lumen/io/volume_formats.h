// The single formats behind LoadVolume and SaveVolume, and what they share.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "lumen/scene/volume.h"

namespace lumen::volume_formats {

enum class VoxelType { kInt8, kUint8, kInt16, kUint16, kInt32, kUint32, kFloat32, kFloat64 };
size_t BytesOf(VoxelType type);

struct RawVoxels {
  VoxelType type = VoxelType::kInt16;
  bool swap_bytes = false;
  double slope = 1, intercept = 0;
};
// How many bytes the voxels take; throws InputError where the size makes no sense.
size_t BodyBytes(const Eigen::Vector3i& size, VoxelType type, const std::string& name);
// Checks size and length, and turns bytes into values. `name` is for messages.
void FillValues(const std::string& bytes, size_t offset, const RawVoxels& raw, const std::string& name,
                Volume& volume);

// gzip or zlib: the first `most` bytes of what is packed, of which the whole is checked.
std::string Inflate(const std::string& bytes, size_t most, const std::string& name);
std::string InflateStart(const std::string& bytes, size_t count, const std::string& name);  // at most so much
bool IsGzip(const std::string& bytes);

std::string UnpackNifti(const std::string& bytes, const std::string& name);  // no more than its header says
Volume ParseNifti(const std::string& bytes, const std::string& name);
Volume LoadNrrd(const std::filesystem::path& path);
Volume LoadMetaImage(const std::filesystem::path& path);
std::string FormatNifti(const Volume& volume);
std::string FormatNrrd(const Volume& volume);
std::string FormatMetaImage(const Volume& volume);
std::string FormatVoxels(const Volume& volume);  // 16-bit integers, little-endian

// The transform from axes, spacings and the place of the first voxel. Columns are the axes' steps.
Eigen::Matrix4d MakeTransform(const Eigen::Matrix3d& steps, const Eigen::Vector3d& origin);
// Throws InputError where the grid has no extent in space.
void RequireSpacing(const Volume& volume, const std::string& name);
// Throws InputError where a voxel is no number: as it lies there, or because its scale makes it one too
// large.
void RequireNumbers(const Volume& volume, const std::string& name);
Eigen::Matrix4d SwapRasAndLps(const Eigen::Matrix4d& from_index);

}  // namespace lumen::volume_formats
