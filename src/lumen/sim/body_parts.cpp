#include "lumen/sim/body_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "lumen/base/parallel.h"
#include "lumen/base/random.h"
#include "lumen/geometry/grid.h"
#include "lumen/sim/anatomy_shape.h"

namespace lumen {

using Eigen::AlignedBox3f;
using Eigen::Vector3f;

namespace {

constexpr float kEndless = 1e4F;  // mm

AlignedBox3f GrowBox(const AlignedBox3f& box, float mm) {
  return {box.min() - Vector3f::Constant(mm), box.max() + Vector3f::Constant(mm)};
}

struct RodShape {
  Vector3f from, along;
  float inverse_square, from_radius, widening;

  float Distance(const Vector3f& p) const {
    const Vector3f offset = p - from;
    const float t = std::clamp(offset.dot(along) * inverse_square, 0.0F, 1.0F);
    return (offset - t * along).norm() - from_radius - t * widening;
  }
};

RodShape ToRod(const Vector3f& from, const Vector3f& to, float from_radius, float to_radius) {
  const Vector3f along = to - from;
  return {from, along, 1 / std::max(1e-6F, along.squaredNorm()), from_radius, to_radius - from_radius};
}

AlignedBox3f BoxOfRod(const Vector3f& from, const Vector3f& to, float radius) {
  AlignedBox3f box(from);
  box.extend(to);
  return GrowBox(box, radius);
}

struct BakedShape {
  Vector3f origin;
  float step;
  Eigen::Vector3i size;
  std::vector<float> values;

  float Distance(const Vector3f& p) const {
    const Vector3f asked = (p - origin) / step;
    const Vector3f g = asked.cwiseMax(0).cwiseMin((size.cast<float>().array() - 1.001F).matrix());
    const Eigen::Vector3i node = g.cast<int>();
    const Vector3f t = g - node.cast<float>();
    const float* corner = &values[FlatIndex(node, size)];
    const auto row = static_cast<ptrdiff_t>(size.x());
    const ptrdiff_t slice = row * size.y();
    const auto line = [&](const float* at) { return at[0] + t.x() * (at[1] - at[0]); };
    const auto face = [&](const float* at) { return line(at) + t.y() * (line(at + row) - line(at)); };
    const float inside = face(corner) + t.z() * (face(corner + slice) - face(corner));
    return inside + step * (asked - g).norm();
  }
};

}  // namespace

BodySolid MakeEllipsoid(const Vector3f& centre, const Vector3f& radii) {
  return {[=](const Vector3f& p) { return EllipsoidDistance(p - centre, radii); },
          {centre - radii, centre + radii}};
}

BodySolid MakeRod(const Vector3f& from, const Vector3f& to, float from_radius, float to_radius) {
  const RodShape rod = ToRod(from, to, from_radius, to_radius);
  return {[rod](const Vector3f& p) { return rod.Distance(p); },
          BoxOfRod(from, to, std::max(from_radius, to_radius))};
}

BodySolid MakeTube(const std::vector<Vector3f>& through, float radius) {
  std::vector<RodShape> rods;
  AlignedBox3f box;
  for (size_t i = 0; i + 1 < through.size(); ++i) {
    rods.push_back(ToRod(through[i], through[i + 1], radius, radius));
    box.extend(BoxOfRod(through[i], through[i + 1], radius));
  }
  return {[rods](const Vector3f& p) {
            float nearest = kEndless;
            for (const RodShape& rod : rods) nearest = std::min(nearest, rod.Distance(p));
            return nearest;
          },
          box};
}

BodySolid MakeBlock(const Vector3f& centre, const Vector3f& half, float rounding) {
  return {[=](const Vector3f& p) {
            const Vector3f beyond = (p - centre).cwiseAbs() - half + Vector3f::Constant(rounding);
            return beyond.cwiseMax(0).norm() + std::min(0.0F, beyond.maxCoeff()) - rounding;
          },
          {centre - half, centre + half}};
}

BodySolid MakeColumn(const Vector3f& centre, float half_width, float half_depth) {
  const Vector3f half(half_width, half_depth, kEndless);
  return {[=](const Vector3f& p) {
            return EllipsoidDistance({p.x() - centre.x(), p.y() - centre.y(), 0}, half);
          },
          {centre - half, centre + half}};
}

BodySolid Grow(const BodySolid& solid, float mm) {
  return {[distance = solid.distance, mm](const Vector3f& p) { return distance(p) - mm; },
          GrowBox(solid.box, std::max(0.0F, mm))};
}

BodySolid Join(const BodySolid& a, const BodySolid& b, float rounding) {
  return {[=](const Vector3f& p) { return SmoothMin(a.distance(p), b.distance(p), rounding); },
          GrowBox(a.box.merged(b.box), 0.25F * rounding)};
}

BodySolid KeepAway(const BodySolid& solid, const BodyShape& other, float mm) {
  return {[=, distance = solid.distance](const Vector3f& p) {
            return SmoothMax(distance(p), mm - other(p), 1.5F);
          },
          solid.box};
}

BodySolid CutOff(const BodySolid& solid, const Vector3f& point, const Vector3f& normal) {
  const Vector3f unit = normal.normalized();
  return {[=, distance = solid.distance](const Vector3f& p) {
            return std::max(distance(p), unit.dot(p - point));
          },
          solid.box};
}

BodySolid Bake(const BodySolid& solid, const AlignedBox3f& within, float step, int threads) {
  const AlignedBox3f box = solid.box.intersection(within);
  if (box.isEmpty()) return solid;
  auto baked = std::make_shared<BakedShape>();
  baked->origin = box.min() - Vector3f::Constant(step);
  baked->step = step;
  baked->size = (box.sizes() / step).array().ceil().cast<int>() + 3;
  baked->values.resize(static_cast<size_t>(baked->size.x()) * static_cast<size_t>(baked->size.y()) *
                       static_cast<size_t>(baked->size.z()));
  ParallelFor(baked->size.z(), threads, [&](int64_t z) {
    for (int y = 0; y < baked->size.y(); ++y) {
      for (int x = 0; x < baked->size.x(); ++x) {
        const Eigen::Vector3i node(x, y, static_cast<int>(z));
        baked->values[FlatIndex(node, baked->size)] =
            solid.distance(baked->origin + step * node.cast<float>());
      }
    }
  });
  return {[baked](const Vector3f& p) { return baked->Distance(p); }, solid.box};
}

BodySolid FillTo(const BodySolid& hollow, const Rigid3& lps_from_body, float level) {
  const Vector3f posterior = lps_from_body.RotationMatrix().row(1).transpose().cast<float>();
  const auto start = static_cast<float>(lps_from_body.Translation().y());
  return {[=, distance = hollow.distance](const Vector3f& p) {
            return std::max(distance(p), level - start - posterior.dot(p));
          },
          hollow.box};
}

Body::Body(const Random& random) : noise_(random.Split("texture").NextBits()) {}

float Body::Texture(const BodyMatter& matter, const Vector3f& p) const {
  if (matter.texture == 0) return matter.hu;
  const float hu = matter.hu + matter.texture * noise_.Value(p / matter.grain);
  if (matter.planes == 0) return hu;
  // Where two octaves of noise cancel, on axes of their own so that the lattice does not show.
  const Vector3f turned(p.x() + 0.6F * p.y(), p.y() - 0.7F * p.x(), 0.5F * p.z() + 0.3F * p.x());
  const float plane = std::abs(noise_.Value(turned / 17) + 0.6F * noise_.Value(turned / 7.3F));
  const float fat = 1 - SmoothStep(0.1F * matter.planes, 0.25F * matter.planes, plane);
  return hu + fat * (kFatMatter.hu - hu);
}

void Body::PaintBone(const BodySolid& solid, float cortex) {
  Paint(solid, kCortexMatter);
  Paint(Grow(solid, -cortex), kMarrowMatter);
}

AlignedBox3f Body::Reach() const {
  return GrowBox(field_of_view, 0.08F * field_of_view.sizes().maxCoeff() + 4);
}

float AirDistance(const DistanceField& field, const Vector3f& p) {
  // A voxel within the box, where the field still says how far the air is.
  const Eigen::AlignedBox3f box = field.Bounds();
  const Vector3f edge = Vector3f::Constant(field.Voxel());
  const Vector3f inside = p.cwiseMax(box.min() + edge).cwiseMin(box.max() - edge);
  return (p - inside).norm() - field.Distance(inside);
}

BodySolid OrganAir(const Anatomy& organ, const Rigid3& body_from_anatomy) {
  const Rigid3 anatomy_from_body = body_from_anatomy.Inverse();
  const Eigen::Matrix3f turn = anatomy_from_body.RotationMatrix().cast<float>();
  const Vector3f shift = anatomy_from_body.Translation().cast<float>();
  const DistanceField* field = &organ.Field();
  const AlignedBox3f box = field->Bounds();
  AlignedBox3f in_body;
  for (int corner = 0; corner < 8; ++corner) {
    const Vector3f at = box.corner(static_cast<AlignedBox3f::CornerType>(corner));
    in_body.extend((body_from_anatomy * at.cast<double>()).cast<float>());
  }
  return {[=](const Vector3f& p) { return AirDistance(*field, turn * p + shift); }, in_body};
}

float FluidLevel(const Anatomy& organ, const Rigid3& lps_from_anatomy, double share) {
  const DistanceField& field = organ.Field();
  std::vector<float> posterior;
  ForEachCell(field.CoarseSize(), [&](const Eigen::Vector3i& node) {
    const Vector3f at = field.CoarsePosition(node);
    if (field.Distance(at) <= 0) return;
    posterior.push_back(static_cast<float>((lps_from_anatomy * at.cast<double>()).y()));
  });
  if (posterior.empty()) return std::numeric_limits<float>::max();
  const auto rank = static_cast<ptrdiff_t>((1 - share) * static_cast<double>(posterior.size() - 1));
  std::nth_element(posterior.begin(), posterior.begin() + rank, posterior.end());
  return posterior[static_cast<size_t>(rank)];
}

AlignedBox3f ChooseView(const AlignedBox3f& usual, const BodySolid& organ, const CtScanOptions& options) {
  return options.around > 0 ? GrowBox(organ.box, static_cast<float>(options.around)) : usual;
}

// A shell of carbon with foam in it and a mat on it, in the scanner's frame: it does not turn with the
// patient.
void PaintTable(float back, const Vector3f& middle, bool head_rest, Body& body) {
  const Rigid3 lps_from_body = body.lps_from_body;
  const Eigen::Matrix3f turn = lps_from_body.RotationMatrix().cast<float>();
  // Where the table would be if the patient lay straight.
  const auto place = [&](const BodySolid& straight) {
    return BodySolid{[turn, pivot = Vector3f(middle), distance = straight.distance](const Vector3f& p) {
                       return distance(turn * (p - pivot) + pivot);
                     },
                     GrowBox(straight.box, 0.1F * straight.box.sizes().maxCoeff())};
  };
  const float length = 400;
  const float width = head_rest ? 85.0F : 210.0F;
  const float mat = head_rest ? 24.0F : 14.0F;
  // The top is hollow: part of a wide cylinder lying along the patient.
  const auto hollow = [&](float top, float thickness, float half) {
    const float radius = head_rest ? 130.0F : 600.0F;
    const Vector3f axis(middle.x(), back + top - radius, 0);
    return BodySolid{[=](const Vector3f& p) {
                       const float out = std::hypot(p.x() - axis.x(), p.y() - axis.y()) - radius;
                       const float slab = std::max(-out, out - thickness);
                       return std::max({slab, std::abs(p.x() - axis.x()) - half, axis.y() - p.y()});
                     },
                     {Vector3f(middle.x() - half, back + top - radius, middle.z() - length),
                      Vector3f(middle.x() + half, back + top + thickness, middle.z() + length)}};
  };
  body.Paint(place(hollow(1, mat, width)), {-935, 12, 6});
  body.Paint(place(hollow(1 + mat, 14, width)), {-130, 10, 6});
  body.Paint(place(hollow(3 + mat, 10, width - 2)), {-960, 5, 6});
}

Rigid3 DrawPatientPose(Random random) {
  constexpr double kMostTilt = 0.08, kMostShift = 45;  // radians, mm
  const auto draw = [&](double most) {
    Eigen::Vector3d drawn;
    for (double& value : drawn) value = random.Uniform(-most, most);
    return drawn;
  };
  const Eigen::Vector3d tilt = draw(kMostTilt);
  const Eigen::Vector3d shift = draw(kMostShift);
  Vector6d turn;
  turn << Eigen::Vector3d::Zero(), tilt;
  return Rigid3(Eigen::Quaterniond::Identity(), shift) * Rigid3::Exp(turn);
}

}  // namespace lumen
