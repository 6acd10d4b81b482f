"""PyTorch itself, where it is installed: a small training loop on the processor, alone and as two ranks."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

import trueno
import trueno.torch

IS_THERE = importlib.util.find_spec("torch") is not None

TRAINING = """
import os, sys
import torch
from torch import nn
import trueno, trueno.torch

torch.manual_seed(0)
torch.set_num_threads(1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(16, 16), nn.ReLU()) for _ in range(2))
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


model = Model()
if "RANK" in os.environ:
    torch.distributed.init_process_group("gloo")
    model = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train():
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(torch.randn(8, 16)), torch.randint(0, 4, (8,)))
    loss.backward()
    optimizer.step()


"""
PROFILED = """
with trueno.torch.profile(sys.argv[1]) as profiler:
    for _ in range(3):
        train()
        profiler.step()
"""
RECORDED = """
with trueno.record(sys.argv[1]) as rec, trueno.torch.modules(rec, model):
    for step in range(3):
        with rec.iteration(step):
            train()
try:
    with trueno.record(sys.argv[1] + ".failed") as rec, trueno.torch.modules(rec, model):
        model(torch.randn(8, 99))
except RuntimeError:
    pass
train()
"""


def start(program, path, **environment):
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", **environment}
    command = [sys.executable, "-c", TRAINING + program, str(path)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


@unittest.skipUnless(IS_THERE, "not installed: torch")
class PyTorch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "step.run"

    def ends(self, *processes):
        for process in processes:
            _, said = process.communicate(timeout=600)
            self.assertEqual(process.returncode, 0, said)

    def test_a_training_loop_is_profiled_with_steps_shapes_stacks_and_memory(self):
        self.ends(start(PROFILED, self.path))
        run = trueno.open(self.path)
        self.assertEqual(run.info["label"], "step")
        steps = run.query("SELECT DISTINCT iteration FROM bricks WHERE kind = 'iteration' ORDER BY iteration")
        self.assertEqual(steps["iteration"][:3], [0, 1, 2])
        linear = run.query(
            "SELECT s.input_dims, COUNT(*) AS n FROM bricks b JOIN signatures s ON s.id = b.signature "
            "WHERE b.name = 'aten::linear' GROUP BY s.input_dims ORDER BY n DESC"
        )
        self.assertEqual(linear.to_dict(), {"input_dims": ["[[8,16],[16,16],[16]]", "[[8,16],[4,16],[4]]"], "n": [6, 3]})
        modules = run.query("SELECT name FROM bricks WHERE name LIKE 'nn.Module: Linear%'")
        self.assertEqual(len(modules), 9)
        self.assertGreater(run.tables["allocations"]["rows"], 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = run.report(plugins=["throughput", "operators"])
        self.assertEqual({section["status"] for section in report.data["sections"]}, {"ok"})

    def test_two_processes_are_two_ranks(self):
        place = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29533"}
        self.ends(*[start(PROFILED, self.path, RANK=str(rank), **place) for rank in (0, 1)])
        run = trueno.open(self.path)
        reduced = run.query(
            "SELECT rank, group_ranks, COUNT(*) AS n FROM collectives WHERE operation = 'all_reduce' "
            "GROUP BY rank, group_ranks ORDER BY rank"
        )
        self.assertEqual(reduced.to_dict(), {"rank": [0, 1], "group_ranks": ["[0,1]", "[0,1]"], "n": [3, 3]})
        # One of each step was met by both.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = run.report(plugins=["collectives"])
        instances = report["collectives"]["instances"]
        self.assertEqual(instances["operation"].count("all_reduce"), 3)
        self.assertEqual(set(instances["ranks"]), {2})

    def test_modules_are_layers_and_bricks_with_shapes(self):
        self.ends(start(RECORDED, self.path))
        run = trueno.open(self.path)
        bricks = run.query(
            "SELECT b.name, b.layer, s.input_dims, COUNT(*) AS n FROM bricks b JOIN signatures s ON s.id = b.signature "
            "WHERE b.kind = 'brick' GROUP BY b.name, b.layer, s.input_dims ORDER BY b.name"
        )
        names = ["Model", "head", "layers.0", "layers.0.0", "layers.0.1", "layers.1", "layers.1.0", "layers.1.1"]
        self.assertEqual(bricks["name"], names)
        self.assertEqual(bricks["layer"], [None, None, 0, 0, 0, 1, 1, 1])
        self.assertEqual(set(bricks["input_dims"]), {"[[8,16]]"})
        self.assertEqual(set(bricks["n"]), {3})
        classes = run.query("SELECT DISTINCT text FROM attributes WHERE name = 'module' ORDER BY text")
        self.assertEqual(classes["text"], ["Linear", "Model", "ReLU", "Sequential"])
        # One that raised has ended all its rows.
        failed = trueno.open(f"{self.path}.failed")
        self.assertEqual(failed.query("SELECT name FROM bricks WHERE kind = 'brick' ORDER BY name")["name"], names[:1] + names[2:4])


if __name__ == "__main__":
    unittest.main()
