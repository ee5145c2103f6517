"""Dense monocular SLAM for endoscopy: a video in; the camera's path, depth and a surface out.

    import lumen

    video = lumen.open("endoscopy.mp4", camera="calibration.yaml")
    slam = lumen.Slam(video)
    for frame in video:
        result = slam.process(frame)
        print(result.index, result.status, result.reason)
    slam.finish()
    times, poses = slam.trajectory
    slam.map().surface().save("surface.ply")

What there is, with types, stands in __init__.pyi; docs/python.md tells it as a story.
"""

from . import _core
from ._core import (
    Camera,
    ContractError,
    Frame,
    FrameResult,
    Input,
    InputError,
    Keyframe,
    Map,
    Mesh,
    Networks,
    OutputError,
    Slam,
    commit,
    default_config,
    evaluate,
    load_trajectory,
    open,
    read_run,
    register,
    run,
    save_trajectory,
    set_log_level,
    version,
)

_core._require_numpy()

__version__ = version()
__all__ = [name for name in dir() if not name.startswith("_") and name != "open"]  # a star must not hide Python's own
