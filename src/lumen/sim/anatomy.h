// Synthetic anatomies, endless in number: a kind and a seed give a hollow organ in millimetres, the same
// one every time. Axes follow the camera's at the entrance: x right, y down, z inwards.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lumen/geometry/curve.h"
#include "lumen/scene/mesh.h"
#include "lumen/sim/distance_field.h"

namespace lumen {

class AnatomyShape;

enum class AnatomyKind { kNasal, kColon, kBronchus, kStomach };

const std::vector<std::string>& AnatomyNames();
std::string AnatomyName(AnatomyKind kind);
// Throws InputError, with the nearest name, for a name that is none.
AnatomyKind ParseAnatomyKind(const std::string& name);

class Anatomy {
 public:
  Anatomy(AnatomyKind kind, uint64_t seed, int threads);
  // Of any shape; there may be no way in.
  Anatomy(AnatomyKind kind, uint64_t seed, const AnatomyShape& shape, int threads);

  AnatomyKind Kind() const { return kind_; }
  uint64_t Seed() const { return seed_; }
  const DistanceField& Field() const { return field_; }
  // Distance to the wall in mm, positive in the air.
  float Distance(const Eigen::Vector3f& p) const { return field_.Distance(p); }
  // What a camera keeps from the wall, mm.
  float Clearance() const { return clearance_; }
  // Ways from the entrance inwards, main way first; one per branch of an airway. Never none, unless the
  // anatomy was made of a shape that has none.
  const std::vector<ArcCurve>& Routes() const { return routes_; }

 private:
  AnatomyKind kind_;
  uint64_t seed_;
  DistanceField field_;
  float clearance_;
  std::vector<ArcCurve> routes_;
};

std::unique_ptr<const Anatomy> MakeAnatomy(AnatomyKind kind, uint64_t seed, int threads = 1);
// One that left its family (see VaryShape), for training: strength 0 … 1, drawn from the same seed.
std::unique_ptr<const Anatomy> MakeVariedAnatomy(AnatomyKind kind, uint64_t seed, float strength,
                                                 int threads = 1);

// The wall as a closed mesh, its triangles facing the air: the stand-in for a model made from a CT.
TriangleMesh ExportSurface(const Anatomy& anatomy);

}  // namespace lumen
