"""Records two steps of training a small transformer block on a CPU, with shapes.

    pip install torch                # the one of the dataset: 2.15
    python record_cpu.py cpu_training.json

Writes a trace of torch.profiler. Shapes are what `trueno-analyze report` computes FLOPs and bytes from.
"""

import sys

import torch
from torch.profiler import ProfilerActivity, profile, record_function

BATCH, TOKENS, WIDTH, HEADS, CLASSES = 4, 128, 256, 4, 1000


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.out = torch.nn.Linear(WIDTH, WIDTH)
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH)
        self.head = torch.nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        q, k, v = (t.view(BATCH, TOKENS, HEADS, -1).transpose(1, 2) for t in (q, k, v))
        attended = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(BATCH, TOKENS, WIDTH))
        x = x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))
        return self.head(x)


def step(model, optimiser, x, target):
    with record_function("forward"):
        loss = torch.nn.functional.cross_entropy(model(x).view(-1, CLASSES), target)
    with record_function("backward"):
        loss.backward()
    with record_function("optimizer"):
        optimiser.step()
        optimiser.zero_grad()


def main():
    torch.manual_seed(1)
    model = Block()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x = torch.randn(BATCH, TOKENS, WIDTH)
    target = torch.randint(CLASSES, (BATCH * TOKENS,))
    schedule = torch.profiler.schedule(wait=3, warmup=2, active=2)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, schedule=schedule) as profiler:
        for _ in range(7):
            step(model, optimiser, x, target)
            profiler.step()
    profiler.export_chrome_trace(sys.argv[1])


if __name__ == "__main__":
    main()
