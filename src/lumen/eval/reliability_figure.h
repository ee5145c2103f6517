// Reliability: the share of errors that lie within what should hold so many of them. On the diagonal stated
// uncertainties are true; above it they are too careful, below it too bold.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace lumen {

struct ReliabilityCurve {
  std::string name;
  std::array<double, 9> shares{};  // at 10, 20, … 90 %
};
struct ReliabilityPanel {
  std::string title;
  std::vector<ReliabilityCurve> curves;
};
std::string DrawReliability(const std::string& title, const std::vector<ReliabilityPanel>& panels);

}  // namespace lumen
