#include "lumen/train/launch.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"

namespace lumen {
namespace {

Environment Of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

std::string FaultOf(const std::map<std::string, std::string>& variables) {
  try {
    ReadRankPlace(Of(variables));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Launch, AloneWhereNobodySaysOtherwise) {
  EXPECT_FALSE(ReadRankPlace(Of({})));
  EXPECT_FALSE(ReadRankPlace(Of({{"RANK", "0"}, {"WORLD_SIZE", "1"}})));
  // A batch script, not a step of srun.
  EXPECT_FALSE(ReadRankPlace(Of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "7"}})));
}

TEST(Launch, ReadsTheVariablesOfTorchrun) {
  const auto place = ReadRankPlace(Of({{"RANK", "3"},
                                       {"WORLD_SIZE", "8"},
                                       {"MASTER_ADDR", "node1"},
                                       {"MASTER_PORT", "29500"},
                                       {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                       {"TORCHELASTIC_RESTART_COUNT", "2"}}));
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 3);
  EXPECT_EQ(place->ranks, 8);
  EXPECT_EQ(place->master, "node1");
  EXPECT_EQ(place->port, 29500);
  EXPECT_TRUE(place->hosted);
  EXPECT_EQ(place->round, "2");
}

TEST(Launch, ReadsTheVariablesOfSrun) {
  const std::map<std::string, std::string> step = {{"SLURM_PROCID", "2"},
                                                   {"SLURM_STEP_NUM_TASKS", "4"},
                                                   {"SLURM_STEP_NODELIST", "gpu[03-05,9]"},
                                                   {"SLURM_JOB_ID", "4711"},
                                                   {"SLURM_STEP_ID", "0"}};
  const auto place = ReadRankPlace(Of(step));
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 2);
  EXPECT_EQ(place->ranks, 4);
  EXPECT_EQ(place->master, "gpu03");
  EXPECT_GT(place->port, 1024);
  EXPECT_FALSE(place->hosted);
  auto next = step;
  next["SLURM_STEP_ID"] = "1";
  EXPECT_NE(ReadRankPlace(Of(next))->port, place->port);
  next["MASTER_ADDR"] = "10.0.0.7";
  next["MASTER_PORT"] = "2000";
  EXPECT_EQ(ReadRankPlace(Of(next))->master, "10.0.0.7");
  EXPECT_EQ(ReadRankPlace(Of(next))->port, 2000);
}

TEST(Launch, SaysWhichVariableIsWrong) {
  EXPECT_EQ(FaultOf({{"RANK", "1"}}), "one of several ranks, but WORLD_SIZE is not set");
  EXPECT_EQ(FaultOf({{"WORLD_SIZE", "2"}}), "one of several ranks, but RANK is not set");
  EXPECT_EQ(FaultOf({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), "RANK=2 is no number from 0 to 1");
  EXPECT_EQ(FaultOf({{"RANK", "x"}, {"WORLD_SIZE", "2"}}), "RANK=x is no number from 0 to 1");
  EXPECT_EQ(FaultOf({{"RANK", "1"}, {"WORLD_SIZE", "2"}}),
            "one of several ranks, but MASTER_ADDR is not set");
  EXPECT_EQ(FaultOf({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "0"}}),
            "MASTER_PORT=0 is no number from 1 to 65535");
  EXPECT_EQ(FaultOf({{"SLURM_PROCID", "4"}, {"SLURM_STEP_NUM_TASKS", "4"}}),
            "SLURM_PROCID=4 is no number from 0 to 3");
}

TEST(Launch, FindsTheFirstHostOfAList) {
  EXPECT_EQ(FirstHost("login"), "login");
  EXPECT_EQ(FirstHost("a,b"), "a");
  EXPECT_EQ(FirstHost("gpu[03-05,9],login"), "gpu03");
  EXPECT_EQ(FirstHost("gpu[7,9]-ib.cluster,x"), "gpu7-ib.cluster");
  EXPECT_EQ(FirstHost("rack[1-2]node[04-08]"), "rack1node04");
  EXPECT_EQ(FirstHost("broken[1"), "");
  EXPECT_EQ(FirstHost(""), "");
}

}  // namespace
}  // namespace lumen
