// Lists of an archive's videos: a table, or a path a line, beside a video `a.mp4`.
#include <set>

#include "fuzz/fuzz.h"
#include "lumen/apps/archive_list.h"
#include "lumen/base/csv.h"

namespace lumen::fuzz {
namespace {

void ReadList(const std::string& input) {
  std::set<std::string> folders;
  for (const ArchiveVideo& video : ReadVideoList(WriteScratch("list.csv", input))) {
    Expect(!video.name.empty() && video.input.is_absolute(), "a video has a name and a place");
    Expect(folders.insert(video.folder).second, "names are unlike one another");
    Expect(video.folder.find('/') == std::string::npos && video.folder.front() != '.',
           "a folder's name is safe");
    const std::vector<CsvRow> rows = ParseCsv(CsvCell(video.name), kName);
    Expect(rows.size() == 1 && rows.front().cells == std::vector<std::string>{video.name},
           "a name that is written as a cell reads back");
    for (const GivenOption& option : video.own)
      Expect(option.name.starts_with("--") && option.values.size() <= 1, "an option has one value or none");
  }
}

const Registration kTarget("video_list", ReadList, [] { WriteScratch("a.mp4", "x"); });

}  // namespace
}  // namespace lumen::fuzz
