#include "lumen/sim/suite.h"

#include "lumen/sim/choice.h"

namespace lumen {

SequenceOptions MakeSuiteOptions(const SuiteSubject& subject) {
  SequenceOptions options;
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
