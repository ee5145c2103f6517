#include "lumen/io/input_search.h"

#include <algorithm>
#include <set>

#include "lumen/base/error.h"
#include "lumen/base/text.h"
#include "lumen/io/dataset.h"
#include "lumen/io/dicom_video.h"
#include "lumen/io/image_file.h"
#include "lumen/io/run_folder.h"
#include "lumen/io/sequence_folder.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr size_t kFewestPictures = 10;  // fewer are snapshots
constexpr int kDeepestSearch = 32;

constexpr const char* kVideoEndings[] = {".mp4", ".m4v",  ".mov", ".avi", ".mkv", ".webm", ".mpg", ".mpeg",
                                         ".m2v", ".mp2v", ".ts",  ".mts", ".m2t", ".m2ts", ".vob", ".wmv",
                                         ".asf", ".flv",  ".ogv", ".3gp", ".mxf", ".dv",   ".divx"};
constexpr const char* kCtEndings[] = {".nii.gz", ".nii", ".nrrd", ".nhdr", ".mha", ".mhd"};

std::string EndingOf(const fs::path& path) { return ToLower(path.extension().string()); }

bool IsHiddenName(const fs::path& path) { return StartsWith(path.filename().string(), "."); }

bool IsVideoFile(const fs::path& path) {
  return std::find(std::begin(kVideoEndings), std::end(kVideoEndings), EndingOf(path)) !=
         std::end(kVideoEndings);
}

// A map of Lumen's own has such an ending, too.
bool IsHdf5Input(const fs::path& path) {
  const std::string ending = EndingOf(path);
  return (ending == ".h5" || ending == ".hdf5") && path.filename() != run_file::kMap;
}

bool IsCtFolder(const fs::path& path) {
  const std::string name = ToLower(path.filename().string());
  return name == "ct" || EndsWith(name, ".ct");
}

bool HoldsDicomVideo(const fs::path& path) {
  try {
    const DicomStream stream = ReadDicomStream(path);
    return stream.kind == DicomStream::Kind::kVideo || stream.fragments.size() >= kFewestPictures;
  } catch (const InputError&) {
    return false;
  }
}

bool IsLumensOwn(const fs::path& folder) {
  return IsRunFolder(folder) || fs::is_regular_file(folder / kBatchRecord);
}

class Searcher {
 public:
  explicit Searcher(const fs::path& root) : root_(root) {}

  FoundInputs Search() {
    fs::directory_iterator readable(root_);  // what cannot be read at all is an error, not an empty archive
    Enter(root_, 0);
    std::sort(found_.inputs.begin(), found_.inputs.end(),
              [](const FoundInput& a, const FoundInput& b) { return a.name < b.name; });
    return std::move(found_);
  }

 private:
  struct Entries {
    std::vector<fs::path> folders, pictures, inputs;
  };

  void Add(const fs::path& path) {
    const std::string name =
        path == root_ ? root_.filename().string() : path.lexically_relative(root_).generic_string();
    found_.inputs.push_back({path, name});
  }

  Entries List(const fs::path& folder) {
    Entries entries;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      const fs::path& path = entry.path();
      if (IsHiddenName(path)) continue;
      if (entry.is_directory(error)) {
        if (!IsCtFolder(path)) entries.folders.push_back(path);
      } else if (!entry.is_regular_file(error)) {
        continue;
      } else if (IsVideoFile(path) || IsHdf5Input(path)) {
        entries.inputs.push_back(path);
      } else if (IsImageFile(path)) {
        if (path.stem() != "mask") entries.pictures.push_back(path);
      } else if (IsDicomFile(path)) {
        if (HoldsDicomVideo(path))
          entries.inputs.push_back(path);
        else
          ++found_.dicom_without_video;
      }
    }
    return entries;
  }

  // Links may lead round in a circle: no folder is entered twice.
  void Enter(const fs::path& folder, int depth) {
    std::error_code error;
    if (depth > kDeepestSearch || !entered_.insert(fs::canonical(folder, error)).second) return;
    if (IsLumensOwn(folder)) return;
    if (IsSequenceFolder(folder) || DatasetOf(folder) != nullptr) return Add(folder);
    const Entries entries = List(folder);
    if (entries.inputs.empty() && entries.pictures.size() >= kFewestPictures) return Add(folder);
    for (const fs::path& input : entries.inputs) Add(input);
    for (const fs::path& inner : entries.folders) Enter(inner, depth + 1);
  }

  const fs::path root_;
  FoundInputs found_;
  std::set<fs::path> entered_;
};

// `stem`.nii.gz and the like, or the folder `stem`.
fs::path CtNamed(const fs::path& stem) {
  for (const char* ending : kCtEndings) {
    const fs::path volume = stem.string() + ending;
    if (fs::is_regular_file(volume)) return volume;
  }
  return fs::is_directory(stem) ? stem : fs::path();
}

}  // namespace

FoundInputs FindInputs(const fs::path& folder) {
  const fs::path whole = fs::absolute(folder / "").lexically_normal().parent_path();
  if (!fs::is_directory(whole)) throw InputError(folder, "is not a folder");
  try {
    return Searcher(whole).Search();
  } catch (const fs::filesystem_error& error) {
    throw InputError(folder, error.code().message());
  }
}

fs::path FindCtOf(const fs::path& input) {
  const fs::path beside = input.parent_path();
  std::vector<fs::path> stems;
  if (fs::is_directory(input)) stems.push_back(input / "ct");
  stems.push_back(input.string() + ".ct");
  stems.push_back(beside / (input.stem().string() + ".ct"));
  stems.push_back(beside / "ct");
  for (const fs::path& stem : stems)
    if (const fs::path ct = CtNamed(stem); !ct.empty()) return ct;
  return {};
}

}  // namespace lumen
