#!/usr/bin/env python3
"""Shares of the wall that the critical path spends on the host while a device is busy.

    tests/hidden_gpu_time.py TRUENO_ANALYZE FILE_OR_RUN... [--top N] [--set PLUGIN.KEY=VALUE]

A path that follows the program's work should not lie in a wait, in a call that blocks, in an outer
frame or in a gap while a device works: then that work explains the time. One line a run, in per
cent of the wall: each of these kinds, their sum, and what else the host did on the path meanwhile,
which may well be right (launches and operators that a device waits for next). Files are imported
into a temporary folder first.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

# Calls that last no longer than this did not block.
SHORT_CALL_NS = 50_000
KINDS = ["wait", "call", "frame", "gap"]


def run(arguments):
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def query(tool, path, sql, options=()):
    out = run([tool, "-q", "query", path, sql, "--format", "json", *options])
    return json.loads(out) if out.strip() else []


def union(intervals):
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def overlap(busy, start, end, at):
    """Time of `busy` within start..end; `at` is a cursor that only moves on."""
    while at[0] < len(busy) and busy[at[0]][1] <= start:
        at[0] += 1
    total, index = 0, at[0]
    while index < len(busy) and busy[index][0] < end:
        total += max(0, min(end, busy[index][1]) - max(start, busy[index][0]))
        index += 1
    return total


def measure(tool, path, options):
    wall = json.loads(run([tool, "-q", "info", path, "--format", "json"]))["wall_ns"]
    device = []
    for table in ("kernels", "transfers"):
        device += query(tool, path, f"SELECT id, start_ns, dur_ns FROM {table} WHERE device IS NOT NULL")
    device = [row for row in device if row["dur_ns"] is not None and row["dur_ns"] >= 0]
    on_device = {row["id"] for row in device}
    busy = union((row["start_ns"], row["start_ns"] + row["dur_ns"]) for row in device)
    calls = {row["id"]: row["dur_ns"] for row in query(tool, path, "SELECT id, dur_ns FROM calls")}
    frames = {
        row["id"]
        for row in query(tool, path, "SELECT id FROM bricks WHERE kind IN ('function', 'iteration', 'run', 'layer', 'task')")
    }
    pieces = query(
        tool, path, "SELECT * FROM critical_path.path ORDER BY start_ns", [*options, "--set", "critical_path.path_rows=10000000"]
    )
    sums = dict.fromkeys([*KINDS, "other host", "on device"], 0)
    worst = {}
    at = [0]
    for piece in pieces:
        hidden = overlap(busy, piece["start_ns"], piece["start_ns"] + piece["dur_ns"], at)
        row, kind = piece["id"], piece["kind"]
        if kind == "gap":
            label = "gap"
        elif kind == "sync_wait":
            label = "wait"
        elif row in on_device or kind in ("queue", "launch_delay"):
            sums["on device"] += piece["dur_ns"]
            continue
        elif row in calls and calls[row] > SHORT_CALL_NS:
            label = "call"
        elif row in frames:
            label = "frame"
        else:
            label = "other host"
        sums[label] += hidden
        if label != "other host":
            name = (label, piece["name"] or "", piece["lane"] or "")
            worst[name] = worst.get(name, 0) + hidden
    total = sum(end - start for start, end in busy)
    return wall, total, sums, sorted(worst.items(), key=lambda item: -item[1])


def main():
    arguments = sys.argv[1:]
    top = 0
    options = []
    while "--top" in arguments:
        at = arguments.index("--top")
        top = int(arguments[at + 1])
        del arguments[at : at + 2]
    while "--set" in arguments:
        at = arguments.index("--set")
        options += arguments[at : at + 2]
        del arguments[at : at + 2]
    if len(arguments) < 2:
        sys.exit(__doc__)
    tool, *paths = arguments
    heads = ["wall ms", "busy", *KINDS, "hidden", "other host", "on device"]
    print(f"{'run':44}" + "".join(f"{head:>11}" for head in heads))
    for path in map(Path, paths):
        with tempfile.TemporaryDirectory() as folder:
            imported = path
            if path.is_file():
                imported = Path(folder) / "run"
                run([tool, "-q", "import", path, "-o", imported])
            wall, busy, sums, worst = measure(tool, imported, options)
        if wall <= 0:
            continue
        hidden = sum(sums[kind] for kind in KINDS)
        shares = [busy, *(sums[kind] for kind in KINDS), hidden, sums["other host"], sums["on device"]]
        cells = [f"{wall / 1e6:.3f}", *(f"{100 * ns / wall:.2f} %" for ns in shares)]
        print(f"{path.name[:43]:44}" + "".join(f"{cell:>11}" for cell in cells), flush=True)
        for (label, name, lane), ns in worst[:top]:
            if 1000 * ns > wall:
                print(f"    {100 * ns / wall:6.2f} % {label:6} {name[:80]} [{lane}]")


if __name__ == "__main__":
    main()
