// A run followed over OpenIGTLink: what is made of what a navigation tells, and `lumen run --igtl` from the
// outside.
#include <gtest/gtest.h>

#include <future>

#include "lumen/apps/igtl_listener.h"
#include "lumen/base/error.h"
#include "lumen/base/json.h"
#include "lumen/igtl/link_client_test.h"
#include "tests/command.h"

namespace lumen {
namespace {

// A listener that has connected to us.
struct Followed {
  PlainServer server;
  std::unique_ptr<NavigationListener> listener =
      MakeIgtlListener({.where = StrCat("127.0.0.1:", server.Port())});
  PlainClient client = server.Accept();

  std::string NextState() {
    EXPECT_EQ(client.Receive()->type, "STATUS");
    EXPECT_EQ(client.Receive()->device, "LumenState");
    return client.Receive()->body.substr(4);
  }
};

NavigatedFrame FrameAt(const Eigen::Vector3d& place) {
  NavigatedFrame frame;
  frame.placed = true;
  frame.track = TrackStatus::kTracked;
  frame.map_from_camera = Rigid3(Eigen::Quaterniond::Identity(), place);
  return frame;
}

std::vector<float> MatrixIn(const PlainMessage& transform) { return BytesIn(transform.body).Floats(12); }

TEST(IgtlListener, FramesAreTransformsWhoseNameSaysInWhat) {
  Followed followed;
  EXPECT_EQ(Json::Parse(followed.NextState()).At("placed_in").AsString(), "none");
  NavigatedFrame frame = FrameAt({1, 2, 3});
  followed.listener->OnFrame(frame);
  EXPECT_EQ(Json::Parse(followed.NextState()).At("transform").AsString(), "CameraToMap");
  PlainMessage message = *followed.client.Receive();
  EXPECT_EQ(message.device, "CameraToMap");
  EXPECT_EQ(MatrixIn(message), (std::vector<float>{1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 3}));

  followed.listener->OnState({CtStatus::kRegistered, "in the nose"});
  EXPECT_EQ(Json::Parse(followed.NextState()).At("words").AsString(), "in the nose");
  frame.ct_from_camera = Rigid3(Eigen::Quaterniond::Identity(), {10, 20, 30});
  followed.listener->OnFrame(frame);
  EXPECT_EQ(Json::Parse(followed.NextState()).At("placed_in").AsString(), "ct");
  message = *followed.client.Receive();
  EXPECT_EQ(message.device, "CameraToCT");
  EXPECT_EQ(MatrixIn(message), (std::vector<float>{-1, 0, 0, 0, -1, 0, 0, 0, 1, -10, -20, 30}))
      << "LPS to RAS";
}

TEST(IgtlListener, ALostFrameIsAStateAndNoTransform) {
  Followed followed;
  followed.NextState();
  followed.listener->OnFrame(FrameAt({1, 2, 3}));
  followed.NextState();
  EXPECT_EQ(followed.client.Receive()->type, "TRANSFORM");
  NavigatedFrame lost;
  for (int i = 0; i < 3; ++i) followed.listener->OnFrame(lost);
  EXPECT_EQ(Json::Parse(followed.NextState()).At("placed_in").AsString(), "lost");
  followed.listener->OnFrame(FrameAt({4, 5, 6}));
  EXPECT_EQ(Json::Parse(followed.NextState()).At("placed_in").AsString(), "map") << "lost is told once";
  EXPECT_EQ(followed.client.Receive()->type, "TRANSFORM");
}

TEST(IgtlListener, ASurfaceIsSentOnceItsPlaceIsToBeBelieved) {
  Followed followed;
  auto registration = std::make_shared<CtRegistration>();
  registration->surface.vertices = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  registration->surface.triangles = {{0, 1, 2}};
  registration->surface.attributes = {{"seen_from_x", {0, 0, 0}}, {"residual_mm", {1, 2, 3}}};
  followed.listener->OnRegistration(registration);
  auto believed = std::make_shared<CtRegistration>(*registration);
  believed->confident = true;
  believed->surface.vertices[0] = {10, 20, 30};
  followed.listener->OnRegistration(believed);
  const PlainMessage surface = *followed.client.ReceiveA("POLYDATA");
  EXPECT_EQ(BytesIn(surface.body, 36).U(4), 1U) << "the residual alone";
  EXPECT_EQ(BytesIn(surface.body, 40).Floats(3), (std::vector<float>{-10, -20, 30}));
}

TEST(IgtlListener, ThePictureIsTheNewest) {
  Followed followed;
  followed.listener->OnPicture({0, 0, RgbImage(4, 2, 3, 1)});
  followed.listener->OnPicture({1, 1, RgbImage(4, 2, 3, 2)});
  followed.client.Send(MakePlain("GET_IMAGE"));
  EXPECT_EQ(followed.client.ReceiveA("IMAGE")->body.substr(72), std::string(24, 2));
}

TEST(IgtlListener, WhereIsAPortOrAHostWithOne) {
  EXPECT_EQ(ParseIgtlChoice({.where = "18945"}).port, 18945);
  EXPECT_EQ(ParseIgtlChoice({.where = "18945"}).host, "127.0.0.1");
  EXPECT_FALSE(ParseIgtlChoice({.where = "0"}).connects);
  EXPECT_EQ(ParseIgtlChoice({.where = "0", .host = "0.0.0.0"}).host, "0.0.0.0");
  const LinkOptions six = ParseIgtlChoice({.where = "[::1]:7"});
  EXPECT_TRUE(six.connects);
  EXPECT_EQ(six.host, "::1");
  EXPECT_EQ(six.port, 7);
  for (const char* bad : {"seq", "-1", "65536", "host:0", ":18944", "host:", "1 2"})
    EXPECT_THROW(ParseIgtlChoice({.where = bad}), InputError) << bad;
}

class IgtlCli : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(RunCommand(StrCat("lumen -q simulate ", Path("seq"),
                                " --no-model --anatomy colon --seed 901 --path insertion --size 160x128 "
                                "--frames ",
                                kFrames))
                  .code,
              0);
  }
  std::string Path(const std::string& name) const { return (folder_.Path() / name).string(); }
  std::string RunLine(const std::string& igtl) const {
    return StrCat("lumen run ", Path("seq"), " --out ", Path("run"), " --device cpu --no-surface --igtl ",
                  igtl);
  }
  static constexpr int kFrames = 20;

 private:
  TemporaryFolder folder_;
};

TEST_F(IgtlCli, ARunIsFollowedFrameByFrame) {
  PlainServer server;
  auto run = std::async(std::launch::async, RunCommand, RunLine(StrCat("127.0.0.1:", server.Port())));
  PlainClient client = server.Accept();
  int transforms = 0;
  std::string state;
  while (const std::optional<PlainMessage> message = client.Receive()) {
    if (message->device == "LumenStateJson") state = message->body.substr(4);
    if (message->type != "TRANSFORM") continue;
    ++transforms;
    EXPECT_EQ(message->device, "CameraToMap");
    EXPECT_GT(message->time, 1.7e9) << "a recording's own time is none of a clock";
    const std::vector<float> matrix = MatrixIn(*message);
    EXPECT_NEAR(Eigen::Matrix3f(matrix.data()).determinant(), 1, 1e-4);
  }
  const CommandResult result = run.get();
  EXPECT_EQ(result.code, 0) << result.err;
  std::printf("[ MEASURED ] %d of %d frames\n", transforms, kFrames);
  EXPECT_GT(transforms, 0);
  EXPECT_LE(transforms, kFrames);
  EXPECT_EQ(Json::Parse(state).At("placed_in").AsString(), "map");
}

TEST_F(IgtlCli, WhatIsWrongIsSaidBeforeTheRunBegins) {
  PlainServer taken;
  for (const auto& [igtl, why] :
       std::map<std::string, std::string>{{std::to_string(taken.Port()), StrCat("port ", taken.Port())},
                                          {"70000", "\"70000\" is no port"},
                                          {"no host:18944", "no host \"no host\""}}) {
    const CommandResult result = RunCommand(RunLine(StrCat("'", igtl, "'")));
    EXPECT_EQ(result.code, 2);
    EXPECT_NE(result.err.find(StrCat("--igtl: ")), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(why), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_FALSE(std::filesystem::exists(Path("run")));
  }
}

}  // namespace
}  // namespace lumen
