// Figures of one graded run: path, errors over time, and depth beside its truth.
#pragma once

#include "lumen/apps/grading.h"

namespace lumen {

struct NamedFigure {
  std::string name;     // of the file, without ending
  std::string caption;  // one sentence
  std::string svg;
};

// Those that can be drawn; a run without a similarity to the truth has no path, one without depth no maps.
std::vector<NamedFigure> DrawGrading(const Grading& grading, const Estimate& estimate, const Truth& truth,
                                     const GradingOptions& options);

// A self-contained page of one run: grades, reasons, figures.
std::string FormatGradingPage(const Grading& grading, const Estimate& estimate, const Truth& truth,
                              const std::vector<NamedFigure>& figures);

}  // namespace lumen
