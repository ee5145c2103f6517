// The words for place recognition that belong to a model, made of what its networks say of pictures.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lumen/io/frame_source.h"
#include "lumen/loop/vocabulary.h"

namespace lumen {

struct VocabularyRequest {
  std::vector<std::filesystem::path> inputs;
  std::filesystem::path output;
  std::string model;
  std::string device = "auto";
  int subjects = 48;  // simulated, of training seeds, beside the inputs
  int images = 12;    // of each
  VocabularyOptions options;
  InputOptions selection;
};

// Returns how many words there are. Throws InputError where there is too little to make words of.
int WriteVocabulary(const VocabularyRequest& request);

}  // namespace lumen
