// A folder of up to three DICOM files. GDCM reads them in a process of its own, where libFuzzer sees nothing:
// byte by byte it would seldom get past the tags' lengths. So a part may also be a list of lines
//   0020,0032 DS -10\0\5
// (group, element, kind, value), of which a file with these elements is made; it reaches what Lumen asks of
// them. A value "*96" stands for that many bytes.
#include <cstdint>
#include <optional>

#include "fuzz/volume_checks.h"
#include "lumen/base/text.h"

namespace lumen::fuzz {
namespace {

template <typename T>
void Append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Explicit kinds, little-endian.
void AppendElement(std::string& out, uint16_t group, uint16_t element, const std::string& kind,
                   std::string value) {
  if (value.size() % 2 != 0) value += kind == "UI" ? '\0' : ' ';
  Append(out, group);
  Append(out, element);
  out += kind;
  if (kind == "OW" || kind == "OB" || kind == "SQ" || kind == "UN" || kind == "UT") {
    Append(out, uint16_t{0});
    Append(out, static_cast<uint32_t>(value.size()));
  } else {
    value.resize(std::min<size_t>(value.size(), 0xfffe));
    Append(out, static_cast<uint16_t>(value.size()));
  }
  out += value;
}

std::string ValueOf(const std::string& kind, const std::string& text) {
  constexpr long long kMost = 1 << 16;
  const auto number = ParseInteger(StartsWith(text, "*") ? text.substr(1) : text);
  if (StartsWith(text, "*") && number && *number >= 0 && *number <= kMost) {
    std::string bytes(static_cast<size_t>(*number), '\0');
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 37);
    return bytes;
  }
  if (kind != "US" || !number) return text;
  std::string bytes;
  Append(bytes, static_cast<uint16_t>(*number));
  return bytes;
}

std::string MakeDicom(const std::string& lines) {
  std::string start, body;
  for (const std::string& line : Split(lines, '\n')) {
    const size_t comma = line.find(','), blank = line.find(' ');
    if (comma != 4 || blank != 9 || line.size() < 13) continue;
    const std::string tag = line.substr(0, 4) + line.substr(5, 4), kind = line.substr(10, 2);
    if (tag.find_first_not_of("0123456789abcdef") != std::string::npos) continue;
    const auto number = static_cast<uint32_t>(std::stoul(tag, nullptr, 16));
    const auto group = static_cast<uint16_t>(number >> 16), element = static_cast<uint16_t>(number);
    AppendElement(group == 2 ? start : body, group, element, kind, ValueOf(kind, line.substr(13)));
  }
  if (start.empty()) AppendElement(start, 2, 0x10, "UI", "1.2.840.10008.1.2.1");
  std::string length;
  Append(length, static_cast<uint32_t>(start.size()));
  std::string out = std::string(128, '\0') + "DICM";
  AppendElement(out, 2, 0, "UL", length);
  return out + start + body;
}

void ReadDicom(const std::string& input) {
  const std::filesystem::path folder = Scratch() / "dicom";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const std::vector<std::string> parts = CutInput(input);
  constexpr size_t kMostFiles = 3;
  for (size_t k = 0; k < std::min(parts.size(), kMostFiles); ++k) {
    const bool raw = parts[k].size() > 132 && parts[k].compare(128, 4, "DICM") == 0;
    WriteScratch(StrCat("dicom/", k, ".dcm"), raw ? parts[k] : MakeDicom(parts[k]));
  }
  ExpectSound(LoadVolume(folder));
}

const Registration kTarget("dicom", ReadDicom, [] { HaveDicom(); });

}  // namespace
}  // namespace lumen::fuzz
