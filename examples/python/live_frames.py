#!/usr/bin/env python3
"""Frames from anywhere, live: here raw pictures on the standard input, red, green, blue, a byte each.

    ffmpeg -i /dev/video0 -f rawvideo -pix_fmt rgb24 - | live_frames.py CALIBRATION
"""
import sys
import time

import numpy as np

import lumen

if len(sys.argv) != 2:
    sys.exit("usage: … | live_frames.py CALIBRATION")
camera = lumen.Camera.load(sys.argv[1])
slam = lumen.Slam(camera, live=True)


def tell(results):
    for result in results:
        place = result.pose[:3, 3] if result.placed else (float("nan"),) * 3
        print(result.index, result.status, *(f"{x:.3f}" for x in place))


size = camera.width * camera.height * 3
frames = dropped = 0
start = time.monotonic()
while len(data := sys.stdin.buffer.read(size)) == size:
    picture = np.frombuffer(data, np.uint8).reshape(camera.height, camera.width, 3)
    if not slam.submit(picture, time.monotonic() - start):
        dropped += 1
    frames += 1
    tell(slam.results())
slam.finish()
tell(slam.results())
print(f"{frames} frames, {dropped} of them dropped", file=sys.stderr)
