// The videos of an archive: found in a folder, or named by a list.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lumen/apps/command.h"

namespace lumen {

struct ArchiveVideo {
  std::string name;              // as people know it, unlike all others
  std::string folder;            // that name as a folder's, unlike all others
  std::filesystem::path input;   // absolute
  std::vector<GivenOption> own;  // what holds for this one alone; paths are absolute
};

// All inputs below the folder (io/input_search.h), each with the CT that lies beside it. Throws InputError
// where there are none.
std::vector<ArchiveVideo> FindVideos(const std::filesystem::path& folder);

// A table (CSV) whose head has `input` and any of `name` and the options that one video may have for itself
// (archive_video.h), with "_" or "-"; or plain text, a path a line, with "#" before remarks. Paths are
// relative to the list. Throws InputError with the line, and the column, of the first fault.
std::vector<ArchiveVideo> ReadVideoList(const std::filesystem::path& file);

// A name that is safe as a folder's. What cannot be read back from it has a number that tells it from others.
std::string VideoFolderName(const std::string& name);

}  // namespace lumen
