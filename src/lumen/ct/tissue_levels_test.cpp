#include "lumen/ct/tissue_levels.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/base/random.h"

namespace lumen {
namespace {

// Shares of a head: air, fat, muscle, bone.
Volume MakeValues(double slope, double offset, double padding_share, double noise) {
  Random random(3);
  Volume volume;
  volume.size = {60, 60, 60};
  volume.values.resize(60 * 60 * 60);
  for (float& value : volume.values) {
    const double draw = random.Uniform();
    double hounsfield = draw < 0.4 ? -1000 : draw < 0.5 ? -100 : draw < 0.9 ? 50 : random.Uniform(100, 1500);
    hounsfield += noise * random.Normal();
    if (random.Uniform() < padding_share) hounsfield = -2000;
    value = static_cast<float>(slope * hounsfield + offset);
  }
  return volume;
}

TEST(TissueLevels, HounsfieldUnitsAreTaken) {
  for (const double padding : {0.0, 0.2}) {
    const TissueLevels levels = FindTissueLevels(MakeValues(1, 0, padding, 20), "ct");
    EXPECT_TRUE(levels.hounsfield);
    EXPECT_NEAR(levels.air, -1000, 15);
    EXPECT_NEAR(levels.tissue, 50, 20);
  }
}

TEST(TissueLevels, AnOffsetAndAScaleAreFoundOut) {
  for (const double padding : {0.0, 0.2}) {
    const TissueLevels levels = FindTissueLevels(MakeValues(1, 1024, padding, 20), "ct");
    EXPECT_FALSE(levels.hounsfield);
    EXPECT_NEAR(levels.Threshold(), 1024 - 475, 60) << padding;
    const TissueLevels eight_bit = FindTissueLevels(MakeValues(0.1, 128, padding, 20), "ct");
    EXPECT_NEAR(eight_bit.Threshold(), 128 - 47.5, 6) << padding;
  }
}

TEST(TissueLevels, OneSubstanceIsRefused) {
  Volume volume;
  volume.size = {20, 20, 20};
  volume.values.assign(8000, 7);
  EXPECT_THROW(FindTissueLevels(volume, "ct"), InputError);
  volume.values.clear();
  EXPECT_THROW(FindTissueLevels(volume, "ct"), InputError);
}

}  // namespace
}  // namespace lumen
