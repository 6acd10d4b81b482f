"""A training step that is bound by launches, eagerly and as a CUDA graph: train.py [--graph]."""
import json
import sys
import time

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]).cuda().bfloat16()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x = torch.randn(512, 2048, device="cuda", dtype=torch.bfloat16)


def work():
    optimizer.zero_grad(set_to_none=True)
    model(x).square().mean().backward()
    optimizer.step()


run = work
if "--graph" in sys.argv:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        work()
    run = graph.replay


def step():
    torch.cuda.nvtx.range_push("step")
    run()
    torch.cuda.nvtx.range_pop()


for _ in range(10):
    step()
torch.cuda.synchronize()
start = time.perf_counter()
for _ in range(30):
    step()
torch.cuda.synchronize()
print(json.dumps({"wall_us_a_step": (time.perf_counter() - start) / 30 * 1e6}))
