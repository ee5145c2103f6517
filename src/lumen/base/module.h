// Modules: parts of Lumen that bring heavy libraries with them (OpenCV, Torch) live in shared objects of
// their own, loaded when first needed, so that the program starts quickly and runs without them.
#pragma once

#include <filesystem>
#include <string>

namespace lumen {

// The folder above bin/, lib/ and share/ that this code was installed, or built, into: by where the program
// lies, or, in a Python program, Lumen's own extension (lib/python3/dist-packages/lumen).
std::filesystem::path InstallRoot();

// The address of `entry` in lib<name>.so, looked for beside this code (lib, lib/lumen/modules) and where an
// installation puts it (a program that uses the library may lie anywhere); null if there is none.
// Never unloaded: what a module made may outlive any scope.
void* FindModuleEntry(const std::string& name, const std::string& entry);

}  // namespace lumen
