#include "lumen/io/sequence_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/text.h"
#include "lumen/io/calibration.h"
#include "lumen/io/file_list_source.h"
#include "lumen/io/image_file.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/png.h"
#include "lumen/io/trajectory_file.h"
#include "lumen/io/volume_file.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr const char* kUnfinished = ".unfinished";  // a writer is at work here, or was killed
constexpr const char* kCtFile = "ct.nii";
constexpr const char* kCtPlaceFile = "ct_from_world.txt";
constexpr std::array<const char*, 11> kWritten = {
    "rgb",   "depth",      "mask.png",        kSparseDepthFile, "groundtruth.tum", "model.ply",
    kCtFile, kCtPlaceFile, kCoverageMeshFile, "sequence.toml",  kUnfinished};

// A file that is being written, of a writer that is gone.
bool IsTemporaryName(const std::string& name) {
  return StartsWith(name, ".") && name.find(".tmp") != std::string::npos;
}

bool IsBeingWritten(const fs::path& folder) {
  const int mark = ::open((folder / kUnfinished).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  const bool free = mark >= 0 && ::flock(mark, LOCK_EX | LOCK_NB) == 0;
  if (mark >= 0) ::close(mark);
  return !free;
}

constexpr double kMostStored = 65535;

std::string FrameName(int64_t index) {
  char name[32];
  std::snprintf(name, sizeof(name), "%06lld", static_cast<long long>(index));
  return name;
}

void CheckKeys(const TomlTable& table, const fs::path& path) {
  std::vector<std::string> known = {"name", "fps", "units", "depth_scale"};
  known.insert(known.end(), CameraKeys().begin(), CameraKeys().end());
  for (const auto& [key, value] : table) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const auto nearest = NearestName(key, known);
    throw InputError(path, StrCat("line ", value.line, ": unknown key \"", key, "\"",
                                  nearest ? StrCat(" (did you mean \"", *nearest, "\"?)") : ""));
  }
}

// A number within bounds that nothing real goes beyond.
double ReadNumber(const TomlTable& table, const std::string& key, double fallback, double least, double most,
                  const fs::path& path) {
  const auto found = table.find(key);
  if (found == table.end()) return fallback;
  const bool good =
      found->second.IsNumber() && found->second.AsNumber() >= least && found->second.AsNumber() <= most;
  if (!good)
    throw InputError(
        path, StrCat("line ", found->second.line, ": ", key, " must be a number from ", least, " to ", most));
  return found->second.AsNumber();
}

std::string ReadText(const TomlTable& table, const std::string& key, const std::string& fallback,
                     const fs::path& path) {
  const auto found = table.find(key);
  if (found == table.end()) return fallback;
  const auto* text = std::get_if<std::string>(&found->second.value);
  if (text == nullptr)
    throw InputError(path, StrCat("line ", found->second.line, ": ", key, " must be a string"));
  return *text;
}

// Files named by six digits, which must follow one another without a gap.
std::vector<fs::path> ListNumbered(const fs::path& folder, int64_t& first) {
  std::vector<fs::path> files;
  for (const fs::path& file : ListFiles(folder)) {
    if (!IsImageFile(file)) continue;
    const std::string stem = file.stem().string();
    constexpr size_t kMostDigits = 15;  // so that counting on from it stays a number
    if (stem.size() < 6 || stem.size() > kMostDigits || !ParseInteger(stem))
      throw InputError(file, "is not named by a frame number of six digits");
    files.push_back(file);
  }
  if (files.empty()) throw InputError(folder, "holds no images");
  const auto number = [](const fs::path& file) { return *ParseInteger(file.stem().string()); };
  std::sort(files.begin(), files.end(), [&](const auto& a, const auto& b) { return number(a) < number(b); });
  first = number(files.front());
  for (size_t i = 0; i < files.size(); ++i) {
    const int64_t expected = first + static_cast<int64_t>(i);
    if (number(files[i]) != expected)
      throw InputError(folder, StrCat("frame ", FrameName(expected), " is missing or given twice"));
  }
  return files;
}

class SequenceFolderSource : public FileListSource {
 public:
  explicit SequenceFolderSource(const fs::path& folder) : folder_(folder) {
    const SequenceInfo info = LoadSequenceInfo(folder);
    depth_scale_ = info.depth_scale;
    int64_t first = 0;
    std::vector<fs::path> files = ListNumbered(folder / "rgb", first);
    SetFiles(std::move(files), first);
    info_.name = info.name;
    info_.fps = info.fps;
    info_.units = info.units;
    info_.camera = info.camera;
    if (info.camera && (info.camera->Width() != info_.width || info.camera->Height() != info_.height)) {
      throw InputError(folder / "sequence.toml",
                       StrCat("the camera is ", info.camera->Width(), "x", info.camera->Height(),
                              " but the images are ", info_.width, "x", info_.height));
    }
    if (fs::exists(folder / "mask.png")) info_.mask = LoadMask(folder / "mask.png");
    if (fs::exists(folder / "groundtruth.tum")) {
      info_.truth = LoadTrajectory(folder / "groundtruth.tum", info_.fps);
    }
    if (fs::exists(folder / kSparseDepthFile)) points_ = LoadSparseDepth(folder / kSparseDepthFile);
  }

  std::optional<DepthImage> LoadDepth(int64_t index) const override {
    const fs::path file = folder_ / "depth" / (FrameName(index) + ".png");
    if (!fs::exists(file)) return std::nullopt;
    const Image<uint16_t> stored = LoadPng16(file);
    DepthImage depth(stored.Width(), stored.Height());
    for (size_t i = 0; i < depth.Size(); ++i)
      depth.Data()[i] = static_cast<float>(stored.Data()[i] / depth_scale_);
    return depth;
  }

  std::vector<SparsePoint> LoadPoints(int64_t index) const override {
    const auto found = points_.find(index);
    return found != points_.end() ? found->second : std::vector<SparsePoint>();
  }

 private:
  fs::path folder_;
  SparseDepth points_;
  double depth_scale_ = 1;
};

}  // namespace

bool IsSequenceFolder(const fs::path& path) { return fs::is_regular_file(path / "sequence.toml"); }

SequenceInfo LoadSequenceInfo(const fs::path& folder) {
  const fs::path path = folder / "sequence.toml";
  const TomlTable table = LoadToml(path);
  CheckKeys(table, path);
  SequenceInfo info;
  info.name = ReadText(table, "name", folder.filename().string(), path);
  info.fps = ReadNumber(table, "fps", info.fps, 1e-3, 1e5, path);
  info.units = ReadText(table, "units", info.units, path);
  if (info.units != "mm" && info.units != "arbitrary")
    throw InputError(path, "units must be \"mm\" or \"arbitrary\"");
  info.depth_scale = ReadNumber(table, "depth_scale", info.depth_scale, 1e-9, 1e9, path);
  const bool has_camera = std::any_of(table.begin(), table.end(),
                                      [](const auto& item) { return StartsWith(item.first, "camera."); });
  if (has_camera) info.camera = ParseCamera(table, path.string());
  return info;
}

double ChooseDepthScale(double largest) {
  constexpr double kUsual = 1000;
  constexpr double kLeastSteps = 5000;  // of the largest depth: fewer would be coarse
  if (!(largest > 0) || (largest * kUsual <= kMostStored && largest * kUsual >= kLeastSteps)) return kUsual;
  const double fits = kMostStored / largest;
  // Two digits are enough, and easier to read.
  const double unit = std::pow(10, std::floor(std::log10(fits)) - 1);
  return std::floor(fits / unit) * unit;
}

std::unique_ptr<FrameSource> OpenSequenceFolder(const fs::path& folder) {
  return std::make_unique<SequenceFolderSource>(folder);
}

void RequireFreshFolder(const fs::path& folder) {
  if (fs::exists(folder) && (!fs::is_directory(folder) || !fs::is_empty(folder))) {
    throw InputError(folder, "exists and is not an empty folder");
  }
}

void RequireFreshSequence(const fs::path& folder) {
  if (!fs::exists(folder / kUnfinished) || IsSequenceFolder(folder)) return RequireFreshFolder(folder);
  if (IsBeingWritten(folder)) throw InputError(folder, "is being written by another program");
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool ours = std::find(kWritten.begin(), kWritten.end(), name) != kWritten.end();
    if (!ours && !IsTemporaryName(name))
      throw InputError(folder, StrCat("holds a sequence that was broken off, but ", name, " besides"));
  }
}

SequenceWriter::SequenceWriter(const fs::path& folder, SequenceInfo info)
    : folder_(folder), info_(std::move(info)), existed_(fs::exists(folder)) {
  RequireFreshSequence(folder);
  if (fs::exists(folder / kUnfinished)) {
    LogInfo(folder.string(), ": what is left of a sequence that was broken off is cleared away");
    Clear();
  }
  try {
    MakeDirectories(folder);
    Mark();
    MakeDirectories(folder / "rgb");
  } catch (...) {
    Clear();
    if (mark_ >= 0) ::close(mark_);
    throw;
  }
}

SequenceWriter::~SequenceWriter() {
  if (!finished_) Clear();
  ::close(mark_);
}

void SequenceWriter::Mark() {
  const fs::path path = folder_ / kUnfinished;
  mark_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (mark_ < 0) throw OutputError(folder_, StrCat("cannot write: ", std::strerror(errno)));
  (void)::flock(mark_, LOCK_EX | LOCK_NB);  // some file systems know no locks; nobody takes over there
}

void SequenceWriter::Clear() {
  std::error_code ignored;
  if (fs::exists(folder_, ignored)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored)) {
      if (IsTemporaryName(entry.path().filename().string())) fs::remove(entry, ignored);
    }
  }
  // The mark last: what is broken off here is still known for what it is.
  for (const char* name : kWritten) fs::remove_all(folder_ / name, ignored);
  if (!existed_) fs::remove(folder_, ignored);
}

void SequenceWriter::WriteFrame(int64_t index, ImageView<const uint8_t> rgb) {
  SavePng(folder_ / "rgb" / (FrameName(index) + ".png"), rgb);
}

void SequenceWriter::CopyFrame(int64_t index, const fs::path& file) {
  const std::string name = FrameName(index) + ToLower(file.extension().string());
  WriteFileAtomically(folder_ / "rgb" / name, ReadFile(file), Flush::kLater);
}

void SequenceWriter::WriteDepth(int64_t index, ImageView<const float> depth) {
  MakeDirectories(folder_ / "depth");
  Image<uint16_t> stored(depth.Width(), depth.Height());
  int64_t known = 0, too_deep = 0;
  for (size_t i = 0; i < stored.Size(); ++i) {
    const double value = std::round(depth.Data()[i] * info_.depth_scale);
    stored.Data()[i] = value >= 1 && value <= kMostStored ? static_cast<uint16_t>(value) : 0;
    known += value >= 1 ? 1 : 0;
    too_deep += value > kMostStored ? 1 : 0;
  }
  known_ += known;
  too_deep_ += too_deep;
  SavePng(folder_ / "depth" / (FrameName(index) + ".png"), ImageView<const uint16_t>(stored));
}

void SequenceWriter::WriteMask(ImageView<const uint8_t> mask) { SavePng(folder_ / "mask.png", mask); }
void SequenceWriter::WritePoints(const SparseDepth& points) {
  SaveSparseDepth(folder_ / kSparseDepthFile, points);
}
void SequenceWriter::WriteTruth(const Trajectory& trajectory) {
  SaveTrajectory(folder_ / "groundtruth.tum", trajectory);
}
void SequenceWriter::WriteModel(const TriangleMesh& mesh) { SaveMesh(folder_ / "model.ply", mesh); }

void SequenceWriter::WriteCt(const Volume& ct, const Eigen::Matrix4d& ct_from_world) {
  SaveVolume(folder_ / kCtFile, ct);
  SaveMatrix(folder_ / kCtPlaceFile, ct_from_world);
}

void SequenceWriter::WriteCoverage(const CoverageMesh& coverage) {
  SaveCoverageMesh(folder_ / kCoverageMeshFile, coverage);
}

void SequenceWriter::Finish() {
  if (too_deep_ > 0)
    LogWarning(too_deep_.load(), " of ", known_.load(), " pixels of depth lie beyond ",
               kMostStored / info_.depth_scale, ", the most that depth_scale = ", info_.depth_scale,
               " can store, and are written as unknown");
  std::string text = StrCat("name = ", FormatToml({info_.name}), "\nfps = ", FormatToml({info_.fps}),
                            "\nunits = ", FormatToml({info_.units}),
                            "\ndepth_scale = ", FormatToml({info_.depth_scale}), "\n");
  if (info_.camera) text += "\n" + FormatCamera(*info_.camera);
  FlushFolder(folder_);
  WriteFileAtomically(folder_ / "sequence.toml", text);
  finished_ = true;
  std::error_code ignored;
  fs::remove(folder_ / kUnfinished, ignored);
}

}  // namespace lumen
