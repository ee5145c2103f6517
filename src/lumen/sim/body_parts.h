// What bodies are built of: solids as distance functions, painted one over the other. Inside this room only.
#pragma once

#include <functional>
#include <vector>

#include "lumen/geometry/rigid3.h"
#include "lumen/sim/anatomy.h"
#include "lumen/sim/body.h"
#include "lumen/sim/noise.h"

namespace lumen {

// About the distance in mm, negative inside.
using BodyShape = std::function<float(const Eigen::Vector3f&)>;

struct BodySolid {
  BodyShape distance;
  Eigen::AlignedBox3f box;  // holds all of it
};

struct BodyMatter {
  float hu;
  float texture = 0;  // HU, amplitude
  float grain = 4;    // mm, of the texture
  float planes = 0;   // fat in sheets between what it is; 0: none, 1: many
};

inline constexpr BodyMatter kAirMatter = {-1000};
inline constexpr BodyMatter kSkinMatter = {10};
inline constexpr BodyMatter kFatMatter = {-100, 12, 5};
inline constexpr BodyMatter kMuscleMatter = {52, 14, 4, 0.5F};
inline constexpr BodyMatter kMucosaMatter = {42, 6, 3};
inline constexpr BodyMatter kSoftMatter = {45, 8, 5};
inline constexpr BodyMatter kWaterMatter = {18, 3, 5};
inline constexpr BodyMatter kCortexMatter = {1050, 150, 3};
inline constexpr BodyMatter kMarrowMatter = {280, 110, 2};

BodySolid MakeEllipsoid(const Eigen::Vector3f& centre, const Eigen::Vector3f& radii);
// A rod with round ends whose radius changes along it.
BodySolid MakeRod(const Eigen::Vector3f& from, const Eigen::Vector3f& to, float from_radius, float to_radius);
BodySolid MakeTube(const std::vector<Eigen::Vector3f>& through, float radius);
BodySolid MakeBlock(const Eigen::Vector3f& centre, const Eigen::Vector3f& half, float rounding);
// An ellipse swept along S (the third axis) without end.
BodySolid MakeColumn(const Eigen::Vector3f& centre, float half_width, float half_depth);

BodySolid Grow(const BodySolid& solid, float mm);
BodySolid Join(const BodySolid& a, const BodySolid& b, float rounding);
// The solid without what lies within `mm` of another.
BodySolid KeepAway(const BodySolid& solid, const BodyShape& other, float mm);
// The solid on one side of a plane: where normal·(p - point) < 0.
BodySolid CutOff(const BodySolid& solid, const Eigen::Vector3f& point, const Eigen::Vector3f& normal);
// The same from a grid of this many mm, good within the box: for smooth solids that are made of many and
// asked for often.
BodySolid Bake(const BodySolid& solid, const Eigen::AlignedBox3f& within, float step, int threads);
// Of the solid, what lies behind (posterior of) a level: fluid in a hollow.
BodySolid FillTo(const BodySolid& hollow, const Rigid3& lps_from_body, float level);

// A body is painted in its own frame: left, posterior, superior as the patient is made, before the patient is
// laid on the table a little askew.
class Body {
 public:
  struct Part {
    BodySolid solid;
    BodyMatter matter;
  };

  explicit Body(const Random& random);

  void Paint(const BodySolid& solid, const BodyMatter& matter) { parts_.push_back({solid, matter}); }
  // Cortex with marrow inside.
  void PaintBone(const BodySolid& solid, float cortex);
  void Open(const Eigen::Vector3f& centre, float radius) { openings_.push_back({centre, radius}); }

  const std::vector<Part>& Parts() const { return parts_; }
  float Texture(const BodyMatter& matter, const Eigen::Vector3f& p) const;

  struct Opening {
    Eigen::Vector3f centre;
    float radius;
  };
  const std::vector<Opening>& Openings() const { return openings_; }

  Rigid3 body_from_anatomy;
  Rigid3 lps_from_body;
  // Where a voxel can lie, however the patient does.
  Eigen::AlignedBox3f Reach() const;

  Eigen::AlignedBox3f field_of_view;  // what is scanned: in the body's frame, but upright on the table

 private:
  std::vector<Part> parts_;
  std::vector<Opening> openings_;
  NoiseVolume noise_;
};

// The organ's air as a solid of the body, and its wall.
BodySolid OrganAir(const Anatomy& organ, const Rigid3& body_from_anatomy);
// The same of any field; far outside its box the distance is that to the box.
float AirDistance(const DistanceField& field, const Eigen::Vector3f& p);
// The level (LPS, posterior) behind which this share of the organ's air lies.
float FluidLevel(const Anatomy& organ, const Rigid3& lps_from_anatomy, double share);

// What is scanned of a body: all that is usual, or what lies about the organ.
Eigen::AlignedBox3f ChooseView(const Eigen::AlignedBox3f& usual, const BodySolid& organ,
                               const CtScanOptions& options);

void PaintTable(float back, const Eigen::Vector3f& middle, bool head_rest, Body& body);

// The patient's frame: lps_from_body and body_from_anatomy are set first, then the body is painted.
Body MakeHead(const Anatomy& nose, const CtScanOptions& options, int threads);
Body MakeTrunk(const Anatomy& organ, const CtScanOptions& options, int threads);

// Laid down a few degrees askew, and some centimetres from the scanner's origin.
Rigid3 DrawPatientPose(Random random);

}  // namespace lumen
