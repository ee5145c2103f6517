// The whole configuration as one tree. An empty config runs.
#pragma once

#include "lumen/base/config.h"
#include "lumen/geometry/registration.h"
#include "lumen/io/rectifier.h"

namespace lumen {

struct AppConfig {
  std::string model;  // path of the weights; empty: look in the usual places
  RectifierOptions view;
  RegistrationOptions registration;

  void Describe(ConfigVisitor& visitor) {
    visitor.Field("model", model, {.help = "path of the weights; empty: look in the usual places"});
    visitor.Group("view", view);
    visitor.Group("registration", registration);
  }
};

}  // namespace lumen
