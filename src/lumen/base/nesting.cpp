#include "lumen/base/nesting.h"

#include <algorithm>

#include "lumen/base/error.h"
#include "lumen/base/limits.h"

namespace lumen {

namespace {

constexpr size_t kDeepest = limits::kNesting;

[[noreturn]] void FailDeep(const std::string& source, size_t line) {
  throw InputError(StrCat(source, ": line ", line, ": nested too deep"));
}

// Quotes end with their line at the latest: one that is left open must not hide what follows.
size_t DeepestBracket(std::string_view text, bool quotes, size_t& line) {
  size_t depth = 0, deepest = 0, dots = 0, at = 1;
  char quote = 0;
  for (const char c : text) {
    if (c == '\n') {
      ++at;
      quote = 0;
      dots = 0;
    } else if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (quotes && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      depth -= depth > 0 ? 1 : 0;
    } else if (c == '=' || c == ',') {
      dots = 0;
    } else if (c == '.') {
      ++dots;
    }
    if (std::max(depth, dots) > deepest) {
      deepest = std::max(depth, dots);
      line = at;
    }
  }
  return deepest;
}

// Spaces and dashes at the beginning of a line.
size_t DeepestIndent(std::string_view text, size_t& line) {
  size_t deepest = 0, indent = 0, at = 1;
  bool leading = true;
  for (const char c : text) {
    if (c == '\n') {
      ++at;
      indent = 0;
      leading = true;
    } else if (leading && (c == ' ' || c == '-' || c == '\t')) {
      if (++indent > deepest) {
        deepest = indent;
        line = at;
      }
    } else {
      leading = false;
    }
  }
  return deepest;
}

size_t DeepestTag(std::string_view text, size_t& line) {
  size_t depth = 0, deepest = 0, at = 1;
  for (size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '\n') ++at;
    if (text[k] != '<' || k + 1 >= text.size() || text[k + 1] == '!' || text[k + 1] == '?') continue;
    if (text[k + 1] == '/') {
      depth -= depth > 0 ? 1 : 0;
    } else if (++depth > deepest) {
      deepest = depth;
      line = at;
    }
  }
  return deepest;
}

}  // namespace

void RequireShallow(std::string_view text, const std::string& source) {
  size_t line = 1;
  if (DeepestBracket(text, true, line) > kDeepest) FailDeep(source, line);
}

void RequireShallowMarkup(std::string_view text, const std::string& source) {
  constexpr size_t kColumnsEach = 4;
  size_t line = 1;
  // Here an apostrophe may be one.
  if (DeepestBracket(text, false, line) > kDeepest) FailDeep(source, line);
  if (DeepestIndent(text, line) > kColumnsEach * kDeepest) FailDeep(source, line);
  if (DeepestTag(text, line) > kDeepest) FailDeep(source, line);
}

}  // namespace lumen
