// Lists of an archive's videos: a table, or a path a line, beside a video `a.mp4`.
#include <set>

#include "fuzz/fuzz.h"
#include "lumen/apps/archive_list.h"
#include "lumen/base/csv.h"

namespace lumen::fuzz {
namespace {

void ReadList(const std::string& input) {
  static const std::filesystem::path video = WriteScratch("a.mp4", "x");
  std::set<std::string> folders;
  for (const ArchiveVideo& listed : ReadVideoList(WriteScratch("list.csv", input))) {
    Expect(!listed.name.empty() && listed.input.is_absolute(), "a video has a name and a place");
    Expect(folders.insert(listed.folder).second, "names are unlike one another");
    Expect(listed.folder.find('/') == std::string::npos && listed.folder.front() != '.',
           "a folder's name is safe");
    const std::vector<CsvRow> rows = ParseCsv(CsvCell(listed.name), kName);
    Expect(rows.size() == 1 && rows.front().cells == std::vector<std::string>{listed.name},
           "a name that is written as a cell reads back");
    for (const GivenOption& option : listed.own)
      Expect(option.name.starts_with("--") && option.values.size() <= 1, "an option has one value or none");
  }
}

const Registration kTarget("video_list", ReadList);

}  // namespace
}  // namespace lumen::fuzz
