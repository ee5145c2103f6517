// The page itself, as it was built into this library; a plain one that says what to do where it was not.
#pragma once

#include <string_view>
#include <vector>

#include "lumen/viewer/server.h"

namespace lumen {

struct PageFile {
  std::string_view path;  // "/index.html"
  std::string_view bytes;
};
std::vector<PageFile> PageFiles();  // empty if web/ was not built

bool HavePage();
// "/" and the page's own files.
std::optional<ServedFile> FindPageFile(const std::string& path);

}  // namespace lumen
