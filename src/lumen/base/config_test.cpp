#include "lumen/base/config.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/base/file.h"

namespace lumen {
namespace {

struct SolverConfig {
  int max_iterations = 40;
  double damping = 1e-4;
  std::vector<double> weights = {10, 9};
  void Describe(ConfigVisitor& visitor) {
    visitor.Field("max_iterations", max_iterations, {.min = 1, .max = 1000, .help = "steps at most"});
    visitor.Field("damping", damping, {.min = 0, .help = "initial damping"});
    visitor.Field("weights", weights, {.min = 0, .help = "per level"});
  }
};

struct TestConfig {
  bool fast = false;
  std::string device = "auto";
  SolverConfig solver;
  void Describe(ConfigVisitor& visitor) {
    visitor.Field("fast", fast, {.help = "be quick"});
    visitor.Field("device", device, {.help = "where to run", .choices = {"auto", "cpu"}});
    visitor.Group("solver", solver);
  }
};

std::string FaultOf(const std::string& setting) {
  TestConfig config;
  try {
    SetConfig(setting, config);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Config, SettingsReachTheirFields) {
  TestConfig config;
  SetConfig("solver.max_iterations=7", config);
  SetConfig("solver.damping=1", config);  // an integer will do for a real
  SetConfig("solver.weights=[1, 2.5]", config);
  SetConfig("device=cpu", config);  // the shell eats quotes
  SetConfig("fast = true", config);
  EXPECT_EQ(config.solver.max_iterations, 7);
  EXPECT_EQ(config.solver.damping, 1.0);
  EXPECT_EQ(config.solver.weights, (std::vector<double>{1, 2.5}));
  EXPECT_EQ(config.device, "cpu");
  EXPECT_TRUE(config.fast);
}

TEST(Config, MisspeltNameSuggestsTheNearest) {
  EXPECT_NE(FaultOf("solver.max_iteration=3").find("did you mean \"solver.max_iterations\"?"),
            std::string::npos);
  EXPECT_NE(FaultOf("solver.max_iterations").find("name=value"), std::string::npos);
}

TEST(Config, KindAndRangeAreChecked) {
  EXPECT_NE(FaultOf("solver.max_iterations=0").find("out of range (1 … 1000)"), std::string::npos);
  EXPECT_NE(FaultOf("solver.max_iterations=1.5").find("must be an integer"), std::string::npos);
  EXPECT_NE(FaultOf("solver.damping=nan").find("out of range"), std::string::npos);
  EXPECT_NE(FaultOf("device=gpu").find("not one of: auto, cpu"), std::string::npos);
  EXPECT_NE(FaultOf("fast=3").find("must be true or false"), std::string::npos);
  EXPECT_NE(FaultOf("solver.weights=[1, -1]").find("out of range"), std::string::npos);
}

TEST(Config, WrittenConfigReadsBackAndMarksWhatDiffers) {
  TestConfig config;
  config.solver.damping = 0.5;
  const std::string text = FormatConfig(config);
  EXPECT_NE(text.find("damping = 0.5  # default: 1e-04"), std::string::npos) << text;
  const TemporaryFolder folder;
  WriteFileAtomically(folder.Path() / "c.toml", text);
  TestConfig back;
  LoadConfig(folder.Path() / "c.toml", back);
  EXPECT_EQ(FormatConfig(back), text);
}

TEST(Config, FieldsAfterAGroupAreWrittenWithTheirOwnTable) {
  struct Inner {
    int depth = 3;
    void Describe(ConfigVisitor& visitor) { visitor.Field("depth", depth, {}); }
  };
  struct Outer {
    Inner inner;
    int after = 1;
    void Describe(ConfigVisitor& visitor) {
      visitor.Group("inner", inner);
      visitor.Field("after", after, {});
    }
  };
  struct Root {
    int first = 0, last = 2;
    Outer outer;
    void Describe(ConfigVisitor& visitor) {
      visitor.Field("first", first, {});
      visitor.Group("outer", outer);
      visitor.Field("last", last, {});
    }
  };
  Root config;
  config.outer.after = 7;
  config.last = 8;
  const TemporaryFolder folder;
  WriteFileAtomically(folder.Path() / "c.toml", FormatConfig(config));
  Root back;
  LoadConfig(folder.Path() / "c.toml", back);
  EXPECT_EQ(back.outer.after, 7);
  EXPECT_EQ(back.last, 8);
}

TEST(Config, FileFaultNamesFileAndLine) {
  const TemporaryFolder folder;
  const auto path = folder.Path() / "c.toml";
  WriteFileAtomically(path, "fast = true\n[solver]\ndampng = 1\n");
  TestConfig config;
  try {
    LoadConfig(path, config);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(
        std::string(error.what())
            .find("c.toml: line 3: unknown parameter \"solver.dampng\" (did you mean \"solver.damping\"?)"),
        std::string::npos)
        << error.what();
  }
}

TEST(Config, ParameterPageListsEveryField) {
  const std::string page = FormatParameterPage<TestConfig>();
  EXPECT_NE(page.find("| `solver.max_iterations` | 40 |  | 1 … 1000 | steps at most |"), std::string::npos)
      << page;
  EXPECT_NE(page.find("`device`"), std::string::npos);
}

}  // namespace
}  // namespace lumen
