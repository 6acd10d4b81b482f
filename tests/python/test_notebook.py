"""The notebook of docs/examples, executed as Jupyter does: nbconvert and ipykernel have to be installed."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

NOTEBOOK = pathlib.Path(__file__).parents[2] / "docs" / "examples" / "report.ipynb"
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
        report, opportunity, asked, what_if, chart = (html for html in shown if html)
        self.assertGreater(report.count("<svg"), 3)
        self.assertIn("joining less often", report)
        self.assertIn("<table", opportunity)
        self.assertEqual(asked.count("<tr>"), 6)
        self.assertIn("make weights", what_if)
        self.assertIn("<svg", chart)


if __name__ == "__main__":
    unittest.main()
