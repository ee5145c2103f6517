#include "lumen/ct/tissue_levels.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/text.h"

namespace lumen {

namespace {

constexpr size_t kMostSamples = 2'000'000;
constexpr int kLevelBins = 256;

struct ValuePeak {
  double value = 0, share = 0;
};

std::vector<float> SortedSample(const Volume& volume) {
  const size_t step = volume.values.size() / kMostSamples + 1;
  std::vector<float> sample;
  for (size_t i = 0; i < volume.values.size(); i += step) sample.push_back(volume.values[i]);
  std::sort(sample.begin(), sample.end());
  return sample;
}

float Quantile(const std::vector<float>& sorted, double share) {
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

// What lies outside the scanner's circle is often one value far below air's.
std::vector<float> WithoutPadding(std::vector<float> sorted) {
  const auto end = std::upper_bound(sorted.begin(), sorted.end(), sorted.front());
  const auto count = static_cast<double>(end - sorted.begin());
  if (end == sorted.end() || count < 0.002 * static_cast<double>(sorted.size())) return sorted;
  const double range = static_cast<double>(Quantile(sorted, 0.99)) - sorted.front();
  constexpr double kGap = 0.03;
  if (*end - sorted.front() < kGap * range) return sorted;
  return {end, sorted.end()};
}

std::vector<ValuePeak> FindPeaks(const std::vector<float>& sorted) {
  const double low = Quantile(sorted, 0.0005), high = Quantile(sorted, 0.998);
  if (!(high > low)) return {};
  std::vector<double> counts(kLevelBins + 4, 0);  // two empty ones at each end
  for (const float value : sorted) {
    const double bin = (value - low) / (high - low) * (kLevelBins - 1);
    if (bin >= 0 && bin < kLevelBins) counts[static_cast<size_t>(bin) + 2] += 1;
  }
  std::vector<double> smooth(counts.size(), 0);
  for (size_t i = 2; i + 2 < counts.size(); ++i)
    smooth[i] = (counts[i - 2] + 2 * counts[i - 1] + 3 * counts[i] + 2 * counts[i + 1] + counts[i + 2]) / 9;
  std::vector<ValuePeak> peaks;
  const double most = *std::max_element(smooth.begin(), smooth.end());
  constexpr double kLeast = 0.01;  // of the highest
  for (size_t i = 2; i + 2 < smooth.size(); ++i) {
    if (smooth[i] < kLeast * most || smooth[i] < smooth[i - 1] || smooth[i] <= smooth[i + 1]) continue;
    const double value = low + (static_cast<double>(i) - 1.5) / (kLevelBins - 1) * (high - low);
    peaks.push_back({value, smooth[i] / static_cast<double>(sorted.size())});
  }
  return peaks;
}

const ValuePeak* HighestWithin(const std::vector<ValuePeak>& peaks, double low, double high) {
  const ValuePeak* best = nullptr;
  for (const ValuePeak& peak : peaks)
    if (peak.value >= low && peak.value <= high && (best == nullptr || peak.share > best->share))
      best = &peak;
  return best;
}

// Hounsfield's own scale: something at air's place, and most of the rest at that of fat, water or muscle.
bool ReadHounsfield(const std::vector<ValuePeak>& peaks, TissueLevels& levels) {
  const ValuePeak* air = HighestWithin(peaks, -1100, -930);
  const ValuePeak* tissue = HighestWithin(peaks, -150, 150);
  const ValuePeak* dense = HighestWithin(peaks, -400, 1e9);
  if (air == nullptr || tissue == nullptr || dense != tissue) return false;
  // Bone is no peak. Padding may lie where air does, and air where water does.
  const ValuePeak* beyond = HighestWithin(peaks, tissue->value + 500, 1e9);
  if (beyond != nullptr && beyond->share > 0.25 * tissue->share) return false;
  levels.air = air->value;
  levels.tissue = std::max(tissue->value, 0.0);  // fat is no wall's
  return true;
}

// High peaks far apart.
bool ReadFarthestPeaks(const std::vector<ValuePeak>& peaks, TissueLevels& levels) {
  double best = 0;
  for (const ValuePeak& low : peaks) {
    for (const ValuePeak& high : peaks) {
      const double score = std::sqrt(low.share * high.share) * std::pow(high.value - low.value, 2);
      if (high.value <= low.value || score <= best) continue;
      best = score;
      levels.air = low.value;
      levels.tissue = high.value;
    }
  }
  return best > 0;
}

}  // namespace

TissueLevels FindTissueLevels(const Volume& volume, const std::string& name) {
  TissueLevels levels;
  if (volume.values.empty()) throw InputError(name, "holds no voxels");
  const std::vector<float> sorted = SortedSample(volume);
  const std::vector<float> inner = WithoutPadding(sorted);
  if (ReadHounsfield(FindPeaks(inner), levels)) return levels;
  if (ReadHounsfield(FindPeaks(sorted), levels)) return levels;  // air without noise looks like padding
  if (!ReadFarthestPeaks(FindPeaks(inner), levels) && !ReadFarthestPeaks(FindPeaks(sorted), levels))
    throw InputError(name, StrCat("does not tell air from tissue (its values are ", volume.Least(), " to ",
                                  volume.Most(), "): give --threshold"));
  levels.hounsfield = false;
  return levels;
}

}  // namespace lumen
