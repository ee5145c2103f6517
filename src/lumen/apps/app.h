// What the subcommands share: how one is added, the options of every INPUT, the program's config, and
// the one place where errors become exit codes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "lumen/apps/app_config.h"
#include "lumen/io/frame_source.h"

namespace lumen {

// Each adds its subcommand with its options; the work is done in the subcommand's callback.
void AddBenchCommand(CLI::App& app);
void AddCalibrateCommand(CLI::App& app);
void AddConfigCommand(CLI::App& app);
void AddConvertCommand(CLI::App& app);
void AddEvalCommand(CLI::App& app);
void AddFuseCommand(CLI::App& app);
void AddInfoCommand(CLI::App& app);
void AddPredictCommand(CLI::App& app);
void AddRegisterCommand(CLI::App& app);
void AddReportCommand(CLI::App& app);
void AddRunCommand(CLI::App& app);
void AddSimulateCommand(CLI::App& app);
void AddTrainCommand(CLI::App& app);
void AddStudyCommand(CLI::App& app);
void AddViewCommand(CLI::App& app);
void AddVocabularyCommand(CLI::App& app);

// --calibration, --fov, --mask, --fps, --start, --end, --stride, --bgr.
void AddInputOptions(CLI::App& command, InputOptions& options);

// --device auto|cpu|cuda
void AddDeviceOption(CLI::App& command, std::string& device);

// --config FILE and any number of --set name=value.
struct ConfigChoice {
  std::filesystem::path file;
  std::vector<std::string> settings;
};
void AddConfigOptions(CLI::App& command, ConfigChoice& choice);
AppConfig ResolveConfig(const ConfigChoice& choice);

// "160x128"; throws InputError for anything else.
struct PixelSize {
  int width = 0, height = 0;
};
PixelSize ParsePixelSize(const std::string& text);

// Thrown by a command that did its work but wants another exit code than 0.
struct ExitRequest {
  int code = 0;
};

// Exit codes: 0 good, 2 bad usage or input, 3 output cannot be written, 4 not registered, 70 a bug of ours.
int RunApp(int argc, const char* const* argv);

}  // namespace lumen
