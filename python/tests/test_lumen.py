"""`import lumen` as a user meets it. Run by ctest, which says where the module and the programs are."""
import gc
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import lumen

PROGRAM = os.path.join(os.environ["LUMEN_PROGRAMS"], "lumen")
EXAMPLES = pathlib.Path(os.environ["LUMEN_EXAMPLES"])
FRAMES = 30


def setUpModule():
    global scratch, sequence
    scratch = tempfile.TemporaryDirectory()
    sequence = pathlib.Path(scratch.name) / "seq"
    subprocess.run([PROGRAM, "-q", "simulate", sequence, "--anatomy", "nasal", "--seed", "943", "--path", "insertion",
                    "--size", "320x256", "--frames", str(FRAMES)], check=True)


def tearDownModule():
    scratch.cleanup()


def raw_pictures():
    """The sequence's own pictures, without Lumen's reader of them."""
    camera = lumen.Camera.load(sequence / "sequence.toml")
    video = lumen.open(sequence)
    assert (video.width, video.height) == (camera.width, camera.height)
    rng = np.random.default_rng(0)
    return camera, [rng.integers(0, 255, (camera.height, camera.width, 3), np.uint8) for _ in range(3)]


class StepByStep(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        video = lumen.open(sequence)
        cls.slam = lumen.Slam(video)
        cls.truth = video.truth
        cls.results = [cls.slam.process(frame) for frame in video]
        cls.slam.finish()

    def test_every_frame_has_its_answer(self):
        self.assertEqual([r.index for r in self.results], list(range(FRAMES)))
        self.assertEqual(self.results[0].status, "started")
        self.assertTrue(all(r.status in ("started", "tracked", "weak") for r in self.results), self.results)
        self.assertEqual(self.results[5].pose.shape, (4, 4))
        self.assertTrue(self.results[0].keyframe)

    def test_the_path_is_the_programs(self):
        out = pathlib.Path(scratch.name) / "run"
        subprocess.run([PROGRAM, "-q", "run", sequence, "--out", out, "--deterministic", "--device", "cpu"], check=True)
        times, poses = self.slam.trajectory
        expected_times, expected = lumen.load_trajectory(out / "frames.tum")
        np.testing.assert_allclose(times, expected_times, atol=1e-6)
        np.testing.assert_allclose(poses, expected, atol=1e-8)
        run = lumen.read_run(out)
        self.assertEqual(len(run["events"]), FRAMES)
        self.assertTrue(run["finished"])
        # The surface is the program's, but for the sixteen bits its depth maps are stored in.
        mine, theirs = self.slam.map().surface(), run["surface"]
        self.assertAlmostEqual(len(mine.vertices) / len(theirs.vertices), 1, delta=0.02)

    def test_graded_like_the_program_does(self):
        grades = lumen.evaluate(self.slam, self.truth)
        self.assertEqual(grades["poses"], FRAMES)
        self.assertLess(grades["ate_trans"], 1.0)
        self.assertEqual(grades["errors"].shape, (FRAMES,))
        shifted = (self.truth[0], self.truth[1].copy())
        shifted[1][:, :3, 3] *= 2  # another scale is no error
        self.assertLess(lumen.evaluate(shifted, self.truth)["ate_trans"], 1e-9)

    def test_arrays_are_lent_not_copied(self):
        keyframe = self.slam.map().keyframes[0]
        image = keyframe.image
        self.assertTrue(np.shares_memory(image, keyframe.image))
        self.assertFalse(image.flags.writeable)
        self.assertEqual(image.dtype, np.uint8)
        depth = keyframe.depth
        self.assertEqual(depth.dtype, np.float32)
        self.assertEqual(depth.shape, (self.slam.camera.height, self.slam.camera.width))
        before = depth.copy()
        del keyframe
        gc.collect()
        np.testing.assert_array_equal(depth, before)  # it keeps what it is lent from
        surface = self.slam.map().surface()
        self.assertTrue(np.shares_memory(surface.vertices, surface.vertices))
        self.assertEqual(surface.vertices.shape[1], 3)
        self.assertLess(surface.triangles.max(), len(surface.vertices))
        self.assertIn("confidence", surface.attributes)

    def test_points_lie_where_depth_says(self):
        keyframe = self.slam.map().keyframes[-1]
        points, colours = keyframe.points()
        self.assertEqual(len(points), int((keyframe.depth > 0).sum()))
        self.assertEqual(points.shape, colours.shape)
        y, x = np.argwhere(keyframe.depth > 0)[100]
        ray = np.array(self.slam.camera.unproject(x, y))
        seen = keyframe.pose @ np.append(ray / ray[2] * keyframe.depth[y, x], 1)
        np.testing.assert_allclose(points[100], seen[:3], rtol=1e-4, atol=1e-5)

    def test_no_frame_after_the_last(self):
        with self.assertRaisesRegex(lumen.InputError, "no frame can follow"):
            self.slam.process(next(lumen.open(sequence)))


class Pictures(unittest.TestCase):
    def test_a_cameras_pictures_are_placed(self):
        camera = lumen.Camera.load(sequence / "sequence.toml")
        slam = lumen.Slam(camera)
        # The frames of this sequence are of the camera's own view: as good as raw ones, at twice the size.
        size = (camera.height, camera.width)
        for i, frame in enumerate(lumen.open(sequence)):
            picture = np.ascontiguousarray(np.kron(frame.image, np.ones((2, 2, 1), np.uint8)))
            self.assertEqual(picture.shape[:2], size)
            self.assertEqual(slam.process(picture, i / 30).index, i)
        self.assertEqual(len(slam.trajectory[0]), FRAMES)

    def test_live(self):
        camera, pictures = raw_pictures()
        slam = lumen.Slam(camera, mask=np.ones((camera.height, camera.width), bool), live=True)
        submitted = sum(slam.submit(picture, i / 30) for i, picture in enumerate(pictures))
        with self.assertRaisesRegex(lumen.InputError, "after finish"):
            slam.trajectory
        slam.finish()
        self.assertEqual(len(slam.results()), submitted)
        self.assertEqual(slam.results(), [])
        with self.assertRaises(lumen.InputError):
            slam.submit(pictures[0], 10.0)

    def test_what_is_no_picture_is_refused_in_words(self):
        camera, pictures = raw_pictures()
        slam = lumen.Slam(camera)
        for bad, words in [(pictures[0].astype(np.float32), "float32"), (pictures[0][:, :, 0], "uint8 of"),
                           (pictures[0][:, :, :2], "height x width x 3"), ([[1, 2], [3, 4]], "not <class 'list'>"),
                           (pictures[0][:100], "pictures are")]:
            with self.assertRaisesRegex(ValueError, words):
                slam.process(bad, 0.0)
        slam.process(pictures[0][:, ::-1], 1.0)  # rows with another stride are fine
        with self.assertRaisesRegex(lumen.InputError, "order of time"):
            slam.process(pictures[1], 0.5)
        with self.assertRaisesRegex(lumen.InputError, "submit"):
            slam.submit(pictures[1], 2.0)
        with self.assertRaisesRegex(lumen.InputError, "mask"):
            lumen.Slam(camera, mask=np.ones((3, 4)))
        with self.assertRaisesRegex(lumen.InputError, "Input or a Camera"):
            lumen.Slam("a video's name")

    def test_the_networks_on_an_array(self):
        camera, pictures = raw_pictures()
        networks = lumen.Networks(camera)
        maps = networks(pictures[0])
        height, width = maps["depth"].shape
        self.assertEqual(maps["features"].shape[:2], (height, width))
        self.assertEqual(maps["image"].shape, (2 * height, 2 * width, 3))
        self.assertTrue((maps["depth"] > 0).all())

    def test_python_goes_on_while_lumen_works(self):
        video = lumen.open(sequence)
        slam = lumen.Slam(video)
        frame = next(video)
        counted = 0
        stop = threading.Event()

        def count():
            nonlocal counted
            while not stop.wait(0.0005):
                counted += 1

        def ask():
            while not stop.wait(0.0005):
                slam.trajectory  # while a frame is under way: it waits its turn

        threads = [threading.Thread(target=work) for work in (count, ask)]
        for thread in threads:
            thread.start()
        slam.process(frame)
        for other in video:
            slam.process(other)
        seen = counted
        stop.set()
        for thread in threads:
            thread.join()
        self.assertGreater(seen, 3 * FRAMES)  # between frames alone it would be once each


class Tools(unittest.TestCase):
    def test_parameters_are_dicts(self):
        config = lumen.default_config()
        self.assertIn("fusion", config)
        config["fusion"]["voxel_factor"] = 2.5
        slam = lumen.Slam(lumen.open(sequence), config={"fusion": {"voxel_factor": 2.5}})
        self.assertEqual(slam.config, config)
        with self.assertRaisesRegex(lumen.InputError, "voxel_factor"):
            lumen.Slam(lumen.open(sequence), config={"fusion": {"voxel_facto": 2}})
        with self.assertRaises(lumen.InputError):
            lumen.Slam(lumen.open(sequence), config={"fusion": {"voxel_factor": "large"}})

    def test_cameras(self):
        camera = lumen.Camera(model="radtan", width=640, height=480, fx=500, fy=500, cx=319.5, cy=239.5,
                              distortion=[0.1, -0.05, 0, 0, 0])
        x, y = camera.project((0.1, 0.2, 1.0))
        ray = np.array(camera.unproject(x, y))
        np.testing.assert_allclose(ray[:2] / ray[2], (0.1, 0.2), atol=1e-9)
        self.assertEqual(lumen.Camera.from_fov(140, 640, 480).model, "kannala_brandt")
        with self.assertRaises(lumen.InputError):
            lumen.Camera(model="radtan", width=640)
        with self.assertRaisesRegex(lumen.InputError, "focal"):
            lumen.Camera(focal=3)

    def test_meshes(self):
        vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]])
        mesh = lumen.Mesh(vertices, [[0, 1, 2]], np.full((3, 3), 200))
        path = pathlib.Path(scratch.name) / "one.ply"
        mesh.save(path)
        again = lumen.Mesh.load(path)
        np.testing.assert_array_equal(again.vertices, vertices)
        np.testing.assert_array_equal(again.colors, mesh.colors)
        for bad in [((vertices, [[0, 1, 3]])), ((vertices[:, :2], [[0, 1, 2]]))]:
            with self.assertRaises(lumen.InputError):
                lumen.Mesh(*bad)
        with self.assertRaisesRegex(lumen.InputError, ".ply"):
            mesh.save("mesh.txt")

    def test_a_surface_is_registered_to_a_model(self):
        model = lumen.Mesh.load(sequence / "model.ply")
        angle = 0.1
        turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
        moved = lumen.Mesh((model.vertices - [3, -2, 1]) @ turn / 2, model.triangles)
        guess = np.eye(4)
        guess[:3, :3] *= 2
        found = lumen.register(moved, model, guess=guess)
        self.assertEqual(found["status"], "registered", found)
        np.testing.assert_allclose(found["transform"][:3, :3], 2 * turn, atol=0.02)

    def test_faults_are_exceptions_with_the_programs_words(self):
        for path in ("nowhere.mp4", scratch.name):
            with self.assertRaises(lumen.InputError) as raised:
                lumen.open(path)
            told = subprocess.run([PROGRAM, "-q", "info", path], capture_output=True, text=True)
            self.assertEqual(told.returncode, 2)
            if path == "nowhere.mp4":
                self.assertIn(str(raised.exception), told.stderr)
        with self.assertRaises(lumen.OutputError):
            lumen.Mesh([[0, 0, 0]], np.zeros((0, 3), int)).save("/nowhere/at/all.ply")
        with self.assertRaises(lumen.InputError):
            lumen.evaluate((np.zeros(3), np.zeros((3, 4, 4))), (np.zeros(3), np.zeros((3, 4, 4))))

    def test_ctrl_c_ends_a_run_in_good_order(self):
        out = pathlib.Path(scratch.name) / "interrupted"
        script = f"import lumen; lumen.run({str(sequence)!r}, {str(out)!r}, config={{'view': {{}}}})"
        process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)
        while process.poll() is None and not (out / "events.jsonl").exists():
            pass
        process.send_signal(signal.SIGINT)
        error = process.communicate()[1]
        self.assertTrue(process.returncode == 0 or "KeyboardInterrupt" in error, error)
        self.assertTrue(lumen.read_run(out)["summary"] is not None)

    def test_a_whole_run(self):
        out = pathlib.Path(scratch.name) / "whole"
        counts = lumen.run(sequence, out, surface=False)
        self.assertEqual(counts["frames"], FRAMES)
        with self.assertRaises((lumen.InputError, lumen.OutputError)):
            lumen.run(sequence, out)  # a run's folder is not written over


class Examples(unittest.TestCase):
    def example(self, name, *arguments, **more):
        return subprocess.run([sys.executable, EXAMPLES / name, *arguments], check=True, capture_output=True, **more)

    def test_all_three(self):
        path = pathlib.Path(scratch.name) / "path.tum"
        surface = pathlib.Path(scratch.name) / "surface.glb"
        self.example("video_to_mesh.py", sequence, path, surface)
        self.assertGreater(surface.stat().st_size, 10000)
        graded = self.example("grade_trajectory.py", path, sequence / "groundtruth.tum", text=True)
        self.assertIn("ATE, translation", graded.stdout)
        _, pictures = raw_pictures()
        live = self.example("live_frames.py", sequence / "sequence.toml", input=b"".join(p.tobytes() for p in pictures))
        self.assertIn(b"3 frames", live.stderr)


if __name__ == "__main__":
    unittest.main()
