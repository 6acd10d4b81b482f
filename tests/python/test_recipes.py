"""The recipes of docs/python-recipes.md, each executed as it stands, and the magic of notebooks."""

import contextlib
import io
import os
import pathlib
import re
import sys
import tempfile
import unittest

import trueno

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "python-recipes.md"
DATASETS = ROOT / "datasets"
RUNS = {
    "my.run": "decode/simd.run",
    "before.run": "decode/simd.run",
    "after.run": "decode/simd_slow.run",
    "peaks.run": "roofline/avx512.run",
}


def recipes():
    """Code by heading."""
    parts = re.split(r"^## (.*)$", PAGE.read_text(), flags=re.MULTILINE)[1:]
    found = zip(parts[::2], parts[1::2])
    return {title: re.search(r"```python\n(.*?)```", text, re.DOTALL)[1] for title, text in found}


class Shell:
    """What IPython has of itself to an extension."""

    def __init__(self):
        self.magics = {}

    def register_magic_function(self, function, kind):
        self.magics[function.__name__] = (function, kind)


class Recipes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        for name, run in RUNS.items():
            os.symlink(DATASETS / run, name)

    def test_each_runs_and_prints_something(self):
        found = recipes()
        self.assertEqual(len(found), 10)
        for title, code in found.items():
            with self.subTest(title), contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(code, title, "exec"), {"__name__": "__main__"})
            self.assertGreater(len(printed.getvalue()), 10, title)
            self.assertNotIn("None", printed.getvalue(), title)

    def test_a_part_of_a_timeline_has_what_overlaps_it(self):
        run = trueno.open("my.run")
        every = run.timeline()
        start, end = 1_000_000, 1_500_000
        part = run.timeline("1ms", end)
        expected = [row["id"] for row in every if row["start_ns"] < end and row["start_ns"] + row["dur_ns"] >= start]
        self.assertEqual(part["id"], expected)
        self.assertLess(0, len(part))
        self.assertLess(len(part), len(every))
        self.assertEqual(run.timeline("0.0015 s")["id"], run.timeline(end)["id"])
        for wrong in ["1", "ms", "1 h", ""]:
            with self.assertRaisesRegex(ValueError, "is not a time"):
                run.timeline(wrong)

    def test_the_magic_shows_the_head_of_a_report(self):
        shell = Shell()
        trueno.load_ipython_extension(shell)
        magic, kind = shell.magics["trueno"]
        self.assertEqual(kind, "line")
        self.assertIn("bound by", magic("my.run")._repr_html_())
        self.assertEqual(list(magic("my.run roofline sanity").sections), ["roofline", "sanity"])
        with self.assertRaisesRegex(ValueError, "needs a run"):
            magic("")


if __name__ == "__main__":
    sys.exit(unittest.main())
