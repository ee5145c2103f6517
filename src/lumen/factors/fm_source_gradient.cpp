#include "lumen/factors/fm_source_gradient.h"

namespace lumen {

namespace {

// What the point's X and Y and its ζ in the target gain, at depth 1, where the source's ray moves in the
// plane.
struct TurnedPlane {
  Eigen::Vector3f by_x, by_y;
};

TurnedPlane TurnPinhole(const Eigen::Matrix3f& rotation) { return {rotation.col(0), rotation.col(1)}; }

TurnedPlane TurnWide(const Eigen::Matrix3f& rotation, const KeyframeSamples& source, const WarpBlock& block,
                     int i, const UnifiedCamera& from, const UnifiedCamera& to) {
  const Eigen::RowVector2f slope = from.RayZJacobian(source.Ray(block.sample[i])).cast<float>();
  TurnedPlane plane{rotation.col(0) + slope.x() * rotation.col(2),
                    rotation.col(1) + slope.y() * rotation.col(2)};
  const float rest = static_cast<float>(1 - to.alpha);
  const Eigen::Vector3f g(block.bend[i] * block.x[i], block.bend[i] * block.y[i],
                          block.bend[i] * block.m_z[i] + rest);
  plane.by_x[2] = g.dot(plane.by_x);
  plane.by_y[2] = g.dot(plane.by_y);
  return plane;
}

}  // namespace

void Unwarp::Fill(const FmProblem& problem, const Eigen::Matrix3f& rotation, const WarpBlock& block) {
  const UnifiedCamera& from = problem.source->keyframe->frame->view->camera;
  const UnifiedCamera& to = problem.target->view->camera;
  const Mask& mask = problem.source->keyframe->frame->view->mask;
  const float xx = static_cast<float>(to.fx / from.fx);
  const float xy = static_cast<float>(to.fx / from.fy);
  const float yx = static_cast<float>(to.fy / from.fx);
  const float yy = static_cast<float>(to.fy / from.fy);
  for (int i = 0; i < block.count; ++i) {
    const float zoom = block.depth[i] / block.zeta[i];
    const TurnedPlane plane =
        block.wide ? TurnWide(rotation, *problem.source, block, i, from, to) : TurnPinhole(rotation);
    const float u_by_x = xx * zoom * (plane.by_x[0] - block.x[i] * plane.by_x[2]);
    const float u_by_y = xy * zoom * (plane.by_y[0] - block.x[i] * plane.by_y[2]);
    const float v_by_x = yx * zoom * (plane.by_x[1] - block.y[i] * plane.by_x[2]);
    const float v_by_y = yy * zoom * (plane.by_y[1] - block.y[i] * plane.by_y[2]);
    const float stretch = u_by_x * v_by_y - u_by_y * v_by_x;
    const int pixel = problem.source->pixels[static_cast<size_t>(block.sample[i])];
    const int y = pixel / mask.Width();
    const bool known = std::abs(stretch) > static_cast<float>(kLeastStretch) &&
                       HasNeighbours(pixel - y * mask.Width(), y, mask.Width(), mask.Height());
    const float inverse = known ? 1.0F / stretch : 0.0F;
    share[i] = known ? 0.5F : 0.0F;
    x_by_u[i] = v_by_y * inverse;
    x_by_v[i] = -u_by_y * inverse;
    y_by_u[i] = -v_by_x * inverse;
    y_by_v[i] = u_by_x * inverse;
  }
}

}  // namespace lumen
