#include "sequence_folder.h"

#include <dirent.h>
#include <png.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <opencv2/imgproc.hpp>
#include <sstream>
#include <stdexcept>

namespace {

[[noreturn]] void Fail(const std::string& file, const std::string& what) {
  throw std::runtime_error(file + ": " + what);
}

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\""), end = text.find_last_not_of(" \t\"\r");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

// The folder's sequence.toml holds one name and one value (or one list of numbers) a line.
std::map<std::string, std::string> ReadNames(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) Fail(file, "cannot be read");
  std::map<std::string, std::string> names;
  for (std::string line; std::getline(stream, line);) {
    const size_t equals = line.find('=');
    if (line.empty() || line[0] == '#' || equals == std::string::npos) continue;
    names[Trimmed(line.substr(0, equals))] = Trimmed(line.substr(equals + 1));
  }
  return names;
}

std::vector<double> Numbers(std::string list) {
  for (char& c : list)
    if (std::strchr("[],", c)) c = ' ';
  std::istringstream stream(list);
  std::vector<double> numbers;
  for (double number; stream >> number;) numbers.push_back(number);
  return numbers;
}

std::vector<std::string> FilesOf(const std::string& folder) {
  std::vector<std::string> names;
  DIR* directory = opendir(folder.c_str());
  if (!directory) Fail(folder, "is not a folder");
  while (const dirent* entry = readdir(directory))
    if (entry->d_name[0] != '.') names.push_back(entry->d_name);
  closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

cv::Mat ReadPng(const std::string& file, int channels) {
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file(&image, file.c_str())) Fail(file, image.message);
  image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  cv::Mat pixels(static_cast<int>(image.height), static_cast<int>(image.width), CV_8UC(channels));
  if (!png_image_finish_read(&image, nullptr, pixels.data, static_cast<png_int_32>(pixels.step), nullptr))
    Fail(file, image.message);
  return pixels;
}

// Fills what the mask hides from ever coarser means of what it shows.
cv::Mat Filled(const cv::Mat& colours, const cv::Mat& weights) {
  if (colours.rows < 2 || colours.cols < 2 || cv::countNonZero(weights < 1e-6f) == 0) return colours;
  cv::Mat weighted, channels[3], coarse_weights, coarse;
  cv::split(colours, channels);
  for (cv::Mat& channel : channels) channel = channel.mul(weights);
  cv::merge(channels, 3, weighted);
  const cv::Size half((colours.cols + 1) / 2, (colours.rows + 1) / 2);
  cv::resize(weighted, coarse, half, 0, 0, cv::INTER_AREA);
  cv::resize(weights, coarse_weights, half, 0, 0, cv::INTER_AREA);
  cv::split(coarse, channels);
  for (cv::Mat& channel : channels) channel = channel / (coarse_weights + 1e-12f);
  cv::merge(channels, 3, coarse);
  cv::Mat known, fill;
  cv::threshold(coarse_weights, known, 1e-6, 1, cv::THRESH_BINARY);
  cv::resize(Filled(coarse, known), fill, colours.size(), 0, 0, cv::INTER_LINEAR);
  fill.copyTo(weighted);
  colours.copyTo(weighted, weights >= 0.5f);
  return weighted;
}

}  // namespace

SequenceFolder OpenSequenceFolder(const std::string& path) {
  const std::string file = path + "/sequence.toml";
  std::map<std::string, std::string> names = ReadNames(file);
  const auto number = [&](const std::string& name) {
    if (!names.count(name)) Fail(file, "has no " + name);
    return std::stod(names[name]);
  };
  SequenceFolder folder;
  folder.path = path;
  folder.fps = number("fps");
  folder.lens = names["model"];
  if (folder.lens != "pinhole" && folder.lens != "radtan" && folder.lens != "kannala_brandt")
    Fail(file,
         "ORB-SLAM3 has no lens \"" + folder.lens + "\"; lumen convert --rectify makes a pinhole of it");
  folder.width = static_cast<int>(number("width"));
  folder.height = static_cast<int>(number("height"));
  folder.fx = number("fx");
  folder.fy = number("fy");
  folder.cx = number("cx");
  folder.cy = number("cy");
  folder.distortion = Numbers(names["distortion"]);
  for (const std::string& name : FilesOf(path + "/rgb"))
    if (name.size() > 4 && name.substr(name.size() - 4) == ".png")
      folder.frames.push_back(path + "/rgb/" + name);
  if (folder.frames.empty()) Fail(path + "/rgb", "holds no PNG");
  const std::string& first = folder.frames.front();
  folder.first_frame = std::stoi(first.substr(first.rfind('/') + 1));
  if (std::ifstream(path + "/mask.png")) folder.mask = ReadPng(path + "/mask.png", 1);
  return folder;
}

cv::Mat ReadFrame(const SequenceFolder& folder, size_t index) {
  cv::Mat frame = ReadPng(folder.frames[index], 3);
  if (folder.mask.empty()) return frame;
  cv::Mat mask, colours, weights;
  cv::resize(folder.mask, mask, frame.size(), 0, 0, cv::INTER_NEAREST);
  cv::erode(mask, mask, cv::Mat(), cv::Point(-1, -1), 2);  // the rim is half dark
  frame.convertTo(colours, CV_32FC3);
  mask.convertTo(weights, CV_32F, 1. / 255);
  cv::threshold(weights, weights, 0.5, 1, cv::THRESH_BINARY);
  Filled(colours, weights).convertTo(frame, CV_8UC3);
  return frame;
}
