"""Dense monocular SLAM for endoscopy. Lengths are in the map's unit unless a comment says otherwise; poses are
4 x 4, world from camera; pictures are height x width x 3 of uint8, red first. Arrays that come out are not copies
and cannot be written: np.array(x) makes one that can."""

from os import PathLike
from typing import Any, Iterator, Literal, Optional, Sequence, Tuple, Union, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Path = Union[str, PathLike[str]]
Poses = Tuple[NDArray[np.float64], NDArray[np.float64]]  # times (N), poses (N, 4, 4)

__version__: str

class InputError(ValueError):
    """A file, an array or a number that cannot be used; the message says which and why."""

class OutputError(OSError):
    """A result that cannot be written."""

class ContractError(RuntimeError):
    """A bug of Lumen's: please report the message."""

class Camera:
    """A lens. Keywords are the keys of a [camera] table: model ("pinhole", "radtan", "kannala_brandt", "omni",
    "unified"), width, height, fx, fy, cx, cy, distortion, …; pixels' centres lie at whole numbers."""

    def __init__(self, **keys: Any) -> None: ...
    @staticmethod
    def load(path: _Path) -> Camera:
        """Of a sequence.toml, COLMAP's cameras.txt, or a YAML of OpenCV or ROS."""
    @staticmethod
    def from_fov(degrees: float, width: int, height: int) -> Camera:
        """A guess from the horizontal field of view."""
    @property
    def model(self) -> str: ...
    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...
    def project(self, point: Sequence[float]) -> Optional[Tuple[float, float]]: ...
    def unproject(self, x: float, y: float) -> Optional[Tuple[float, float, float]]: ...

class Frame:
    """One picture of an input, undistorted, at the networks' size."""

    @property
    def index(self) -> int: ...
    @property
    def time(self) -> float: ...
    @property
    def image(self) -> NDArray[np.uint8]: ...

class Input:
    """Frames of anything that `open` opens, once from first to last."""

    @property
    def name(self) -> str: ...
    @property
    def fps(self) -> float: ...
    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...
    @property
    def live(self) -> bool: ...
    @property
    def units(self) -> str: ...
    @property
    def camera(self) -> Camera:
        """Of the frames; source_camera is that of the pictures they are made from."""
    @property
    def source_camera(self) -> Optional[Camera]: ...
    @property
    def mask(self) -> NDArray[np.uint8]: ...
    @property
    def truth(self) -> Optional[Poses]: ...
    def stop(self) -> None:
        """From another thread: no more frames of a camera."""
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Frame]: ...
    def __next__(self) -> Frame: ...

def open(
    path: _Path,
    *,
    camera: Union[Camera, _Path, None] = None,
    fov: float = 0,
    mask: str = "",
    mask_text: bool = False,
    fps: float = 0,
    start: int = 0,
    end: int = -1,
    stride: int = 1,
    sequence: str = "",
    model: str = "",
) -> Input:
    """A video, a folder of pictures, a data set's folder, a camera (/dev/video0), DICOM, SAGE's HDF5. The lens comes
    from `camera` (or a calibration's path) or from `fov`, its horizontal degrees, where the input has none."""

class FrameResult:
    @property
    def index(self) -> int: ...
    @property
    def time(self) -> float: ...
    @property
    def status(self) -> Literal["tracked", "weak", "lost", "relocalised", "started"]: ...
    @property
    def reason(self) -> str:
        """In words, unless all is well."""
    @property
    def placed(self) -> bool: ...
    @property
    def pose(self) -> Optional[NDArray[np.float64]]:
        """As it was known then; None where the frame was not placed. `Slam.trajectory` has what it became."""
    @property
    def keyframe(self) -> bool: ...
    @property
    def submap(self) -> int: ...
    @property
    def inliers(self) -> int: ...
    @property
    def keypoints(self) -> int: ...

class Keyframe:
    @property
    def id(self) -> int: ...
    @property
    def index(self) -> int: ...
    @property
    def time(self) -> float: ...
    @property
    def submap(self) -> int: ...
    @property
    def pose(self) -> NDArray[np.float64]: ...
    @property
    def image(self) -> NDArray[np.uint8]:
        """As finely as the video shows it."""
    @property
    def depth(self) -> NDArray[np.float32]:
        """Along the camera's z, of `Slam.camera`'s size; 0 = unknown."""
    def points(self) -> Tuple[NDArray[np.float32], NDArray[np.uint8]]:
        """Its pixels in the world, N x 3, and their colours."""

class Map:
    """The map as it was when asked for; it does not change any more."""

    @property
    def version(self) -> int: ...
    @property
    def keyframes(self) -> list[Keyframe]: ...
    @property
    def edges(self) -> list[Tuple[int, int, str]]:
        """Ids of two keyframes, and "temporal", "local_loop" or "global_loop"."""
    @property
    def trajectory(self) -> Poses: ...
    def surface(self, config: Optional[dict[str, Any]] = None) -> Mesh: ...

class Slam:
    """Places frames one after the other. Made for an Input, whose frames it takes; or for a Camera, whose pictures
    it takes as they come. With live=True threads work behind: submit() never waits, and results() tells."""

    def __init__(
        self,
        input: Union[Input, Camera],
        *,
        mask: Optional[ArrayLike] = None,
        model: str = "",
        vocabulary: str = "",
        config: Optional[dict[str, Any]] = None,
        device: Literal["auto", "cpu", "cuda"] = "auto",
        live: bool = False,
    ) -> None: ...
    @overload
    def process(self, frame: Frame) -> FrameResult: ...
    @overload
    def process(self, image: NDArray[np.uint8], time: float) -> FrameResult: ...
    @overload
    def submit(self, frame: Frame) -> bool: ...
    @overload
    def submit(self, image: NDArray[np.uint8], time: float) -> bool:
        """False: dropped, since the frames before it are still under way."""
    def results(self) -> list[FrameResult]:
        """Of the frames that were placed, or lost, since the last call."""
    def finish(self, *, refine: bool = False) -> None:
        """Waits for what is under way. No frame can follow it."""
    @property
    def finished(self) -> bool: ...
    @property
    def trajectory(self) -> Poses:
        """Every placed frame of the largest map, as it lies now."""
    @property
    def camera(self) -> Camera:
        """Of the depth maps."""
    @property
    def config(self) -> dict[str, Any]: ...
    def map(self) -> Map: ...

class Networks:
    """The networks by themselves, for pictures of one camera."""

    def __init__(
        self,
        camera: Camera,
        *,
        mask: Optional[ArrayLike] = None,
        model: str = "",
        config: Optional[dict[str, Any]] = None,
        device: Literal["auto", "cpu", "cuda"] = "auto",
    ) -> None: ...
    def __call__(self, image: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
        """image (as they see it), features, descriptors, depth (up to scale, in the measure of `camera`), bases."""
    @property
    def camera(self) -> Camera:
        """Of the picture that they see."""

class Mesh:
    def __init__(self, vertices: ArrayLike, triangles: ArrayLike, colors: Optional[ArrayLike] = None) -> None: ...
    @staticmethod
    def load(path: _Path) -> Mesh:
        """PLY, OBJ or STL."""
    def save(self, path: _Path) -> None:
        """PLY, OBJ, STL or GLB, by its ending."""
    @property
    def vertices(self) -> NDArray[np.float32]: ...
    @property
    def triangles(self) -> NDArray[np.int32]: ...
    @property
    def normals(self) -> NDArray[np.float32]: ...
    @property
    def colors(self) -> NDArray[np.uint8]: ...
    @property
    def attributes(self) -> dict[str, NDArray[np.float32]]: ...

def run(
    input: _Path,
    out: _Path,
    *,
    camera: Union[Camera, _Path, None] = None,
    fov: float = 0,
    model: str = "",
    config: Optional[dict[str, Any]] = None,
    deterministic: bool = False,
    surface: bool = True,
) -> dict[str, int]:
    """What `lumen run` does, into a run's folder. Returns how many frames there were, placed, and keyframes."""

def read_run(path: _Path) -> dict[str, Any]:
    """A run's folder: frames, keyframes (times and poses), events, summary, finished, surface (a Mesh or None)."""

def evaluate(
    estimate: Union[Poses, _Path, Slam, Map],
    truth: Union[Poses, _Path],
    *,
    step: int = 7,
    max_gap: float = 0,
) -> dict[str, Any]:
    """Errors after the similarity that fits best, in the truth's unit: ate_trans, ate_rot_degrees, rpe_trans,
    rpe_rot_degrees, drift_percent, scale, truth_from_estimate, and of each pose times, errors, errors_degrees."""

def register(
    surface: Union[Mesh, _Path],
    model: Union[Mesh, _Path],
    *,
    guess: Optional[ArrayLike] = None,
    threshold: float = -400,
    config: Optional[dict[str, Any]] = None,
) -> dict[str, Any]:
    """A surface, its file or a run's folder to a model: a mesh, its file or a CT (millimetres, LPS). status,
    confident, doubts, and where it is registered transform (4 x 4, model from surface) and residuals."""

def load_trajectory(path: _Path) -> Poses:
    """TUM, KITTI or COLMAP's images.txt."""

def save_trajectory(path: _Path, trajectory: Union[Poses, Slam, Map]) -> None:
    """As TUM."""

def default_config() -> dict[str, Any]:
    """Every parameter with its default, as dicts of dicts; `lumen config` explains each."""

def set_log_level(level: Literal["debug", "info", "warning", "error", "off"]) -> None: ...
def version() -> str: ...
def commit() -> str: ...
