#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "lumen/eval/statistics.h"

namespace lumen {

std::optional<double> StudentTwoSided(double t, int degrees_of_freedom) {
  const boost::math::students_t distribution(degrees_of_freedom);
  return 2 * boost::math::cdf(boost::math::complement(distribution, std::abs(t)));
}

}  // namespace lumen
