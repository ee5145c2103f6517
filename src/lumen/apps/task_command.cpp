#include "lumen/apps/app.h"
#include "lumen/tasks/slurm_array.h"

namespace lumen {

// What the script of a job array calls on a node.
void AddTaskCommand(Command& app) {
  Command& command = app.AddCommand("task", "one task of a list, on a cluster's node");
  struct Choice {
    std::filesystem::path list;
    int index = 0;
  };
  auto choice = std::make_shared<Choice>();
  command.Add("LIST", choice->list, "the list of a job array").Required();
  command.Add("INDEX", choice->index, "of the task").Required().Within(0, 100000000);
  command.Hide();
  command.Do([choice] {
    const int code = DoListedTask(choice->list, static_cast<size_t>(choice->index));
    if (code != 0) throw ExitRequest{code};
  });
}

}  // namespace lumen
