// The whole configuration as one tree. An empty config runs.
#pragma once

#include "lumen/base/config.h"
#include "lumen/coverage/coverage.h"
#include "lumen/io/rectifier.h"
#include "lumen/network/engine_priors.h"
#include "lumen/slam/slam_options.h"
#include "lumen/surface/fusion.h"
#include "lumen/surface/gathered_depth.h"
#include "lumen/surface/surface_registration.h"

namespace lumen {

struct AppConfig {
  std::string model;  // path of the weights; empty: look in the usual places
  RectifierOptions view;
  PriorsOptions engine;
  SlamOptions slam;
  GatherOptions depth;
  FusionOptions fusion;
  SurfaceRegistrationOptions registration;
  CoverageOptions coverage;

  void Describe(ConfigVisitor& visitor) {
    visitor.Field("model", model, {.help = "path of the weights; empty: look in the usual places"});
    visitor.Group("view", view);
    visitor.Group("engine", engine);
    slam.Describe(visitor);
    visitor.Group("depth", depth);
    visitor.Group("fusion", fusion);
    visitor.Group("registration", registration);
    visitor.Group("coverage", coverage);
  }
};

}  // namespace lumen
