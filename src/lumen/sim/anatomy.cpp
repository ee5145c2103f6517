#include "lumen/sim/anatomy.h"

#include <algorithm>

#include "lumen/base/error.h"
#include "lumen/base/random.h"
#include "lumen/base/text.h"
#include "lumen/sim/anatomy_shape.h"
#include "lumen/sim/choice.h"
#include "lumen/sim/route.h"
#include "lumen/sim/surface_net.h"
#include "lumen/sim/varied_shape.h"

namespace lumen {

namespace {

std::unique_ptr<AnatomyShape> MakeShape(AnatomyKind kind, uint64_t seed) {
  const Random random(seed);
  switch (kind) {
    case AnatomyKind::kNasal:
      return MakeNasalShape(random);
    case AnatomyKind::kColon:
      return MakeColonShape(random);
    case AnatomyKind::kBronchus:
      return MakeBronchusShape(random);
    case AnatomyKind::kStomach:
      return MakeStomachShape(random);
  }
  LUMEN_CHECK(false, "no such anatomy: ", static_cast<int>(kind));
}

}  // namespace

const std::vector<std::string>& AnatomyNames() {
  static const std::vector<std::string> names = {"nasal", "colon", "bronchus", "stomach"};
  return names;
}

std::string AnatomyName(AnatomyKind kind) { return AnatomyNames()[static_cast<size_t>(kind)]; }

AnatomyKind ParseAnatomyKind(const std::string& name) {
  return static_cast<AnatomyKind>(ParseChoice("anatomy", name, AnatomyNames()));
}

Anatomy::Anatomy(AnatomyKind kind, uint64_t seed, int threads)
    : Anatomy(kind, seed, *MakeShape(kind, seed), threads) {
  LUMEN_CHECK(!routes_.empty(), "no way into the anatomy");
}

Anatomy::Anatomy(AnatomyKind kind, uint64_t seed, const AnatomyShape& shape, int threads)
    : kind_(kind),
      seed_(seed),
      field_(shape, shape.Voxel(), threads),
      clearance_(shape.Clearance()),
      routes_(PlanRoutes(field_, {shape.Entry(), shape.Goals(), shape.Clearance()})) {}

std::unique_ptr<const Anatomy> MakeAnatomy(AnatomyKind kind, uint64_t seed, int threads) {
  return std::make_unique<const Anatomy>(kind, seed, threads);
}

std::unique_ptr<const Anatomy> MakeVariedAnatomy(AnatomyKind kind, uint64_t seed, float strength,
                                                 int threads) {
  constexpr float kLeastWay = 25;  // mm; a body may have grown across it
  for (; strength > 0.05F; strength *= 0.5F) {
    const auto shape = VaryShape(MakeShape(kind, seed), strength, Random(seed).Split("varied"));
    auto anatomy = std::make_unique<const Anatomy>(kind, seed, *shape, threads);
    if (!anatomy->Routes().empty() && anatomy->Routes().front().Length() > kLeastWay) return anatomy;
  }
  return MakeAnatomy(kind, seed, threads);
}

TriangleMesh ExportSurface(const Anatomy& anatomy) { return ExtractSurfaceNet(anatomy.Field()); }

}  // namespace lumen
