#include <iomanip>
#include <iostream>

#include "lumen/apps/app.h"
#include "lumen/apps/coverage_grading.h"
#include "lumen/apps/eval_pictures.h"
#include "lumen/apps/grading.h"
#include "lumen/apps/status_grading.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"

namespace lumen {

namespace {

struct EvalOptions {
  std::filesystem::path run;
  ForeignFiles foreign;
  std::filesystem::path truth;
  std::filesystem::path json;
  std::filesystem::path per_frame;
  std::filesystem::path pictures;
  std::filesystem::path page;
  GradingOptions grading;
  double fps = 30;
};

void PrintGrades(const Grades& grades, std::ostream& out) {
  for (const MetricInfo& metric : AllMetrics()) {
    const auto value = grades.Get(metric.key);
    if (!value) continue;
    const std::string unit = metric.unit;
    out << std::left << std::setw(34) << metric.key << std::right << std::setw(12) << std::fixed
        << std::setprecision(unit == "count" ? 0 : metric.decimals + 1) << *value;
    if (unit == "length")
      out << "  " << grades.units;
    else if (unit != "count" && !unit.empty())
      out << "  " << unit;
    out << '\n';
  }
}

// Shares of errors within what they were said to be.
void PrintCalibration(const std::map<std::string, CalibrationScore>& scores, std::ostream& out) {
  if (scores.empty()) return;
  out << "how true the uncertainties are      within 1 σ   2 σ   3 σ      NLL   (one σ for all)\n";
  for (const auto& [name, score] : scores) {
    out << std::left << std::setw(34) << name << std::right << std::fixed << std::setprecision(1);
    out << std::setw(12) << 100 * score.within[0] << std::setw(6) << 100 * score.within[1] << std::setw(6)
        << 100 * score.within[2];
    out << std::setprecision(3) << std::setw(9) << score.nll << std::setw(13) << score.constant_nll << '\n';
  }
}

// Whether frames that are off were called so.
void PrintStatuses(const Grading& grading, std::ostream& out) {
  const auto print = [&](const char* when, const std::optional<StatusScore>& score) {
    if (!score) return;
    out << std::left << std::setw(34) << when << std::right << std::setw(12) << score->Off() << " of "
        << score->Placed() << " frames off" << std::fixed << std::setprecision(1);
    if (score->Off() > 0) out << ", " << 100 * score->OffCalledTracked() << " % of them called tracked";
    out << ", " << 100 * score->GoodCalledWeak() << " % of the others weak";
    if (score->HasAuc()) out << std::setprecision(3) << ", AUC " << score->Auc();
    out << '\n';
  };
  print("statuses_at_once", grading.statuses_at_once);
  print("statuses", grading.statuses);
}

// Whether it knows what it has not seen.
void PrintCoverage(const CoverageScore& score, std::ostream& out) {
  char line[240];
  std::snprintf(line, sizeof(line),
                "coverage: %.1f %% of the wall seen, said to be %.1f %%; %.1f points off in %zu "
                "stretches\n",
                100 * score.truth, 100 * score.said, 100 * score.MeanError(), score.stretches.size());
  out << line;
  std::snprintf(line, sizeof(line),
                "not seen: %.2f of its area found, %.2f of what is called so is; %d of %d spots "
                "found, %d of %d right\n",
                score.missed > 0 ? score.missed_found / score.missed : 1,
                score.missed_said > 0 ? score.missed_found / score.missed_said : 1, score.spots_found,
                score.spots, score.spots_right, score.spots_said);
  out << line;
}

// Each reason once, with all the metrics it took away.
void WarnOfAbsent(const Grades& grades) {
  std::map<std::string, std::string> by_reason;
  for (const auto& [key, reason] : grades.Absent()) {
    std::string& keys = by_reason[reason];
    keys += (keys.empty() ? "" : ", ") + key;
  }
  for (const auto& [reason, keys] : by_reason) LogWarning("not computed: ", keys, ": ", reason);
}

void WritePictures(const EvalOptions& options, const Grading& grading, const Estimate& estimate,
                   const Truth& truth) {
  if (options.pictures.empty() && options.page.empty()) return;
  const std::vector<NamedFigure> figures = DrawGrading(grading, estimate, truth, options.grading);
  if (!options.pictures.empty()) {
    MakeDirectories(options.pictures);
    for (const NamedFigure& figure : figures)
      WriteFileAtomically(options.pictures / (figure.name + ".svg"), figure.svg);
  }
  if (!options.page.empty())
    WriteFileAtomically(options.page, FormatGradingPage(grading, estimate, truth, figures));
}

void RunEval(EvalOptions options) {
  if (options.run.empty() == options.foreign.trajectory.empty())
    throw InputError("give either a run's folder or --trajectory FILE");
  if (!options.run.empty() && !options.foreign.depth.empty())
    throw InputError("--depth goes with --trajectory; a run has its own depth");
  options.grading.threads = AvailableCores();
  const Truth truth = LoadTruth(options.truth, options.fps);
  const Estimate estimate =
      options.run.empty() ? LoadForeignEstimate(options.foreign, truth.fps) : LoadRunEstimate(options.run);
  const Grading grading = GradeEstimate(estimate, truth, options.grading);
  for (const std::string& note : grading.notes) LogWarning(estimate.name, ": ", note);
  WarnOfAbsent(grading.grades);
  PrintGrades(grading.grades, std::cout);
  PrintCalibration(grading.calibration, std::cout);
  PrintStatuses(grading, std::cout);
  if (grading.coverage) PrintCoverage(*grading.coverage, std::cout);
  if (grading.all_frames) {
    std::cout << "all placed frames:\n";
    PrintGrades(*grading.all_frames, std::cout);
  }
  if (!options.per_frame.empty())
    SaveJudgedFrames(options.per_frame, JudgeFrames(estimate, truth, options.grading));
  if (!options.json.empty())
    WriteFileAtomically(options.json, GradingToJson(grading, estimate, truth).Dump(2) + "\n");
  WritePictures(options, grading, estimate, truth);
}

}  // namespace

void AddEvalCommand(Command& app) {
  Command& command = app.AddCommand("eval", "grade a run, or any system's files, against the truth");
  auto options = std::make_shared<EvalOptions>();
  command.Add("RUN", options->run, "folder that `lumen run` wrote");
  command.Add("--truth", options->truth, "sequence with true poses (and depth), or a trajectory file")
      .Required();
  command.Add("--trajectory", options->foreign.trajectory,
              "another system's trajectory: TUM, KITTI or COLMAP");
  command.Add("--depth", options->foreign.depth,
              "its depth maps: a folder of 16-bit 000042.png, by frame number");
  command.Add("--depth-scale", options->foreign.depth_scale, "stored value of depth 1")
      .Positive()
      .ShowDefault();
  command.Add("--depth-camera", options->foreign.depth_camera,
              "calibration of its depth maps, if they do not show the sequence's own view");
  command.Add("--fps", options->fps, "frames a second, of a truth whose file says no times (KITTI, COLMAP)")
      .Within(1e-3, 1e6)
      .ShowDefault();
  command.Add("--json", options->json, "write the grades there too");
  command.Add("--per-frame", options->per_frame,
              "write a table (CSV) there: how far each frame is off, and what was said of it");
  command.Add("--pictures", options->pictures, "folder for the figures, as SVG");
  command.Add("--report", options->page, "write a page (HTML) with grades and figures there");
  command.AddFlag("--all-frames", options->grading.all_frames, "grade every placed frame too");
  command.AddFlag("--coverage", options->grading.coverage,
                  "grade what the run says it has not seen (the truth needs coverage_mesh.obj)");
  command.AddFlag("--one-scale", options->grading.one_scale,
                  "also as SimCol3D does: paths chained from their steps and depth, each at one scale");
  command.Add("--delta", options->grading.step_poses, "step of the RPE in graded poses")
      .Within(1, 100000)
      .ShowDefault();
  command
      .Add("--delta-frames", options->grading.step_frames,
           "step of the RPE in video frames instead, for systems with other keyframes")
      .Within(1, 1000000);
  command
      .Add("--max-gap", options->grading.max_time_gap,
           "seconds that an estimate's and the truth's time may be apart")
      .Within(1e-9, 10.0)
      .ShowDefault();
  command.Do([options] { RunEval(*options); });
}

}  // namespace lumen
