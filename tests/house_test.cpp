// The house's own rules, read from docs/architecture.md and the sources: a room includes only what its
// row in the table allows.
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
  EXPECT_EQ(allowed.size(), 16U);
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

}  // namespace
}  // namespace lumen
