// Where air and tissue lie in a volume's values: in Hounsfield units when they are, by the histogram's two
// peaks when stored values have an offset or a scale of their own.
#pragma once

#include <string>

#include "lumen/scene/volume.h"

namespace lumen {

struct TissueLevels {
  double air = -1000, tissue = 40;
  bool hounsfield = true;  // the values are Hounsfield units, as far as their peaks tell
  // Between air and tissue; partial volumes are half of each.
  double Between(double share) const { return air + share * (tissue - air); }
  double Threshold() const { return Between(0.5); }
};

// Throws InputError, naming the source, where the values have no two peaks: no CT, or one of a single
// substance.
TissueLevels FindTissueLevels(const Volume& volume, const std::string& name);

}  // namespace lumen
