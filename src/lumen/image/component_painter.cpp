#include "lumen/image/component_painter.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace lumen {

void ComponentPainter::Fit(ImageView<const float> map, ImageView<const uint8_t> mask) {
  const int channels = map.Channels();
  mean_ = Eigen::VectorXf::Zero(channels);
  Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(channels, channels);
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(channels);
  double count = 0;
  for (int y = 0; y < map.Height(); ++y) {
    for (int x = 0; x < map.Width(); ++x) {
      if (mask(x, y) == 0) continue;
      const Eigen::VectorXd f = Eigen::Map<const Eigen::VectorXf>(map.Pixel(x, y), channels).cast<double>();
      sum += f;
      covariance += f * f.transpose();
      count += 1;
    }
  }
  count = std::max(count, 1.0);
  mean_ = (sum / count).cast<float>();
  covariance = covariance / count - (sum / count) * (sum / count).transpose();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance);
  components_ = Eigen::MatrixXf::Zero(3, channels);
  for (int i = 0; i < std::min(3, channels); ++i) {
    const int column = channels - 1 - i;  // eigenvalues come in ascending order
    const double spread = std::sqrt(std::max(solver.eigenvalues()[column], 1e-12));
    components_.row(i) = (solver.eigenvectors().col(column) / spread).transpose().cast<float>();
  }
}

RgbImage ComponentPainter::Paint(ImageView<const float> map, ImageView<const uint8_t> mask) {
  if (components_.size() == 0) Fit(map, mask);
  RgbImage picture(map.Width(), map.Height(), 3);
  for (int y = 0; y < map.Height(); ++y) {
    for (int x = 0; x < map.Width(); ++x) {
      if (mask(x, y) == 0) continue;
      const Eigen::Vector3f f =
          components_ * (Eigen::Map<const Eigen::VectorXf>(map.Pixel(x, y), map.Channels()) - mean_);
      for (int c = 0; c < 3; ++c)
        picture(x, y, c) = static_cast<uint8_t>(std::clamp(128.0F + 50.0F * f[c], 0.0F, 255.0F));
    }
  }
  return picture;
}

}  // namespace lumen
