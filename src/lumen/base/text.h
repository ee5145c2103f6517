// Small text helpers: joining, splitting, numbers that must be numbers, and the nearest known name
// for a misspelt one.
#pragma once

#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace lumen {

// Joins anything that can be streamed.
template <typename... Args>
std::string StrCat(const Args&... args) {
  if constexpr (sizeof...(Args) == 0) {
    return {};
  } else {
    std::ostringstream stream;
    stream.exceptions(std::ios::badbit);  // a want of memory would only cut the text short
    (stream << ... << args);
    return stream.str();
  }
}

std::vector<std::string> Split(std::string_view text, char separator);  // keeps empty parts
std::vector<std::string> SplitWords(std::string_view text);             // by white space, no empty parts
std::string Trim(std::string_view text);
bool StartsWith(std::string_view text, std::string_view prefix);
bool EndsWith(std::string_view text, std::string_view suffix);
std::string ToLower(std::string_view text);

// The whole text as a number, or nothing. "nan" and "inf" are numbers here; the caller decides.
std::optional<double> ParseDouble(std::string_view text);
std::optional<long long> ParseInteger(std::string_view text);

// Shortest text that reads back as the same double.
// What is not UTF-8 becomes U+FFFD, so that any reader takes the text.
std::string ToValidUtf8(std::string_view text);
// For a line that a terminal shows: what would steer it is written out (\x1b).
std::string Printable(std::string_view text);
// Without the mark that some editors put before UTF-8 text.
std::string_view WithoutByteOrderMark(std::string_view text);
std::string FormatDouble(double value);

// The known name with the smallest edit distance, if it is close enough to be a slip of the hand.
std::optional<std::string> NearestName(std::string_view name, const std::vector<std::string>& known);

}  // namespace lumen
