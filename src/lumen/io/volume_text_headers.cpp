// NRRD and MetaImage: a header of text lines, then the voxels, in the same file or another.
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/text.h"
#include "lumen/io/volume_formats.h"

namespace lumen::volume_formats {

namespace fs = std::filesystem;

namespace {

struct TextHeader {
  std::map<std::string, std::string> fields;  // names in lower case
  size_t body = 0;

  const std::string* Find(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? nullptr : &found->second;
  }
};

const std::string& Require(const TextHeader& header, const std::string& field, const std::string& name) {
  const std::string* value = header.Find(field);
  if (value == nullptr) throw InputError(name, StrCat("its header has no \"", field, "\""));
  return *value;
}

// All numbers of a field, whatever parentheses and commas stand between them.
std::vector<double> Numbers(const std::string& text, size_t count, const std::string& name) {
  std::string plain = text;
  for (char& c : plain)
    if (c == '(' || c == ')' || c == ',') c = ' ';
  std::vector<double> numbers;
  for (const std::string& word : SplitWords(plain)) {
    const auto number = ParseDouble(word);
    if (!number) throw InputError(name, StrCat("its header holds \"", text, "\", not ", count, " numbers"));
    numbers.push_back(*number);
  }
  if (numbers.size() != count)
    throw InputError(name, StrCat("its header holds \"", text, "\", not ", count, " numbers"));
  return numbers;
}

Eigen::Vector3d Vector(const std::string& text, const std::string& name) {
  const std::vector<double> n = Numbers(text, 3, name);
  return {n[0], n[1], n[2]};
}

// Row k of the nine numbers is axis k: they become columns.
Eigen::Matrix3d AxesAsColumns(const std::vector<double>& n) {
  return Eigen::Map<const Eigen::Matrix3d>(n.data());
}

VoxelType TypeOf(const std::map<std::string, VoxelType>& types, const std::string& text,
                 const std::string& name) {
  const auto found = types.find(ToLower(text));
  if (found == types.end())
    throw InputError(name, StrCat("holds voxels of type \"", text, "\", which Lumen does not read"));
  return found->second;
}

const std::map<std::string, VoxelType>& NrrdTypes() {
  static const std::map<std::string, VoxelType> types = {
      {"signed char", VoxelType::kInt8},    {"int8", VoxelType::kInt8},
      {"int8_t", VoxelType::kInt8},         {"uchar", VoxelType::kUint8},
      {"unsigned char", VoxelType::kUint8}, {"uint8", VoxelType::kUint8},
      {"uint8_t", VoxelType::kUint8},       {"short", VoxelType::kInt16},
      {"signed short", VoxelType::kInt16},  {"short int", VoxelType::kInt16},
      {"int16", VoxelType::kInt16},         {"int16_t", VoxelType::kInt16},
      {"ushort", VoxelType::kUint16},       {"unsigned short", VoxelType::kUint16},
      {"uint16", VoxelType::kUint16},       {"uint16_t", VoxelType::kUint16},
      {"int", VoxelType::kInt32},           {"signed int", VoxelType::kInt32},
      {"int32", VoxelType::kInt32},         {"int32_t", VoxelType::kInt32},
      {"uint", VoxelType::kUint32},         {"unsigned int", VoxelType::kUint32},
      {"uint32", VoxelType::kUint32},       {"uint32_t", VoxelType::kUint32},
      {"float", VoxelType::kFloat32},       {"double", VoxelType::kFloat64}};
  return types;
}

const std::map<std::string, VoxelType>& MetaTypes() {
  static const std::map<std::string, VoxelType> types = {
      {"met_char", VoxelType::kInt8},     {"met_uchar", VoxelType::kUint8},
      {"met_short", VoxelType::kInt16},   {"met_ushort", VoxelType::kUint16},
      {"met_int", VoxelType::kInt32},     {"met_uint", VoxelType::kUint32},
      {"met_float", VoxelType::kFloat32}, {"met_double", VoxelType::kFloat64}};
  return types;
}

bool SwapNeeded(bool big_endian) { return big_endian == (std::endian::native == std::endian::little); }

// Lines "name<separator>value" up to `last` (included) or an empty line.
TextHeader ParseLines(const std::string& bytes, char separator, const std::string& last,
                      const std::string& name) {
  TextHeader header;
  size_t position = 0;
  while (position < bytes.size()) {
    const size_t end = bytes.find('\n', position);
    if (end == std::string::npos && last.empty()) break;
    const std::string line = Trim(bytes.substr(position, end - position));
    position = end == std::string::npos ? bytes.size() : end + 1;
    header.body = position;
    if (line.empty() && last.empty()) return header;
    const size_t cut = line.find(separator);
    if (line.empty() || line[0] == '#' || cut == std::string::npos) continue;
    const std::string field = ToLower(Trim(line.substr(0, cut)));
    const std::string value = Trim(line.substr(cut + 1 + (line.substr(cut, 2) == ":=" ? 1 : 0)));
    header.fields[field] = value;
    if (field == last) return header;
  }
  if (last.empty()) return header;  // detached: there is no body
  throw InputError(name, StrCat("its header has no \"", last, "\""));
}

Eigen::Vector3i SizeOf(const std::string& text, const std::string& name) {
  const Eigen::Vector3d size = Vector(text, name);
  constexpr double kMost = 1 << 15;
  if (!(size.minCoeff() >= 1) || !(size.maxCoeff() <= kMost) || size != size.array().floor().matrix())
    throw InputError(name, StrCat("its size \"", text, "\" makes no sense"));
  return size.cast<int>();
}

// The voxels' own file, if they are not here. It lies beside the header or below: a header from elsewhere has
// no business with other files of this machine.
std::string BodyOf(const std::string& bytes, const TextHeader& header, const std::string* detached,
                   const fs::path& path) {
  if (detached == nullptr) return bytes.substr(std::min(header.body, bytes.size()));
  const fs::path file = fs::path(*detached).lexically_normal();
  if (file.is_absolute() || file.empty() || *file.begin() == "..")
    throw InputError(path, StrCat("keeps its voxels in \"", *detached, "\", which is not beside it"));
  return ReadFile(path.parent_path() / file);
}

// Fields that would shift or reshape the voxels, and are not read.
void RequirePlain(const TextHeader& header, std::initializer_list<std::pair<const char*, const char*>> plain,
                  const std::string& name) {
  for (const auto& [field, value] : plain) {
    const std::string* given = header.Find(field);
    if (given != nullptr && ToLower(*given) != value)
      throw InputError(name,
                       StrCat("its header says \"", field, " ", *given, "\", which Lumen does not read"));
  }
}

// Nine numbers that turn and do not stretch.
void RequireUnitAxes(const Eigen::Matrix3d& axes, const std::string& name) {
  for (int k = 0; k < 3; ++k)
    if (!(std::abs(axes.col(k).norm() - 1) < 1e-2))
      throw InputError(name, "its axes (TransformMatrix) are not of length 1");
}

Eigen::Matrix4d NrrdTransform(const TextHeader& header, const std::string& name) {
  const std::string* directions = header.Find("space directions");
  const std::string* spacings = header.Find("spacings");
  if (directions == nullptr && spacings == nullptr)
    throw InputError(name, "does not say how large its voxels are (no spacing)");
  const Eigen::Matrix3d steps = directions != nullptr ? AxesAsColumns(Numbers(*directions, 9, name))
                                                      : Eigen::Matrix3d(Vector(*spacings, name).asDiagonal());
  const std::string* origin = header.Find("space origin");
  const Eigen::Matrix4d transform =
      MakeTransform(steps, origin != nullptr ? Vector(*origin, name) : Eigen::Vector3d::Zero());
  const std::string* space_field = header.Find("space");
  const std::string space = space_field != nullptr ? ToLower(*space_field) : "";
  if (space == "left-posterior-superior" || space == "lps") return transform;
  if (space == "right-anterior-superior" || space == "ras") return SwapRasAndLps(transform);
  if (space == "left-anterior-superior" || space == "las")
    return Eigen::Vector4d(1, -1, 1, 1).asDiagonal() * transform;
  throw InputError(name, StrCat("does not say how it lies in space (space: \"", space, "\")"));
}

// Millimetres, where units are said at all.
void RequireMillimetres(const TextHeader& header, const std::string& name) {
  const std::string* units = header.Find("space units");
  if (units == nullptr) return;
  for (const std::string& word : SplitWords(ToLower(*units)))
    if (word != "\"mm\"" && word != "\"millimeter\"" && word != "\"millimeters\"")
      throw InputError(name, StrCat("its lengths are in ", *units, ", not in \"mm\""));
}

std::string Triple(const Eigen::Vector3d& v, const char* separator) {
  return FormatDouble(v.x()) + separator + FormatDouble(v.y()) + separator + FormatDouble(v.z());
}

}  // namespace

Volume LoadNrrd(const fs::path& path) {
  const std::string bytes = ReadFile(path), name = path.string();
  if (!StartsWith(bytes, "NRRD")) throw InputError(name, "is not a NRRD file");
  const TextHeader header = ParseLines(bytes, ':', "", name);
  if (Require(header, "dimension", name) != "3")
    throw InputError(name, "is not one volume of three dimensions");
  Volume volume;
  volume.size = SizeOf(Require(header, "sizes", name), name);
  volume.lps_from_index = NrrdTransform(header, name);
  RequireMillimetres(header, name);
  RequirePlain(header, {{"line skip", "0"}, {"lineskip", "0"}, {"byte skip", "0"}, {"byteskip", "0"}}, name);
  RawVoxels raw;
  raw.type = TypeOf(NrrdTypes(), Require(header, "type", name), name);
  if (BytesOf(raw.type) > 1) {
    const std::string endian = ToLower(Require(header, "endian", name));
    if (endian != "big" && endian != "little")
      throw InputError(name, StrCat("its byte order is \"", endian, "\""));
    raw.swap_bytes = SwapNeeded(endian == "big");
  }
  const std::string* detached = header.Find("data file");
  if (detached == nullptr) detached = header.Find("datafile");
  std::string body = BodyOf(bytes, header, detached, path);
  const std::string encoding = ToLower(Require(header, "encoding", name));
  if (encoding == "gzip" || encoding == "gz")
    body = Inflate(body, BodyBytes(volume.size, raw.type, name), name);
  else if (encoding != "raw")
    throw InputError(name, StrCat("encoding \"", encoding, "\" is not supported (raw, gzip)"));
  FillValues(body, 0, raw, name, volume);
  return volume;
}

Volume LoadMetaImage(const fs::path& path) {
  const std::string bytes = ReadFile(path), name = path.string();
  const TextHeader header = ParseLines(bytes, '=', "elementdatafile", name);
  if (Require(header, "ndims", name) != "3") throw InputError(name, "is not one volume of three dimensions");
  Volume volume;
  volume.size = SizeOf(Require(header, "dimsize", name), name);
  const auto first_of = [&](std::initializer_list<const char*> names) -> const std::string* {
    for (const char* field : names)
      if (const std::string* value = header.Find(field)) return value;
    return nullptr;
  };
  const std::string* spacing = first_of({"elementspacing", "elementsize"});
  if (spacing == nullptr) throw InputError(name, "does not say how large its voxels are (no spacing)");
  const std::string* axes = first_of({"transformmatrix", "orientation", "rotation"});
  const std::string* origin = first_of({"offset", "position", "origin"});
  const Eigen::Matrix3d directions =
      axes != nullptr ? AxesAsColumns(Numbers(*axes, 9, name)) : Eigen::Matrix3d::Identity();
  RequireUnitAxes(directions, name);
  RequirePlain(header, {{"headersize", "0"}, {"elementnumberofchannels", "1"}, {"binarydata", "true"}}, name);
  volume.lps_from_index = MakeTransform(directions * Vector(*spacing, name).asDiagonal(),
                                        origin != nullptr ? Vector(*origin, name) : Eigen::Vector3d::Zero());
  RawVoxels raw;
  raw.type = TypeOf(MetaTypes(), Require(header, "elementtype", name), name);
  const std::string* order = first_of({"elementbyteordermsb", "binarydatabyteordermsb"});
  raw.swap_bytes = SwapNeeded(order != nullptr && ToLower(*order) == "true");
  const std::string file = Require(header, "elementdatafile", name);
  const bool local = ToLower(file) == "local";
  std::string body = BodyOf(bytes, header, local ? nullptr : &file, path);
  const std::string* packed = header.Find("compresseddata");
  if (packed != nullptr && ToLower(*packed) == "true")
    body = Inflate(body, BodyBytes(volume.size, raw.type, name), name);
  FillValues(body, 0, raw, name, volume);
  return volume;
}

std::string FormatNrrd(const Volume& volume) {
  const auto column = [&](int k) { return "(" + Triple(volume.lps_from_index.col(k).head<3>(), ",") + ")"; };
  return StrCat("NRRD0004\ntype: short\ndimension: 3\nspace: left-posterior-superior\nsizes: ",
                volume.size.x(), " ", volume.size.y(), " ", volume.size.z(),
                "\nspace directions: ", column(0), " ", column(1), " ", column(2),
                "\nkinds: domain domain domain\nendian: little\nencoding: raw\nspace origin: ", column(3),
                "\n\n") +
         FormatVoxels(volume);
}

std::string FormatMetaImage(const Volume& volume) {
  Eigen::Vector3d spacing;
  std::string axes;
  for (int k = 0; k < 3; ++k) {
    const Eigen::Vector3d step = volume.lps_from_index.col(k).head<3>();
    spacing[k] = step.norm();
    axes += " " + Triple(step / spacing[k], " ");
  }
  return StrCat(
             "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\n"
             "CompressedData = False\nTransformMatrix =",
             axes, "\nOffset = ", Triple(volume.lps_from_index.col(3).head<3>(), " "),
             "\nAnatomicalOrientation = RAI\nElementSpacing = ", Triple(spacing, " "),
             "\nDimSize = ", volume.size.x(), " ", volume.size.y(), " ", volume.size.z(),
             "\nElementType = MET_SHORT\nElementDataFile = LOCAL\n") +
         FormatVoxels(volume);
}

}  // namespace lumen::volume_formats
