#include "lumen/base/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/random.h"
#include "lumen/network/weights.h"

namespace lumen {
namespace {

TensorFile Example() {
  TensorFile file;
  file.tensors["a.weight"] = {{2, 3}, {1, 2, 3, 4, 5, 6}};
  file.tensors["b"] = {{1}, {-7.5F}};
  file.tensors["empty"] = {{0, 4}, {}};
  file.metadata["note"] = "hand \"made\"";
  return file;
}

std::string WithHeader(const std::string& header, const std::string& data) {
  const uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), 8) + header + data;
}

std::string FaultOf(const std::string& bytes) {
  try {
    ParseSafetensors(bytes, "m.safetensors");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::string ModelFault(const std::string& bytes) {
  try {
    ParseModel(bytes, "m.safetensors");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Safetensors, WhatIsWrittenIsRead) {
  const TensorFile file = Example();
  const TensorFile back = ParseSafetensors(FormatSafetensors(file), "x");
  EXPECT_EQ(back.metadata, file.metadata);
  ASSERT_EQ(back.tensors.size(), 3U);
  EXPECT_EQ(back.tensors.at("a.weight").values, file.tensors.at("a.weight").values);
  EXPECT_EQ(back.tensors.at("a.weight").shape, file.tensors.at("a.weight").shape);
}

TEST(Safetensors, HalfPrecisionIsWidened) {
  const std::string data("\x00\x3c\x00\xc0\x01\x00\xff\x7b", 8);  // 1, -2, smallest, largest
  const TensorFile file =
      ParseSafetensors(WithHeader(R"({"h":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}})", data), "x");
  EXPECT_EQ(file.tensors.at("h").values, (std::vector<float>{1.0F, -2.0F, 0x1p-24F, 65504.0F}));
}

TEST(Safetensors, FaultsAreNamed) {
  EXPECT_NE(FaultOf("").find("is empty"), std::string::npos);
  EXPECT_NE(FaultOf("abc").find("not a safetensors"), std::string::npos);
  EXPECT_NE(FaultOf("This is a text file, not weights").find("not a safetensors"), std::string::npos);
  EXPECT_NE(FaultOf(WithHeader("[1]", "")).find("not an object"), std::string::npos);
  EXPECT_NE(FaultOf(WithHeader(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", "1234"))
                .find("cut short"),
            std::string::npos);
  EXPECT_NE(FaultOf(WithHeader(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "12345678"))
                .find("size its shape"),
            std::string::npos);
  EXPECT_NE(FaultOf(WithHeader(R"({"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})", "12345678"))
                .find("type I64"),
            std::string::npos);
  EXPECT_NE(
      FaultOf(
          WithHeader(
              R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
              "12345678"))
          .find("overlap"),
      std::string::npos);
  EXPECT_NE(FaultOf(WithHeader(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234"))
                .find("damaged"),
            std::string::npos);
  EXPECT_NE(
      FaultOf(
          WithHeader(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", "1234"))
          .find("larger"),
      std::string::npos);
}

TEST(Safetensors, DamagedBytesNeverCrash) {
  const std::string whole = FormatSafetensors(Example());
  Random random(1);
  for (int trial = 0; trial < 5000; ++trial) {
    std::string damaged =
        whole.substr(0, static_cast<size_t>(random.UniformInt(0, static_cast<int64_t>(whole.size()))));
    for (int64_t flips = random.UniformInt(0, 4); flips > 0 && !damaged.empty(); --flips) {
      const auto byte = static_cast<char>(random.NextBits());
      damaged[static_cast<size_t>(random.UniformInt(0, static_cast<int64_t>(damaged.size()) - 1))] = byte;
    }
    FaultOf(damaged);
  }
  for (int trial = 0; trial < 2000; ++trial) {  // the header's length alone
    std::string damaged = whole;
    const uint64_t bits = random.NextBits();
    const uint64_t size = bits >> random.UniformInt(0, 63);
    std::memcpy(damaged.data(), &size, 8);
    FaultOf(damaged);
  }
}

TEST(Model, SavedModelLoadsWithItsHash) {
  const TemporaryFolder folder;
  Model model = MakeRandomModel(1);
  model.metadata["training"] = "none";
  SaveModel(folder.Path() / "m.safetensors", model);
  const Model back = LoadModel(folder.Path() / "m.safetensors");
  EXPECT_EQ(back.hash, model.hash);
  EXPECT_EQ(back.metadata.at("training"), "none");
  EXPECT_NE(back.metadata.at("lumen.architecture").find("depth.trunk.pre_down down 4->8 at 160x128"),
            std::string::npos);
  EXPECT_LT(std::filesystem::file_size(folder.Path() / "m.safetensors"), 15'000'000U);
}

TEST(Model, FaultsAreNamed) {
  const Model good = MakeRandomModel(1);
  const auto format = [](const Model& model) { return FormatSafetensors({model.tensors, model.metadata}); };
  EXPECT_EQ(ModelFault(format(good)), "");
  Model broken = good;
  broken.tensors.erase("depth.trunk.up2.norm.bias");
  EXPECT_NE(ModelFault(format(broken)).find("\"depth.trunk.up2.norm.bias\" is missing"), std::string::npos);
  broken = good;
  broken.tensors["feature.trunk.down1.conv1.bias"] = {{3}, {0, 0, 0}};
  EXPECT_NE(ModelFault(format(broken)).find("another shape"), std::string::npos);
  broken = good;
  broken.tensors["feature.trunk.down1.conv1.bias"].values[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(ModelFault(format(broken)).find("not finite"), std::string::npos);
  broken = good;
  broken.tensors["stranger"] = {{1}, {1}};
  EXPECT_NE(ModelFault(format(broken)).find("tensors, not"), std::string::npos);
  broken = good;
  broken.tensors["depth.bases.2.conv2.weight"].shape[0] = 0;
  broken.tensors["depth.bases.2.conv2.weight"].values.clear();
  EXPECT_NE(ModelFault(format(broken)).find("gives 0 channels"), std::string::npos);
  broken = good;
  broken.metadata["lumen.hash"] = "0000000000000000";
  EXPECT_NE(ModelFault(format(broken)).find("do not match their hash"), std::string::npos);
  EXPECT_NE(ModelFault(format(good).substr(0, 5'000'000)).find("cut short"), std::string::npos);
}

}  // namespace
}  // namespace lumen
