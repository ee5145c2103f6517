// Where the trained model is: as told, else beside the installed program, else in the source tree.
#pragma once

#include <filesystem>
#include <optional>

namespace lumen {

// `given` (from --model or the config) must exist if it is not empty: InputError otherwise.
std::optional<std::filesystem::path> FindModel(const std::filesystem::path& given);

// The vocabulary that belongs to a model: MODEL.vocabulary.safetensors beside MODEL.safetensors, if it is
// there.
std::optional<std::filesystem::path> FindVocabulary(const std::filesystem::path& model);

}  // namespace lumen
