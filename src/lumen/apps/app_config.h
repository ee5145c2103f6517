// The whole configuration as one tree. An empty config runs.
#pragma once

#include "lumen/base/config.h"
#include "lumen/io/rectifier.h"
#include "lumen/slam/slam_options.h"
#include "lumen/surface/fusion.h"

namespace lumen {

struct AppConfig {
  std::string model;  // path of the weights; empty: look in the usual places
  RectifierOptions view;
  SlamOptions slam;
  FusionOptions fusion;

  void Describe(ConfigVisitor& visitor) {
    visitor.Field("model", model, {.help = "path of the weights; empty: look in the usual places"});
    visitor.Group("view", view);
    slam.Describe(visitor);
    visitor.Group("fusion", fusion);
  }
};

}  // namespace lumen
