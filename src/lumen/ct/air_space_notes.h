// What there is to say of an air space: where it lies, where it is open, and what of it may not be what it
// seems: parts that only thin walls held apart, parts that fluid fills, parts that collapsed.
#pragma once

#include "lumen/ct/air_parts.h"
#include "lumen/ct/air_spaces.h"

namespace lumen {

// "front, left, upper", by the body's box in voxels.
std::string PlaceInBody(const Volume& volume, const Eigen::AlignedBox3i& body,
                        const Eigen::AlignedBox3d& box);
// open_cm2 and cut_cm2.
void MeasureOpenings(const Volume& volume, double threshold, const AirPart& part, const VoxelMask& mask,
                     AirSpace& space);
// The diameter of the largest ball within the mask, mm; to about a voxel.
double WidestBall(const Volume& volume, const VoxelMask& mask);
void AddNotes(const Volume& volume, const VoxelMask& mask, int threads, AirSpace& space);
// Spaces that nearly touch may be one organ that collapsed, or is filled, between them.
void NoteNeighbours(std::vector<AirSpace>& spaces);

}  // namespace lumen
