// What recorders do to an endoscope's video: weave two fields into a frame, write text over it, put another
// picture into it. The first is undone, the second masked where that is wished, the third refused.
#pragma once

#include "lumen/io/frame_source.h"

namespace lumen {

// The video's frames. Once a few of them show the teeth of two fields, one field is kept of all that follow.
std::unique_ptr<FrameSource> KeepFramesWhole(std::unique_ptr<FrameSource> video);

// The source's mask (or the lit region) without what never changes from its beginning to its end. Reads
// frames all over the source, which is spent afterwards. Throws InputError where hardly anything changes.
Mask FindMaskWithoutText(FrameSource& source, const std::filesystem::path& input);

// Throws InputError, with advice, where a second picture stands within the picture.
void RequireOnePicture(const std::vector<RawFrame>& frames, const std::filesystem::path& input);

}  // namespace lumen
