// Makes a video of the first frames of an input, for tests that need one.
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>

#include "lumen/io/frame_source.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto source = lumen::OpenInput(argv[1], {});
  const int count = std::atoi(argv[3]);
  cv::VideoWriter writer(argv[2], cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), source->Info().fps,
                         cv::Size(source->Info().width, source->Info().height));
  writer.set(cv::VIDEOWRITER_PROP_QUALITY, 95);
  for (int i = 0; i < count; ++i) {
    auto frame = source->Next();
    if (!frame) return 1;
    cv::Mat bgr;
    cv::cvtColor(cv::Mat(frame->image.Height(), frame->image.Width(), CV_8UC3, frame->image.Data()), bgr,
                 cv::COLOR_RGB2BGR);
    writer.write(bgr);
  }
  return 0;
}
