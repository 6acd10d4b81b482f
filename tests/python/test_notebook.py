"""The notebook of docs/examples, executed as Jupyter does: nbconvert and ipykernel have to be installed."""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

NOTEBOOK = pathlib.Path(__file__).parents[2] / "docs" / "examples" / "report.ipynb"
RUN = NOTEBOOK.parents[2] / "datasets" / "decode" / "simd.run"
NEEDED = ("nbconvert", "ipykernel")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]


@unittest.skipIf(MISSING, f"not installed: {', '.join(MISSING)}")
class Notebook(unittest.TestCase):
    def test_it_shows_a_report_charts_and_a_what_if(self):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", str(NOTEBOOK)]
            # Settings of a user have no part in it.
            places = {"JUPYTER_CONFIG_DIR": folder, "JUPYTER_DATA_DIR": folder, "IPYTHONDIR": folder}
            environment = {**os.environ, **places}
            done = subprocess.run(
                [*command, "--output-dir", folder], env=environment, cwd=NOTEBOOK.parent, capture_output=True, text=True
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            cells = json.loads((pathlib.Path(folder) / NOTEBOOK.name).read_text())["cells"]
        shown = []
        for cell in cells:
            outputs = cell.get("outputs", [])
            self.assertFalse([each for each in outputs if each["output_type"] == "error"])
            html = [each.get("data", {}).get("text/html", "") for each in outputs]
            shown.append("".join("".join(part) for part in html))
        run, tables, report, opportunity, asked, what_if, chart = (html for html in shown if html)
        self.assertIn("complete", run)
        self.assertIn("run.report()", run)
        self.assertIn("bricks", tables)
        # A line a table that has rows, whose columns are named but for those that are many.
        self.assertLess(tables.count("<tr>"), 30)
        self.assertLess(len(tables), 10_000)
        self.assertGreater(report.count("<svg"), 3)
        headline = report.split("</h3>")[0]
        self.assertIn("bound by", headline)
        self.assertTrue("giving each task more work" in report, report[:2000])
        self.assertIn("<table", opportunity)
        self.assertEqual(asked.count("<tr>"), 6)
        self.assertIn("make weights", what_if)
        self.assertIn("<svg", chart)

    def test_the_magic_shows_the_head_of_a_report(self):
        page = notebook_page(["%load_ext trueno", f"%trueno {RUN}"])
        self.assertIn("bound by", page)
        self.assertIn("<svg", page)

    def test_what_a_reader_evaluates_fits_on_a_screen(self):
        cells = ["run", "run.info", "run.tables", 'run.tables["bricks"]', "report", "report.data", "report.sections"]
        source = f"import trueno\nrun = trueno.open({str(RUN)!r})\nreport = run.report(charts=False)"
        page = notebook_page([source, *cells])
        outputs = re.findall(r'data-mime-type="text/html"[^>]*>(.*?)</div>', page, re.DOTALL)
        texts = re.findall(r'data-mime-type="text/plain"[^>]*>\s*<pre>(.*?)</pre>', page, re.DOTALL)
        # As HTML but for the dict of sections, which has none.
        self.assertEqual((len(outputs), len(texts)), (len(cells) - 1, 1))
        for cell, output in zip(cells, outputs):
            self.assertLess(output.count("<tr") + output.count("<p"), 60, cell)
        report = outputs[cells.index("report")]
        self.assertTrue("bound by" in report.split("</h3>")[0], report)
        self.assertLess(texts[0].count("\n"), 60)


def notebook_page(sources):
    """The HTML that nbconvert makes of cells, executed."""
    cells = [
        {"cell_type": "code", "id": f"c{at}", "metadata": {}, "execution_count": None, "outputs": [], "source": source}
        for at, source in enumerate(sources)
    ]
    data = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "made.ipynb"
        file.write_text(json.dumps(data))
        places = {"JUPYTER_CONFIG_DIR": folder, "JUPYTER_DATA_DIR": folder, "IPYTHONDIR": folder}
        command = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", str(file)]
        done = subprocess.run(command, env={**os.environ, **places}, cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return file.with_suffix(".html").read_text()


if __name__ == "__main__":
    unittest.main()
