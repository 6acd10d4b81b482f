"""Comparisons of runs."""

import json

from ._program import ask
from ._run import _path
from ._show import Listed


class Comparison:
    """What got slower or faster from one run, or several, to another."""

    def __init__(self, data, markdown):
        #: All of it, as `trueno-analyze compare --format json` has it.
        self.data = Listed(data)
        self._markdown = markdown

    def __getitem__(self, key):
        return self.data[key]

    def __str__(self):
        """The comparison as Markdown."""
        return self._markdown

    __repr__ = __str__

    def _repr_markdown_(self):
        return self._markdown


def compare(before, after, *, threshold=None, categories=None, path=True):
    """Compares runs; each side is a run or a list of them, which are its samples.

    threshold: changes of a median by less are none, in per cent; path: compare critical paths as well.
    """
    base, *more = _side(before)
    arguments = ["compare", base, *_side(after)]
    for run in more:
        arguments += ["--base", run]
    if threshold is not None:
        arguments += ["--threshold", f"{threshold}%"]
    if categories is not None:
        arguments += ["--categories", categories]
    if not path:
        arguments.append("--no-path")
    data = json.loads(ask([*arguments, "--format", "json"]))
    markdown = ask([*arguments, "--format", "markdown"]).decode()
    return Comparison(data, markdown)


def _side(runs):
    runs = list(runs) if isinstance(runs, (list, tuple)) else [runs]
    if not runs:
        raise ValueError("a side of a comparison has no run")
    return [_path(run) for run in runs]
