#include "lumen/apps/input_info.h"

#include <iomanip>

#include "lumen/base/text.h"
#include "lumen/io/dataset.h"
#include "lumen/io/sequence_folder.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

void PrintLine(const std::string& key, const std::string& value, std::ostream& out) {
  out << std::left << std::setw(11) << key << value << '\n';
}

std::string Rounded(double value, int decimals) {
  std::ostringstream text;
  text.exceptions(std::ios::badbit);
  text << std::fixed << std::setprecision(decimals) << value;
  return text.str();
}

std::string FramesLine(const SourceInfo& info) {
  const std::string rate = StrCat(Rounded(info.fps, 2), " a second");
  if (info.frame_count < 0) return rate;
  return StrCat(info.frame_count, ", ", rate, " (",
                Rounded(static_cast<double>(info.frame_count) / info.fps, 1), " s)");
}

std::string LensLine(const SourceInfo& info) {
  if (!info.camera) return "not known: give --calibration FILE or --fov DEGREES";
  return info.camera->ModelName();
}

std::string PosesLine(const SourceInfo& info) {
  if (!info.truth || info.truth->empty()) return "none";
  double path = 0;
  for (size_t i = 1; i < info.truth->size(); ++i)
    path += ((*info.truth)[i].world_from_camera.Translation() -
             (*info.truth)[i - 1].world_from_camera.Translation())
                .norm();
  return StrCat(info.truth->size(), ", a path of ", Rounded(path, 1), " ",
                info.units == "mm" ? "mm" : "arbitrary units");
}

std::string DepthLine(const FrameSource& source) {
  const auto depth = source.LoadDepth(0);
  if (!depth) return source.LoadPoints(0).empty() ? "none" : "at single points";
  double least = 0, most = 0;
  int64_t known = 0;
  for (size_t i = 0; i < depth->Size(); ++i) {
    const double value = depth->Data()[i];
    if (!(value > 0)) continue;
    least = known == 0 ? value : std::min(least, value);
    most = std::max(most, value);
    ++known;
  }
  const double share = 100.0 * static_cast<double>(known) / static_cast<double>(depth->Size());
  return StrCat(depth->Width(), "x", depth->Height(), "; the first frame's ", Rounded(least, 1), " to ",
                Rounded(most, 1), " ", source.Info().units == "mm" ? "mm" : "arbitrary units", " over ",
                Rounded(share, 0), " % of it");
}

std::string ProtocolLine(GradingProtocol protocol) {
  switch (protocol) {
    case GradingProtocol::kOurs:
      return "keyframes, after the similarity that fits best";
    case GradingProtocol::kAllFrames:
      return "every placed frame, after the similarity that fits best";
    case GradingProtocol::kOneScale:
      return "as usual, and at one scale a sequence";
  }
  return "";
}

void ListSequences(const std::vector<DatasetSequence>& sequences, std::ostream& out) {
  out << sequences.size() << " sequences; --sequence NAME picks one:\n";
  size_t longest = 0;
  for (const DatasetSequence& sequence : sequences)
    longest = std::max(longest, Printable(sequence.name).size());
  for (const DatasetSequence& sequence : sequences)
    out << "  " << std::left << std::setw(static_cast<int>(longest) + 2) << Printable(sequence.name)
        << sequence.dataset->Name() << '\n';
}

std::string KindOfInput(const fs::path& input, const InputOptions& options) {
  if (IsCamera(input)) return "a camera";
  if (!fs::is_directory(input)) return "a file";
  if (IsSequenceFolder(input)) return "a sequence folder";
  const auto sequence = ChooseDatasetSequence(input, options.sequence);
  return sequence ? StrCat("a sequence of ", sequence->dataset->Name()) : "a folder of images";
}

}  // namespace

void DescribeInput(const fs::path& input, const InputOptions& options, std::ostream& out) {
  if (fs::is_directory(input) && !IsSequenceFolder(input) && options.sequence.empty()) {
    const auto sequences = FindDatasetSequences(input);
    if (sequences.size() > 1) return ListSequences(sequences, out);
  }
  const std::unique_ptr<FrameSource> source = OpenInput(input, options);
  const SourceInfo& info = source->Info();
  PrintLine("input", KindOfInput(input, options), out);
  PrintLine("name", Printable(info.name), out);
  PrintLine("frames", FramesLine(info), out);
  PrintLine("size", StrCat(info.width, "x", info.height), out);
  PrintLine("lens", LensLine(info), out);
  PrintLine("mask", info.mask ? "its own" : "found in the pictures", out);
  PrintLine("true poses", PosesLine(info), out);
  PrintLine("true depth", DepthLine(*source), out);
  if (!info.model.empty()) PrintLine("surface", info.model.filename().string(), out);
  PrintLine("graded by", ProtocolLine(info.protocol), out);
}

}  // namespace lumen
