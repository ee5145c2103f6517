// lumen-train NAME=VALUE …: the training program that `lumen train` calls. Its arguments are the fields of
// TrainOptions, so that it needs no parser of its own and builds on a bare machine with a GPU.
#include <csignal>
#include <iostream>
#include <new>

#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/train/trainer.h"

namespace {

void OnSignal(int) { lumen::RequestTrainingStop(); }

int Report(const char* line, int code) {
  std::cerr << "lumen train: " << line << '\n';
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGINT, OnSignal);
  std::signal(SIGTERM, OnSignal);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    lumen::TrainOptions options;
    for (int i = 1; i < argc; ++i) lumen::SetConfig(argv[i], options);
    const lumen::TrainSummary summary = lumen::Train(options);
    std::cout << "{\"step\": " << summary.step << ", \"seconds\": " << summary.seconds
              << ", \"finished\": " << (summary.finished ? "true" : "false")
              << ", \"loss\": " << summary.final_loss << ", \"waiting_share\": " << summary.waiting_share
              << "}\n";
    return 0;
  } catch (const lumen::InputError& error) {
    return Report(error.what(), 2);
  } catch (const lumen::OutputError& error) {
    return Report(error.what(), 3);
  } catch (const std::bad_alloc&) {
    return Report("there is not enough memory for this", 5);
  } catch (const std::exception& error) {
    return Report(error.what(), 70);
  }
}
