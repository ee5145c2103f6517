#include "lumen/eval/study_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "lumen/base/csv.h"
#include "lumen/base/error.h"
#include "lumen/base/text.h"
#include "lumen/eval/figures.h"
#include "lumen/eval/html.h"

namespace lumen {

namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string Fixed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

const MetricInfo& Metric(const std::string& key) {
  const MetricInfo* metric = FindMetric(key);
  LUMEN_CHECK(metric != nullptr, key);
  return *metric;
}

// The wide columns of means are cut in two, as in the paper: the trajectory's and the depth's.
bool IsDepthColumn(const std::string& key) {
  return StartsWith(key, "ard_") || StartsWith(key, "threshold_");
}
std::vector<std::string> Columns(bool depth) {
  std::vector<std::string> columns;
  for (const std::string& key : StudyColumns())
    if (IsDepthColumn(key) == depth) columns.push_back(key);
  return columns;
}

std::vector<std::string> HeadRow(const Study& study, const std::vector<std::string>& first,
                                 const std::vector<std::string>& columns = StudyColumns()) {
  std::vector<std::string> row = first;
  for (const std::string& key : columns) row.push_back(MetricTitle(Metric(key), StudyUnits(study)));
  return row;
}

std::set<std::string> SequencesOf(const Study& study, const std::string& variant) {
  std::set<std::string> names;
  for (const StudyEntry& entry : study.entries)
    if (entry.variant == variant) names.insert(entry.sequence);
  return names;
}

// Whether no variant's mean is better, as it is printed, and some variant's is worse; among those of the same
// sequences: the folds of a study say nothing about each other.
bool IsBest(const Study& study, const std::string& variant, const std::string& key) {
  const MetricInfo& metric = Metric(key);
  const auto printed = [&](const std::string& name) -> std::optional<double> {
    const auto summary = SummariseMetric(study, name, key);
    return summary ? ParseDouble(Fixed(summary->mean, metric.decimals)) : std::nullopt;
  };
  const std::optional<double> mine = printed(variant);
  bool some_worse = false;
  for (const std::string& other : study.variants) {
    if (SequencesOf(study, other) != SequencesOf(study, variant)) continue;
    const std::optional<double> theirs = printed(other);
    if (!theirs || *theirs == *mine) continue;
    if ((*theirs > *mine) == metric.higher_is_better) return false;
    some_worse = true;
  }
  return some_worse;
}

size_t CountEntries(const Study& study, const std::string& variant) {
  return static_cast<size_t>(std::count_if(study.entries.begin(), study.entries.end(),
                                           [&](const StudyEntry& e) { return e.variant == variant; }));
}

// As an operator sign, which neither Markdown nor HTML takes for markup.
std::string StarText(double p) {
  std::string text;
  for (size_t i = 0; i < SignificanceStars(p).size(); ++i) text += "∗";
  return text;
}

std::string MeanText(const Study& study, const std::string& variant, const std::string& key) {
  const auto summary = SummariseMetric(study, variant, key);
  if (!summary) return "–";
  const int decimals = Metric(key).decimals;
  std::string text = StrCat(Fixed(summary->mean, decimals), " ± ", Fixed(summary->deviation, decimals));
  if (IsBest(study, variant, key)) text = StrCat("**", text, "**");
  if (summary->test) text += StarText(summary->test->p);
  const size_t missing = CountEntries(study, variant) - summary->values.size();
  if (missing > 0) text += StrCat(" (", missing, " missing)");
  return text;
}

Rows MeanRows(const Study& study, bool depth) {
  Rows rows = {HeadRow(study, {"variant"}, Columns(depth))};
  for (const std::string& variant : study.variants) {
    rows.push_back({variant});
    for (const std::string& key : Columns(depth)) rows.back().push_back(MeanText(study, variant, key));
  }
  return rows;
}

Rows MedianRows(const Study& study) {
  Rows rows = {HeadRow(study, {"variant"})};
  for (const std::string& variant : study.variants) {
    rows.push_back({variant});
    for (const std::string& key : StudyColumns()) {
      const auto summary = SummariseMetric(study, variant, key);
      rows.back().push_back(summary ? Fixed(summary->median, Metric(key).decimals) : "–");
    }
  }
  return rows;
}

Rows PRows(const Study& study) {
  Rows rows = {HeadRow(study, {"variant"})};
  for (size_t k = 1; k < study.variants.size(); ++k) {
    rows.push_back({study.variants[k]});
    for (const std::string& key : StudyColumns()) {
      const auto summary = SummariseMetric(study, study.variants[k], key);
      rows.back().push_back(summary && summary->test ? Fixed(summary->test->p, 4) : "–");
    }
  }
  return rows;
}

Rows SequenceRows(const Study& study, const std::vector<std::string>& columns = StudyColumns()) {
  Rows rows = {HeadRow(study, {"sequence", "variant"}, columns)};
  for (const std::string& sequence : study.sequences) {
    for (const std::string& variant : study.variants) {
      const StudyEntry* entry = FindEntry(study, variant, sequence);
      if (entry == nullptr) continue;
      rows.push_back({sequence, variant});
      for (const std::string& key : columns) {
        const auto value = entry->failure.empty() ? entry->grades.Get(key) : std::nullopt;
        rows.back().push_back(value ? Fixed(*value, Metric(key).decimals + 1) : "–");
      }
    }
  }
  return rows;
}

// What only some sequences have: those graded at one scale, too.
const std::vector<std::string>& OneScaleColumns() {
  static const std::vector<std::string> columns = {
      "chained_ate", "chained_rte", "chained_rot_deg", "depth_l1", "depth_relative_percent", "depth_rmse"};
  return columns;
}
bool HasOneScale(const Study& study) {
  return std::any_of(study.entries.begin(), study.entries.end(), [](const StudyEntry& entry) {
    return entry.grades.Get("chained_ate").has_value() || entry.grades.Get("depth_l1").has_value();
  });
}

std::vector<std::string> Remarks(const Study& study) {
  std::vector<std::string> remarks = study.notes;
  for (const StudyEntry& entry : study.entries) {
    if (!entry.failure.empty())
      remarks.push_back(StrCat(entry.sequence, ", ", entry.variant, ": failed: ", entry.failure));
    if (entry.grades.Get("loops_false").value_or(0) > 0)
      remarks.push_back(StrCat(entry.sequence, ", ", entry.variant, ": ", *entry.grades.Get("loops_false"),
                               " of ", entry.grades.Get("loops_global").value_or(0),
                               " global loops are false"));
    std::set<std::string> said;
    for (const auto& [key, reason] : entry.grades.Absent()) {
      if (said.insert(reason).second)
        remarks.push_back(StrCat(entry.sequence, ", ", entry.variant, ": no ", key, ": ", reason));
    }
  }
  return remarks;
}

bool HasTests(const Study& study) { return study.tests && study.variants.size() > 1; }

std::string TestNote(const Study& study) {
  return StrCat("∗∗∗, ∗∗, ∗: p < 0.001, 0.01, 0.05 of a two-sided paired t-test against \"",
                study.variants.front(), "\". Bold: the best mean.");
}

std::string MarkdownTable(const Rows& rows) {
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const std::string& cell : rows[i]) text += "| " + cell + " ";
    text += "|\n";
    if (i > 0) continue;
    for (size_t k = 0; k < rows[0].size(); ++k) text += "|---";
    text += "|\n";
  }
  return text + "\n";
}

Json VariantToJson(const Study& study, const std::string& variant) {
  Json json = Json::MakeObject();
  json["name"] = variant;
  for (const MetricInfo& metric : AllMetrics()) {
    const auto summary = SummariseMetric(study, variant, metric.key);
    if (!summary) continue;
    Json& value = json["metrics"][metric.key];
    value["count"] = static_cast<int64_t>(summary->values.size());
    value["mean"] = summary->mean;
    value["std"] = summary->deviation;
    value["median"] = summary->median;
    if (!summary->test) continue;
    value["t"] = summary->test->t;
    value["p"] = summary->test->p;
  }
  return json;
}

Json EntryToJson(const StudyEntry& entry) {
  Json json = Json::MakeObject();
  json["variant"] = entry.variant;
  json["sequence"] = entry.sequence;
  if (entry.failure.empty()) {
    json["grades"] = entry.grades.ToJson();
  } else {
    json["failure"] = entry.failure;
  }
  return json;
}

std::vector<std::string> RecordLines(const Study& study) {
  std::vector<std::string> lines;
  for (const auto& [key, value] : study.record.AsObject())
    lines.push_back(StrCat(key, ": ", value.IsString() ? value.AsString() : value.Dump()));
  return lines;
}

}  // namespace

const std::vector<std::string>& StudyColumns() {
  static const std::vector<std::string> columns = {"ate_trans",
                                                   "ate_rot_deg",
                                                   "rpe_trans",
                                                   "rpe_rot_deg",
                                                   "ard_traj",
                                                   "ard_frame",
                                                   "threshold_1.25_traj",
                                                   "threshold_1.25_frame",
                                                   "threshold_1.5625_traj",
                                                   "threshold_1.5625_frame",
                                                   "own_rot_deg",
                                                   "ate_percent",
                                                   "placed_percent"};
  return columns;
}

const StudyEntry* FindEntry(const Study& study, const std::string& variant, const std::string& sequence) {
  for (const StudyEntry& entry : study.entries)
    if (entry.variant == variant && entry.sequence == sequence) return &entry;
  return nullptr;
}

std::optional<StudySummary> SummariseMetric(const Study& study, const std::string& variant,
                                            const std::string& metric) {
  StudySummary summary;
  std::vector<double> mine, reference;
  const auto value_of = [&](const std::string& name, const std::string& sequence) -> std::optional<double> {
    const StudyEntry* entry = FindEntry(study, name, sequence);
    return entry != nullptr && entry->failure.empty() ? entry->grades.Get(metric) : std::nullopt;
  };
  for (const std::string& sequence : study.sequences) {
    const auto value = value_of(variant, sequence);
    if (!value) continue;
    summary.values.push_back(*value);
    const auto other = value_of(study.variants.front(), sequence);
    if (!other) continue;
    mine.push_back(*value);
    reference.push_back(*other);
  }
  if (summary.values.empty()) return std::nullopt;
  summary.mean = Mean(summary.values);
  summary.deviation = StandardDeviation(summary.values);
  summary.median = Quantile(summary.values, 0.5);
  if (study.tests && variant != study.variants.front()) summary.test = PairedTTest(mine, reference);
  return summary;
}

std::string StudyUnits(const Study& study) {
  std::set<std::string> units;
  for (const StudyEntry& entry : study.entries)
    if (entry.failure.empty()) units.insert(entry.grades.units);
  return units.size() == 1 ? *units.begin() : "each sequence's units";
}

std::string FormatMarkdown(const Study& study) {
  std::string text = StrCat("# ", study.title, "\n\nMean ± standard deviation over sequences.\n\n",
                            MarkdownTable(MeanRows(study, false)), MarkdownTable(MeanRows(study, true)));
  if (HasTests(study)) text += StrCat(TestNote(study), "\n\n## p-values\n", MarkdownTable(PRows(study)));
  text += StrCat("## Medians\n", MarkdownTable(MedianRows(study)), "## Sequences\n",
                 MarkdownTable(SequenceRows(study)));
  if (HasOneScale(study))
    text += StrCat("## At one scale a sequence\n", MarkdownTable(SequenceRows(study, OneScaleColumns())));
  const std::vector<std::string> remarks = Remarks(study);
  if (!remarks.empty()) text += "## Remarks\n";
  for (const std::string& remark : remarks) text += "- " + remark + "\n";
  text += "\n## Made by\n";
  for (const std::string& line : RecordLines(study)) text += "- " + line + "\n";
  return text;
}

std::string FormatCsv(const Study& study) {
  std::string text = "variant,sequence";
  for (const MetricInfo& metric : AllMetrics()) text += StrCat(",", metric.key);
  text += ",units,failure\n";
  for (const StudyEntry& entry : study.entries) {
    text += StrCat(CsvCell(entry.variant), ",", CsvCell(entry.sequence));
    for (const MetricInfo& metric : AllMetrics()) {
      const auto value = entry.grades.Get(metric.key);
      text += StrCat(",", value ? FormatDouble(*value) : "");
    }
    text += StrCat(",", entry.grades.units, ",", CsvCell(entry.failure), "\n");
  }
  return text;
}

Json StudyToJson(const Study& study) {
  Json json = Json::MakeObject();
  json["title"] = study.title;
  json["record"] = study.record;
  json["notes"] = Json::MakeArray();
  for (const std::string& note : study.notes) json["notes"].Append(note);
  json["variants"] = Json::MakeArray();
  for (const std::string& variant : study.variants) json["variants"].Append(VariantToJson(study, variant));
  json["cells"] = Json::MakeArray();
  for (const StudyEntry& entry : study.entries) json["cells"].Append(EntryToJson(entry));
  return json;
}

std::string DrawStudyBoxes(const Study& study) {
  BoxFigure figure;
  figure.title = study.title;
  figure.variants = study.variants;
  for (size_t k = 0; k < 8; ++k) {  // the trajectory's four and the depth's first four
    const std::string& key = StudyColumns()[k];
    BoxPanel panel{MetricTitle(Metric(key), StudyUnits(study)), {}};
    for (const std::string& variant : study.variants) {
      const auto summary = SummariseMetric(study, variant, key);
      panel.values.push_back(summary ? summary->values : std::vector<double>{});
    }
    figure.panels.push_back(panel);
  }
  return DrawBoxes(figure);
}

std::string FormatHtml(const Study& study, const std::vector<CaptionedFigure>& figures) {
  HtmlPage page(study.title);
  page.Paragraph("Mean ± standard deviation over sequences.");
  page.Table(MeanRows(study, false));
  page.Table(MeanRows(study, true));
  if (HasTests(study)) page.Paragraph(TestNote(study));
  page.Figure(
      DrawStudyBoxes(study),
      "Boxes: quartiles and median; whiskers: the last value within 1.5 box heights; dots: sequences.");
  if (HasTests(study)) {
    page.Heading("p-values");
    page.Table(PRows(study));
  }
  page.Heading("Medians");
  page.Table(MedianRows(study));
  page.Heading("Sequences");
  page.Table(SequenceRows(study));
  if (HasOneScale(study)) {
    page.Heading("At one scale a sequence");
    page.Table(SequenceRows(study, OneScaleColumns()));
  }
  for (const CaptionedFigure& figure : figures) page.Figure(figure.svg, figure.caption);
  const std::vector<std::string> remarks = Remarks(study);
  if (!remarks.empty()) {
    page.Heading("Remarks");
    page.List(remarks);
  }
  page.Heading("Made by");
  page.List(RecordLines(study));
  return page.Finish();
}

}  // namespace lumen
