#include "lumen/io/coverage_mesh.h"

#include <sstream>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/text.h"
#include "lumen/io/mesh_file.h"

namespace lumen {

namespace {

// Which answer a texture place stands for: 0 0 seen, 1 1 missed.
bool StandsForSeen(const std::vector<std::string>& words, const std::string& name, int line) {
  const auto u = words.size() >= 2 ? ParseDouble(words[1]) : std::nullopt;
  if (!u) throw InputError(name, StrCat("line ", line, ": a texture place needs numbers"));
  return *u < 0.5;
}

// "7/2" names texture place 2.
size_t PlaceOf(const std::string& word, size_t places, const std::string& name, int line) {
  const std::vector<std::string> parts = Split(word, '/');
  const auto index = parts.size() >= 2 ? ParseInteger(parts[1]) : std::nullopt;
  if (!index || *index < 1 || *index > static_cast<long long>(places))
    throw InputError(name, StrCat("line ", line, ": \"", word, "\" does not say whether the face was seen"));
  return static_cast<size_t>(*index - 1);
}

// Most lines are vertices: not worth cutting into words.
bool MayAnswer(const std::string& line) {
  const size_t first = line.find_first_not_of(" \t\r\v\f");
  return first != std::string::npos && (line.compare(first, 2, "vt") == 0 || line[first] == 'f');
}

std::vector<char> ParseAnswers(std::string_view text, const std::string& name) {
  std::vector<char> stands_for_seen, seen;
  int line_number = 0;
  for (const std::string& line : Split(WithoutByteOrderMark(text), '\n')) {
    ++line_number;
    if (!MayAnswer(line)) continue;
    const std::vector<std::string> words = SplitWords(line);
    if (words[0] == "vt") stands_for_seen.push_back(StandsForSeen(words, name, line_number) ? 1 : 0);
    if (words[0] != "f" || words.size() < 4) continue;
    const size_t place = PlaceOf(words[1], stands_for_seen.size(), name, line_number);
    seen.insert(seen.end(), words.size() - 3,
                stands_for_seen[place]);  // a polygon is cut into as many triangles
  }
  return seen;
}

}  // namespace

CoverageMesh LoadCoverageMesh(const std::filesystem::path& path) {
  CoverageMesh coverage{LoadMesh(path), ParseAnswers(ReadFile(path), path.string())};
  if (coverage.mesh.triangles.empty()) throw InputError(path, "has no faces");
  LUMEN_CHECK(coverage.seen.size() == coverage.mesh.triangles.size());
  return coverage;
}

void SaveCoverageMesh(const std::filesystem::path& path, const CoverageMesh& coverage) {
  std::ostringstream out;
  out.exceptions(std::ios::badbit);
  out << "# Lumen: 1 seen, 2 not seen\n";
  for (const Eigen::Vector3f& v : coverage.mesh.vertices)
    out << "v " << v.x() << ' ' << v.y() << ' ' << v.z() << '\n';
  out << "vt 0 0\nvt 1 1\n";
  for (size_t i = 0; i < coverage.mesh.triangles.size(); ++i) {
    const char* answer = coverage.seen[i] != 0 ? "/1" : "/2";
    out << 'f';
    for (const int32_t corner : coverage.mesh.triangles[i]) out << ' ' << corner + 1 << answer;
    out << '\n';
  }
  WriteFileAtomically(path, out.str());
}

}  // namespace lumen
