#pragma once

#include <map>
#include <opencv2/core.hpp>
#include <string>
#include <vector>

// A sequence folder as Lumen writes it, with its frames in PNG.
struct SequenceFolder {
  std::string path;
  double fps = 30;
  std::string lens;  // pinhole, radtan or kannala_brandt
  int width = 0, height = 0;
  double fx = 0, fy = 0, cx = 0, cy = 0;
  std::vector<double> distortion;
  std::vector<std::string> frames;  // in their order
  int first_frame = 0;              // the number of the first
  cv::Mat mask;                     // empty, or not zero where the tissue is
};

// Throws std::runtime_error with one line.
SequenceFolder OpenSequenceFolder(const std::string& path);

// RGB. With a mask, what lies outside it is filled smoothly from its edge, so that the edge of the lit
// circle, which moves with the camera, has no corners.
cv::Mat ReadFrame(const SequenceFolder& folder, size_t index);
