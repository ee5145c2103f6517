// The field's data sets, each recognised by the names in its folders: one file for each (dataset_c3vd.cpp, …)
// behind one interface. Frames, and poses where the set has them, make a layout; what else it may have may be
// absent. What half matches is refused in a line. docs/datasets.md has the table and the conventions.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lumen/io/frame_source.h"

namespace lumen {

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual const char* Name() const = 0;
  // Whether this is one of its sequences: by names alone, whatever is in the files.
  virtual bool Holds(const std::filesystem::path& path) const = 0;
  // Throws InputError with what is wrong or missing.
  virtual std::unique_ptr<FrameSource> Open(const std::filesystem::path& path,
                                            const InputOptions& options) const = 0;
};

const Dataset& C3vd();
const Dataset& SimCol3d();
const Dataset& EndoSlam();
const Dataset& Scared();
const Dataset& Hamlyn();
const Dataset& EndoMapper();
const Dataset& EndoMapperSimulated();
const Dataset& StereoMis();
const Dataset& Climb();

// Whose sequence lies there; null: nobody's that is known.
const Dataset* DatasetOf(const std::filesystem::path& path);

struct DatasetSequence {
  const Dataset* dataset = nullptr;
  std::filesystem::path path;
  std::string name;  // relative to the folder that was searched
};

// The folder itself if it is a sequence, or those up to four folders below it, by name.
std::vector<DatasetSequence> FindDatasetSequences(const std::filesystem::path& folder);
// The one that is meant: the only one, or that of the name (whole, or its last part). Nothing if the folder
// holds none; InputError if it holds several and none, or none of them, is named.
std::optional<DatasetSequence> ChooseDatasetSequence(const std::filesystem::path& folder,
                                                     const std::string& wanted);

}  // namespace lumen
