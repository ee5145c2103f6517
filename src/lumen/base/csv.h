// Tables as spreadsheets write them (RFC 4180): a cell in quotes may hold separators, line ends, and quotes
// that are doubled.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lumen {

struct CsvRow {
  int line = 0;  // of the text, from 1, where it begins
  std::vector<std::string> cells;
};

// All rows but empty ones. White space round a cell that is not quoted goes. Throws InputError, naming
// `source` and the line, for a quote that is never closed or stands in the midst of a cell.
std::vector<CsvRow> ParseCsv(std::string_view text, const std::string& source, char separator = ',');

// The text as a cell: quoted where it must be.
std::string CsvCell(const std::string& text);

}  // namespace lumen
