#include "lumen/surface/triangle_tree.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lumen/surface/mesh_tools.h"

namespace lumen {

using Eigen::Vector3d;
using Eigen::Vector3f;

namespace {

constexpr int kLeaf = 4;

// Barycentric weights on the edge from corner i to corner k.
Vector3d OnEdge(int i, int k, double toward_k) {
  Vector3d weights = Vector3d::Zero();
  weights[i] = 1 - toward_k;
  weights[k] = toward_k;
  return weights;
}

}  // namespace

// By Voronoi regions of the corners, edges and the face.
Vector3d NearestOnTriangle(const Vector3d& p, const std::array<Vector3d, 3>& c) {
  const Vector3d ab = c[1] - c[0], ac = c[2] - c[0];
  const double d1 = ab.dot(p - c[0]), d2 = ac.dot(p - c[0]);
  if (d1 <= 0 && d2 <= 0) return Vector3d::UnitX();
  const double d3 = ab.dot(p - c[1]), d4 = ac.dot(p - c[1]);
  if (d3 >= 0 && d4 <= d3) return Vector3d::UnitY();
  const double along_ab = d1 * d4 - d3 * d2;
  if (along_ab <= 0 && d1 >= 0 && d3 <= 0) return OnEdge(0, 1, d1 - d3 > 0 ? d1 / (d1 - d3) : 0);
  const double d5 = ab.dot(p - c[2]), d6 = ac.dot(p - c[2]);
  if (d6 >= 0 && d5 <= d6) return Vector3d::UnitZ();
  const double along_ac = d5 * d2 - d1 * d6;
  if (along_ac <= 0 && d2 >= 0 && d6 <= 0) return OnEdge(0, 2, d2 - d6 > 0 ? d2 / (d2 - d6) : 0);
  const double along_bc = d3 * d6 - d5 * d4;
  if (along_bc <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0) {
    const double whole = (d4 - d3) + (d5 - d6);
    return OnEdge(1, 2, whole > 0 ? (d4 - d3) / whole : 0);
  }
  const double sum = along_ab + along_ac + along_bc;
  return {along_bc / sum, along_ac / sum, along_ab / sum};
}

TriangleTree::TriangleTree(const TriangleMesh& mesh) {
  const std::vector<Vector3f> normals = ComputeVertexNormals(mesh);
  std::vector<Vector3f> centres;
  for (const auto& t : mesh.triangles) {
    std::array<Vector3f, 3> corners, corner_normals;
    for (size_t k = 0; k < 3; ++k) {
      corners[k] = mesh.vertices[static_cast<size_t>(t[k])];
      corner_normals[k] = normals[static_cast<size_t>(t[k])];
    }
    corners_.push_back(corners);
    normals_.push_back(corner_normals);
    centres.push_back((corners[0] + corners[1] + corners[2]) / 3);
  }
  order_.resize(corners_.size());
  std::iota(order_.begin(), order_.end(), 0);
  if (order_.empty()) {
    nodes_.emplace_back();
    return;
  }
  BuildNode(0, static_cast<int>(order_.size()), centres);
  BuildBoxes(0);
}

// Halves the triangles along the longest side of their centres' box.
int TriangleTree::BuildNode(int begin, int end, const std::vector<Vector3f>& centres) {
  const auto index = static_cast<int>(nodes_.size());
  nodes_.emplace_back();
  Eigen::AlignedBox3f box, spread;
  for (int i = begin; i < end; ++i) {
    const auto triangle = static_cast<size_t>(order_[static_cast<size_t>(i)]);
    for (const Vector3f& corner : corners_[triangle]) box.extend(corner);
    spread.extend(centres[triangle]);
  }
  nodes_[static_cast<size_t>(index)].box = box;
  if (end - begin <= kLeaf) {
    nodes_[static_cast<size_t>(index)].first = begin;
    nodes_[static_cast<size_t>(index)].count = end - begin;
    return index;
  }
  int axis = 0;
  spread.sizes().maxCoeff(&axis);
  const int middle = (begin + end) / 2;
  std::nth_element(order_.begin() + begin, order_.begin() + middle, order_.begin() + end, [&](int a, int b) {
    return centres[static_cast<size_t>(a)][axis] < centres[static_cast<size_t>(b)][axis];
  });
  BuildNode(begin, middle, centres);
  const int right = BuildNode(middle, end, centres);
  nodes_[static_cast<size_t>(index)].first = right;
  return index;
}

void TriangleTree::TestTriangle(int triangle, const Vector3d& p, const Vector3d* n, double normal_cost,
                                SurfaceHit& best) const {
  std::array<Vector3d, 3> corners;
  for (size_t k = 0; k < 3; ++k) corners[k] = corners_[static_cast<size_t>(triangle)][k].cast<double>();
  const Vector3d weights = NearestOnTriangle(p, corners);
  const Vector3d x = weights[0] * corners[0] + weights[1] * corners[1] + weights[2] * corners[2];
  double cost = (x - p).squaredNorm();
  if (cost >= best.cost) return;
  Vector3d normal = Vector3d::Zero();
  for (size_t k = 0; k < 3; ++k)
    normal +=
        weights[static_cast<Eigen::Index>(k)] * normals_[static_cast<size_t>(triangle)][k].cast<double>();
  normal.normalize();
  if (n != nullptr) cost += normal_cost * (1 - n->dot(normal));
  if (cost < best.cost) best = {x, normal, cost, triangle};
}

int TriangleTree::BuildTriangles(const Node& leaf) {
  FourTriangles four;
  for (int k = 0; k < kLeaf; ++k) {
    const bool there = k < leaf.count;
    const int triangle = order_[static_cast<size_t>(leaf.first + (there ? k : 0))];
    const auto& corners = corners_[static_cast<size_t>(triangle)];
    const Vector3f second = corners[1] - corners[0], third = corners[2] - corners[0];
    const Vector3f normal = second.cross(third).normalized();
    for (int axis = 0; axis < 3; ++axis) {
      const auto d = static_cast<size_t>(axis);
      four.corner[d][k] = corners[0][axis];
      four.to_second[d][k] = second[axis];
      four.to_third[d][k] = third[axis];
      four.normal[d][k] = normal[axis];
    }
    four.second_squared[k] = second.squaredNorm();
    four.third_squared[k] = third.squaredNorm();
    four.across[k] = second.dot(third);
    four.triangle[static_cast<size_t>(k)] = there ? triangle : -1;
  }
  triangles_.push_back(four);
  return -static_cast<int>(triangles_.size());
}

// The children of a node's children, or a child itself where that is a leaf.
int TriangleTree::BuildBoxes(int node) {
  const auto index = boxes_.size();
  boxes_.emplace_back();
  std::array<int, 4> below = {node, -1, -1, -1};
  size_t count = 1;
  for (size_t level = 0; level < 2; ++level)
    for (size_t k = count; k-- > 0;) {
      const Node& open = nodes_[static_cast<size_t>(below[k])];
      if (open.count > 0) continue;
      ++below[k];  // the left child
      below[count++] = open.first;
    }
  for (size_t k = 0; k < 4; ++k) {
    // None: nothing is nearer than infinitely far.
    const Eigen::AlignedBox3f box =
        k < count ? nodes_[static_cast<size_t>(below[k])].box
                  : Eigen::AlignedBox3f(Vector3f::Constant(std::numeric_limits<float>::infinity()));
    for (int axis = 0; axis < 3; ++axis) {
      boxes_[index].low[static_cast<size_t>(axis)][static_cast<Eigen::Index>(k)] = box.min()[axis];
      boxes_[index].high[static_cast<size_t>(axis)][static_cast<Eigen::Index>(k)] = box.max()[axis];
    }
    if (k >= count) continue;
    const Node& open = nodes_[static_cast<size_t>(below[k])];
    const int child = open.count > 0 ? BuildTriangles(open) : BuildBoxes(below[k]);
    boxes_[index].child[k] = child;
  }
  return static_cast<int>(index);
}

inline TriangleTree::Four TriangleTree::DistanceTo(const FourBoxes& boxes, const Vector3f& p) {
  Four squared = Four::Zero();
  for (size_t d = 0; d < 3; ++d) {
    const float at = p[static_cast<Eigen::Index>(d)];
    const Four outside = (boxes.low[d] - at).max(at - boxes.high[d]).max(0.0F);
    squared += outside * outside;
  }
  return squared;
}

namespace {

// Of a place with this squared distance from the side's begin, and this dot product with the side.
inline Eigen::Array4f ToSide(const Eigen::Array4f& from_squared, const Eigen::Array4f& along,
                             const Eigen::Array4f& side_squared) {
  constexpr float kTiny = 1e-30F;
  const Eigen::Array4f share = (along / side_squared.max(kTiny)).max(0.0F).min(1.0F);
  return from_squared + share * (share * side_squared - 2 * along);
}

}  // namespace

// To the three sides, and to the plane where p is before the face: the least of them. All of it follows from
// where p is as seen along the sides.
inline TriangleTree::Four TriangleTree::DistanceTo(const FourTriangles& t, const Vector3f& p) {
  constexpr float kRounding = 4e-6F;
  Four squared = Four::Zero(), second = squared, third = squared, above = squared;
  for (size_t d = 0; d < 3; ++d) {
    const Four from = p[static_cast<Eigen::Index>(d)] - t.corner[d];
    squared += from * from;
    second += from * t.to_second[d];
    third += from * t.to_third[d];
    above += from * t.normal[d];
  }
  const Four last_squared = t.second_squared + t.third_squared - 2 * t.across;
  const Four sides = ToSide(squared, second, t.second_squared)
                         .min(ToSide(squared, third, t.third_squared))
                         .min(ToSide(squared - 2 * second + t.second_squared,
                                     third - second - t.across + t.second_squared, last_squared));
  // Barycentric weights times twice the area, squared; one that is negative says that p is not before the
  // face.
  const Four by_second = t.third_squared * second - t.across * third;
  const Four by_third = t.second_squared * third - t.across * second;
  const Four whole = t.second_squared * t.third_squared - t.across * t.across;
  const Four outside = (-by_second).max(-by_third).max(by_second + by_third - whole).max(0.0F);
  constexpr float kFar = 1e30F;
  const Four plane = above * above + (outside * kFar).min(kFar);
  return sides.min(plane) - kRounding * (squared + t.second_squared + t.third_squared);
}

std::optional<SurfaceHit> TriangleTree::Find(const Vector3d& p, const Vector3d* n, double normal_cost,
                                             double reach) const {
  SurfaceHit best;
  best.cost = reach * reach;
  const Vector3f q = p.cast<float>();
  struct Open {
    int child;
    float distance;
  };
  std::array<Open, 128> stack;
  size_t top = 0;
  if (!Empty()) stack[top++] = {0, 0};
  while (top > 0) {
    const Open open = stack[--top];
    if (static_cast<double>(open.distance) >= best.cost) continue;
    if (open.child < 0) {
      const FourTriangles& four = triangles_[static_cast<size_t>(-1 - open.child)];
      const Four distance = DistanceTo(four, q);
      for (size_t k = 0; k < 4; ++k)
        if (four.triangle[k] >= 0 && static_cast<double>(distance[static_cast<Eigen::Index>(k)]) < best.cost)
          TestTriangle(four.triangle[k], p, n, normal_cost, best);
      continue;
    }
    const FourBoxes& boxes = boxes_[static_cast<size_t>(open.child)];
    const Four distance = DistanceTo(boxes, q);
    // The nearest is opened first: what is dearer lies deeper.
    const size_t bottom = top;
    for (size_t k = 0; k < 4; ++k) {
      const float far = distance[static_cast<Eigen::Index>(k)];
      if (!(static_cast<double>(far) < best.cost)) continue;
      size_t at = top++;
      for (; at > bottom && stack[at - 1].distance < far; --at) stack[at] = stack[at - 1];
      stack[at] = {boxes.child[k], far};
    }
  }
  if (best.triangle < 0) return std::nullopt;
  return best;
}

std::optional<SurfaceHit> TriangleTree::FindNearest(const Vector3d& p, double reach) const {
  return Find(p, nullptr, 0, reach);
}

std::optional<SurfaceHit> TriangleTree::FindLikeliest(const Vector3d& p, const Vector3d& n,
                                                      double normal_cost, double reach) const {
  return Find(p, &n, normal_cost, reach);
}

namespace {

struct Ray {
  Vector3d origin, direction, inverse;
};

Ray MakeRay(const Vector3d& origin, const Vector3d& direction) {
  constexpr double kAlmostNone = 1e-12;
  Ray ray{origin, direction, Vector3d::Zero()};
  for (int k = 0; k < 3; ++k)
    ray.inverse[k] = 1 / (std::abs(direction[k]) > kAlmostNone ? direction[k] : kAlmostNone);
  return ray;
}

// Where the ray enters a box; infinity if it does not, or not before `most`.
double EnterBox(const Ray& ray, const Eigen::AlignedBox3f& box, double most) {
  const Vector3d low = (box.min().cast<double>() - ray.origin).cwiseProduct(ray.inverse);
  const Vector3d high = (box.max().cast<double>() - ray.origin).cwiseProduct(ray.inverse);
  const double enter = std::max(low.cwiseMin(high).maxCoeff(), 0.0);
  const double leave = std::min(low.cwiseMax(high).minCoeff(), most);
  return enter <= leave ? enter : std::numeric_limits<double>::infinity();
}

// Möller and Trumbore's test; infinity for a miss.
double MeetTriangle(const Ray& ray, const std::array<Vector3f, 3>& corners) {
  constexpr double kMiss = std::numeric_limits<double>::infinity();
  constexpr double kParallel = 1e-14;
  const Vector3d a = corners[0].cast<double>();
  const Vector3d ab = corners[1].cast<double>() - a, ac = corners[2].cast<double>() - a;
  const Vector3d across = ray.direction.cross(ac);
  const double volume = ab.dot(across);
  if (std::abs(volume) < kParallel) return kMiss;
  const Vector3d from = ray.origin - a;
  const double u = from.dot(across) / volume;
  const Vector3d turned = from.cross(ab);
  const double v = ray.direction.dot(turned) / volume;
  constexpr double kSeam = -1e-9;  // a ray through an edge meets one of its two triangles
  if (u < kSeam || v < kSeam || 1 - u - v < kSeam) return kMiss;
  const double distance = ac.dot(turned) / volume;
  return distance > 0 ? distance : kMiss;
}

}  // namespace

std::optional<double> TriangleTree::FindFirst(const Vector3d& origin, const Vector3d& direction) const {
  const auto hit = FindFirstFace(origin, direction);
  return hit ? std::optional((hit->point - origin).dot(direction)) : std::nullopt;
}

std::optional<SurfaceHit> TriangleTree::FindFirstFace(const Vector3d& origin,
                                                      const Vector3d& direction) const {
  if (Empty()) return std::nullopt;
  const Ray ray = MakeRay(origin, direction);
  double best = std::numeric_limits<double>::infinity();
  int triangle = -1;
  std::array<int, 64> stack;
  size_t top = 0;
  stack[top++] = 0;
  while (top > 0) {
    const int index = stack[--top];
    const Node& node = nodes_[static_cast<size_t>(index)];
    if (!(EnterBox(ray, node.box, best) < best)) continue;
    for (int i = node.first; i < node.first + node.count; ++i) {
      const int candidate = order_[static_cast<size_t>(i)];
      const double distance = MeetTriangle(ray, corners_[static_cast<size_t>(candidate)]);
      if (distance >= best) continue;
      best = distance;
      triangle = candidate;
    }
    if (node.count > 0) continue;
    const double left = EnterBox(ray, nodes_[static_cast<size_t>(index + 1)].box, best);
    const double right = EnterBox(ray, nodes_[static_cast<size_t>(node.first)].box, best);
    stack[top++] = left < right ? node.first : index + 1;  // the nearer one is opened first
    stack[top++] = left < right ? index + 1 : node.first;
  }
  if (triangle < 0) return std::nullopt;
  const auto& corners = corners_[static_cast<size_t>(triangle)];
  const Vector3d across = (corners[1] - corners[0]).cross(corners[2] - corners[0]).cast<double>();
  return SurfaceHit{origin + best * direction, across.normalized(), best * best, triangle};
}

bool TriangleTree::Blocks(const Vector3d& from, const Vector3d& to, double slack) const {
  const double distance = (to - from).norm();
  if (Empty() || !(distance > slack)) return false;
  const Vector3d direction = (to - from) / distance;
  const Ray ray = MakeRay(from + slack * direction, direction);
  const double most = distance - slack;
  std::array<int, 64> stack;
  size_t top = 0;
  stack[top++] = 0;
  while (top > 0) {
    const int index = stack[--top];
    const Node& node = nodes_[static_cast<size_t>(index)];
    if (!(EnterBox(ray, node.box, most) < most)) continue;
    for (int i = node.first; i < node.first + node.count; ++i)
      if (MeetTriangle(ray, corners_[static_cast<size_t>(order_[static_cast<size_t>(i)])]) < most)
        return true;
    if (node.count > 0) continue;
    stack[top++] = node.first;
    stack[top++] = index + 1;
  }
  return false;
}

}  // namespace lumen
