"""Runs and traces, read from Python. Needs no package; what pyarrow, polars and pandas do is tried where they are."""

import html
import importlib.util
import json
import pathlib
import tempfile
import unittest
import warnings

import trueno

ROOT = pathlib.Path(__file__).resolve().parents[2]
TINY = ROOT / "datasets" / "tiny" / "test.run"
SIMD = ROOT / "datasets" / "decode" / "simd.run"
SLOW = ROOT / "datasets" / "decode" / "simd_slow.run"
TRACE = """{"traceEvents": [
{"ph": "X", "name": "step", "pid": 1, "tid": 1, "ts": 0, "dur": 50},
{"ph": "X", "name": "work", "pid": 1, "tid": 1, "ts": 5, "dur": 20}
]}"""


def needs(package):
    there = importlib.util.find_spec(package) is not None
    return unittest.skipUnless(there, f"left out: there is no {package}")


class Reading(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_tables_have_the_rows_of_the_run(self):
        run = trueno.open(SIMD)
        self.assertEqual(run.tables["checksums"]["rows"], 832)
        self.assertIn("kernels", run)
        self.assertNotIn("nonsense", run)
        bricks = run["bricks"]
        self.assertEqual(len(bricks), run.tables["bricks"]["rows"])
        self.assertEqual(set(bricks.column_names), set(next(iter(bricks))))

    def test_queries_give_values_of_python_and_none_for_what_is_not_measured(self):
        run = trueno.open(SIMD)
        answer = run.query(
            "SELECT name, COUNT(*) AS n, CAST(NULL AS BIGINT) AS gap FROM bricks WHERE kind = 'iteration' GROUP BY name"
        )
        self.assertEqual(answer.to_dict(), {"name": ["iteration"], "n": [16], "gap": [None]})
        self.assertEqual(list(answer), [{"name": "iteration", "n": 16, "gap": None}])
        self.assertEqual(answer["n"], [16])
        with self.assertRaisesRegex(KeyError, "there is no column m.*name, n, gap"):
            answer["m"]
        self.assertIn("–", repr(answer))

    def test_no_rows_are_a_table_with_its_columns(self):
        answer = trueno.open(SIMD).query("SELECT name, dur_ns FROM bricks WHERE dur_ns < 0")
        self.assertEqual((len(answer), answer.column_names), (0, ["name", "dur_ns"]))

    def test_tables_of_plugins_are_tables_too(self):
        table = trueno.open(SIMD)["critical_path.opportunity"]
        self.assertGreater(len(table), 0)
        self.assertIn("gain_100_ns", "".join(table.column_names).replace("pct", ""))

    def test_errors_are_those_of_the_program(self):
        with self.assertRaisesRegex(trueno.Error, "no/such.run"):
            trueno.open("no/such.run")
        run = trueno.open(SIMD)
        with self.assertRaisesRegex(trueno.Error, "nonsense") as raised:
            run.query("SELECT * FROM nonsense")
        self.assertFalse(str(raised.exception).startswith("error:"))

    def test_a_trace_of_another_tool_is_imported_on_the_way(self):
        trace = self.folder / "trace.json"
        trace.write_text(TRACE)
        run = trueno.open(trace, cache=False)
        names = sorted(set(run.query("SELECT name FROM bricks")["name"]))
        self.assertEqual(names, ["step", "work"])
        kept = trueno.import_(trace, self.folder / "kept.run")
        self.assertEqual(sorted(set(kept["bricks"]["name"])), ["step", "work"])
        with self.assertRaisesRegex(trueno.Error, "kept.run"):
            trueno.import_(trace, self.folder / "kept.run")
        trueno.import_([trace], self.folder / "kept.run", overwrite=True)

    def test_a_report_has_sections_findings_and_drawn_charts(self):
        report = trueno.open(SIMD).report(options={"critical_path": {"path_rows": 3}})
        self.assertEqual(report.sections["category"].status, "ok")
        self.assertEqual(report.top["status"], "found")
        self.assertTrue(report.findings)
        severities = [finding.severity for finding in report.findings]
        self.assertEqual(severities, sorted(severities, key=["error", "warning", "info"].index))
        self.assertTrue(report.charts)
        for chart in report.charts:
            self.assertTrue(chart._repr_html_().startswith("<svg"), chart.title)
        page = report._repr_html_()
        self.assertIn("<svg", page)
        self.assertIn("critical_path", str(report))
        table = report["critical_path.opportunity"]
        self.assertEqual(len(table), len(report["critical_path"]["opportunity"].to_dict()["name"]))
        with self.assertRaisesRegex(KeyError, "made no table nothing"):
            report["critical_path.nothing"]

    def test_a_report_takes_plugins_and_refuses_wrong_options(self):
        run = trueno.open(TINY)
        report = run.report(plugins=["sanity"], charts=False)
        self.assertEqual((list(report.sections), report.charts), (["sanity"], []))
        with self.assertRaisesRegex(trueno.Error, "nonsense"):
            run.report(options={"sanity": {"nonsense": 1}})

    def test_a_what_if_is_answered(self):
        report = trueno.open(SIMD).report(
            plugins=["critical_path"], what_if={"DownProjection": 0.5}, charts=False
        )
        self.assertIn("DownProjection", str(report["critical_path.what_if"].to_dict()))

    def test_comparisons_name_what_got_slower(self):
        comparison = trueno.compare(SIMD, trueno.open(SLOW), path=False)
        self.assertIn("DownProjection", str(comparison))
        self.assertIsInstance(comparison.data, dict)

    def test_warnings_of_the_program_are_warnings(self):
        run = trueno.open(SIMD)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run.query("SELECT name FROM bricks LIMIT 1", options={"category": {"unit": "x"}})
        texts = [str(one.message) for one in caught if one.category is trueno.TruenoWarning]
        self.assertEqual(len(texts), 1, texts)
        self.assertIn("reads no table of a plugin", texts[0])

    def test_texts_of_a_trace_are_no_markup(self):
        trace = self.folder / "trace.json"
        trace.write_text(TRACE.replace("work", "<script>alert(1)</script>"))
        run = trueno.open(trace, cache=False)
        page = run.query("SELECT name FROM bricks")._repr_html_()
        self.assertNotIn("<script>", page)
        self.assertIn("&lt;script&gt;", page)
        self.assertNotIn("<script>alert", run.report()._repr_html_())

    def test_a_run_shows_what_it_is(self):
        run = trueno.open(SIMD)
        shown = repr(run)
        self.assertEqual(len(shown.splitlines()), 1)
        for part in [run.title, "complete", "wall ", f"{run.info['rows']:,} rows"]:
            self.assertIn(part, shown)
        html = run._repr_html_()
        self.assertIn(run.title, html)
        self.assertIn("run.report()", html)
        # An unlabelled trace is called like its file.
        trace = self.folder / "my_trace.json"
        trace.write_text(TRACE)
        run = trueno.open(trace, cache=False)
        self.assertEqual(run.title, run.info["label"] or "my_trace.json")

    def test_facts_and_tables_show_themselves_on_a_screen(self):
        run = trueno.open(SIMD)
        tables = repr(run.tables)
        self.assertLess(len(tables.splitlines()), 40)
        self.assertIn(f"{run.tables['bricks']['rows']:,}", tables)
        self.assertIn("dur_ns", tables)
        columns = repr(run.tables["bricks"])
        self.assertIn("parent", columns)
        self.assertLess(len(columns.splitlines()), 60)
        self.assertLess(len(repr(run.info).splitlines()), 30)
        report = run.report(charts=False)
        listed = [report.data, report.top, report.sections["category"]]
        listed += [trueno.compare(SIMD, SLOW, path=False).data]
        for each in listed:
            self.assertLess(len(repr(each).splitlines()), 30)
        for each in [tables, columns, repr(run.info), *map(repr, listed[:2])]:
            self.assertLessEqual(max(map(len, each.splitlines())), 100)
        # They are dicts still.
        self.assertEqual(json.loads(json.dumps(run.info))["rows"], run.info["rows"])

    def test_a_report_opens_with_its_headline(self):
        run = trueno.open(SIMD)
        report = run.report(charts=False)
        self.assertEqual(report.headline, report["summary.headline"]["sentence"][0])
        printed = "".join(str(report).split())
        self.assertIn("".join(report.headline.split()), printed)
        first = report.top["findings"][0]["sentence"]
        for shown in [repr(report), html.unescape(report._repr_html_())]:
            self.assertIn(report.headline, shown)
            self.assertIn(first, shown)
        # Of some plugins alone, what each of them says.
        some = run.report(plugins="category", charts=False)
        self.assertIsNone(some.headline)
        self.assertIn(some.sections["category"].summary, repr(some))
        self.assertNotIn("none found", repr(some))

    @needs("pyarrow")
    def test_pyarrow_takes_a_table_without_a_copy(self):
        import pyarrow

        table = trueno.open(SIMD)["bricks"]
        first, second = pyarrow.table(table), table.to_pyarrow()
        self.assertEqual(first["dur_ns"].to_pylist(), table["dur_ns"])

        def address(of):
            return of["dur_ns"].chunk(0).buffers()[1].address

        self.assertEqual(address(first), address(second))
        # Tables of reports are made of values, and are given on in the same way.
        report = trueno.open(SIMD).report(plugins="category", charts=False)
        made = next(iter(report["category"].tables.values()))
        self.assertEqual(pyarrow.table(made).num_rows, len(made))

    @needs("polars")
    def test_polars_has_the_same_values(self):
        table = trueno.open(SIMD)["bricks"]
        frame = table.to_polars()
        self.assertEqual(frame["dur_ns"].to_list(), table["dur_ns"])
        self.assertEqual(frame["name"].to_list(), table["name"])

    @needs("pandas")
    def test_pandas_has_the_same_values_and_no_rounded_ones(self):
        run = trueno.open(SIMD)
        frame = run["bricks"].to_pandas()
        self.assertEqual(frame["dur_ns"].tolist(), run["bricks"]["dur_ns"])
        large = 2**62 + 1
        gap = run.query(f"SELECT {large} AS n UNION ALL SELECT CAST(NULL AS BIGINT) AS n").to_pandas()
        self.assertEqual(gap["n"].dropna().tolist(), [large])
        self.assertEqual(int(gap["n"].isna().sum()), 1)

    @needs("pandas")
    @needs("pyarrow")
    def test_pandas_has_the_same_frame_with_pyarrow_and_without(self):
        import pandas

        bricks = trueno.open(SIMD)["bricks"]
        pandas.testing.assert_frame_equal(
            bricks.to_pandas(), bricks._to_pandas_by_value(pandas), check_dtype=False
        )


if __name__ == "__main__":
    unittest.main()
