"""Errors of the module: what the program said, word for word."""

from ._native import RecordError


class Error(Exception):
    """Nothing could be analysed: wrong arguments, no run, a query that cannot be answered."""


class NotMeasurableError(Error):
    """The run does not hold what would have to be measured."""


class ProgramNotFoundError(Error):
    """There is no program `trueno-analyze`."""


class TruenoWarning(UserWarning):
    """Something that the user should know of a run or of an answer."""


__all__ = [
    "Error",
    "NotMeasurableError",
    "ProgramNotFoundError",
    "RecordError",
    "TruenoWarning",
]
