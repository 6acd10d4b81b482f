"""The magic of IPython and Jupyter: `%load_ext trueno`, then `%trueno my.run`."""

import shlex

from ._run import open


def trueno(line):
    """%trueno RUN [PLUGIN…]: the head of a run's report, or what these plugins found.

    RUN is a run, or a trace of another tool. The value is the report.
    """
    words = shlex.split(line)
    if not words:
        raise ValueError("%trueno needs a run or a trace (hint: %trueno my.run)")
    path, *plugins = words
    return open(path).report(plugins=plugins or None)
