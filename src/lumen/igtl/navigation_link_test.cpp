// The link from the outside, over real sockets.
#include "lumen/igtl/navigation_link.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "lumen/base/error.h"
#include "lumen/igtl/link_client_test.h"

namespace lumen {
namespace {

const LinkOptions kAnyPort = {.port = 0};

Rigid3 PoseAt(double x) { return {Eigen::Quaterniond(0.8, 0.6, 0, 0), Eigen::Vector3d(x, 2, 3)}; }
float PlaceIn(const PlainMessage& transform) { return BytesIn(transform.body, 36).F32(); }

TriangleMesh Strip(int length) {
  TriangleMesh mesh;
  mesh.attributes = {{"residual_mm", {}}};
  for (int i = 0; i < length; ++i) {
    mesh.vertices.emplace_back(static_cast<float>(i / 2), static_cast<float>(i % 2), 0.0F);
    mesh.attributes[0].values.push_back(0.25F);
    if (i >= 2) mesh.triangles.push_back({i - 2, i - 1, i});
  }
  return mesh;
}

// Until the link knows of so many clients.
void ExpectClients(const NavigationLink& link, int count) {
  EXPECT_TRUE(Becomes([&] { return link.Clients() == count; })) << link.Clients();
}

// One who has heard where things stand.
PlainClient Follow(const NavigationLink& link) {
  const int before = link.Clients();
  PlainClient client(link.Port());
  ExpectClients(link, before + 1);
  return client;
}

TEST(NavigationLink, WhoComesIsToldTheStateAndThenEveryPose) {
  NavigationLink link(kAnyPort);
  link.SendPose("CameraToMap", PoseAt(77), 0);
  link.SendState({true, "registered", "in the nose", "{\"ct\":\"registered\"}"});
  PlainClient client(link.Port());
  std::optional<PlainMessage> message = client.Receive();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->type, "STATUS");
  message = client.Receive();
  EXPECT_EQ(message->device, "LumenState");
  EXPECT_EQ(message->body.substr(4), "in the nose");
  message = client.Receive();
  EXPECT_EQ(message->device, "LumenStateJson");
  EXPECT_EQ(message->body.substr(4), "{\"ct\":\"registered\"}");
  for (int i = 0; i < 100; ++i) {
    link.SendPose("CameraToCT", PoseAt(i), 1700000000 + i);
    message = client.Receive();
    ASSERT_TRUE(message);
    EXPECT_EQ(message->type, "TRANSFORM");
    EXPECT_EQ(message->device, "CameraToCT");
    EXPECT_EQ(PlaceIn(*message), static_cast<float>(i)) << "not the one from before the client came";
    EXPECT_EQ(message->time, 1700000000 + i);
  }
}

TEST(NavigationLink, AChangedStateIsTold) {
  NavigationLink link(kAnyPort);
  link.SendState({false, "searching", "", ""});
  PlainClient client(link.Port());
  EXPECT_EQ(BytesIn(client.ReceiveA("STATUS")->body).U(2), 13U);
  link.SendState({true, "registered", "", ""});
  EXPECT_EQ(BytesIn(client.ReceiveA("STATUS")->body, 10).Text(20), "registered");
  client.Send(MakePlain("GET_STATUS"));
  EXPECT_EQ(BytesIn(client.ReceiveA("STATUS")->body, 10).Text(20), "registered");
}

TEST(NavigationLink, APoseThatHoldsNoLongerIsNotSent) {
  NavigationLink link(kAnyPort);
  PlainClient client = Follow(link);
  client.Send(MakePlain("GET_TRANS"));
  client.Send(MakePlain("GET_CAPABIL"));
  EXPECT_TRUE(client.ReceiveA("CAPABILITY")) << "so the other was read before";
  link.DropPose();
  link.SendPose("CameraToCT", {Eigen::Quaterniond::Identity(), Eigen::Vector3d(NAN, 0, 0)}, 0);
  link.SendState({false, "lost", "", ""});
  EXPECT_EQ(client.Receive()->type, "STATUS");
  EXPECT_EQ(client.Receive()->type, "STRING");
  EXPECT_EQ(client.Receive()->type, "STRING");
  link.SendPose("CameraToCT", PoseAt(5), 0);
  EXPECT_EQ(PlaceIn(*client.Receive()), 5) << "what was asked for when there was none comes now";
}

TEST(NavigationLink, TrackingDataComesToWhoStartsItUntilItIsStopped) {
  NavigationLink link(kAnyPort);
  PlainClient client = Follow(link);
  link.SendPose("CameraToCT", PoseAt(1), 0);
  EXPECT_EQ(client.Receive()->type, "TRANSFORM");
  client.Send(MakeStartTracking(0));
  const std::optional<PlainMessage> answer = client.Receive();
  EXPECT_EQ(answer->type, "RTS_TDATA");
  EXPECT_EQ(answer->body, std::string(1, '\0'));
  for (int i = 2; i < 20; ++i) {
    const std::optional<PlainMessage> tracking = client.ReceiveA("TDATA");
    ASSERT_TRUE(tracking);
    EXPECT_EQ(BytesIn(tracking->body, 22 + 36).F32(), static_cast<float>(i - 1));
    link.SendPose("CameraToCT", PoseAt(i), 0);
  }
  client.ReceiveA("TDATA");
  client.Send(MakePlain("STP_TDATA") + MakePlain("GET_CAPABIL"));
  EXPECT_TRUE(client.ReceiveA("CAPABILITY"));
  link.SendPose("CameraToCT", PoseAt(50), 0);
  EXPECT_EQ(client.Receive()->type, "TRANSFORM");
  link.SendState({});
  EXPECT_EQ(client.Receive()->type, "STATUS");
}

// In an hour there is one: the first at once, and no second.
TEST(NavigationLink, TrackingDataKeepsToTheResolution) {
  NavigationLink link(kAnyPort);
  PlainClient client = Follow(link);
  client.Send(MakeStartTracking(3600 * 1000));
  EXPECT_EQ(client.Receive()->type, "RTS_TDATA");
  int tracked = 0;
  for (int i = 0; i < 50; ++i) {
    link.SendPose("CameraToCT", PoseAt(i), 0);
    std::optional<PlainMessage> message;
    while ((message = client.Receive()) && message->type == "TDATA") ++tracked;
    ASSERT_TRUE(message);
  }
  EXPECT_EQ(tracked, 1);
  client.Send(MakeStartTracking(1));
  EXPECT_EQ(BytesIn(client.ReceiveA("TDATA")->body, 22 + 36).F32(), 49) << "the newest, once it is due";
}

TEST(NavigationLink, TheNewestPictureIsForWhoAsks) {
  NavigationLink link(kAnyPort);
  PlainClient client = Follow(link);
  client.Send(MakePlain("GET_IMAGE") + MakePlain("GET_CAPABIL"));
  EXPECT_EQ(client.Receive()->type, "CAPABILITY") << "there is no picture yet";
  link.SendPicture(RgbImage(320, 256, 3, 7), 0);
  EXPECT_EQ(client.Receive()->body.size(), 72U + 320 * 256 * 3) << "it comes when there is one";
  link.SendPicture(RgbImage(16, 8, 3, 9), 0);
  client.Send(MakePlain("GET_STATUS") + MakePlain("GET_CAPABIL"));
  EXPECT_EQ(client.Receive()->type, "CAPABILITY") << "a picture that nobody asked for is not sent";
  client.Send(MakePlain("GET_IMAGE"));
  const std::optional<PlainMessage> picture = client.Receive();
  EXPECT_EQ(picture->device, "LumenFrame");
  EXPECT_EQ(picture->body.substr(72), std::string(16 * 8 * 3, 9));
}

TEST(NavigationLink, TheSurfaceComesWhenItChangedAndWhenItIsAskedFor) {
  NavigationLink link(kAnyPort);
  link.SendSurface(std::make_shared<TriangleMesh>(Strip(10)));
  PlainClient client(link.Port());
  EXPECT_EQ(BytesIn(client.ReceiveA("POLYDATA")->body).U(4), 10U);
  client.Send(MakePlain("GET_POLYDATA"));
  const std::optional<PlainMessage> again = client.ReceiveA("POLYDATA");
  EXPECT_EQ(again->device, "SurfaceInCT");
  EXPECT_EQ(BytesIn(again->body).U(4), 10U);
  link.SendSurface(std::make_shared<TriangleMesh>(Strip(20)));
  EXPECT_EQ(BytesIn(client.ReceiveA("POLYDATA")->body).U(4), 20U);
}

TEST(NavigationLink, ALargeSurfaceIsThinned) {
  LinkOptions options = kAnyPort;
  options.most_vertices = 100;
  NavigationLink link(options);
  PlainClient client(link.Port());
  link.SendSurface(std::make_shared<TriangleMesh>(Strip(20000)));
  const uint64_t points = BytesIn(client.ReceiveA("POLYDATA")->body).U(4);
  EXPECT_LE(points, 100U);
  EXPECT_GT(points, 10U);
}

// One never reads; the others get everything, the newest of it in the end, and he is let go.
TEST(NavigationLink, WhoIsStuckIsLetGoAndHindersNobody) {
  LinkOptions options = kAnyPort;
  options.patience_ms = 300;
  NavigationLink link(options);
  PlainClient stuck = Follow(link), reading = Follow(link);
  const int small = 1 << 12;
  ::setsockopt(stuck.Descriptor(), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
  // More than all the buffers between the two can hold.
  constexpr int kRequests = 40;
  link.SendPicture(RgbImage(640, 512, 3), 0);
  for (int i = 0; i < kRequests; ++i) {
    reading.Send(MakePlain("GET_IMAGE"));
    stuck.Send(MakePlain("GET_IMAGE"));
    EXPECT_TRUE(reading.ReceiveA("IMAGE"));
    link.SendPose("CameraToCT", PoseAt(i), 0);
    EXPECT_EQ(PlaceIn(*reading.ReceiveA("TRANSFORM")), static_cast<float>(i));
  }
  ExpectClients(link, 1);
  link.SendPose("CameraToCT", PoseAt(1000), 0);
  EXPECT_EQ(PlaceIn(*reading.ReceiveA("TRANSFORM")), 1000);
}

// What a slow one missed is replaced, never queued: after ten thousand poses he gets fewer, and the last.
TEST(NavigationLink, ASlowClientGetsTheNewest) {
  NavigationLink link(kAnyPort);
  PlainClient slow = Follow(link);
  constexpr int kPoses = 10000;
  for (int i = 1; i <= kPoses; ++i) link.SendPose("CameraToCT", PoseAt(i), 0);
  float last = 0;
  while (last != kPoses) {
    const std::optional<PlainMessage> message = slow.ReceiveA("TRANSFORM");
    ASSERT_TRUE(message);
    EXPECT_GT(PlaceIn(*message), last);
    last = PlaceIn(*message);
  }
}

TEST(NavigationLink, GarbageEndsAConnectionAndNothingElse) {
  NavigationLink link(kAnyPort);
  PlainClient good = Follow(link);
  std::string endless = MakePlain("IMAGE");
  endless.replace(42, 8, std::string(8, '\xff'));
  std::string damaged = MakeStartTracking(20);
  damaged.back() = 'x';
  for (const std::string& garbage : {std::string(100, 'x'), endless, damaged}) {
    PlainClient bad(link.Port());
    bad.Send(garbage);
    while (bad.Receive()) {
    }
    ExpectClients(link, 1);
  }
  link.SendPose("CameraToCT", PoseAt(3), 0);
  EXPECT_EQ(PlaceIn(*good.ReceiveA("TRANSFORM")), 3);
}

TEST(NavigationLink, WhoGoesIsForgotten) {
  NavigationLink link(kAnyPort);
  for (int i = 0; i < 5; ++i) {
    {
      const PlainClient client = Follow(link);
      link.SendPose("CameraToCT", PoseAt(i), 0);
    }
    ExpectClients(link, 0);
  }
  for (int i = 0; i < 100; ++i) link.SendPose("CameraToCT", PoseAt(i), 0);
}

TEST(NavigationLink, TooManyAreRefused) {
  LinkOptions options = kAnyPort;
  options.most_clients = 2;
  NavigationLink link(options);
  PlainClient first = Follow(link);
  {
    PlainClient second = Follow(link), third(link.Port());
    EXPECT_FALSE(third.Receive());
    EXPECT_EQ(link.Clients(), 2);
  }
  ExpectClients(link, 1);
  PlainClient fourth = Follow(link);
  link.SendPose("CameraToCT", PoseAt(1), 0);
  EXPECT_TRUE(fourth.ReceiveA("TRANSFORM"));
  EXPECT_TRUE(first.ReceiveA("TRANSFORM"));
}

TEST(NavigationLink, APortInUseIsNamed) {
  const NavigationLink link(kAnyPort);
  try {
    const NavigationLink second({.port = link.Port()});
    FAIL() << "two links at one port";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()), StrCat("OpenIGTLink: port ", link.Port(),
                                                " at 127.0.0.1 cannot be had: Address already in use"));
  }
  EXPECT_THROW(NavigationLink({.host = "no such host", .port = 0}), InputError);
}

TEST(NavigationLink, WhatWasSentBeforeTheEndStillArrives) {
  auto link = std::make_unique<NavigationLink>(kAnyPort);
  PlainClient client = Follow(*link);
  link->SendSurface(std::make_shared<TriangleMesh>(Strip(1000)));
  link->SendPose("CameraToCT", PoseAt(9), 0);
  link.reset();
  EXPECT_TRUE(client.ReceiveA("TRANSFORM"));
  EXPECT_TRUE(client.ReceiveA("POLYDATA"));
  EXPECT_FALSE(client.Receive());
}

// The other way round: Lumen connects, finds nobody, is let down, and comes again.
TEST(NavigationLink, AsAClientItComesAgain) {
  auto server = std::make_unique<PlainServer>();
  const int port = server->Port();
  server.reset();
  NavigationLink link({.port = port, .connects = true, .retry_ms = 5});
  link.SendState({true, "registered", "", ""});
  for (int times = 0; times < 3; ++times) {
    server = std::make_unique<PlainServer>(port);
    PlainClient other = server->Accept();
    ExpectClients(link, 1);
    EXPECT_EQ(other.Receive()->type, "STATUS");
    link.SendPose("CameraToCT", PoseAt(times), 0);
    EXPECT_EQ(PlaceIn(*other.ReceiveA("TRANSFORM")), static_cast<float>(times));
    server.reset();
  }
  ExpectClients(link, 0);
}

TEST(NavigationLink, AFramesTimeIsItsOwnWhereItIsAClocks) {
  EXPECT_EQ(LinkTime(1700000000.5), 1700000000.5);
  const double now = LinkNow();
  EXPECT_GT(now, 1.7e9);
  for (const double other : {0.0, 12.5, -1.0, 1e12}) EXPECT_GE(LinkTime(other), now) << other;
}

#ifdef LUMEN_IGTL_EXAMPLES
// A program of the protocol's own people, while poses are sent; what it prints, once the link has ended.
std::string RunExample(const std::string& program, const std::function<void(NavigationLink&)>& send) {
  auto link = std::make_unique<NavigationLink>(kAnyPort);
  link->SendState({true, "registered", "in the nose", "{}"});
  const std::string line = StrCat(LUMEN_BINARY_DIR, "/", program, " 127.0.0.1 ", link->Port(),
                                  program.find("tracking") == std::string::npos ? "" : " 1000", " 2>&1");
  FILE* const pipe = ::popen(line.c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  ExpectClients(*link, 1);
  send(*link);
  link.reset();
  std::string printed;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) printed += static_cast<char>(c);
  ::pclose(pipe);
  return printed;
}

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(NavigationLink, SomebodyElsesReceiverReadsTheSameNumbers) {
  const std::string printed = RunExample("lumen_igtl_receiver", [](NavigationLink& link) {
    link.SendPose("CameraToCT", RasFromLps(PoseAt(12.5)), 1700000000.5);
  });
  EXPECT_NE(printed.find("1700000000.500000000"), std::string::npos) << printed;
  EXPECT_NE(printed.find("in the nose"), std::string::npos) << printed;
  // The pose above with its first two rows turned round: cos and sin of twice acos(0.8).
  for (const char* row : {"-1, 0, 0, -12.5", "0, -0.28, 0.96, -2", "0, 0.96, 0.28, 3", "0, 0, 0, 1"})
    EXPECT_NE(printed.find(row), std::string::npos) << row << " in\n" << printed;
}

TEST(NavigationLink, SomebodyElsesTrackingClientStartsAndStops) {
  const std::string printed = RunExample("lumen_igtl_tracking", [](NavigationLink& link) {
    for (int i = 0; i < 100; ++i) {
      link.SendPose("CameraToCT", PoseAt(i), 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  EXPECT_GE(CountOf(printed, "Name       : CameraToCT"), 1U) << printed;
  EXPECT_NE(printed.find("Sending STP_TDATA"), std::string::npos) << printed;
}
#else
TEST(NavigationLink, SomebodyElsesClientsReadTheSameNumbers) {
  GTEST_SKIP() << "OpenIGTLink's examples (openigtlink-examples) were not there";
}
#endif

}  // namespace
}  // namespace lumen
