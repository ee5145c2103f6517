// What the subcommands share: how one is added, the options of every INPUT, the program's config, and
// the one place where errors become exit codes.
#pragma once

#include <string>
#include <vector>

#include "lumen/apps/app_config.h"
#include "lumen/apps/command.h"
#include "lumen/io/frame_source.h"

namespace lumen {

// Each adds its command with its options and its work.
void AddAdaptCommand(Command& app);
void AddBatchCommand(Command& app);
void AddBenchCommand(Command& app);
void AddCalibrateCommand(Command& app);
void AddCompletionCommand(Command& app);
void AddConfigCommand(Command& app);
void AddConvertCommand(Command& app);
void AddCoverageCommand(Command& app);
void AddEvalCommand(Command& app);
void AddFuseCommand(Command& app);
void AddInfoCommand(Command& app);
void AddManualCommand(Command& app);
void AddPredictCommand(Command& app);
void AddModelCommand(Command& app);
void AddRegisterCommand(Command& app);
void AddReportCommand(Command& app);
void AddExportCommand(Command& app);
void AddRunCommand(Command& app);
void AddSimulateCommand(Command& app);
void AddTrainCommand(Command& app);
void AddStudyCommand(Command& app);
void AddStudyCellCommand(Command& app);  // hidden, as the next two: called by what others start
void AddBatchVideoCommand(Command& app);
void AddTaskCommand(Command& app);
void AddViewCommand(Command& app);
void AddVocabularyCommand(Command& app);

std::string VersionLine();  // what --version answers: "lumen 0.1.0 (1a2b3c4)"

// --calibration, --fov, --mask, --fps, --start, --end, --stride, --bgr.
void AddInputOptions(Command& command, InputOptions& options);

// --device auto|cpu|cuda
void AddDeviceOption(Command& command, std::string& device);

// --config FILE and any number of --set name=value.
struct ConfigChoice {
  std::filesystem::path file;
  std::vector<std::string> settings;
};
void AddConfigOptions(Command& command, ConfigChoice& choice);
AppConfig ResolveConfig(const ConfigChoice& choice);
std::vector<std::string> SettingHints();  // "view.width=" and all other parameters, for --set

// "160x128"; throws InputError for anything else.
struct PixelSize {
  int width = 0, height = 0;
};
PixelSize ParsePixelSize(const std::string& text);

// Thrown by a command that did its work but wants another exit code than 0.
struct ExitRequest {
  int code = 0;
};

// Exit codes: 0 good, 2 bad usage or input, 3 output cannot be written, 4 not registered or
// not adapted, 5 not enough memory, 70 a bug of ours, 130 interrupted (interrupt.h).
inline constexpr int kBadInput = 2;
int RunApp(int argc, const char* const* argv);

}  // namespace lumen
