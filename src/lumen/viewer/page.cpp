#include "lumen/viewer/page.h"

#include "lumen/base/text.h"

namespace lumen {

namespace {

constexpr const char* kFallback =
    "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Lumen</title></head><body>"
    "<h1>Lumen</h1><p>This build has no page inside: its parts were made without Node.js. Install the "
    "packages "
    "<code>nodejs</code> and <code>npm</code>, run <code>./demo</code> or <code>./check</code> again, and "
    "the page "
    "will be here.</p><p>The run's files can still be had: <a href=\"/download/frames.tum\">frames.tum</a>, "
    "<a href=\"/download/keyframes.tum\">keyframes.tum</a>, <a "
    "href=\"/download/surface.ply\">surface.ply</a>. "
    "<code>lumen report</code> makes a page without any of this.</p></body></html>\n";

std::string TypeOf(std::string_view path) {
  for (const auto& [ending, type] : {std::pair{".html", "text/html; charset=utf-8"},
                                     {".js", "text/javascript; charset=utf-8"},
                                     {".css", "text/css; charset=utf-8"},
                                     {".svg", "image/svg+xml"},
                                     {".png", "image/png"}})
    if (EndsWith(path, ending)) return type;
  return "application/octet-stream";
}

}  // namespace

bool HavePage() { return !PageFiles().empty(); }

std::optional<ServedFile> FindPageFile(const std::string& path) {
  const std::string wanted = path == "/" ? "/index.html" : path;
  for (const PageFile& file : PageFiles())
    if (file.path == wanted) return ServedFile{TypeOf(file.path), std::string(file.bytes), ""};
  if (path == "/") return ServedFile{TypeOf(".html"), kFallback, ""};
  return std::nullopt;
}

}  // namespace lumen
