#include "lumen/loop/vocabulary.h"

#include "fuzz/fuzz.h"

namespace lumen::fuzz {
namespace {

void ReadVocabulary(const std::string& input) {
  const Vocabulary vocabulary = Vocabulary::Load(WriteScratch("words.safetensors", input));
  const std::vector<float> descriptor(static_cast<size_t>(vocabulary.Channels()), 0.5F);
  const int word = vocabulary.WordOf(descriptor.data());
  Expect(word >= 0 && word < vocabulary.NumWords(), "a descriptor has a word");
  Expect(vocabulary.Describe(descriptor).size() == 1, "a descriptor is a bag of one word");
}

const Registration kTarget("vocabulary", ReadVocabulary);

}  // namespace
}  // namespace lumen::fuzz
