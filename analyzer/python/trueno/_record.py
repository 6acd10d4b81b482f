"""Recording from Python."""

import atexit
import weakref

from ._native import Recorder, Span

_open = weakref.WeakSet()


def record(path, **options):
    """Begins a run in the directory `path`; `with` ends it, as does the end of the program.

    label: a name of the run; overwrite: replace a run that is there; on_overflow: "grow" (up to 256 MiB, then
    drop), "drop" (counted) or "block" when events come faster than they are written; ring_records: room of a thread;
    checksum_every: of each tensor only every n-th; without: tables that are left out.
    """
    recorder = Recorder(path, **options)
    _open.add(recorder)
    return recorder


def disabled():
    """A recorder that records nothing, for programs that are not always recorded."""
    return Recorder.disabled()


@atexit.register
def _finish():
    for recorder in list(_open):
        if recorder.is_enabled:
            recorder.finish()
