#include "lumen/apps/app.h"
#include "lumen/apps/report.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"

namespace lumen {

namespace {

struct ReportChoice {
  std::filesystem::path run;
  std::filesystem::path out;
  ReportOptions options;
};

void RunReport(const ReportChoice& choice) {
  const std::string page = FormatReport(choice.run, choice.options);
  const std::filesystem::path out = choice.out.empty() ? choice.run / "report.html" : choice.out;
  WriteFileAtomically(out, page);
  LogInfo("report, ", page.size() / 1024, " KB: ", out.string());
}

}  // namespace

void AddReportCommand(Command& app) {
  Command& command = app.AddCommand("report", "a run as one page (HTML) that can be mailed");
  auto choice = std::make_shared<ReportChoice>();
  command.Add("RUN", choice->run, "folder that `lumen run` wrote").Required();
  command.Add("--out", choice->out, "where to write the page (default: RUN/report.html)");
  command.Add("--truth", choice->options.truth,
              "sequence with true poses (default: the run's own input, where it has them)");
  command
      .Add("--mm-per-unit", choice->options.mm_per_unit,
           "millimetres to the map's unit, where they are known")
      .Positive();
  command.Add("--views", choice->options.views, "pictures of the turntable").Within(1, 360).ShowDefault();
  command.Add("--keyframes", choice->options.keyframes, "keyframes shown").Within(1, 1000).ShowDefault();
  command.Do([choice] { RunReport(*choice); });
}

}  // namespace lumen
