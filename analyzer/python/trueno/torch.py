"""PyTorch's own profiler, straight into a run."""

import contextlib
import os
import tempfile
from pathlib import Path

from ._import import import_


@contextlib.contextmanager
def profile(path, *, overwrite=False, shapes=True, stacks=True, memory=True, **options):
    """Profiles the block with `torch.profiler`, and makes the run `path` of it when the block ends.

    Gives the profiler: call its `step()` once an iteration. Where `torch.distributed` is initialised, each process
    writes the folder of its rank below `path`. Further options are those of `torch.profiler.profile`.
    A block that raises leaves no run.
    """
    import torch
    from torch import profiler

    activities = [profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(profiler.ProfilerActivity.CUDA)
    options.setdefault("activities", activities)
    options.update(record_shapes=shapes, with_stack=stacks, profile_memory=memory)
    with profiler.profile(**options) as profiling:
        yield profiling
    target = _rank_folder(Path(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="trueno-") as folder:
        trace = os.path.join(folder, f"{Path(path).stem}.json.gz")
        profiling.export_chrome_trace(trace)
        import_(trace, target, overwrite=overwrite)


def _rank_folder(path):
    from torch import distributed

    if distributed.is_available() and distributed.is_initialized():
        return path / f"rank={distributed.get_rank()}"
    return path
