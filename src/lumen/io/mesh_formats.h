// The single formats behind LoadMesh and SaveMesh. Parsers get the file's bytes and its name for messages.
#pragma once

#include <string>

#include "lumen/scene/mesh.h"

namespace lumen::mesh_formats {

TriangleMesh ParsePly(const std::string& bytes, const std::string& name);
std::string FormatPly(const TriangleMesh& mesh, const std::string& comment);
TriangleMesh ParseObj(const std::string& bytes, const std::string& name);
std::string FormatObj(const TriangleMesh& mesh, const std::string& comment);
TriangleMesh ParseStl(const std::string& bytes, const std::string& name);
std::string FormatStl(const TriangleMesh& mesh, const std::string& comment);
std::string FormatGlb(const TriangleMesh& mesh, const std::string& comment);

// A number's bytes, as they lie in memory.
template <typename T>
void AppendRaw(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

}  // namespace lumen::mesh_formats
