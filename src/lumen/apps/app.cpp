#include "lumen/apps/app.h"

#include <csignal>
#include <iostream>
#include <new>

#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/text.h"
#include "lumen/base/version.h"

namespace lumen {

namespace {

constexpr int kBadInput = 2;
constexpr int kBadOutput = 3;
constexpr int kNoMemory = 5;
constexpr int kBug = 70;

int Report(const std::string& line, int code) {
  std::cerr << "lumen: " << Printable(line) << '\n';  // names of files are strangers' text
  return code;
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

void AddInputOptions(Command& command, InputOptions& options) {
  command.Add("--calibration", options.calibration,
              "camera: sequence.toml, OpenCV YAML, or COLMAP cameras.txt");
  command.Add("--fov", options.fov_degrees, "horizontal field of view in degrees, instead of a calibration")
      .Within(1.0, 170.0);
  command.Add("--mask", options.mask, "image whose bright part is the video's content");
  command.Add("--fps", options.fps, "frames a second, if the input does not say").Within(0.01, 10000.0);
  command.Add("--start", options.start, "first frame").NotNegative();
  command.Add("--end", options.end, "first frame that is not read").NotNegative();
  command.Add("--stride", options.stride, "every how many frames one is read").Positive();
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

int RunApp(int argc, const char* const* argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows too large is a failed write, not a crash
  Command app("lumen", "Lumen: dense monocular SLAM for endoscopy");
  app.AddAnswer("--version", StrCat("lumen ", Version(), " (", Commit(), ")\n"),
                "Display program version information and exit");
  app.RequireCommand();
  bool quiet = false;
  app.AddFlag("--quiet,-q", quiet, "print results and errors only");
  app.DoFirst([&] {
    if (quiet) SetLogLevel(LogLevel::kError);
  });
  AddInfoCommand(app);
  AddSimulateCommand(app);
  AddConvertCommand(app);
  AddCalibrateCommand(app);
  AddConfigCommand(app);
  AddRunCommand(app);
  AddFuseCommand(app);
  AddRegisterCommand(app);
  AddPredictCommand(app);
  AddTrainCommand(app);
  AddAdaptCommand(app);
  AddEvalCommand(app);
  AddStudyCommand(app);
  AddReportCommand(app);
  AddViewCommand(app);
  AddBenchCommand(app);
  AddVocabularyCommand(app);
  AddCompletionCommand(app);
  AddManualCommand(app);
  try {
    app.ParseAndRun(argc, argv);
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
  } catch (const std::bad_alloc&) {
    return Report("there is not enough memory for this", kNoMemory);
  } catch (const std::exception& error) {
    return Report(StrCat("internal error, please report it: ", error.what()), kBug);
  }
}

}  // namespace lumen
