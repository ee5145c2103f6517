#include "lumen/apps/app.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <system_error>

#include "lumen/apps/interrupt.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/text.h"
#include "lumen/base/version.h"

namespace lumen {

namespace {

constexpr int kBadOutput = 3;
constexpr int kNoMemory = 5;
constexpr int kBug = 70;

int Report(const std::string& line, int code) {
  std::cerr << "lumen: " << Printable(line) << '\n';  // names of files are strangers' text
  return code;
}

int ReportBug(const std::exception& error) {
  return Report(StrCat("internal error, please report it: ", error.what()), kBug);
}

constexpr const char* kNoMemoryLine = "lumen: there is not enough memory for this\n";

// Where a want of memory cannot be caught: in what libraries do while they are loaded, or in a destructor.
[[noreturn]] void EndWithoutMemory() {
  try {
    if (std::current_exception() != nullptr) throw;
  } catch (const std::bad_alloc&) {
    RemoveTemporaries();
    std::fputs(kNoMemoryLine, stderr);
    std::_Exit(kNoMemory);
  } catch (...) {
    // a bug, which ends as bugs do
  }
  std::abort();
}

class NameCollector : public ConfigVisitor {
 public:
  std::vector<std::string> names;

 protected:
  void Visit(const std::string& name, bool&, const FieldInfo&) override { names.push_back(name); }
  void Visit(const std::string& name, int&, const FieldInfo&) override { names.push_back(name); }
  void Visit(const std::string& name, double&, const FieldInfo&) override { names.push_back(name); }
  void Visit(const std::string& name, std::string&, const FieldInfo&) override { names.push_back(name); }
  void Visit(const std::string& name, std::vector<double>&, const FieldInfo&) override {
    names.push_back(name);
  }
};

}  // namespace

std::string VersionLine() { return StrCat("lumen ", Version(), " (", Commit(), ")"); }

void AddInputOptions(Command& command, InputOptions& options) {
  command.Add("--sequence", options.sequence,
              "of a data set's folder that holds several (lumen info DIR lists them)");
  command.Add("--calibration", options.calibration,
              "camera: sequence.toml, OpenCV YAML, or COLMAP cameras.txt");
  command.Add("--fov", options.fov_degrees, "horizontal field of view in degrees, instead of a calibration")
      .Within(1.0, 170.0);
  command.Add("--mask", options.mask, "image whose bright part is the video's content");
  command.AddFlag("--mask-text", options.mask_text,
                  "leave out what never changes over the video: text that a recorder burnt in");
  command.Add("--fps", options.fps, "frames a second, if the input does not say").Within(0.01, 10000.0);
  command.Add("--start", options.start, "first frame").NotNegative();
  command.Add("--end", options.end, "first frame that is not read").NotNegative();
  command.Add("--stride", options.stride, "every how many frames one is read").Positive();
  command.AddFlag("--flip-z", options.flip_z,
                  "take the true poses of EndoSLAM's UnityCam for mirrored along z, not y");
  command.AddFlag("--bgr", options.swap_red_and_blue,
                  "swap red and blue: for inputs whose channel order is wrong");
}

void AddDeviceOption(Command& command, std::string& device) {
  command.Add("--device", device, "where the networks run: auto, cpu or cuda").OneOf({"auto", "cpu", "cuda"});
}

void AddConfigOptions(Command& command, ConfigChoice& choice) {
  command.Add("--config", choice.file, "TOML file with parameters (see: lumen config)");
  command.Add("--set", choice.settings, "one parameter, as name=value; may be given several times")
      .Hint(SettingHints());
}

std::vector<std::string> SettingHints() {
  NameCollector collector;
  AppConfig().Describe(collector);
  for (std::string& name : collector.names) name += '=';
  return collector.names;
}

AppConfig ResolveConfig(const ConfigChoice& choice) {
  AppConfig config;
  if (!choice.file.empty()) LoadConfig(choice.file, config);
  for (const std::string& setting : choice.settings) SetConfig(setting, config);
  return config;
}

PixelSize ParsePixelSize(const std::string& text) {
  const std::vector<std::string> parts = Split(text, 'x');
  const auto width = parts.size() == 2 ? ParseInteger(parts[0]) : std::nullopt;
  const auto height = parts.size() == 2 ? ParseInteger(parts[1]) : std::nullopt;
  constexpr long long kLeast = 16;
  constexpr long long kMost = 8192;
  const auto sensible = [](const auto& size) { return size && *size >= kLeast && *size <= kMost; };
  if (!sensible(width) || !sensible(height)) {
    throw InputError(
        StrCat("size \"", text, "\": expected WIDTHxHEIGHT, each from ", kLeast, " to ", kMost, " pixels"));
  }
  return {static_cast<int>(*width), static_cast<int>(*height)};
}

namespace {

// By what one wants to do; within it, in the order in which one does.
void AddCommands(Command& app) {
  app.Listed("From a video to a surface",
             {AddRunCommand, AddViewCommand, AddFuseCommand, AddModelCommand, AddRegisterCommand,
              AddCoverageCommand, AddReportCommand, AddExportCommand, AddBatchCommand});
  app.Listed("Videos and cameras",
             {AddInfoCommand, AddCalibrateCommand, AddConvertCommand, AddSimulateCommand});
  app.Listed("How good it is", {AddEvalCommand, AddStudyCommand, AddBenchCommand});
  app.Listed("The networks", {AddPredictCommand, AddAdaptCommand, AddTrainCommand, AddVocabularyCommand});
  app.Listed("The program", {AddConfigCommand, AddCompletionCommand, AddManualCommand});
  AddStudyCellCommand(app);
  AddBatchVideoCommand(app);
  AddTaskCommand(app);
}

void ParseAndRun(int argc, const char* const* argv) {
  Command app("lumen", "Lumen: dense monocular SLAM for endoscopy");
  app.AddAnswer("--version", VersionLine() + "\n", "Display program version information and exit");
  app.RequireCommand();
  bool quiet = false;
  app.AddFlag("--quiet,-q", quiet, "print results and errors only");
  app.DoFirst([&] {
    if (quiet) SetLogLevel(LogLevel::kError);
  });
  AddCommands(app);
  app.ParseAndRun(argc, argv);
}

// No thread can be had, which the system says of a want of memory, too.
bool IsWant(const std::system_error& error) {
  return error.code() == std::errc::resource_unavailable_try_again ||
         error.code() == std::errc::not_enough_memory;
}

int RunAndReport(int argc, const char* const* argv) {
  try {
    ParseAndRun(argc, argv);
    if (!std::cout.flush()) return Report("standard output: cannot write", kBadOutput);
    return 0;
  } catch (const ExitRequest& request) {
    return request.code;
  } catch (const InputError& error) {
    return Report(error.what(), kBadInput);
  } catch (const OutputError& error) {
    return Report(error.what(), kBadOutput);
  } catch (const std::filesystem::filesystem_error& error) {
    return Report(error.what(), kBadInput);
  } catch (const std::system_error& error) {
    return IsWant(error) ? Report(StrCat("no thread or no memory left: ", error.what()), kNoMemory)
                         : ReportBug(error);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return ReportBug(error);
  }
}

}  // namespace

int RunApp(int argc, const char* const* argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows too large is a failed write, not a crash
  EndTidilyOnSignals();
  std::set_terminate(EndWithoutMemory);
  try {
    return RunAndReport(argc, argv);
  } catch (const std::bad_alloc&) {  // also of a line that had no room
    std::fputs(kNoMemoryLine, stderr);
    return kNoMemory;
  }
}

}  // namespace lumen
