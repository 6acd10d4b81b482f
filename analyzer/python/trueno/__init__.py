"""Read, analyse and record runs of trueno-analyze.

    import trueno

    run = trueno.open("my.run")              # or a trace of another tool
    run.tables                               # what it holds
    run["kernels"].to_pandas()               # or to_polars(), to_pyarrow(), to_dict()
    run.query("SELECT name, SUM(dur_ns) AS ns FROM kernels GROUP BY name ORDER BY ns DESC")
    run.report()                             # what the analyses found
    run.timeline("1ms", "2ms")               # what ran then, on each lane
    trueno.compare("before.run", "after.run")

    with trueno.record("my.run") as rec:
        with rec.brick("attention"):
            ...

What is not measured is `None`, never 0.
"""

from ._compare import Comparison, compare
from ._errors import (
    Error,
    NotMeasurableError,
    ProgramNotFoundError,
    RecordError,
    TruenoWarning,
)
from ._import import import_
from ._program import version
from ._record import Recorder, Span, disabled, record
from ._report import Chart, Finding, Report, Section
from ._run import Run, open
from ._table import Table



def load_ipython_extension(shell):
    """Adds the magic `%trueno` to IPython and Jupyter: `%load_ext trueno`."""
    from ._magic import trueno

    shell.register_magic_function(trueno, "line")


__all__ = [
    "Chart",
    "Comparison",
    "Error",
    "Finding",
    "NotMeasurableError",
    "ProgramNotFoundError",
    "RecordError",
    "Recorder",
    "Report",
    "Run",
    "Section",
    "Span",
    "Table",
    "TruenoWarning",
    "compare",
    "disabled",
    "import_",
    "open",
    "record",
    "version",
]
