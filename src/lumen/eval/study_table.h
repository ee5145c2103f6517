// Many grades side by side: variants (systems, settings, folds) over sequences, with mean ± standard
// deviation and the paired t-test of each variant against the first, as Markdown, CSV, JSON and HTML.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lumen/eval/grades.h"
#include "lumen/eval/statistics.h"

namespace lumen {

struct StudyEntry {
  std::string variant, sequence;
  Grades grades;
  std::string failure;  // why there are no grades; empty if there are
};

struct Study {
  std::string title;
  std::vector<std::string> variants;  // the first is what the others are tested against
  std::vector<std::string> sequences;
  std::vector<StudyEntry> entries;
  bool tests = true;
  std::vector<std::string> notes;    // what a reader must know
  Json record = Json::MakeObject();  // versions, settings: what the numbers come from
};

struct StudySummary {
  std::vector<double> values;  // of the sequences that have the metric, in their order
  double mean = 0, deviation = 0, median = 0;
  std::optional<TTest> test;  // against the first variant, over the sequences both have
};

// The metrics of the paper's tables, and how much was placed.
const std::vector<std::string>& StudyColumns();

const StudyEntry* FindEntry(const Study& study, const std::string& variant, const std::string& sequence);
// Nothing if no sequence of the variant has the metric.
std::optional<StudySummary> SummariseMetric(const Study& study, const std::string& variant,
                                            const std::string& metric);
// The truth's units if all sequences agree, else "each sequence's units".
std::string StudyUnits(const Study& study);

std::string FormatMarkdown(const Study& study);
std::string FormatCsv(const Study& study);  // one line a variant and sequence, all metrics
Json StudyToJson(const Study& study);
// Box plots of the main metrics (SVG).
std::string DrawStudyBoxes(const Study& study);
// Self-contained page: tables, box plots, and further figures (SVG documents) with captions.
struct CaptionedFigure {
  std::string caption, svg;
};
std::string FormatHtml(const Study& study, const std::vector<CaptionedFigure>& figures = {});

}  // namespace lumen
