// What must be true of a run's folder, whoever looks, and of a sequence's.
#pragma once

#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/io/frame_source.h"
#include "lumen/io/map_file.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/png.h"
#include "lumen/io/run_folder.h"
#include "lumen/io/sage_hdf5.h"
#include "lumen/io/sequence_folder.h"

namespace lumen {

// Everything that stands there can be read, however little it is.
inline void RequireReadableRun(const std::filesystem::path& folder) {
  if (!IsRunFolder(folder)) return;  // not begun
  const RunFolder run = ReadRunFolder(folder);
  for (const RunDepthFile& file : run.depth) LoadPng16(file.path);
  if (std::filesystem::exists(folder / run_file::kImages))
    for (const RunDepthFile& file : ListDepthFiles(folder / run_file::kImages)) LoadPng8(file.path);
  if (std::filesystem::exists(folder / run_file::kMap)) LoadMap(folder / run_file::kMap);
  if (std::filesystem::exists(folder / run_file::kSurface)) LoadMesh(folder / run_file::kSurface);
}

// It came to its end with all that belongs to it.
inline void RequireWholeRun(const std::filesystem::path& folder) {
  RequireReadableRun(folder);
  const RunFolder run = ReadRunFolder(folder);
  EXPECT_TRUE(run.finished);
  EXPECT_TRUE(run.notes.empty()) << run.notes.front();
  EXPECT_FALSE(run.keyframes.empty());
  EXPECT_GE(run.frames.size(), run.keyframes.size());
  EXPECT_GE(run.events.size(), run.frames.size());
  EXPECT_EQ(run.depth.size(), run.keyframes.size());
  EXPECT_EQ(ListDepthFiles(folder / run_file::kImages).size(), run.keyframes.size());
  EXPECT_TRUE(std::filesystem::exists(folder / run_file::kConfig));
  EXPECT_TRUE(std::filesystem::exists(folder / run_file::kMap) || !HaveHdf5());
}

inline void RequireWholeSequence(const std::filesystem::path& folder, int64_t frames) {
  const auto source = OpenSequenceFolder(folder);
  int64_t count = 0;
  while (const auto frame = source->Next()) {
    source->LoadDepth(frame->index);
    ++count;
  }
  EXPECT_EQ(count, frames);
}

}  // namespace lumen
