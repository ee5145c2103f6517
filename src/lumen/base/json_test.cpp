#include "lumen/base/json.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/random.h"

namespace lumen {
namespace {

TEST(Json, DumpedValuesParseBackTheSame) {
  Json value;
  value["name"] = "a \"quoted\"\n line";
  value["count"] = 3;
  value["ratio"] = 0.1;
  value["flags"].Append(true);
  value["flags"].Append(Json());
  value["nested"]["x"] = -1e-30;
  EXPECT_EQ(Json::Parse(value.Dump()), value);
  EXPECT_EQ(Json::Parse(value.Dump(2)), value);
}

TEST(Json, ZeroKeepsItsSign) { EXPECT_EQ(Json::Parse(Json(-0.0).Dump()), Json(-0.0)); }

TEST(Json, NonFiniteNumbersBecomeNull) { EXPECT_EQ(Json(std::nan("")).Dump(), "null"); }

TEST(Json, EscapesAndSurrogatesAreUnderstood) {
  EXPECT_EQ(Json::Parse(R"("\u00e9\ud83d\ude00\/")").AsString(), "\xc3\xa9\xf0\x9f\x98\x80/");
}

TEST(Json, FaultsNameTheSourceAndThePlace) {
  for (const char* text :
       {"", "{", "[1,]", "{\"a\" 1}", "tru", "1 2", "\"x", "{a:1}", "[1 2]", "+1", "nan", "\"\\q\""}) {
    try {
      Json::Parse(text, "file.json");
      FAIL() << text;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("file.json: not valid JSON at byte"), std::string::npos);
    }
  }
}

TEST(Json, DeepNestingIsRefusedInsteadOfOverflowingTheStack) {
  EXPECT_THROW(Json::Parse(std::string(100000, '[')), InputError);
}

TEST(Json, RandomBytesNeverCrash) {
  Random random(1);
  const std::string alphabet = "{}[]\",:0123456789.eE+-truefalsn\\u \n";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (int64_t n = random.UniformInt(0, 30); n > 0; --n) {
      text += alphabet[static_cast<size_t>(random.UniformInt(0, static_cast<int64_t>(alphabet.size()) - 1))];
    }
    try {
      Json::Parse(text);
    } catch (const InputError&) {
    }
  }
}

TEST(Json, WrongKindAndMissingKeyAreInputErrors) {
  const Json value = Json::Parse("{\"a\": 1}");
  EXPECT_EQ(value.At("a").AsDouble(), 1.0);
  EXPECT_THROW(value.At("b"), InputError);
  EXPECT_THROW(value.At("a").AsString(), InputError);
  EXPECT_EQ(value.Find("b"), nullptr);
}

}  // namespace
}  // namespace lumen
