#include "lumen/train/losses.h"

#include "lumen/base/error.h"

namespace lumen {

namespace {

constexpr double kLogFloor = 1e-4;  // the paper's ε

torch::Tensor SumPerImage(const torch::Tensor& maps) { return maps.flatten(1).sum(1); }

}  // namespace

torch::Tensor ScaleInvariantLoss(const torch::Tensor& predicted, const torch::Tensor& truth,
                                 const torch::Tensor& valid, double share) {
  const torch::Tensor ratio =
      valid.gt(0) * (torch::log(predicted + kLogFloor) - torch::log(truth + kLogFloor));
  const torch::Tensor count = SumPerImage(valid).clamp_min(1);
  const torch::Tensor mean = SumPerImage(valid * ratio) / count;
  return (SumPerImage(valid * ratio * ratio) / count - share * mean * mean).mean();
}

torch::Tensor SampleMaps(const torch::Tensor& maps, const torch::Tensor& pixels) {
  namespace F = torch::nn::functional;
  // Pixel centres at integers: the image spans −0.5 … size − 0.5.
  const auto scaled = [&](int axis, int64_t size) {
    return (pixels.select(2, axis) + 0.5) * (2.0 / static_cast<double>(size)) - 1;
  };
  const torch::Tensor grid = torch::stack({scaled(0, maps.size(3)), scaled(1, maps.size(2))}, 2).unsqueeze(2);
  const torch::Tensor samples = F::grid_sample(
      maps, grid,
      F::GridSampleFuncOptions().mode(torch::kBilinear).padding_mode(torch::kBorder).align_corners(false));
  return samples.squeeze(3).transpose(1, 2);
}

torch::Tensor RelativeResponseLoss(const ResponseProblem& problem, double sigma) {
  const auto height = problem.target.size(2);
  const auto width = problem.target.size(3);
  const torch::Tensor target = problem.target.flatten(2);  // (B, C, P)
  // |f − g|² without the |f|² that the softmax would cancel.
  const torch::Tensor affinity =
      sigma * (2 * torch::bmm(problem.source, target) - target.square().sum(1, true));
  const torch::Tensor outside = problem.target_valid.flatten(2).lt(0.5);  // (B, 1, P)
  const torch::Tensor log_probability =
      torch::log_softmax(affinity.masked_fill(outside, -1e4), 2);  // (B, K, P)
  const torch::Tensor places = problem.places.detach();
  const torch::Tensor x = places.select(2, 0).clamp(0, static_cast<double>(width - 1));
  const torch::Tensor y = places.select(2, 1).clamp(0, static_cast<double>(height - 1));
  const torch::Tensor x0 = x.floor().clamp_max(static_cast<double>(width - 2));
  const torch::Tensor y0 = y.floor().clamp_max(static_cast<double>(height - 2));
  const torch::Tensor a = x - x0;
  const torch::Tensor b = y - y0;
  const torch::Tensor first = (y0 * static_cast<double>(width) + x0).to(torch::kLong);
  const torch::Tensor corners = torch::stack({first, first + 1, first + width, first + width + 1}, 2);
  const torch::Tensor weights = torch::stack({(1 - a) * (1 - b), a * (1 - b), (1 - a) * b, a * b}, 2);
  const torch::Tensor probability = (weights * log_probability.gather(2, corners).exp()).sum(2);
  const torch::Tensor loss = -torch::log(probability + 1e-10);
  return (loss * problem.weight).sum() / problem.weight.sum().clamp_min(1);
}

torch::Tensor PoseDriftLoss(const DriftProblem& problem, int groups) {
  constexpr double kDamping = 1e-3;  // of the mean diagonal: a direction that nothing fixes stays put
  constexpr double kBound = 2;       // pixels
  const auto channels = problem.source.size(2);
  const auto each = problem.source.size(1) / groups;
  // (B·G, K/G, …): the groups side by side.
  const auto grouped = [&](const torch::Tensor& x) {
    std::vector<int64_t> shape = x.sizes().vec();
    shape[0] *= groups;
    shape[1] = each;
    return x.slice(1, 0, each * groups).reshape(shape);
  };
  const torch::Tensor target = grouped(problem.target);
  const torch::Tensor weight = grouped(problem.weight);
  const torch::Tensor moves = grouped(problem.place_pose);
  const torch::Tensor residual = (target.slice(2, 0, channels) - grouped(problem.source)).unsqueeze(3);
  const torch::Tensor slope =
      torch::stack({target.slice(2, channels, 2 * channels), target.slice(2, 2 * channels)}, 3);
  // The 2×2 systems of the places, then the 6×6 ones of the poses.
  const torch::Tensor w = weight.unsqueeze(2).unsqueeze(3);
  const torch::Tensor place_h = torch::matmul(slope.transpose(2, 3), slope) * w;
  const torch::Tensor place_b = torch::matmul(slope.transpose(2, 3), residual) * w;
  const torch::Tensor turned = moves.transpose(2, 3);
  const torch::Tensor h = torch::matmul(turned, torch::matmul(place_h, moves)).sum(1);
  const torch::Tensor b = torch::matmul(turned, place_b).sum(1);
  const torch::Tensor diagonal = h.diagonal(0, 1, 2).mean(1).clamp_min(1e-8).view({-1, 1, 1});
  const torch::Tensor damped = h + kDamping * diagonal * torch::eye(6, h.options());
  const torch::Tensor step = torch::linalg_solve(damped, -b);  // (B·G, 6, 1)
  const torch::Tensor length =
      torch::sqrt(torch::matmul(moves, step.unsqueeze(1)).square().sum({2, 3}) + 1e-6);
  const torch::Tensor mean = (length * weight).sum(1) / weight.sum(1).clamp_min(1);
  return (mean / (1 + mean / kBound)).mean();
}

torch::Tensor SoftCdf(const torch::Tensor& values, const torch::Tensor& weight, int bins) {
  // The supplement's bins are differences of sigmoids at their two edges; summed up to bin k all inner
  // edges cancel, and the upper edge of bin k remains.
  const double bandwidth = 4.0 / (5.0 * bins);
  const torch::Tensor upper =
      torch::arange(1, bins + 1, values.options()).mul(2.0 / bins).sub(1.0).view({1, 1, bins, 1});
  const torch::Tensor v = values.unsqueeze(2);
  const torch::Tensor share = (weight / weight.sum(1, true).clamp_min(1e-6)).unsqueeze(1).unsqueeze(1);
  const torch::Tensor below =
      ((torch::sigmoid((v + 1.0) / bandwidth) - torch::sigmoid((v - upper) / bandwidth)) * share).sum(3);
  // Normalised so that the last bin holds everything.
  return below / below.slice(2, bins - 1, bins).clamp_min(1e-6);
}

torch::Tensor TripletHistogramLoss(const torch::Tensor& source_cdf, const torch::Tensor& target_cdf,
                                   const torch::Tensor& far_cdf, const torch::Tensor& weight, double margin) {
  const torch::Tensor near = (source_cdf - target_cdf).square().mean(2);
  const torch::Tensor far = (source_cdf - far_cdf).square().mean(2);
  const torch::Tensor each = torch::relu(near - far + margin).mean(1);
  return (each * weight).sum() / weight.sum().clamp_min(1);
}

torch::Tensor FlowLoss(const torch::Tensor& predicted, const torch::Tensor& truth,
                       const torch::Tensor& valid) {
  // A flow of less than this many pixels (rms) is not worth a larger relative weight.
  constexpr double kLeastMotion = 2.0;
  const torch::Tensor count = SumPerImage(valid).clamp_min(1);
  const torch::Tensor error = SumPerImage(valid * (predicted - truth).square()) / count;
  const torch::Tensor energy =
      (0.5 * SumPerImage(valid * (truth.square() + predicted.square())) / count).detach();
  return (error / (energy + kLeastMotion * kLeastMotion)).mean();
}

torch::Tensor DecorrelationLoss(const torch::Tensor& bases, const torch::Tensor& valid) {
  const auto number = bases.size(1);
  const torch::Tensor mask = valid.flatten(2);
  const torch::Tensor count = mask.sum(2, true).clamp_min(1);
  const torch::Tensor flat = bases.flatten(2);
  const torch::Tensor centred = (flat - (flat * mask).sum(2, true) / count) * mask;
  const torch::Tensor covariance = torch::bmm(centred, centred.transpose(1, 2)) / count;
  const torch::Tensor variance = covariance.diagonal(0, 1, 2).clamp_min(1e-8);
  const torch::Tensor correlation = covariance / torch::sqrt(variance.unsqueeze(1) * variance.unsqueeze(2));
  const torch::Tensor off = 1 - torch::eye(number, bases.options());
  return (correlation.square() * off).sum({1, 2}).mean() / static_cast<double>(number * (number - 1));
}

torch::Tensor BasisSpanLoss(const torch::Tensor& average, const torch::Tensor& bases,
                            const torch::Tensor& truth, const torch::Tensor& valid) {
  constexpr double kRidge = 1e-4;
  const torch::Tensor weight = valid.flatten(2);  // (B, 1, P)
  const torch::Tensor root = weight.sqrt();
  const torch::Tensor mean = average.detach().flatten(2).clamp_min(kLogFloor);
  const torch::Tensor known = truth.flatten(2).clamp_min(kLogFloor);
  const torch::Tensor count = weight.sum(2, true).clamp_min(1);
  // The scale to start from: the mean ratio of logarithms.
  const torch::Tensor scale = torch::exp((weight * (known.log() - mean.log())).sum(2, true) / count);
  const torch::Tensor wanted = known / scale;
  // Relative errors: everything is divided by the true depth.
  const torch::Tensor columns = root * torch::cat({mean, bases.flatten(2)}, 1) / wanted;  // (B, 17, P)
  const torch::Tensor rest = root * (1 - mean / wanted);
  const torch::Tensor H = torch::bmm(columns, columns.transpose(1, 2)) / count +
                          kRidge * torch::eye(columns.size(1), columns.options());
  const torch::Tensor b = torch::bmm(columns, rest.transpose(1, 2)) / count;
  const torch::Tensor code =
      torch::cholesky_solve(b, std::get<0>(torch::linalg_cholesky_ex(H, false, false)));
  const torch::Tensor left = rest - torch::bmm(code.transpose(1, 2), columns);
  return (left.square().sum(2) / count.squeeze(2)).mean();
}

torch::Tensor DiscriminatorLoss(const torch::Tensor& on_real, const torch::Tensor& on_fake) {
  return 0.5 * ((on_real - 1).square().mean() + (on_fake + 1).square().mean());
}

torch::Tensor GeneratorLoss(const torch::Tensor& on_fake) { return 0.5 * (on_fake - 1).square().mean(); }

}  // namespace lumen
