#include "lumen/viewer/keyframe_detail.h"

#include <gtest/gtest.h>

#include "lumen/base/json.h"
#include "lumen/base/random.h"

namespace lumen {
namespace {

// A frame whose descriptors are those of `texture`, moved to the right by `shift` pixels.
std::shared_ptr<const Frame> MakeFrame(const Image<float>& texture, int shift) {
  const int width = 80, height = 64;
  Image<float> descriptors(width, height, texture.Channels());
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      std::copy_n(texture.Pixel(x + 10 - shift, y), texture.Channels(), descriptors.Pixel(x, y));
  auto frame = std::make_shared<Frame>();
  frame->view = std::make_shared<View>(
      View{{50, 50, 39.5, 31.5}, Mask(width, height, 1, 255), Mask(width, height, 1, 255)});
  Image<float> features = descriptors;
  frame->features = MakeFeaturePyramid(std::move(features), std::move(descriptors), frame->view->mask, 1);
  return frame;
}

class Detail : public ::testing::Test {
 protected:
  Detail() : texture(100, 64, 8) {
    Random random(3);
    for (size_t i = 0; i < texture.Size(); ++i) texture.Data()[i] = static_cast<float>(random.Uniform(-1, 1));
    frames[12] = MakeFrame(texture, 0);
    frames[40] = MakeFrame(texture, 5);
  }
  std::optional<ServedFile> Find(const std::string& path) {
    return detail.Find(path, [this](int64_t number) {
      const auto found = frames.find(number);
      return found == frames.end() ? nullptr : found->second;
    });
  }
  Image<float> texture;
  std::map<int64_t, std::shared_ptr<const Frame>> frames;
  KeyframeDetail detail;
};

TEST_F(Detail, MatchesLeadToTheSamePlaceInTheOtherPicture) {
  const auto served = Find("/matches/12/40.json");
  ASSERT_TRUE(served);
  const Json json = Json::Parse(served->bytes);
  const Json::Array& matches = json.At("matches").AsArray();
  EXPECT_GT(matches.size(), 100U);
  for (const Json& match : matches) {
    const Json::Array& at = match.AsArray();
    EXPECT_NEAR(at[2].AsDouble() - at[0].AsDouble(), 5, 0.5);
    EXPECT_NEAR(at[3].AsDouble(), at[1].AsDouble(), 0.5);
  }
}

TEST_F(Detail, FeaturesAreAPicture) {
  const auto served = Find("/features/12.png");
  ASSERT_TRUE(served);
  EXPECT_EQ(served->type, "image/png");
  EXPECT_EQ(served->bytes.substr(1, 3), "PNG");
}

TEST_F(Detail, AnythingElseIsNotThere) {
  for (const char* path :
       {"/features/13.png", "/features/12", "/features/-12.png", "/features/.png", "/features/12/40.png",
        "/matches/12.json", "/matches/12/41.json", "/matches/12/40/12.json", "/matches/../12/40.json",
        "/features/99999999999999999999.png"})
    EXPECT_FALSE(Find(path)) << path;
}

}  // namespace
}  // namespace lumen
