// make_vocabulary OUT.txt SEQUENCE...: a vocabulary of binary words from the frames of the sequences, by
// ORB-SLAM3's own features and DBoW2, for where the one it ships is not at hand.

#include <cstdio>
#include <exception>

#include "ORBVocabulary.h"
#include "ORBextractor.h"
#include "sequence_folder.h"

namespace {

constexpr int kBranches = 10, kLevels = 5;  // 100,000 words at most; the shipped one has a level more
constexpr size_t kFramesEach = 60;          // spread evenly over each sequence

void AddFeatures(const std::string& path, std::vector<std::vector<cv::Mat>>& features) {
  const SequenceFolder folder = OpenSequenceFolder(path);
  ORB_SLAM3::ORBextractor extractor(1000, 1.2f, 8, 12, 5);
  const size_t step = std::max<size_t>(1, folder.frames.size() / kFramesEach);
  for (size_t k = 0; k < folder.frames.size(); k += step) {
    cv::Mat grey, descriptors;
    cv::cvtColor(ReadFrame(folder, k), grey, cv::COLOR_RGB2GRAY);
    std::vector<cv::KeyPoint> points;
    std::vector<int> lapping = {0, 0};
    extractor(grey, cv::Mat(), points, descriptors, lapping);
    features.emplace_back();
    for (int row = 0; row < descriptors.rows; ++row) features.back().push_back(descriptors.row(row).clone());
  }
}

}  // namespace

int main(int count, char** arguments) try {
  if (count < 3) {
    std::fprintf(stderr, "usage: make_vocabulary OUT.txt SEQUENCE...\n");
    return 2;
  }
  std::vector<std::vector<cv::Mat>> features;
  for (int k = 2; k < count; ++k) AddFeatures(arguments[k], features);
  ORB_SLAM3::ORBVocabulary vocabulary(kBranches, kLevels, DBoW2::TF_IDF, DBoW2::L1_NORM);
  vocabulary.create(features);
  vocabulary.saveToTextFile(arguments[1]);
  std::printf("%u words from %zu frames of %d sequences\n", vocabulary.size(), features.size(), count - 2);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "make_vocabulary: %s\n", error.what());
  return 2;
}
