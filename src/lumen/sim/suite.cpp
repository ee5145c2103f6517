#include "lumen/sim/suite.h"

#include "lumen/sim/choice.h"

namespace lumen {

SuiteLens ParseSuiteLens(const std::string& name) {
  return static_cast<SuiteLens>(ParseChoice("lens", name, {"narrow", "wide"}));
}

Camera MakeWideLens(int width, int height) {
  const KannalaBrandtCamera lens{{767.1524, 767.1577, 679.5356, 543.9812},
                                 {-0.18045658, -0.02909262, 0.05003483, -0.013129}};
  return Camera(lens, 1350, 1080).Resized(width, height);
}

SequenceOptions MakeSuiteOptions(const SuiteSubject& subject, SuiteLens lens) {
  SequenceOptions options;
  if (lens == SuiteLens::kWide) options.camera = MakeWideLens(options.width, options.height);
  options.anatomy = subject.anatomy;
  options.seed = subject.seed;
  options.path.kind = PathKind::kInsertionRetreat;
  options.path.frames = kSuiteFrames;
  return options;
}

const SuiteSubject& FindSuiteSubject(const std::string& name) {
  std::vector<std::string> names;
  names.reserve(kBenchmarkSuite.size());
  for (const SuiteSubject& subject : kBenchmarkSuite) names.emplace_back(subject.name);
  return kBenchmarkSuite.at(ParseChoice("subject", name, names));
}

}  // namespace lumen
