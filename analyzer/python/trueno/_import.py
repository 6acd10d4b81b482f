"""Imports of other tools' files."""

import os

from ._program import ask
from ._run import Run


def import_(files, output, *, format=None, ranks=None, overwrite=False, partial=False):
    """Makes a run of another tool's file, or of several, which become the ranks of a job; opens it.

    partial: keep what stands before the first damage of a file.
    """
    files = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    if not files:
        raise ValueError("there is no file to import")
    arguments = ["import", *files, "--output", output]
    if format is not None:
        arguments += ["--input-format", format]
    if ranks is not None:
        arguments += ["--ranks", ",".join(map(str, ranks))]
    arguments += ["--overwrite"] * overwrite + ["--partial"] * partial
    ask(arguments)
    return Run(output)
