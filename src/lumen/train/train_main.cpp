// lumen-train NAME=VALUE …: the training program that `lumen train` calls. Its arguments are the fields of
// TrainOptions, so that it needs no parser of its own and builds on a bare machine with a GPU.
#include <dlfcn.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <new>

#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/signals.h"
#include "lumen/train/peers.h"
#include "lumen/train/trainer.h"

namespace {

// Torch's own words about sockets that close: what matters of it is told in one line of ours.
void QuietenTorch() {
  ::setenv("TORCH_CPP_LOG_LEVEL", "FATAL", 0);
  constexpr int kFatal = 3;
  if (auto* level = static_cast<int*>(::dlsym(RTLD_DEFAULT, "_ZN3fLI17FLAGS_minloglevelE")))
    *level = kFatal;  // glog
}

void OnSignal(int) { lumen::RequestTrainingStop(); }

int Report(const char* line, int code) {
  std::cerr << "lumen train: " << line << '\n';
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  QuietenTorch();
  lumen::GuardSignals();
  lumen::HandleSignal(SIGINT, OnSignal);
  lumen::HandleSignal(SIGTERM, OnSignal);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    lumen::TrainOptions options;
    for (int i = 1; i < argc; ++i) lumen::SetConfig(argv[i], options);
    const lumen::TrainSummary summary = lumen::Train(options);
    if (!summary.first) return 0;
    std::cout << "{\"step\": " << summary.step << ", \"seconds\": " << summary.seconds
              << ", \"finished\": " << (summary.finished ? "true" : "false")
              << ", \"loss\": " << summary.final_loss << ", \"waiting_share\": " << summary.waiting_share
              << "}\n";
    return 0;
  } catch (const lumen::PeerLost& error) {
    constexpr int kPeerLost = 6;
    const std::string what = error.what();
    return what.empty() ? kPeerLost : Report(what.c_str(), kPeerLost);  // empty: another rank says it
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
