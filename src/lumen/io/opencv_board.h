// The checkerboard's part of the OpenCV module.
#pragma once

#include "lumen/io/board_calibration.h"

namespace lumen {

std::optional<BoardView> FindBoardWithOpenCv(const RawFrame& frame, const Board& board);
std::optional<CameraFit> FitCameraWithOpenCv(const std::vector<BoardView>& views, const Board& board,
                                             const CameraFitOptions& options);

}  // namespace lumen
