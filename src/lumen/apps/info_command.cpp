#include <sys/utsname.h>

#include <fstream>
#include <iostream>

#include "lumen/apps/app.h"
#include "lumen/apps/input_info.h"
#include "lumen/apps/model_path.h"
#include "lumen/base/file.h"
#include "lumen/base/parallel.h"
#include "lumen/base/text.h"
#include "lumen/base/version.h"
#include "lumen/igtl/navigation_link.h"
#include "lumen/io/opencv_codec.h"
#include "lumen/io/sage_hdf5.h"
#include "lumen/network/torch_backend.h"

namespace lumen {

namespace {

std::string YesNo(bool yes) { return yes ? "yes" : "no"; }

// The features our kernels choose by, in the kernel's own words.
std::string CpuFeatures() {
  std::ifstream file("/proc/cpuinfo");
  std::string features;
  for (std::string line; std::getline(file, line);) {
    if (!StartsWith(line, "Features") && !StartsWith(line, "flags")) continue;
    for (const std::string& word : SplitWords(line)) {
      for (const char* known :
           {"asimd", "asimdhp", "sve", "bf16", "i8mm", "avx2", "fma", "avx512f", "avx512_fp16", "f16c"}) {
        if (word == known) features += (features.empty() ? "" : " ") + word;
      }
    }
    break;
  }
  return features.empty() ? "none of note" : features;
}

std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (StartsWith(line, "model name")) return Trim(line.substr(line.find(':') + 1));
  }
  utsname system{};
  return uname(&system) == 0 ? system.machine : "unknown";
}

std::string GpuName() {
  const std::filesystem::path folder = "/proc/driver/nvidia/gpus";
  if (!std::filesystem::exists(folder)) return "none";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path() / "information");
    for (std::string line; std::getline(file, line);) {
      if (StartsWith(line, "Model:")) return Trim(line.substr(6));
    }
  }
  return "none";
}

std::string TorchLine() {
  const TorchBackend* torch = FindTorchBackend();
  if (torch == nullptr) return "no";
  return StrCat("yes (", torch->Version(), torch->HaveCuda() ? ", with a GPU" : ", no GPU", ")");
}

// What the weights say about themselves, in one line.
std::string ModelLine(const std::string& given) {
  const auto path = FindModel(given);
  if (!path) return "none found";
  const Model model = LoadModel(*path);
  return StrCat(path->string(), ", hash ", model.hash);
}

void RunInfo(const std::string& given_model) {
  std::cout << "lumen      " << Version() << " (" << Commit() << "), " << LUMEN_BUILD_TYPE << ", "
            << __VERSION__ << '\n'
            << "video      " << YesNo(HaveOpenCv()) << " (OpenCV)\n"
            << "hdf5       " << YesNo(HaveHdf5()) << '\n'
            << "igtl       " << YesNo(HaveNavigationLink()) << '\n'
            << "torch      " << TorchLine() << '\n'
            << "cpu        " << CpuName() << ", " << AvailableCores() << " cores, " << CpuFeatures() << '\n'
            << "engine     "
            << (HalfArithmetic() != nullptr ? StrCat("half precision (", HalfArithmetic()->name, ")")
                                            : StrCat("single precision (", FloatArithmetic().name, ")"))
            << '\n'
            << "gpu        " << GpuName() << '\n'
            << "model      " << ModelLine(given_model) << '\n';
}

}  // namespace

void AddInfoCommand(Command& app) {
  Command& command = app.AddCommand("info", "what an input is, or what this build and this machine can do");
  struct Options {
    std::string model;
    std::filesystem::path input;
    InputOptions selection;
  };
  auto options = std::make_shared<Options>();
  command.Add("INPUT", options->input,
              "what `lumen run` takes, or a data set's folder; without one: this machine");
  command.Add("--model", options->model, "weights to look at");
  AddInputOptions(command, options->selection);
  command.Do([options] {
    if (options->input.empty())
      RunInfo(options->model);
    else
      DescribeInput(options->input, options->selection, std::cout);
  });
}

}  // namespace lumen
