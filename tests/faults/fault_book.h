// What the tests and the library that is loaded before a program (fail_nth.cpp) tell each other: a file that
// both map. It outlives the program, however that ends, and all its children share it.
#pragma once

#include <atomic>
#include <cstdint>
#include <iterator>

namespace lumen {

// What can be made to fail. One call may be of two kinds: what creates a file opens it.
inline constexpr const char* kFaultKinds[] = {"open", "create", "read",  "write", "rename",
                                              "sync", "close",  "mkdir", "map",   "memory"};

struct FaultBook {
  std::atomic<uint64_t> calls;  // of the chosen kinds, so far
  std::atomic<uint64_t> calls_of[std::size(kFaultKinds)];
  std::atomic<uint64_t> struck;  // how many of them were made to fail
  char what[256];                // the first that was: its path, or its size
};

}  // namespace lumen
