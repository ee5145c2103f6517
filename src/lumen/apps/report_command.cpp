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

void AddReportCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("report", "a run as one page (HTML) that can be mailed");
  auto choice = std::make_shared<ReportChoice>();
  command->add_option("RUN", choice->run, "folder that `lumen run` wrote")->required();
  command->add_option("--out", choice->out, "where to write the page (default: RUN/report.html)");
  command->add_option("--truth", choice->options.truth,
                      "sequence with true poses (default: the run's own input, where it has them)");
  command->add_option("--views", choice->options.views, "pictures of the turntable")
      ->check(CLI::Range(1, 360))
      ->capture_default_str();
  command->add_option("--keyframes", choice->options.keyframes, "keyframes shown")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->callback([choice] { RunReport(*choice); });
}

}  // namespace lumen
