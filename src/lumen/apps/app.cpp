#include "lumen/apps/app.h"

#include <csignal>
#include <iostream>

#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/text.h"
#include "lumen/base/version.h"

namespace lumen {

namespace {

constexpr int kBadInput = 2;
constexpr int kBadOutput = 3;
constexpr int kBug = 70;

int Report(const std::string& line, int code) {
  std::cerr << "lumen: " << line << '\n';
  return code;
}

// The subcommand nearest to what was typed, for usage errors.
std::string SuggestCommand(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  if (argc < 2) return "";
  const auto nearest = NearestName(argv[1], names);
  return nearest && *nearest != argv[1] ? StrCat(" (did you mean \"", *nearest, "\"?)") : "";
}

int ParseAndRun(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);  // runs the subcommand's callback
    return 0;
  } catch (const CLI::Success& help) {
    return app.exit(help);  // --help and --version are no errors
  } catch (const CLI::ParseError& error) {
    return Report(StrCat(error.what(), SuggestCommand(app, argc, argv), "; see lumen --help"), kBadInput);
  }
}

}  // namespace

void AddInputOptions(CLI::App& command, InputOptions& options) {
  command.add_option("--calibration", options.calibration,
                     "camera: sequence.toml, OpenCV YAML, or COLMAP cameras.txt");
  command
      .add_option("--fov", options.fov_degrees,
                  "horizontal field of view in degrees, instead of a calibration")
      ->check(CLI::Range(1.0, 179.0));
  command.add_option("--mask", options.mask, "image whose bright part is the video's content");
  command.add_option("--fps", options.fps, "frames a second, if the input does not say")
      ->check(CLI::Range(0.01, 10000.0));
  command.add_option("--start", options.start, "first frame")->check(CLI::NonNegativeNumber);
  command.add_option("--end", options.end, "first frame that is not read")->check(CLI::NonNegativeNumber);
  command.add_option("--stride", options.stride, "every how many frames one is read")
      ->check(CLI::PositiveNumber);
  command.add_flag("--bgr", options.swap_red_and_blue,
                   "swap red and blue: for inputs whose channel order is wrong");
}

void AddDeviceOption(CLI::App& command, std::string& device) {
  command.add_option("--device", device, "where the networks run: auto, cpu or cuda")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
}

void AddConfigOptions(CLI::App& command, ConfigChoice& choice) {
  command.add_option("--config", choice.file, "TOML file with parameters (see: lumen config)");
  command.add_option("--set", choice.settings, "one parameter, as name=value; may be given several times")
      ->take_all();
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
  CLI::App app("Lumen: dense monocular SLAM for endoscopy", "lumen");
  app.set_version_flag("--version", StrCat("lumen ", Version(), " (", Commit(), ")"));
  app.require_subcommand(1);
  app.fallthrough();
  bool quiet = false;
  app.add_flag("--quiet,-q", quiet, "print results and errors only");
  app.parse_complete_callback([&] {
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
  AddEvalCommand(app);
  AddStudyCommand(app);
  AddReportCommand(app);
  AddViewCommand(app);
  AddBenchCommand(app);
  AddVocabularyCommand(app);
  try {
    return ParseAndRun(app, argc, argv);
  } catch (const ExitRequest& request) {
    return request.code;
  } catch (const InputError& error) {
    return Report(error.what(), kBadInput);
  } catch (const OutputError& error) {
    return Report(error.what(), kBadOutput);
  } catch (const std::filesystem::filesystem_error& error) {
    return Report(error.what(), kBadInput);
  } catch (const std::exception& error) {
    return Report(StrCat("internal error, please report it: ", error.what()), kBug);
  }
}

}  // namespace lumen
