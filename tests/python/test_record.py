"""Recording from Python, and what is in the run afterwards."""

import array
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

import trueno


class Recording(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "my.run"

    def test_spans_nest_and_tell_their_place(self):
        with trueno.record(self.path, label="mine") as rec:
            with rec.iteration(4), rec.layer(2):
                with rec.brick("attention", elements=64, flops=128, bytes_read=8) as brick:
                    brick.set("batch", 32).set("cached", False).set("model", "tiny")
                    with rec.kernel("gemm", backend="avx2"):
                        pass
        run = trueno.open(self.path)
        self.assertEqual(run.info["label"], "mine")
        row = next(iter(run.query("SELECT * FROM bricks WHERE name = 'attention'")))
        self.assertEqual((row["iteration"], row["layer"]), (4, 2))
        self.assertEqual((row["elements"], row["flops"]), (64, 128))
        self.assertEqual(row["file"], __file__)
        kernel = next(iter(run["kernels"]))
        self.assertEqual((kernel["name"], kernel["backend"], kernel["brick"]), ("gemm", "avx2", row["id"]))
        places = run.query("SELECT file FROM bricks WHERE kind IN ('iteration', 'layer')")
        self.assertEqual(set(places["file"]), {__file__})
        keys = sorted(run["attributes"]["name"])
        self.assertEqual(keys, ["batch", "cached", "model"])

    def test_bytes_have_the_names_of_the_columns(self):
        with trueno.record(self.path) as rec:
            with rec.brick("both", bytes_read=8, bytes_written=4):
                pass
            with rec.brick("older", read_bytes=8, written_bytes=4):
                pass
            with rec.brick("later") as brick:
                brick.declare(bytes_read=8)
                brick.declare(bytes_written=4)
                with self.assertRaisesRegex(ValueError, "kernels only.*bytes_read"):
                    brick.declare(bytes=12)
            with rec.kernel("sum", bytes=12):
                pass
            with rec.kernel("parts", bytes_read=8, bytes_written=4):
                pass
            with rec.kernel("later") as kernel:
                kernel.declare(bytes_read=1)
                kernel.declare(bytes=12)
            with self.assertRaisesRegex(ValueError, "bytes is the sum"):
                rec.kernel("twice", bytes=12, bytes_read=8)
            with self.assertRaisesRegex(ValueError, "read_bytes is the older name of bytes_read"):
                rec.brick("twice", bytes_read=8, read_bytes=8)
        run = trueno.open(self.path)
        bricks = run.query("SELECT name, bytes_read, bytes_written FROM bricks WHERE kind = 'brick' ORDER BY id")
        self.assertEqual(bricks["name"], ["both", "older", "later"])
        self.assertEqual((bricks["bytes_read"], bricks["bytes_written"]), ([8] * 3, [4] * 3))
        self.assertEqual(run.query("SELECT bytes FROM kernels ORDER BY id")["bytes"], [12] * 3)

    def test_a_span_ends_when_its_block_raises(self):
        with self.assertRaisesRegex(ValueError, "mine"):
            with trueno.record(self.path) as rec:
                with rec.brick("fails"):
                    raise ValueError("mine")
        self.assertEqual(trueno.open(self.path)["bricks"]["name"], ["fails"])

    def test_a_decorated_function_is_a_row_at_each_call(self):
        rec = trueno.record(self.path)

        @rec.function("square")
        def square(x):
            """Of a number."""
            return x * x

        self.assertEqual([square(2), square(x=3)], [4, 9])
        self.assertEqual((square.__name__, square.__doc__), ("square", "Of a number."))
        rows, dropped, still_open = rec.finish()
        self.assertEqual((dropped, still_open), (0, 0))
        bricks = trueno.open(self.path)["bricks"]
        self.assertEqual(bricks["name"], ["square", "square"])
        self.assertEqual(set(bricks["line"]), {square.__wrapped__.__code__.co_firstlineno})
        with self.assertRaisesRegex(TypeError, "coroutine"):

            @rec.function("waits")
            async def waits():
                pass

    def test_threads_have_their_own_rows(self):
        with trueno.record(self.path) as rec:

            def work(name):
                with rec.brick(name):
                    pass

            threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            span = rec.brick("mine").__enter__()
            failed = []

            def end():
                try:
                    span.__exit__(None, None, None)
                except RuntimeError as error:
                    failed.append(str(error))

            thread = threading.Thread(target=end)
            thread.start()
            thread.join()
            self.assertIn("another thread", failed[0])
            span.__exit__(None, None, None)
            with self.assertRaisesRegex(RuntimeError, "not open"):
                span.__exit__(None, None, None)
        names = trueno.open(self.path).query("SELECT DISTINCT name, thread FROM bricks")
        self.assertEqual(sorted(names["name"]), ["mine", "t0", "t1", "t2"])
        self.assertEqual(len(set(names["thread"])), 4)

    def test_counters_instants_and_values(self):
        with trueno.record(self.path) as rec:
            rec.counter("tokens", 12, "1")
            rec.instant("flushed", bytes=7, why="full")
            rec.value("model", "tiny")
            with self.assertRaisesRegex(ValueError, "guessed.*measured, declared"):
                rec.counter("tokens", 1, source="guessed")
        run = trueno.open(self.path)
        counter = next(iter(run["counters"]))
        self.assertEqual((counter["name"], counter["value"], counter["source"]), ("tokens", 12.0, "declared"))
        note = next(iter(run["annotations"]))
        self.assertEqual(note["name"], "flushed")
        self.assertIn('"bytes":7', str(note).replace(" ", ""))

    def test_checksums_tell_equal_tensors_from_others(self):
        floats = array.array("f", [1.0, 2.0, 3.0, 4.0])
        with trueno.record(self.path) as rec:
            rec.checksum("a", floats, position=3)
            rec.checksum("b", memoryview(floats).cast("B").cast("f", (2, 2)))
            rec.checksum("c", array.array("f", [1.0, 2.0, 3.0, 5.0]))
            rec.checksum("every second", memoryview(floats)[::2])
            rec.checksum("its copy", array.array("f", [1.0, 3.0]))
            rec.checksum("none", array.array("d"))
            with self.assertRaisesRegex(TypeError, "int is not a tensor"):
                rec.checksum("d", 5)
            with self.assertRaisesRegex(ValueError, "backwards"):
                rec.checksum("d", memoryview(floats)[::-1])
        rows = {row["name"]: row for row in trueno.open(self.path)["checksums"]}
        bits = {name: row["hash"] for name, row in rows.items()}
        self.assertEqual(bits["a"], bits["b"])
        self.assertNotEqual(bits["a"], bits["c"])
        self.assertEqual(bits["every second"], bits["its copy"])
        self.assertEqual(rows["a"]["position"], 3)
        self.assertEqual({rows["a"]["dtype"], rows["none"]["dtype"]}, {"f32", "f64"})

    def test_what_cannot_be_recorded_is_an_error_of_the_recorder(self):
        trueno.record(self.path).finish()
        with self.assertRaisesRegex(trueno.RecordError, "my.run"):
            trueno.record(self.path)
        trueno.record(self.path, overwrite=True).finish()
        with self.assertRaisesRegex(trueno.RecordError, "nonsense"):
            trueno.record(self.folder / "b.run", without=["nonsense"])

    def test_one_that_is_disabled_does_nothing(self):
        rec = trueno.disabled()
        with rec.brick("x") as brick:
            brick.set("a", 1)
        rec.checksum("t", array.array("f", [1.0]))
        self.assertFalse(rec.is_enabled)
        self.assertEqual(rec.finish(), (0, 0, 0))

    def test_a_program_that_does_not_finish_its_run_leaves_a_whole_one(self):
        program = (
            "import sys, trueno\n"
            "rec = trueno.record(sys.argv[1])\n"
            "with rec.brick('last'):\n    pass\n"
        )
        subprocess.run([sys.executable, "-c", program, str(self.path)], check=True)
        self.assertEqual(trueno.open(self.path)["bricks"]["name"], ["last"])

    def test_bricks_have_shapes(self):
        with trueno.record(self.path) as rec:
            with rec.brick("gemm") as brick:
                brick.shapes([[2, 3], [3, 4]], ["f32", "bf16"])
                with self.assertRaises(ValueError):
                    brick.shapes([[2, 3]], [])
        signatures = trueno.open(self.path)["signatures"].to_dict()
        self.assertEqual(signatures["input_dims"], ["[[2,3],[3,4]]"])
        self.assertEqual(signatures["input_types"], ['["f32","bf16"]'])


class Tensors(unittest.TestCase):
    def test_dlpack_gives_the_same_fingerprint_as_a_buffer(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("left out: there is no numpy")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "t.run"
            tensor = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)

            class OnlyDlpack:
                def __dlpack__(self):
                    return tensor.T.__dlpack__()

            with trueno.record(path) as rec:
                rec.checksum("buffer", tensor.T)
                rec.checksum("dlpack", OnlyDlpack())
                rec.checksum("copy", numpy.ascontiguousarray(tensor.T))
                rec.checksum("half", tensor.astype(numpy.float16))
            rows = {row["name"]: row for row in trueno.open(path)["checksums"]}
            bits = {name: row["hash"] for name, row in rows.items()}
            self.assertEqual(bits["buffer"], bits["dlpack"])
            self.assertEqual(bits["buffer"], bits["copy"])
            self.assertEqual(rows["half"]["dtype"], "f16")


if __name__ == "__main__":
    unittest.main()
