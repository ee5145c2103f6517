// Hamlyn's videos as Recasens rectified them: rectified01/image01/0000000000.jpg (the left eye),
// depth01/*.png in mm, intrinsics.txt; or the tracking test's color/ and intrinsics.txt, whose depth is a
// network's and no truth. There are no true poses.
#include "lumen/base/error.h"
#include "lumen/base/text.h"
#include "lumen/io/dataset.h"
#include "lumen/io/dataset_frames.h"
#include "lumen/io/png.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr double kHamlynFps = 30;
constexpr uint16_t kHamlynFarthest = 300;  // mm: where the set's own users stop to believe it

// "fx 0 cx 0" and "0 fy cy 0": three numbers a row, or four.
Camera LoadHamlynCamera(const fs::path& path, int width, int height) {
  const auto rows = LoadNumberTable(path, {});
  const bool good = rows.size() >= 2 && rows[0].size() >= 3 && rows[1].size() >= 3 && rows[0].size() <= 4 &&
                    rows[0][0] > 0 && rows[1][1] > 0;
  if (!good) throw InputError(path, "is not a camera matrix");
  return {PinholeCamera{rows[0][0], rows[1][1], rows[0][2], rows[1][2]}, width, height};
}

// In the folder, or beside it under the folder's name.
fs::path FindIntrinsics(const fs::path& folder) {
  const fs::path inside = folder / "intrinsics.txt";
  const fs::path beside = folder.parent_path() / StrCat("intrinsics_", folder.filename().string(), ".txt");
  return fs::exists(inside) ? inside : fs::exists(beside) ? beside : fs::path();
}

bool IsRectified(const fs::path& folder) { return HasNumbered(folder / "image01", "", ".jpg"); }

DepthImage ReadHamlynDepth(const fs::path& path) {
  const Image<uint16_t> stored = LoadPng16(path);
  DepthImage depth(stored.Width(), stored.Height());
  for (size_t i = 0; i < depth.Size(); ++i)
    depth.Data()[i] = stored.Data()[i] <= kHamlynFarthest ? static_cast<float>(stored.Data()[i]) : 0.0F;
  return depth;
}

class HamlynSet : public Dataset {
 public:
  const char* Name() const override { return "Hamlyn (rectified)"; }
  bool Holds(const fs::path& path) const override {
    return IsRectified(path) ||
           (HasNumbered(path / "color", "", ".jpg") && fs::exists(path / "intrinsics.txt"));
  }
  std::unique_ptr<FrameSource> Open(const fs::path& folder, const InputOptions&) const override {
    const bool rectified = IsRectified(folder);
    auto source = std::make_unique<DatasetFrames>(
        folder.filename().string(), FindNumbered(folder / (rectified ? "image01" : "color"), "", ".jpg"),
        kHamlynFps);
    const fs::path intrinsics = FindIntrinsics(folder);
    if (intrinsics.empty()) throw InputError(folder, "looks like Hamlyn's, but has no intrinsics.txt");
    source->SetCamera(LoadHamlynCamera(intrinsics, source->Info().width, source->Info().height));
    if (rectified) source->SetDepth(FindNumbered(folder / "depth01", "", ".png"), ReadHamlynDepth);
    return source;
  }
};

}  // namespace

const Dataset& Hamlyn() {
  static const HamlynSet set;
  return set;
}

}  // namespace lumen
