#include "lumen/train/meeting.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/train/peers.h"

namespace lumen {
namespace {

WatchTimes Quick() {
  WatchTimes times;
  times.beat = 0.05;
  times.silence = 0.6;
  times.suspected = 0.3;
  times.meeting = 20;
  times.grace = 1000;  // whoever waits that long ends the whole program
  return times;
}

RankPlace Place(int rank, int port) {
  RankPlace place;
  place.rank = rank;
  place.ranks = 2;
  place.port = port;
  return place;
}

// Both ranks in one process: what they have to do with one another goes through the table alone.
class MeetingTest : public ::testing::Test {
 protected:
  MeetingTest() : first_(Place(0, 0), Quick()) {}
  std::unique_ptr<Meeting> Second(const WatchTimes& times = Quick()) {
    return std::make_unique<Meeting>(Place(1, first_.Port()), times);
  }
  Meeting first_;
};

TEST_F(MeetingTest, AllSeeWhatEachWrites) {
  const auto second = Second();
  std::vector<std::string> seen;
  std::thread other([&] { seen = second->Gather("host", "b"); });
  EXPECT_EQ(first_.Gather("host", "a"), (std::vector<std::string>{"a", "b"}));
  other.join();
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "b"}));
}

TEST_F(MeetingTest, AllIsWellWhileAllGiveSigns) {
  const auto second = Second();
  first_.Watch({});
  second->Watch({});
  std::this_thread::sleep_for(std::chrono::milliseconds(900));
  EXPECT_EQ(first_.WhoFailed(false), "");
  EXPECT_EQ(second->WhoFailed(false), "");
  second->Leave();
  first_.Leave();
}

TEST_F(MeetingTest, WhoFailsSaysWhyToAll) {
  const auto second = Second();
  first_.SetNames({"rank 0 on a", "rank 1 on b"});
  second->SetNames({"rank 0 on a", "rank 1 on b"});
  first_.Watch({});
  second->Watch({});
  EXPECT_TRUE(second->Fail("no pictures"));  // rank 0 has taken it up
  EXPECT_EQ(first_.WhoFailed(true), "rank 1 on b: no pictures");
}

TEST_F(MeetingTest, WhoFallsSilentIsNamed) {
  const auto second = Second();  // never gives a sign
  first_.SetNames({"rank 0 on a", "rank 1 on b"});
  first_.Watch({});
  const std::string who = first_.WhoFailed(true);
  EXPECT_EQ(who.find("rank 1 on b has given no sign of life for"), 0U) << who;
}

TEST_F(MeetingTest, AChildThatFallsIsNamedAtOnce) {
  const auto second = Second();
  second->Watch({});
  first_.Watch([] { return std::string("rank 1 was killed (signal 11)"); });
  EXPECT_EQ(first_.WhoFailed(true), "rank 1 was killed (signal 11)");
  EXPECT_EQ(second->WhoFailed(true), "rank 1 was killed (signal 11)");
}

TEST(Meeting, WithoutRankZeroTheOthersAreTold) {
  WatchTimes times = Quick();
  times.beat = 0.3;  // nothing is on its way to rank 0 while it goes
  auto first = std::make_unique<Meeting>(Place(0, 0), times);
  Meeting second(Place(1, first->Port()), times);
  second.Watch({});
  std::this_thread::sleep_for(std::chrono::milliseconds(150));  // between two signs of life
  first.reset();
  EXPECT_EQ(second.WhoFailed(true), "rank 0 is gone");
}

TEST(Meeting, WhoComesToNobodySaysSo) {
  WatchTimes times = Quick();
  times.meeting = 1;
  int port = 0;
  {
    const Meeting closed(Place(0, 0), Quick());
    port = closed.Port();
  }
  try {
    const Meeting alone(Place(1, port), times);
    FAIL() << "met somebody";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).find(StrCat("rank 1 finds no rank 0 at 127.0.0.1:", port)), 0U)
        << error.what();
  }
  Meeting first(Place(0, 0), times);
  EXPECT_THROW(first.Gather("host", "a"), InputError);  // the other never comes
}

}  // namespace
}  // namespace lumen
