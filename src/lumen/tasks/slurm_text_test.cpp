// What Slurm says, as it was seen to say it (22.05), and what is made of it.
#include "lumen/tasks/slurm_text.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/tasks/escaped_bytes.h"

namespace lumen {
namespace {

TEST(SlurmText, TheQueueIsReadTaskByTask) {
  const auto jobs = ParseQueue(
      "12|0|RUNNING|node-3|lumen-1a2b\n12|1|PENDING||lumen-1a2b|Resources\n7|N/"
      "A|RUNNING|node-1|somebody\n\nnonsense\n");
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].Id(), "12_0");
  EXPECT_EQ(jobs[0].state, "RUNNING");
  EXPECT_EQ(jobs[0].node, "node-3");
  EXPECT_EQ(jobs[0].name, "lumen-1a2b");
  EXPECT_EQ(jobs[1].node, "");
  EXPECT_EQ(jobs[1].reason, "Resources");
}

TEST(SlurmText, TheAccountingTellsHowTasksEnded) {
  const auto jobs = ParseAccounting(
      "12_0|FAILED|81:0|node-3\n12_1|CANCELLED by 1000|0:15|node-4\n12_[2-5]|PENDING|0:0|None assigned\n"
      "13|COMPLETED|0:0|node-1\n12_7|OUT_OF_ME+|0:125|node-2\n");
  ASSERT_EQ(jobs.size(), 3U);
  EXPECT_EQ(jobs[0].code, 81);
  EXPECT_EQ(jobs[0].node, "node-3");
  EXPECT_EQ(jobs[1].state, "CANCELLED");
  EXPECT_EQ(jobs[1].signal, 15);
  EXPECT_EQ(jobs[2].Id(), "12_7");
}

TEST(SlurmText, TheControllerTellsItToo) {
  const auto jobs = ParseShownJobs(
      "JobId=6 ArrayJobId=5 ArrayTaskId=0 JobName=a.sh JobState=FAILED Reason=NonZeroExitCode ExitCode=81:0 "
      "ReqNodeList=(null) ExcNodeList=(null) NodeList=vm BatchHost=vm\n"
      "JobId=7 ArrayJobId=5 ArrayTaskId=1 JobState=FAILED ExitCode=0:9 NodeList=(null)\n"
      "JobId=5 ArrayJobId=5 ArrayTaskId=2-3 JobState=PENDING ExitCode=0:0 NodeList=\n");
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].Id(), "5_0");
  EXPECT_EQ(jobs[0].code, 81);
  EXPECT_EQ(jobs[0].node, "vm");
  EXPECT_EQ(jobs[1].signal, 9);
  EXPECT_EQ(jobs[1].node, "");
}

TEST(SlurmText, StatesAreOnTheirWayOrEnded) {
  for (const char* state : {"PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "REQUEUED"})
    EXPECT_TRUE(IsActive(state)) << state;
  for (const char* state : {"COMPLETED", "FAILED", "NODE_FAIL", "TIMEOUT", ""})
    EXPECT_FALSE(IsActive(state)) << state;
  for (const char* state : {"NODE_FAIL", "BOOT_FAIL", "PREEMPTED"}) EXPECT_TRUE(IsNodesFault(state)) << state;
  EXPECT_FALSE(IsNodesFault("FAILED"));
}

TEST(SlurmText, ASubmissionTellsItsJob) {
  EXPECT_EQ(ParseSubmitted("12\n"), "12");
  EXPECT_EQ(ParseSubmitted("12;cluster\n"), "12");
  EXPECT_FALSE(ParseSubmitted("Submitted\n"));
  EXPECT_FALSE(ParseSubmitted(""));
}

TEST(SlurmText, TheLargestArrayIsTheConfigurationsOrAThousand) {
  EXPECT_EQ(ParseLargestArray("MaxArraySize            = 1001\nMaxJobCount = 10000\n"), 1001);
  EXPECT_EQ(ParseLargestArray("MaxArraySize = 0\n"), 1000);
  EXPECT_EQ(ParseLargestArray("nothing of it"), 1000);
}

TEST(SlurmText, ComplaintsAreOneShortLine) {
  EXPECT_EQ(ShortComplaint("sbatch: error: invalid partition specified: nope\n"
                           "sbatch: error: Batch job submission failed: Invalid partition name specified\n"),
            "invalid partition specified: nope; Invalid partition name specified");
  EXPECT_EQ(ShortComplaint("slurm_load_jobs error: Invalid job id specified\n"), "Invalid job id specified");
  EXPECT_LT(ShortComplaint(std::string(5000, 'x')).size(), 300U);
}

TEST(SlurmText, WhatPassesIsToldFromLimitsAndFromFaults) {
  EXPECT_TRUE(IsPassing("Unable to contact slurm controller (connect failure)"));
  EXPECT_TRUE(IsPassing("Socket timed out on send/recv operation"));
  EXPECT_FALSE(IsPassing("Invalid partition name specified"));
  EXPECT_TRUE(IsLimit("QOSMaxSubmitJobPerUserLimit; Job violates accounting/QOS policy"));
  EXPECT_FALSE(IsLimit("Invalid partition name specified"));
}

TEST(SlurmText, FurtherOptionsAreSplitAsAShellWould) {
  EXPECT_EQ(SplitAsShell("--mem=8G  --comment='two words' a\\ b"),
            (std::vector<std::string>{"--mem=8G", "--comment=two words", "a b"}));
  EXPECT_TRUE(SplitAsShell("").empty());
  EXPECT_THROW(SplitAsShell("--comment='never closed"), InputError);
  EXPECT_THROW(SplitAsShell("--comment=$(id)"), InputError);
  EXPECT_THROW(SplitAsShell("--mem=8G; id"), InputError);
}

TEST(SlurmText, AWordForAShellIsOneWord) {
  for (const std::string word : {"plain", "two words", "it's", "$HOME `id` \"\\", ""})
    EXPECT_EQ(SplitAsShell(QuoteForShell(word)), std::vector<std::string>{word});
}

TEST(EscapedBytes, ComeBackAsTheyWere) {
  for (const std::string bytes : {"plain", "é/§", "50%", "%25%", "a\xff b\xc3", "%zz%4"})
    EXPECT_EQ(UnescapeBytes(EscapeBytes(bytes)), bytes);
  EXPECT_EQ(EscapeBytes("é/§"), "é/§");
  EXPECT_EQ(EscapeBytes("50%\xff"), "50%25%FF");
}

}  // namespace
}  // namespace lumen
