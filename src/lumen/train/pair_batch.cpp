#include "lumen/train/pair_batch.h"

#include <algorithm>

#include "lumen/train/losses.h"

namespace lumen {

namespace {

namespace F = torch::nn::functional;

constexpr double kTurn = 2 * M_PI;
constexpr double kNearest = 1e-3;

torch::Tensor Uniform(int64_t count, double low, double high, const torch::TensorOptions& options) {
  return torch::rand({count, 1, 1, 1}, options) * (high - low) + low;
}

// 1 with this probability, else 0, per picture.
torch::Tensor Coin(int64_t count, double probability, const torch::TensorOptions& options) {
  return torch::rand({count, 1, 1, 1}, options).lt(probability).to(torch::kFloat);
}

// What changes between two pictures of one scene and what they share, apart.
struct Look {
  torch::Tensor gain, gamma, grey, permute;
};

Look DrawSharedLook(int64_t count, double strength, const torch::TensorOptions& options) {
  return {torch::exp(0.35 * strength * torch::randn({count, 3, 1, 1}, options)),
          torch::exp(0.25 * strength * torch::randn({count, 1, 1, 1}, options)),
          Coin(count, 0.1 * strength, options), Coin(count, 0.1 * strength, options)};
}

// A few round patches of another colour: highlights, bubbles, dirt.
torch::Tensor AddPatches(const torch::Tensor& image, double strength) {
  const auto count = image.size(0);
  const auto options = image.options();
  const torch::Tensor x = torch::arange(image.size(3), options).view({1, 1, 1, -1});
  const torch::Tensor y = torch::arange(image.size(2), options).view({1, 1, -1, 1});
  torch::Tensor result = image;
  for (int i = 0; i < 2; ++i) {
    const torch::Tensor cx = Uniform(count, 0, static_cast<double>(image.size(3)), options);
    const torch::Tensor cy = Uniform(count, 0, static_cast<double>(image.size(2)), options);
    const torch::Tensor size = Uniform(count, 2, 14, options);
    const torch::Tensor radius = size * Coin(count, 0.25 * strength, options);
    const torch::Tensor stretch = Uniform(count, 0.6, 1.6, options);
    const torch::Tensor inside =
        torch::sigmoid(radius - torch::sqrt((x - cx).square() + ((y - cy) * stretch).square() + 1e-3) - 1);
    result = result + inside * (torch::rand({count, 3, 1, 1}, options) - result);
  }
  return result;
}

torch::Tensor ChangeLook(const torch::Tensor& image, const Look& shared, double strength) {
  if (strength <= 0) return image;
  const auto count = image.size(0);
  const auto options = image.options();
  torch::Tensor x = image.clamp(1e-4, 1);
  x = torch::where(shared.permute.gt(0.5), x.flip({1}), x);
  x = torch::where(shared.grey.gt(0.5), x.mean(1, true).expand_as(x), x);
  torch::Tensor gain = shared.gain * torch::exp(0.1 * strength * torch::randn({count, 3, 1, 1}, options));
  gain = gain * torch::exp(0.2 * strength * torch::randn({count, 1, 1, 1}, options));
  const torch::Tensor gamma =
      shared.gamma * torch::exp(0.08 * strength * torch::randn({count, 1, 1, 1}, options));
  x = torch::pow((x * gain).clamp_min(1e-4), gamma);
  x = AddPatches(x, strength);
  const torch::Tensor blurred = torch::avg_pool2d(x, 3, 1, 1, false, false);
  const torch::Tensor blur = Uniform(count, 0, 1, options);
  x = x + blur * Coin(count, 0.3 * strength, options) * (blurred - x);
  const torch::Tensor noise = Uniform(count, 0, 0.03 * strength, options);
  x = x + noise * torch::randn_like(x);
  return x.clamp(0, 1);
}

// A random disc per picture, or everything.
torch::Tensor DrawDiscs(int64_t count, int64_t width, int64_t height, double share,
                        const torch::TensorOptions& options) {
  const torch::Tensor x = torch::arange(width, options).view({1, 1, 1, -1});
  const torch::Tensor y = torch::arange(height, options).view({1, 1, -1, 1});
  const double w = static_cast<double>(width);
  const double h = static_cast<double>(height);
  const torch::Tensor cx = w / 2 + 0.08 * w * torch::randn({count, 1, 1, 1}, options);
  const torch::Tensor cy = h / 2 + 0.06 * h * torch::randn({count, 1, 1, 1}, options);
  const torch::Tensor radius = Uniform(count, 0.32 * h, 0.8 * h, options);
  const torch::Tensor inside = ((x - cx).square() + (y - cy).square()).lt(radius.square()).to(torch::kFloat);
  return torch::maximum(inside, 1 - Coin(count, share, options));
}

torch::Tensor TurnGrid(const torch::Tensor& angle, int64_t width, int64_t height) {
  const auto options = angle.options();
  const torch::Tensor x =
      torch::arange(width, options).sub((static_cast<double>(width) - 1) / 2).view({1, 1, -1});
  const torch::Tensor y =
      torch::arange(height, options).sub((static_cast<double>(height) - 1) / 2).view({1, -1, 1});
  const torch::Tensor c = torch::cos(angle).view({-1, 1, 1});
  const torch::Tensor s = torch::sin(angle).view({-1, 1, 1});
  // The output's pixel comes from the place that is turned onto it.
  const torch::Tensor from_x = (c * x + s * y) * (2.0 / static_cast<double>(width));
  const torch::Tensor from_y = (c * y - s * x) * (2.0 / static_cast<double>(height));
  return torch::stack({from_x, from_y}, 3);
}

}  // namespace

void AugmentationOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("photometric", photometric,
                {.min = 0, .max = 2, .help = "strength of colour, exposure, noise, patches"});
  visitor.Field("turned", turned, {.min = 0, .max = 1, .help = "share of pairs turned by any angle"});
  visitor.Field("relative_roll", relative_roll,
                {.min = 0, .max = 3.2, .unit = "rad", .help = "extra roll between source and target, up to"});
  visitor.Field("masked", masked, {.min = 0, .max = 1, .help = "share of pairs with a random round mask"});
}

torch::Tensor TurnImages(const torch::Tensor& images, const torch::Tensor& angle, bool nearest) {
  auto options = F::GridSampleFuncOptions().padding_mode(torch::kZeros).align_corners(false);
  if (nearest) {
    options.mode(torch::kNearest);
  } else {
    options.mode(torch::kBilinear);
  }
  return F::grid_sample(images, TurnGrid(angle, images.size(3), images.size(2)), options);
}

torch::Tensor TurnPixels(const torch::Tensor& pixels, const torch::Tensor& angle, int64_t width,
                         int64_t height) {
  const double cx = (static_cast<double>(width) - 1) / 2;
  const double cy = (static_cast<double>(height) - 1) / 2;
  const torch::Tensor x = pixels.select(2, 0) - cx;
  const torch::Tensor y = pixels.select(2, 1) - cy;
  const torch::Tensor c = torch::cos(angle).unsqueeze(1);
  const torch::Tensor s = torch::sin(angle).unsqueeze(1);
  return torch::stack({c * x - s * y + cx, s * x + c * y + cy}, 2);
}

torch::Tensor HalveMask(const torch::Tensor& mask) {
  return torch::avg_pool2d(mask, 2).gt(0.99).to(torch::kFloat);
}

ClipStore::ClipStore(const torch::Device& device, int capacity, int frames_per_clip, int width, int height)
    : device_(device), capacity_(capacity), frames_(frames_per_clip) {
  const auto frames = static_cast<int64_t>(capacity) * frames_per_clip;
  images_ = torch::zeros({frames, 3, height, width}, torch::TensorOptions(torch::kUInt8).device(device));
  masks_ = torch::zeros({capacity, 1, height, width}, torch::TensorOptions(torch::kUInt8).device(device));
  depths_ =
      torch::zeros({frames, 1, height / 2, width / 2}, torch::TensorOptions(torch::kFloat).device(device));
  weights_ = torch::zeros_like(depths_);
  exact_ = torch::zeros_like(depths_, torch::kUInt8);
}

void ClipStore::Add(const Clip& clip, const PairRules& rules) {
  LUMEN_CHECK(static_cast<int>(clip.frames.size()) == frames_);
  Slot slot;
  slot.subject = clip.subject;
  slot.pairs = ListPairs(clip, rules);
  slot.camera = clip.camera;
  const auto place = added_++ % capacity_;
  for (int f = 0; f < frames_; ++f) {
    const ClipFrame& frame = clip.frames[static_cast<size_t>(f)];
    slot.world_from_camera.push_back(frame.world_from_camera);
    slot.median.push_back(static_cast<float>(MedianDepth(frame.depth)));
    const torch::Tensor bytes =
        torch::from_blob(const_cast<uint8_t*>(frame.image.Data()),
                         {frame.image.Height(), frame.image.Width(), 3}, torch::kUInt8);
    images_[place * frames_ + f].copy_(bytes.permute({2, 0, 1}).contiguous());
    const std::vector<int64_t> shape = {1, frame.depth.Height(), frame.depth.Width()};
    const auto floats = [&](const Image<float>& map) {
      return torch::from_blob(const_cast<float*>(map.Data()), shape);
    };
    const torch::Tensor depth = floats(frame.depth);
    depths_[place * frames_ + f].copy_(depth);
    weights_[place * frames_ + f].copy_(frame.weight.Size() > 0 ? floats(frame.weight)
                                                                : depth.gt(0).to(torch::kFloat));
    exact_[place * frames_ + f].copy_(
        frame.exact.Size() > 0
            ? torch::from_blob(const_cast<uint8_t*>(frame.exact.Data()), shape, torch::kUInt8).gt(0)
            : depth.gt(0));
  }
  masks_[place].copy_(torch::from_blob(const_cast<uint8_t*>(clip.mask.Data()),
                                       {1, clip.mask.Height(), clip.mask.Width()}, torch::kUInt8));
  if (place == static_cast<int64_t>(slots_.size())) {
    slots_.push_back(std::move(slot));
  } else {
    slots_[static_cast<size_t>(place)] = std::move(slot);
  }
}

bool ClipStore::HasPairs() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return !slot.pairs.empty(); });
}

std::optional<int64_t> ClipStore::DrawOtherSubject(const std::string& subject, Random& random) const {
  constexpr int kTries = 8;
  for (int i = 0; i < kTries; ++i) {
    const int64_t other = SlotByAge(random.UniformInt(0, Size() - 1));
    if (slots_[static_cast<size_t>(other)].subject != subject) return other;
  }
  return std::nullopt;
}

PairBatch ClipStore::Draw(int batch, const AugmentationOptions& options, Random random) const {
  LUMEN_CHECK(HasPairs());
  torch::NoGradGuard no_grad;
  std::vector<int64_t> source, target, far_frame, clip, far_clip;
  std::vector<float> camera, rotation, translation, scale, far_known;
  for (int b = 0; b < batch; ++b) {
    int64_t c = 0;
    do {
      c = SlotByAge(random.UniformInt(0, Size() - 1));
    } while (slots_[static_cast<size_t>(c)].pairs.empty());
    const Slot& slot = slots_[static_cast<size_t>(c)];
    const PairIndex pair =
        slot.pairs[static_cast<size_t>(random.UniformInt(0, static_cast<int64_t>(slot.pairs.size()) - 1))];
    clip.push_back(c);
    source.push_back(c * frames_ + pair.source);
    target.push_back(c * frames_ + pair.target);
    // Half of the far pictures come from where the same clip looks elsewhere, half from another subject;
    // where neither is to be had the pair's far picture teaches nothing.
    const bool wants_same = pair.far_frame >= 0 && random.Chance(0.5);
    const std::optional<int64_t> other = wants_same ? std::nullopt : DrawOtherSubject(slot.subject, random);
    const bool same = !other && pair.far_frame >= 0;
    far_known.push_back(other || same ? 1.0F : 0.0F);
    far_clip.push_back(other.value_or(c));
    far_frame.push_back(other.value_or(c) * frames_ +
                        (same ? pair.far_frame : random.UniformInt(0, frames_ - 1)));
    const float unit = slot.median[static_cast<size_t>(pair.source)];
    const Rigid3 motion = slot.world_from_camera[static_cast<size_t>(pair.target)].Inverse() *
                          slot.world_from_camera[static_cast<size_t>(pair.source)];
    const Eigen::Matrix3d R = motion.RotationMatrix();
    for (int k = 0; k < 9; ++k) rotation.push_back(static_cast<float>(R(k / 3, k % 3)));
    for (int k = 0; k < 3; ++k) translation.push_back(static_cast<float>(motion.Translation()[k]) / unit);
    for (const double value :
         {slot.camera.fx, slot.camera.fy, slot.camera.cx, slot.camera.cy, slot.camera.alpha})
      camera.push_back(static_cast<float>(value));
    scale.push_back(unit);
    scale.push_back(slot.median[static_cast<size_t>(pair.target)]);
  }
  const auto to_device = [&](const std::vector<float>& values, torch::IntArrayRef shape) {
    return torch::tensor(values).view(shape).to(device_);
  };
  const auto indices = [&](const std::vector<int64_t>& values) { return torch::tensor(values).to(device_); };
  const auto floats = torch::TensorOptions(torch::kFloat).device(device_);
  const torch::Tensor units = to_device(scale, {batch, 2});

  PairBatch result;
  result.camera = to_device(camera, {batch, 5});
  result.rotation = to_device(rotation, {batch, 3, 3});
  result.translation = to_device(translation, {batch, 3});
  const torch::Tensor unit = units.select(1, 0).view({batch, 1, 1, 1});
  result.target_scale = units.select(1, 1) / units.select(1, 0);
  result.source_depth = depths_.index_select(0, indices(source)) / unit;
  result.target_depth = depths_.index_select(0, indices(target)) / unit;
  result.source_weight = weights_.index_select(0, indices(source));
  result.target_weight = weights_.index_select(0, indices(target));
  result.source_exact = exact_.index_select(0, indices(source)).to(torch::kFloat);
  result.far_weight = to_device(far_known, {batch});

  const auto pictures = [&](const std::vector<int64_t>& which) {
    return images_.index_select(0, indices(which)).to(torch::kFloat).div(255.0);
  };
  const auto content = [&](const std::vector<int64_t>& which) {
    return masks_.index_select(0, indices(which)).gt(0).to(torch::kFloat);
  };
  const auto width = images_.size(3);
  const auto height = images_.size(2);
  const torch::Tensor mask = content(clip) * DrawDiscs(batch, width, height, options.masked, floats);
  const torch::Tensor far_mask = content(far_clip) * DrawDiscs(batch, width, height, options.masked, floats);
  result.source_mask = HalveMask(mask);
  result.target_mask = result.source_mask;

  const torch::Tensor lens = MakeAngles(result.camera, width, height);
  const Look look = DrawSharedLook(batch, options.photometric, floats);
  const Look far_look = DrawSharedLook(batch, options.photometric, floats);
  const torch::Tensor turned = torch::rand({batch}, floats).lt(options.turned).to(torch::kFloat);
  const auto angles = [&](double reach) { return turned * (torch::rand({batch}, floats) * 2 - 1) * reach; };
  const torch::Tensor angle = angles(kTurn / 2);
  const auto make_view = [&](const torch::Tensor& image, const torch::Tensor& own_mask, const Look& own_look,
                             const torch::Tensor& own_angle) {
    const torch::Tensor changed = ChangeLook(image, own_look, options.photometric) * own_mask;
    return ViewBatch{TurnImages(changed, own_angle, false), TurnImages(lens, own_angle, false),
                     TurnImages(own_mask, own_angle, true), own_angle};
  };
  result.source = make_view(pictures(source), mask, look, angle);
  result.target = make_view(pictures(target), mask, look, angle + angles(options.relative_roll));
  result.far_view = make_view(pictures(far_frame), far_mask, far_look, angles(kTurn / 2));
  return result;
}

TrueWarp WarpByTruth(const PairBatch& batch) {
  torch::NoGradGuard no_grad;
  constexpr double kHidden = 0.9;   // the target's depth there is less than this share of the point's
  constexpr double kBeyond = 1.15;  // or more than this one
  const auto height = batch.source_depth.size(2);
  const auto width = batch.source_depth.size(3);
  const torch::Tensor depth = batch.source_depth.flatten(1).unsqueeze(2);
  const torch::Tensor points =
      torch::matmul(MakeRays(batch.camera, width, height) * depth, batch.rotation.transpose(1, 2)) +
      batch.translation.unsqueeze(1);
  const torch::Tensor pixels = ProjectPoints(batch.camera, points);
  const torch::Tensor x = pixels.select(2, 0);
  const torch::Tensor y = pixels.select(2, 1);
  const torch::Tensor inside = x.gt(-0.5) * x.lt(static_cast<double>(width) - 0.5) * y.gt(-0.5) *
                               y.lt(static_cast<double>(height) - 0.5);
  const torch::Tensor nearest =
      (y.round().clamp(0, static_cast<double>(height - 1)) * static_cast<double>(width) +
       x.round().clamp(0, static_cast<double>(width - 1)))
          .to(torch::kLong);
  const torch::Tensor known = batch.target_depth * batch.target_mask;
  const torch::Tensor at_pixel = known.flatten(1).gather(1, nearest);
  // Where the target knows depth at single places only, one beside the pixel serves.
  const torch::Tensor beside =
      (torch::max_pool2d(known, 3, 1, 1) * batch.target_mask).flatten(1).gather(1, nearest);
  const torch::Tensor there = torch::where(at_pixel.gt(0), at_pixel, beside);
  const torch::Tensor z = DepthOfPoints(batch.camera, points);
  const torch::Tensor visible =
      inside * FrontOfPoints(batch.camera, points).gt(kNearest) * there.gt(kHidden * z) *
      there.lt(kBeyond * z) * (batch.source_depth * batch.source_mask * batch.source_exact).flatten(1).gt(0);
  return {pixels.view({-1, height, width, 2}), visible.to(torch::kFloat).view({-1, 1, height, width}),
          points};
}

}  // namespace lumen
