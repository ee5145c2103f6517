#!/usr/bin/env python3
"""A video in; the camera's path and a surface out.

    video_to_mesh.py INPUT PATH.tum SURFACE.ply [--camera CALIBRATION | --fov DEGREES]
"""
import argparse

import lumen

parser = argparse.ArgumentParser(description="a video in; the camera's path and a surface out")
parser.add_argument("input", help="a video, a folder of pictures, a data set's folder")
parser.add_argument("path", help="written: the camera's path, as TUM")
parser.add_argument("surface", help="written: the surface; .ply, .obj, .stl or .glb")
parser.add_argument("--camera", help="the lens: TOML, OpenCV's or ROS's YAML, COLMAP's cameras.txt")
parser.add_argument("--fov", type=float, default=0, help="or its horizontal field of view, in degrees")
arguments = parser.parse_args()

video = lumen.open(arguments.input, camera=arguments.camera, fov=arguments.fov)
slam = lumen.Slam(video)
for frame in video:
    result = slam.process(frame)
    print(result.index, result.status, result.reason)
slam.finish()

lumen.save_trajectory(arguments.path, slam.trajectory)
surface = slam.map().surface()
surface.save(arguments.surface)
print(surface)
