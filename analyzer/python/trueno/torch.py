"""PyTorch: its own profiler straight into a run, and modules as layers and bricks of a recording."""

import contextlib
import json
import os
import tempfile
import threading
from pathlib import Path

from ._import import import_

# The end of a trace, in which PyTorch writes the name of its file.
_TRACE_END_BYTES = 1 << 16


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
    # Without a schedule the profiler does not say where a step begins.
    options.setdefault("schedule", profiler.schedule(wait=0, warmup=0, active=1 << 30))
    options.update(record_shapes=shapes, with_stack=stacks, profile_memory=memory)
    with profiler.profile(**options) as profiling:
        yield profiling
    target = _rank_folder(Path(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="trueno-") as folder:
        trace = os.path.join(folder, f"{Path(path).stem}.json")
        profiling.export_chrome_trace(trace)
        _name_trace(trace)
        # The run is called like the file it is made of.
        named = os.path.join(folder, Path(path).stem)
        os.rename(trace, named)
        import_(named, target, overwrite=overwrite)


def _rank_folder(path):
    from torch import distributed

    if distributed.is_available() and distributed.is_initialized():
        return path / f"rank={distributed.get_rank()}"
    return path


def _name_trace(trace):
    """Leaves the trace's name of the path in it: the folder is gone afterwards, and another one each time."""
    old = json.dumps(trace).encode()
    with open(trace, "r+b") as file:
        end = file.seek(0, os.SEEK_END)
        start = max(0, end - _TRACE_END_BYTES)
        file.seek(start)
        rest = file.read()
        at = rest.rfind(old)
        if at >= 0:
            file.seek(start + at)
            file.write(json.dumps(Path(trace).stem).encode() + rest[at + len(old) :])
            file.truncate()


@contextlib.contextmanager
def modules(recorder, model):
    """Records each forward pass of the modules of `model`, in the block, as a brick of the module's path.

    Its class is the attribute `module`, its arguments that are tensors give shapes. Elements of the outermost
    `torch.nn.ModuleList`s are layers, numbered by their place. Times are the host's: of a model on a GPU, of launching.
    The backward pass runs in no module.
    """
    from torch import nn

    layers = _layers(model, nn.ModuleList)
    state = threading.local()
    handles = []

    def begin(module, arguments, keywords):
        opened = []
        for span in spans[module]:
            opened.append(span.again().__enter__())
        tensors = [each for each in (*arguments, *keywords.values()) if hasattr(each, "dtype") and hasattr(each, "shape")]
        opened[-1].shapes([list(each.shape) for each in tensors], [_element_type(each.dtype) for each in tensors])
        opened[-1].set("module", type(module).__name__)
        stack = state.__dict__.setdefault("stack", [])
        stack.append(opened)

    def end(module, arguments, keywords, output):
        for span in reversed(state.stack.pop()):
            span.__exit__(None, None, None)

    spans = {}
    for name, module in model.named_modules():
        brick = recorder.brick(name or type(module).__name__)
        layer = layers.get(module)
        spans[module] = [brick] if layer is None else [recorder.layer(layer), brick]
        handles.append(module.register_forward_pre_hook(begin, with_kwargs=True))
        handles.append(module.register_forward_hook(end, with_kwargs=True, always_call=True))
    try:
        yield recorder
    finally:
        for handle in handles:
            handle.remove()


def _layers(module, lists):
    """Numbers of the elements of the outermost lists."""
    found = {}
    for child in module.children():
        if isinstance(child, lists):
            found.update((element, number) for number, element in enumerate(child))
        else:
            found.update(_layers(child, lists))
    return found


_ELEMENT_TYPES = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "uint8": "u8",
    "bool": "bool",
}


def _element_type(dtype):
    name = str(dtype).removeprefix("torch.")
    return _ELEMENT_TYPES.get(name, name)
