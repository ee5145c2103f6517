// HDF5 files for fuzzing. The library reads them in a process of its own, where libFuzzer sees nothing, and a
// changed byte seldom leaves a file that it takes. So an input that does not begin as HDF5 does is a list of
// datasets, one a line,
//   keyframe3/state f64 9: 0 1.5 0 0 0 0 0 1 0.3
// (name, kind, extents, values, which repeat to the end), of which a file is made: that reaches what Lumen
// asks of the numbers.
#pragma once

#include <filesystem>
#include <string>

namespace lumen::fuzz {

// Writes the file `name` into the scratch folder, either way.
std::filesystem::path WriteHdf5(const std::string& name, const std::string& input);

}  // namespace lumen::fuzz
