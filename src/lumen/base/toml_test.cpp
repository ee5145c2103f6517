#include "lumen/base/toml.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"

namespace lumen {
namespace {

constexpr const char* kDocument = R"(# a sequence
name = "nasal \"one\""
fps = 30.0
count = 12   # frames
flag = true

[camera]
model = 'radtan'
fx = 5e2
distortion = [
  -0.3, 0.1,  # radial
  1e-3, 0
]
)";

TEST(Toml, PlainReaderAgreesWithTheLibrary) {
  EXPECT_EQ(ParseToml(kDocument, "x.toml"), ParseTomlPlain(kDocument, "x.toml"));
}

TEST(Toml, ValuesAndLinesAreRight) {
  for (const auto& table : {ParseToml(kDocument, "x.toml"), ParseTomlPlain(kDocument, "x.toml")}) {
    EXPECT_EQ(std::get<std::string>(table.at("name").value), "nasal \"one\"");
    EXPECT_EQ(table.at("camera.fx").AsNumber(), 500.0);
    EXPECT_EQ(table.at("camera.fx").line, 9);
    EXPECT_EQ(std::get<TomlValue::Array>(table.at("camera.distortion").value).size(), 4U);
    EXPECT_EQ(std::get<int64_t>(table.at("count").value), 12);
  }
}

TEST(Toml, FaultsNameFileAndLine) {
  for (const char* text : {"a = 1\nb = ", "a = 1\nb 2", "a = 1\nb = \"x", "a = 1\nb = [1, 2", "a = 1\na = 2",
                           "a = 1\n[ ,b]", "a = 1\nb = 1 2"}) {
    for (const auto parse : {ParseToml, ParseTomlPlain}) {
      try {
        parse(text, "x.toml");
        FAIL() << text;
      } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("x.toml: line 2"), std::string::npos) << error.what();
      }
    }
  }
}

TEST(Toml, FormattedValuesReadBack) {
  for (const TomlValue& value :
       {TomlValue{true}, TomlValue{int64_t{-3}}, TomlValue{2.0}, TomlValue{1e-9},
        TomlValue{std::string("a\\b\"c")}, TomlValue{TomlValue::Array{{1.5}, {2.5}}}}) {
    EXPECT_EQ(ParseToml("v = " + FormatToml(value), "x").at("v"), value) << FormatToml(value);
  }
}

TEST(Toml, DeepNestingIsRefused) {
  for (const std::string& text : {"a = " + std::string(100000, '[') + std::string(100000, ']'), "[" + [] {
                                    std::string name = "a";
                                    for (int k = 0; k < 50000; ++k) name += ".a";
                                    return name;
                                  }() + "]\n"}) {
    EXPECT_THROW(ParseToml(text, "deep.toml"), InputError);
  }
  EXPECT_NO_THROW(
      ParseToml("a = [[[1.5, 2.5], [3]], [[4]]]  # isn't [[ deep\nb = \"[[[\"\n", "shallow.toml"));
}

TEST(Toml, LettersOfAllAlphabetsAreKept) {
  const std::string text = "é Θ ж א 鼻 ﬁ \xEF\xBF\xBD 😀";
  for (const auto& parse : {ParseToml, ParseTomlPlain}) {
    const TomlTable table = parse("name = \"" + text + "\"  # " + text + "\n", "x");
    EXPECT_EQ(std::get<std::string>(table.at("name").value), text);
    EXPECT_THROW(parse("fps = 30é\n", "x"), InputError);
  }
  EXPECT_EQ(std::get<std::string>(ParseToml("name = \"\\u00e9\"\n", "x").at("name").value), "é");
  EXPECT_EQ(ParseToml("\xEF\xBB\xBF\"clé\" = 1\n", "x").count("clé"), 1U);
}

// Whatever a file is called, what is written of it reads back.
TEST(Toml, NamesOfAnyBytesReadBack) {
  const std::string name = "a\x1b[31m\tb\x7f\\\"c\x01\xff\xc3\xbc";
  for (const auto& parse : {ParseToml, ParseTomlPlain}) {
    const TomlTable table = parse("name = " + FormatToml({name}) + "\n", "x");
    EXPECT_EQ(std::get<std::string>(table.at("name").value), "a\x1b[31m\tb\x7f\\\"c\x01\xEF\xBF\xBD\xc3\xbc");
  }
}

}  // namespace
}  // namespace lumen
