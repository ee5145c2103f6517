// What is made of an attempt, for every way in which one ends.
#include "lumen/tasks/slurm_verdict.h"

#include <gtest/gtest.h>

#include <fstream>

#include "lumen/base/file.h"

namespace lumen {
namespace {

using Kind = Verdict::Kind;

class SlurmVerdict : public ::testing::Test {
 protected:
  SlurmVerdict() : task_{"one", folder_.Path(), {}, folder_.Path() / "done"} {
    std::ofstream(TaskLog(task_)) << "the last it said\n";
  }
  Verdict Judge(const Evidence& evidence) const { return JudgeAttempt(task_, evidence); }
  static Evidence Queued(const std::string& state) {
    Evidence evidence;
    evidence.state = state;
    evidence.node = "n1";
    return evidence;
  }
  static Evidence Told(const std::string& state, int code) {
    Evidence evidence = Queued(state);
    evidence.attempt = AttemptOutcome{"12_0", "n1", code, 1.0};
    return evidence;
  }
  static Evidence Ended(int code, int signal, const std::string& state = "FAILED") {
    Evidence evidence = Queued("");
    evidence.ended = SlurmJob{"12", 0, state, "n1", "", "", code, signal};
    return evidence;
  }

  TemporaryFolder folder_;
  Task task_;
};

TEST_F(SlurmVerdict, AsLongAsItIsQueuedOrRunsItGoesOn) {
  for (const char* state : {"PENDING", "RUNNING", "COMPLETING"})
    EXPECT_EQ(Judge(Queued(state)).kind, Kind::kGoesOn) << state;
}

TEST_F(SlurmVerdict, ItsRecordIsTheEnd) {
  Evidence evidence = Queued("COMPLETED");
  evidence.record = true;
  EXPECT_EQ(Judge(evidence).kind, Kind::kDone);
  evidence = Told("RUNNING", 0);  // the disk is quicker than the controller
  evidence.record = true;
  EXPECT_EQ(Judge(evidence).kind, Kind::kDone);
  evidence = Queued("NODE_FAIL");  // afterwards
  evidence.record = true;
  EXPECT_EQ(Judge(evidence).kind, Kind::kDone);
}

TEST_F(SlurmVerdict, ItsOwnFailureIsItsOwn) {
  const Verdict verdict = Judge(Told("RUNNING", 2));
  EXPECT_EQ(verdict.kind, Kind::kFailed);
  EXPECT_NE(verdict.reason.find("ended with code 2: the last it said"), std::string::npos) << verdict.reason;
  EXPECT_NE(Judge(Told("FAILED", 139)).reason.find("SIGSEGV"), std::string::npos);
  // The disk took no word of it, but the cluster knows the code.
  EXPECT_EQ(Judge(Ended(3, 0)).kind, Kind::kFailed);
}

TEST_F(SlurmVerdict, WhatTheClusterEndedSaysWhatToAskFor) {
  EXPECT_NE(Judge(Queued("TIMEOUT")).reason.find("--time"), std::string::npos);
  EXPECT_NE(Judge(Told("OUT_OF_MEMORY", 137)).reason.find("--mem"), std::string::npos);
  for (const char* state : {"TIMEOUT", "OUT_OF_MEMORY", "CANCELLED"}) {
    EXPECT_EQ(Judge(Queued(state)).kind, Kind::kFailed) << state;
    EXPECT_EQ(Judge(Ended(0, 15, state)).kind, Kind::kFailed) << state;
  }
}

TEST_F(SlurmVerdict, ANodesFailureIsLost) {
  for (const char* state : {"NODE_FAIL", "BOOT_FAIL", "PREEMPTED"}) {
    EXPECT_EQ(Judge(Queued(state)).kind, Kind::kLost) << state;
    EXPECT_EQ(Judge(Queued(state)).reason, state);
  }
  const Verdict killed = Judge(Ended(0, 9));
  EXPECT_EQ(killed.kind, Kind::kLost);
  EXPECT_EQ(killed.reason, "was ended by SIGKILL");
  // It was killed alone: by whom is known when its job has ended.
  EXPECT_EQ(Judge(Told("RUNNING", 137)).kind, Kind::kGoesOn);
  EXPECT_EQ(Judge(Told("FAILED", 137)).kind, Kind::kLost);
}

TEST_F(SlurmVerdict, WhatNobodyKnowsOfIsSilent) {
  EXPECT_EQ(Judge(Queued("")).kind, Kind::kSilent);
  EXPECT_EQ(Judge(Ended(0, 0, "COMPLETED")).kind, Kind::kSilent);
  EXPECT_EQ(Judge(Told("RUNNING", 0)).kind, Kind::kSilent);  // its record is still on its way
}

TEST_F(SlurmVerdict, ANodeThatNeverCameToItIsNamed) {
  Evidence evidence = Ended(kOtherVersion, 0);
  evidence.words = "lumen 0.0.9 (old)";
  EXPECT_NE(Judge(evidence).reason.find("node n1 has another version of lumen: lumen 0.0.9 (old)"),
            std::string::npos);
  for (const int code : {kOtherDisk, kNoProgram, kNoWriting}) {
    EXPECT_EQ(Judge(Ended(code, 0)).kind, Kind::kFailed) << code;
    EXPECT_NE(Judge(Ended(code, 0)).reason.find("node n1"), std::string::npos) << code;
  }
  EXPECT_NE(Judge(Ended(kOtherDisk, 0)).reason.find(folder_.Path().string()), std::string::npos);
}

}  // namespace
}  // namespace lumen
