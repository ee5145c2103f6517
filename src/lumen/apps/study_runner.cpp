// Starts `lumen run` for a study's cell as a process of its own: cells cannot disturb one another, and a
// crash of one is one failed cell.
#include "lumen/apps/interrupt.h"
#include "lumen/apps/study.h"
#include "lumen/base/error.h"
#include "lumen/tasks/child_program.h"

namespace lumen {

namespace fs = std::filesystem;

RunCell MakeProgramRunner(std::vector<std::string> extra_arguments) {
  const fs::path program = OwnProgram();
  return [program, extra = std::move(extra_arguments)](const StudyCell& cell, const fs::path& out) {
    std::vector<std::string> arguments = {"run", cell.folder.string(), "--out", out.string(),
                                          "--deterministic"};
    if (!cell.model.empty()) arguments.insert(arguments.end(), {"--model", cell.model.string()});
    for (const std::string& setting : cell.settings) arguments.insert(arguments.end(), {"--set", setting});
    arguments.insert(arguments.end(), cell.arguments.begin(), cell.arguments.end());
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    const fs::path log = out.parent_path() / "log.txt";
    const int code = RunLogged(program, arguments, log, IsInterrupted);
    if (code != 0) throw InputError(log, StrCat("the run ended with code ", code, ": ", LastLine(log)));
  };
}

}  // namespace lumen
