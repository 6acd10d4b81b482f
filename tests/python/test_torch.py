"""PyTorch's profiler into a run, with a stand-in for PyTorch: what is asked of it, and what becomes of its trace."""

import json
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

import trueno
import trueno.torch

EVENTS = [
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1.0, "dur": 5.0, "args": {}},
]


class StandIn:
    """As much of `torch.profiler.profile` as is used."""

    asked = {}

    def __init__(self, **options):
        StandIn.asked = options

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        pass

    def export_chrome_trace(self, path):
        events = {"schemaVersion": 1, "deviceProperties": [], "traceEvents": EVENTS, "traceName": path}
        pathlib.Path(path).write_text(json.dumps(events))


def stand_in(rank):
    torch = types.ModuleType("torch")
    torch.profiler = types.SimpleNamespace(
        profile=StandIn,
        ProfilerActivity=types.SimpleNamespace(CPU="cpu", CUDA="cuda"),
        schedule=lambda **steps: steps,
    )
    torch.cuda = types.SimpleNamespace(is_available=lambda: False)
    torch.distributed = types.SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: rank is not None, get_rank=lambda: rank
    )
    return mock.patch.dict(sys.modules, {"torch": torch})


class Profiling(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "step.run"

    def test_the_trace_becomes_a_run_with_shapes_stacks_and_memory_asked_for(self):
        with stand_in(None), trueno.torch.profile(self.path, schedule="mine"):
            pass
        run = trueno.open(self.path)
        self.assertIn("aten::mm", run["bricks"]["name"])
        self.assertEqual(run.info["label"], "step")
        asked = dict(StandIn.asked)
        self.assertEqual(asked.pop("activities"), ["cpu"])
        self.assertEqual(
            asked,
            {"record_shapes": True, "with_stack": True, "profile_memory": True, "schedule": "mine"},
        )

    def test_steps_are_recorded_where_no_schedule_is_given(self):
        with stand_in(None), trueno.torch.profile(self.path):
            pass
        schedule = StandIn.asked["schedule"]
        self.assertEqual((schedule["wait"], schedule["warmup"]), (0, 0))

    def test_ranks_become_a_job(self):
        for rank in (0, 1):
            with stand_in(rank), trueno.torch.profile(self.path):
                pass
        ranks = trueno.open(self.path).query("SELECT DISTINCT rank FROM bricks ORDER BY rank")
        self.assertEqual(ranks["rank"], [0, 1])

    def test_a_block_that_raises_leaves_no_run(self):
        with self.assertRaises(KeyError), stand_in(None), trueno.torch.profile(self.path):
            raise KeyError("mine")
        self.assertFalse(self.path.exists())


if __name__ == "__main__":
    unittest.main()
