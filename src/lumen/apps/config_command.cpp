#include <iostream>

#include "lumen/apps/app.h"

namespace lumen {

void AddConfigCommand(Command& app) {
  Command& command =
      app.AddCommand("config", "print the resolved configuration; marks what differs from the default");
  auto choice = std::make_shared<ConfigChoice>();
  auto page = std::make_shared<bool>(false);
  AddConfigOptions(command, *choice);
  command.AddFlag("--page", *page, "print every parameter with unit, range and meaning, as Markdown");
  command.Do([choice, page] {
    const AppConfig config = ResolveConfig(*choice);
    std::cout << (*page ? FormatParameterPage<AppConfig>() : FormatConfig(config));
  });
}

}  // namespace lumen
