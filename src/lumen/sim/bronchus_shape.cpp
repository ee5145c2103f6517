// An airway: the trachea and four or five generations of forks behind it, with rings of cartilage.
#include <algorithm>
#include <cmath>
#include <limits>

#include "lumen/geometry/grid.h"
#include "lumen/sim/anatomy_shape.h"
#include "lumen/sim/noise.h"

namespace lumen {

using Eigen::Vector3f;

namespace {

// A straight piece of a branch with a radius that changes along it.
struct Piece {
  Vector3f start, along;  // unit vector
  float length;
  float start_radius, end_radius;
  float start_s;  // from the branch's mouth, for the rings
  int branch;
};

struct Branch {
  Vector3f front;  // unit vector across: where the cartilage is; the back wall is soft
  float ring_depth, ring_spacing;
};

struct Stub {
  Vector3f start, direction;
  float radius;
  int generation;
};

Vector3f RandomAcross(const Vector3f& direction, Random& random) {
  Vector3f any{UniformFloat(random, -1, 1), UniformFloat(random, -1, 1), UniformFloat(random, -1, 1)};
  any -= direction * direction.dot(any);
  return any.norm() > 0.05F ? Vector3f(any.normalized()) : RandomAcross(direction, random);
}

class BronchusShape : public AnatomyShape {
 public:
  explicit BronchusShape(const Random& seed);

  float Value(const Vector3f& p) const override;
  Eigen::AlignedBox3f Bounds() const override { return box_; }
  float Voxel() const override { return 0.3F; }
  float Clearance() const override { return 1.2F; }
  Vector3f Entry() const override { return pieces_.front().start + 4 * pieces_.front().along; }
  std::vector<Vector3f> Goals() const override { return tips_; }

 private:
  void Grow(const Stub& stub, Random random);
  // Lays down a gently bending branch; returns its end and the direction there.
  Stub LayBranch(const Stub& stub, float length, Random& random);
  void FillBuckets();
  const std::vector<int>& PiecesNear(const Vector3f& p) const;
  float InsidePiece(const Piece& piece, const Vector3f& p) const;

  static constexpr float kBucket = 6;
  static constexpr float kReach = 4;  // mm outside a branch at which its distance still matters
  static constexpr float kFar = -2 * kReach;
  static constexpr int kPieces = 4;  // of a branch
  float fork_angle_, ring_depth_;
  int generations_;
  std::vector<Piece> pieces_;
  std::vector<Branch> branches_;
  std::vector<Vector3f> tips_;
  Eigen::AlignedBox3f box_;
  Eigen::Vector3i buckets_size_;
  std::vector<std::vector<int>> buckets_;
  NoiseVolume noise_;
};

BronchusShape::BronchusShape(const Random& seed) : noise_(seed.Split("noise").NextBits()) {
  Random random = seed.Split("tree");
  fork_angle_ = UniformFloat(random, 0.5, 0.72);
  ring_depth_ = UniformFloat(random, 0.15, 0.55);
  generations_ = 4;
  Grow({Vector3f::Zero(), Vector3f::UnitZ(), UniformFloat(random, 6, 9), 0}, seed.Split("trachea"));
  for (const Piece& piece : pieces_) {
    for (const Vector3f& end : {piece.start, Vector3f(piece.start + piece.length * piece.along)}) {
      box_.extend(end + Vector3f::Constant(piece.start_radius + 2));
      box_.extend(end - Vector3f::Constant(piece.start_radius + 2));
    }
  }
  FillBuckets();
}

Stub BronchusShape::LayBranch(const Stub& stub, float length, Random& random) {
  Branch branch;
  branch.front = RandomAcross(stub.direction, random);
  branch.ring_depth = ring_depth_ * stub.radius / 9 * UniformFloat(random, 0.8, 1.3);
  branch.ring_spacing = 1.4F + 0.32F * stub.radius;
  branches_.push_back(branch);
  const Vector3f across = RandomAcross(stub.direction, random);
  const Vector3f sideways = across * UniformFloat(random, 0.02, 0.1);
  Stub end = stub;
  for (int i = 0; i < kPieces; ++i) {
    const float radius = end.radius;
    end.radius = stub.radius * (1 - 0.12F * static_cast<float>(i + 1) / kPieces);
    const float part = length / kPieces;
    pieces_.push_back({end.start, end.direction, part, radius, end.radius, part * static_cast<float>(i),
                       static_cast<int>(branches_.size()) - 1});
    end.start += part * end.direction;
    end.direction = (end.direction + sideways).normalized();
  }
  return end;
}

void BronchusShape::Grow(const Stub& stub, Random random) {
  const bool trachea = stub.generation == 0;
  const float length = (trachea ? UniformFloat(random, 7, 9) : UniformFloat(random, 3.4, 5.2)) * stub.radius;
  const Stub end = LayBranch(stub, length, random);
  if (stub.generation == generations_) {
    tips_.push_back(end.start);
    return;
  }
  const Vector3f plane = RandomAcross(end.direction, random);
  const float lean = UniformFloat(random, -0.3, 0.3);  // one daughter goes on straighter than the other
  const bool three = !trachea && random.Chance(0.2);
  const int daughters = three ? 3 : 2;
  for (int i = 0; i < daughters; ++i) {
    const float side = three ? static_cast<float>(i) - 1 : (i == 0 ? -1.0F : 1.0F);
    const float angle = fork_angle_ * (side + lean);
    const Vector3f out_of_plane = 0.15F * RandomAcross(end.direction, random);
    const Vector3f direction =
        (std::cos(angle) * end.direction + std::sin(angle) * plane + out_of_plane).normalized();
    const float radius =
        end.radius * (UniformFloat(random, 0.74, 0.86) - 0.08F * side * lean - (three ? 0.08F : 0));
    Grow({end.start, direction, radius, stub.generation + 1}, random.Split(static_cast<uint64_t>(i)));
  }
}

void BronchusShape::FillBuckets() {
  buckets_size_ = (box_.sizes() / kBucket).array().ceil().cast<int>().max(1);
  buckets_.resize(static_cast<size_t>(buckets_size_.prod()));
  const float diagonal = 0.5F * kBucket * std::sqrt(3.0F);
  ForEachCell(buckets_size_, [&](const Eigen::Vector3i& cell) {
    const Vector3f centre = box_.min() + kBucket * (cell.cast<float>().array() + 0.5F).matrix();
    std::vector<int>& bucket = buckets_[FlatIndex(cell, buckets_size_)];
    for (size_t i = 0; i < pieces_.size(); ++i) {
      if (InsidePiece(pieces_[i], centre) > -diagonal - kReach) bucket.push_back(static_cast<int>(i));
    }
  });
}

const std::vector<int>& BronchusShape::PiecesNear(const Vector3f& p) const {
  return buckets_[FlatIndex(NearestCell((p - box_.min()) / kBucket, buckets_size_), buckets_size_)];
}

// Depth inside the piece, rings included; negative outside.
float BronchusShape::InsidePiece(const Piece& piece, const Vector3f& p) const {
  const Vector3f offset = p - piece.start;
  const float along = std::clamp(offset.dot(piece.along), 0.0F, piece.length);
  const Vector3f across = offset - along * piece.along;
  const float distance = across.norm();
  const float radius = piece.start_radius + (piece.end_radius - piece.start_radius) * along / piece.length;
  if (std::abs(radius - distance) > 2) return radius - distance;
  const Branch& branch = branches_[static_cast<size_t>(piece.branch)];
  const float front = SmoothStep(-0.6F, -0.2F, across.dot(branch.front) / (distance + 1e-6F));
  const float wave = std::cos(6.2832F * (piece.start_s + along) / branch.ring_spacing);
  // Between the rings the wall sinks back further than the rings stand out, and the soft back wall flattens
  // it.
  return radius - distance - branch.ring_depth * front * wave - 0.1F * radius * (1 - front);
}

float BronchusShape::Value(const Vector3f& p) const {
  // Pieces of one branch join hard (they are nearly in line), branches with a rounded edge.
  float air = kFar;
  float branch_air = kFar;
  int branch = -1;
  for (const int index : PiecesNear(p)) {
    const Piece& piece = pieces_[static_cast<size_t>(index)];
    if (piece.branch != branch) {
      air = SmoothMax(air, branch_air, 1.6F);
      branch_air = kFar;
      branch = piece.branch;
    }
    branch_air = std::max(branch_air, InsidePiece(piece, p));
  }
  air = SmoothMax(air, branch_air, 1.6F);
  if (air < -2) return air;
  return air + 0.3F * noise_.Value(p / 6.0F) + 0.1F * noise_.Value(p / 2.1F + Vector3f(3, 9, 4));
}

}  // namespace

std::unique_ptr<AnatomyShape> MakeBronchusShape(const Random& random) {
  return std::make_unique<BronchusShape>(random);
}

}  // namespace lumen
