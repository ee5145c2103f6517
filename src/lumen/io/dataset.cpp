#include "lumen/io/dataset.h"

#include <algorithm>

#include "lumen/base/error.h"
#include "lumen/base/text.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr int kDeepest = 4;  // EndoMapper's Sequences/Seq_001, EndoSLAM's Cameras/HighCam/Colon-IV/…
constexpr size_t kMostFolders = 20'000;  // looked at: more is somebody's whole disk
constexpr size_t kMostNamed = 12;

bool IsHidden(const fs::path& path) { return StartsWith(path.filename().string(), "."); }

void Search(const fs::path& root, const fs::path& folder, int depth, size_t& looked_at,
            std::vector<DatasetSequence>& found) {
  if (++looked_at > kMostFolders)
    throw InputError(root, StrCat("holds over ", kMostFolders, " folders: name one that holds sequences"));
  if (const Dataset* dataset = DatasetOf(folder)) {
    found.push_back({dataset, folder, fs::path(folder).lexically_relative(root).generic_string()});
    return;
  }
  if (depth == 0) return;
  std::error_code error;
  std::vector<fs::path> inner;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (IsHidden(entry.path())) continue;
    if (entry.is_directory(error)) {
      inner.push_back(entry.path());
    } else if (Climb().Holds(entry.path())) {
      found.push_back({&Climb(), entry.path(), entry.path().lexically_relative(root).generic_string()});
    }
  }
  for (const fs::path& next : inner) Search(root, next, depth - 1, looked_at, found);
}

std::string NamesOf(const std::vector<DatasetSequence>& sequences) {
  std::string names;
  for (size_t i = 0; i < std::min(sequences.size(), kMostNamed); ++i)
    names += StrCat(i > 0 ? ", " : "", Printable(sequences[i].name));
  return sequences.size() > kMostNamed ? names + ", …" : names;
}

}  // namespace

const Dataset* DatasetOf(const fs::path& path) {
  for (const Dataset* dataset : {&C3vd(), &SimCol3d(), &EndoSlam(), &Scared(), &Hamlyn(), &EndoMapper(),
                                 &EndoMapperSimulated(), &StereoMis(), &Climb()}) {
    if (dataset->Holds(path)) return dataset;
  }
  return nullptr;
}

std::vector<DatasetSequence> FindDatasetSequences(const fs::path& folder) {
  std::vector<DatasetSequence> found;
  if (!fs::is_directory(folder)) return found;
  size_t looked_at = 0;
  const fs::path root = fs::absolute(folder).lexically_normal();
  Search(root, root, kDeepest, looked_at, found);
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return found;
}

std::optional<DatasetSequence> ChooseDatasetSequence(const fs::path& folder, const std::string& wanted) {
  const std::vector<DatasetSequence> found = FindDatasetSequences(folder);
  if (found.empty()) {
    if (wanted.empty()) return std::nullopt;
    throw InputError(folder, "holds no sequence of a data set that Lumen knows, so --sequence means nothing");
  }
  if (wanted.empty()) {
    if (found.size() == 1) return found.front();
    throw InputError(folder, StrCat("holds ", found.size(), " sequences of ", found.front().dataset->Name(),
                                    ": choose with --sequence: ", NamesOf(found)));
  }
  std::vector<DatasetSequence> meant;
  for (const DatasetSequence& sequence : found) {
    if (sequence.name == wanted) return sequence;
    if (sequence.path.filename() == wanted || sequence.path.stem() == wanted) meant.push_back(sequence);
  }
  if (meant.size() == 1) return meant.front();
  throw InputError(folder, meant.empty() ? StrCat("has no sequence \"", wanted, "\", but: ", NamesOf(found))
                                         : StrCat("\"", wanted, "\" may be any of: ", NamesOf(meant)));
}

}  // namespace lumen
