#!/usr/bin/env python3
"""How far is a path from the true one, after the similarity that fits best? Of any system; TUM, KITTI or COLMAP.

    grade_trajectory.py ESTIMATE TRUTH
"""
import sys

import lumen

if len(sys.argv) != 3:
    sys.exit("usage: grade_trajectory.py ESTIMATE TRUTH")
grades = lumen.evaluate(sys.argv[1], sys.argv[2])
print(f"poses            {grades['poses']}")
print(f"path             {grades['path_length']:.3f}")
print(f"ATE, translation {grades['ate_trans']:.4f}")
print(f"ATE, rotation    {grades['ate_rot_degrees']:.3f} degrees")
if "drift_percent" in grades:
    print(f"drift            {grades['drift_percent']:.2f} %")
