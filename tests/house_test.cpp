// The house's own rules, read from docs/architecture.md and the sources: a room includes only what its
// row in the table allows; two draws from a random stream never share an expression.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "lumen/base/file.h"
#include "lumen/base/text.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;
using Rooms = std::map<std::string, std::set<std::string>>;

const fs::path kSource = LUMEN_SOURCE_DIR;

// The rows of the table "| layer | room | holds | may include |", closed under "and everything those may
// include".
Rooms ReadAllowedRooms() {
  Rooms allowed;
  const std::regex row(R"(^\| \d \| `(\w+)` \|.*\| ([^|]+) \|$)");
  for (const std::string& line : Split(ReadFile(kSource / "docs/architecture.md"), '\n')) {
    std::smatch match;
    if (!std::regex_match(line, match, row)) continue;
    std::set<std::string>& rooms = allowed[match[1]];
    rooms.insert(match[1]);
    const std::string may_include = match[2];
    if (may_include == "everything") {
      for (const auto& [room, _] : Rooms(allowed)) rooms.insert(room);
    } else if (may_include != "–") {
      for (const std::string& name : Split(may_include, ',')) {
        // Rows come in the order of layers, so the named room's own set is complete.
        const auto& inner = allowed.at(Trim(name));
        rooms.insert(inner.begin(), inner.end());
      }
    }
  }
  return allowed;
}

std::vector<std::string> IncludedRooms(const std::string& text) {
  std::vector<std::string> rooms;
  const std::regex include(R"re(#include\s+[<"]lumen/(\w+)/)re");
  for (std::sregex_iterator it(text.begin(), text.end(), include), end; it != end; ++it)
    rooms.push_back((*it)[1]);
  return rooms;
}

std::vector<std::string> FindTrespasses(const std::string& room, const std::string& text, bool is_test,
                                        const Rooms& allowed) {
  std::vector<std::string> trespasses;
  for (const std::string& included : IncludedRooms(text)) {
    bool may = allowed.at(room).contains(included);
    if (is_test) may = may || allowed.at("sim").contains(included);
    if (!may) trespasses.push_back(included);
  }
  return trespasses;
}

TEST(House, TableHasEveryRoomWithItsDoors) {
  const Rooms allowed = ReadAllowedRooms();
  EXPECT_EQ(allowed.size(), 21U);
  EXPECT_TRUE(allowed.at("factors").contains("image"));
  EXPECT_FALSE(allowed.at("factors").contains("network"));
  EXPECT_FALSE(allowed.at("graph").contains("image"));
}

TEST(House, RoomsEnterOnlyWhereTheirRowAllows) {
  const Rooms allowed = ReadAllowedRooms();
  int files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kSource / "src/lumen")) {
    const std::string extension = entry.path().extension();
    if (extension != ".h" && extension != ".cpp" && extension != ".cu") continue;
    const std::string room = *fs::relative(entry.path(), kSource / "src/lumen").begin();
    ASSERT_TRUE(allowed.contains(room)) << entry.path() << " lies in no room of the table";
    const bool is_test = EndsWith(entry.path().stem().string(), "_test");
    for (const std::string& trespass : FindTrespasses(room, ReadFile(entry.path()), is_test, allowed)) {
      ADD_FAILURE() << entry.path() << " enters " << trespass;
    }
    ++files;
  }
  EXPECT_GT(files, 20);
}

TEST(House, TrespassIsSeen) {
  const Rooms allowed = ReadAllowedRooms();
  const std::string text = "#include \"lumen/network/engine.h\"\n#include \"lumen/scene/frame.h\"\n";
  EXPECT_EQ(FindTrespasses("factors", text, false, allowed), std::vector<std::string>{"network"});
  EXPECT_TRUE(FindTrespasses("slam", text, false, allowed).empty());
  EXPECT_EQ(FindTrespasses("geometry", "#include <lumen/image/image.h>", false, allowed),
            std::vector<std::string>{"image"});
}

TEST(House, EveryIncludeOfOursNamesItsRoom) {
  const std::regex bare(R"re(#include\s+"(?!lumen/)[^"]+")re");
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kSource / "src/lumen")) {
    const std::string extension = entry.path().extension();
    if (extension != ".h" && extension != ".cpp") continue;
    EXPECT_FALSE(std::regex_search(ReadFile(entry.path()), bare)) << entry.path();
  }
}

TEST(House, OneFileIncludesTheParserOfCommandLines) {
  std::vector<std::string> files;
  for (const std::string folder : {"src", "tests", "bench", "examples"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kSource / folder)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cpp") continue;
      if (std::regex_search(ReadFile(entry.path()), std::regex("#include [<\"]CLI/")))
        files.push_back(fs::relative(entry.path(), kSource).string());
    }
  }
  EXPECT_EQ(files, std::vector<std::string>{"src/lumen/apps/command.cpp"})
      << "it takes seconds to compile, each time";
}

// Text without comments and string literals.
std::string CodeOnly(const std::string& text) {
  return std::regex_replace(text, std::regex(R"re(//[^\n]*|"(\\.|[^"\\\n])*")re"), "");
}

// Expressions with more than one draw from a random stream, outside braced lists. Which comes first is the
// compiler's choice there (GCC's differs between x86_64 and arm64), and so are the numbers.
std::vector<std::string> FindUnorderedDraws(const std::string& text) {
  const std::regex draw(
      R"re(\w\.(Normal|Uniform|UniformInt|Chance|NextBits)\(|[(,]\s*random_?\s*(?=[,)])|torch::rand)re");
  const std::regex ordered(R"re(\?|&&|\|\|)re");
  std::vector<std::string> found;
  struct Level {  // of braces
    std::string expression;
    int parentheses = 0;
  };
  std::vector<Level> levels(1);
  const auto end_expression = [&] {
    std::string& expression = levels.back().expression;
    const std::sregex_iterator first(expression.begin(), expression.end(), draw), end;
    if (std::distance(first, end) > 1 && !std::regex_search(expression, ordered))
      found.push_back(Trim(expression));
    expression.clear();
  };
  for (const char c : CodeOnly(text)) {
    Level& level = levels.back();
    if (c == '{') {
      levels.emplace_back();
    } else if (c == '}') {
      end_expression();
      if (levels.size() > 1) levels.pop_back();
      if (levels.back().parentheses == 0) end_expression();
    } else if (c == ';' || (c == ',' && level.parentheses == 0)) {
      end_expression();
    } else {
      if (c == '(') ++level.parentheses;
      if (c == ')') --level.parentheses;
      level.expression += c;
    }
  }
  return found;
}

TEST(House, NoExpressionDrawsTwiceFromARandomStream) {
  for (const std::string folder : {"src", "tests", "bench", "examples"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kSource / folder)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cpp") continue;
      for (const std::string& expression : FindUnorderedDraws(ReadFile(entry.path())))
        ADD_FAILURE() << entry.path()
                      << ": use braces or named values, which are drawn in order: " << expression;
    }
  }
}

TEST(House, UnorderedDrawsAreSeen) {
  for (const char* bad :
       {"Vector3f v(random.Normal(), random.Normal(), 1);", "v = random.Uniform() * Direction(random);",
        "f(x, Draw(a, random), random_.Chance(0.5));",
        "g({1, 2}, random.Normal(0, {}) + random.NextBits());"})
    EXPECT_EQ(FindUnorderedDraws(bad).size(), 1U) << bad;
  for (const char* good :
       {"Vector3f v{random.Normal(), random.Normal(), 1};",
        "const double x = random.Normal(), y = random.Normal();",
        "f({Draw(random), Draw(random)}); g(random.Normal());",
        "a = random.Chance(0.5) ? random.Normal() : 0;", "f(random.Split(1), random.Split(2));",
        "f(random.Normal());  // and random.Normal()",
        "void F(Random& random, Random& other) { random.Normal(); other.Normal(); }"})
    EXPECT_TRUE(FindUnorderedDraws(good).empty()) << good;
}

}  // namespace
}  // namespace lumen
