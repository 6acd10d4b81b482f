"""Runs, opened to be read."""

import json
import os
from html import escape
from pathlib import Path

from ._facts import Info, TableInfo, Tables
from ._native import Batches
from ._program import ask, memory_file
from ._report import report
from ._show import facts_html
from ._table import Table


def open(path, *, cache=True):
    """Opens a run, or a trace of another tool, which is imported on the way.

    An imported run is kept in the user's cache, unless `cache` is false.
    """
    return Run(path, cache=cache)


class Run:
    """A run. What it is asked is answered by the program `trueno-analyze`, each time anew."""

    def __init__(self, path, *, cache=True):
        #: The run directory, or the trace.
        self.path = os.fspath(path)
        self._options = [] if cache else ["--no-cache"]
        #: Facts of the run, as `trueno-analyze info --format json` has them.
        self.info = Info(json.loads(self._ask(["info", self.path, "--format", "json"])))

    @property
    def tables(self):
        """Tables of the run by name: rows, and names, types and units of columns."""
        listed = json.loads(self._ask(["tables", self.path, "--format", "json"]))
        return Tables((table["name"], TableInfo(table)) for table in listed)

    def __contains__(self, table):
        return table in self.tables

    def __getitem__(self, table):
        """A table of the run; with a dot in its name one that a plugin makes, as `roofline.points`."""
        quoted = ".".join('"' + part.replace('"', '""') + '"' for part in table.split("."))
        answer = self.query(f"SELECT * FROM {quoted}")
        answer.name = table
        return answer

    def query(self, sql, *, runs=None, baseline=None, options=None, timeout=None):
        """The answer to a query. `runs` are others, whose tables are NAME.bricks and so on."""
        arguments = ["query", self.path, sql, "--format", "arrow"]
        for name, other in (runs or {}).items():
            arguments += ["--run", f"{name}={_path(other)}"]
        if baseline is not None:
            arguments += ["--baseline", _path(baseline)]
        if timeout is not None:
            arguments += ["--timeout", timeout if isinstance(timeout, str) else f"{timeout}s"]
        arguments += settings(options)
        with memory_file() as file:
            self._ask(arguments, into=file)
            return Table(Batches.from_file(file.fileno()))

    def timeline(self, start=0, end=None):
        """Intervals of all lanes that overlap a part of the run, by lane and start.

        Times are nanoseconds since the start of the recording, or texts with a unit, such as "1.5ms". `self_ns` is
        the time of an interval that none nested in it has.
        """
        conditions = [f"start_ns + dur_ns >= {nanoseconds(start)}"]
        if end is not None:
            conditions.append(f"start_ns < {nanoseconds(end)}")
        return self.query(f"SELECT * FROM timeline.spans WHERE {' AND '.join(conditions)}")

    def report(self, **arguments):
        """What the analyses found. See `trueno.Report`.

        plugins: ids of those to show, all when not given; skip: ids of those not to run;
        options: {plugin: {key: value}}; baseline: a run to compare with; window: a part of the run, such as
        "iteration=3"; what_if: {target: value}, such as {"kind:transfer": 0}.
        """
        return report(self.path, self._options, **arguments)

    def compare(self, after, **arguments):
        """What got slower or faster from this run to another."""
        from ._compare import compare

        return compare(self, after, **arguments)

    def _ask(self, arguments, **how):
        return ask([*self._options, *arguments], **how)

    @property
    def title(self):
        """The label, else the name of the file."""
        return self.info.get("label") or Path(os.path.abspath(self.path)).name

    def __repr__(self):
        info = self.info
        return f"<trueno.Run {self.title!r}: {info.completeness}, wall {info.wall()}, {info.rows()}>"

    def _repr_html_(self):
        facts = [("path", self.path), *(pair for pair in self.info.lines() if pair[0] != "label")]
        incomplete = "INCOMPLETE: " if self.info.get("complete") is False else ""
        more = "<p><code>run.report()</code> finds what holds it back; <code>run.tables</code> lists what it recorded.</p>"
        return f"<h3>{escape(incomplete + self.title)}</h3>{facts_html(facts)}{more}"


_UNITS_NS = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


def nanoseconds(time):
    """A time as a whole number of nanoseconds."""
    if isinstance(time, str):
        number = time.rstrip("nuµms ")
        unit = time[len(number) :].strip()
        try:
            return round(float(number) * _UNITS_NS[unit])
        except (KeyError, ValueError):
            raise ValueError(f"{time!r} is not a time (hint: a number and ns, us, ms or s, such as '1.5ms')") from None
    return int(time)


def settings(options):
    """Options of plugins as flags."""
    flags = []
    for plugin, values in (options or {}).items():
        for key, value in values.items():
            flags += ["--set", f"{plugin}.{key}={json.dumps(value)}"]
    return flags


def _path(run):
    return run.path if isinstance(run, Run) else os.fspath(run)
