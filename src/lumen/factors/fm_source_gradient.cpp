#include "lumen/factors/fm_source_gradient.h"

namespace lumen {

void Unwarp::Fill(const FmProblem& problem, const Eigen::Matrix3f& rotation, const WarpBlock& block) {
  const PinholeCamera& from = problem.source->keyframe->frame->view->camera;
  const PinholeCamera& to = problem.target->view->camera;
  const Mask& mask = problem.source->keyframe->frame->view->mask;
  const float xx = static_cast<float>(to.fx / from.fx);
  const float xy = static_cast<float>(to.fx / from.fy);
  const float yx = static_cast<float>(to.fy / from.fx);
  const float yy = static_cast<float>(to.fy / from.fy);
  for (int i = 0; i < block.count; ++i) {
    const float zoom = block.depth[i] / block.z[i];
    const float u_by_x = xx * zoom * (rotation(0, 0) - block.x[i] * rotation(2, 0));
    const float u_by_y = xy * zoom * (rotation(0, 1) - block.x[i] * rotation(2, 1));
    const float v_by_x = yx * zoom * (rotation(1, 0) - block.y[i] * rotation(2, 0));
    const float v_by_y = yy * zoom * (rotation(1, 1) - block.y[i] * rotation(2, 1));
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
