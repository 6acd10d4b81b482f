#!/usr/bin/env python3
"""Shares of the wall that the critical path spends on the host while a device is busy.

    tests/hidden_gpu_time.py TRUENO_ANALYZE FILE_OR_RUN... [--top N] [--set PLUGIN.KEY=VALUE]

A path that follows the program's work should not lie in a wait, in a call that blocks, in an outer
frame or in a gap while a device works, unless the host itself holds the run up: then a device that
keeps up with it drains before each launch, however busy it is. One line a run, in per cent of the
wall: the time in each of these, their sum (`hidden`), how much of it the host itself holds up
(`host-bound`), and what is left (`unexplained`); then what else the host did on the path meanwhile
(launches and operators that a device waits for next).

`host-bound` does not ask the path. A replay of launches, streams and recorded waits alone
(`host_replay.py`) is run with these pieces a hundredth shorter: it is the part of them by which the
program's end comes sooner. Pieces after which the host may have gone on because its devices had
just drained do not count, for then it may have waited for them. `--top N` lists the names that hold
most, each with its own such part.

Files are imported into a temporary folder first.
"""

import bisect
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from host_replay import Replay

# Calls that last no longer than this did not block.
SHORT_CALL_NS = 50_000
KINDS = ["wait", "call", "frame", "gap"]
# Pieces are made shorter by this part.
PART = 0.01
# Shorter pieces are no waits: waking a thread takes about as long.
MIN_WAIT_NS = 20_000
# A wait is over so soon after what it waited for, or within a tenth of it.
WAKE_NS = 50_000


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


def device_work(tool, path, calls):
    """Work of devices, each piece with its call."""
    called = {}
    for row in calls:
        if row["correlation"] is not None:
            # Of a call and the driver's within it, the outer.
            called.setdefault(row["correlation"], (row["thread"], row["start_ns"], row["start_ns"] + row["dur_ns"]))
    blocks = (
        "direction <> 'memset' AND (COALESCE(NOT is_async, false) OR COALESCE(src_kind = 'pageable', false)"
        " OR COALESCE(dst_kind = 'pageable', false))"
    )
    out = []
    for table, blocking in (("kernels", "false"), ("transfers", blocks)):
        sql = f"SELECT id, device, stream, start_ns, dur_ns, correlation, {blocking} AS blocks FROM {table} WHERE device IS NOT NULL"
        for row in query(tool, path, sql):
            if row["dur_ns"] is not None and row["dur_ns"] >= 0:
                row["start"], row["end"] = row["start_ns"], row["start_ns"] + row["dur_ns"]
                row["call"] = called.get(row["correlation"])
                # Calls and work count up together: what has less than any call was launched before the recording.
                is_before = row["correlation"] is not None and row["correlation"] < min(called, default=0)
                row["launched"] = row["call"][1] if row["call"] else -1 if is_before else row["start"]
                out.append(row)
    return out


def replay(tool, path, work, calls):
    waits = query(tool, path, "SELECT thread, start_ns, dur_ns, kind, device, stream FROM syncs WHERE thread IS NOT NULL AND kind <> 'stream_wait'")
    ends = {}
    for rows in (calls, query(tool, path, "SELECT thread, MAX(start_ns + dur_ns) AS start_ns, 0 AS dur_ns FROM bricks GROUP BY thread")):
        for row in rows:
            ends[row["thread"]] = max(ends.get(row["thread"], 0), row["start_ns"] + row["dur_ns"])
    times = lambda row: (row["thread"], row["start_ns"], row["start_ns"] + row["dur_ns"])
    return Replay(work, [(*times(row), row["kind"], row["device"], row["stream"]) for row in waits], ends)


def drained(work, replayed):
    """Returns a function: True of a stretch of a host after which it may have gone on because its devices were done.

    All that it had launched before has ended in the stretch, shortly before it was over, and ran for half of it.
    """
    launched, ends = {}, {}
    for of in sorted(work, key=lambda of: of["launched"]):
        for host in [replayed.host(of["call"][0])] if of["call"] else set(replayed.host_of.values()):
            launched.setdefault(host, []).append(of["launched"])
            before = ends.setdefault(host, [])
            before.append(max(before[-1] if before else 0, of["end"]))

    def is_drained(thread, start, end, hidden):
        host = replayed.host(thread)
        count = bisect.bisect_left(launched.get(host, []), start)
        last = ends[host][count - 1] if count else 0
        is_soon = start < last <= end <= last + max(WAKE_NS, (end - start) / 10)
        return end - start >= MIN_WAIT_NS and 2 * hidden >= end - start and is_soon

    return is_drained


def measure(tool, path, options):
    """Wall, busy time, sums by kind, pieces by name and their judge; None where the run has no wall."""
    wall = json.loads(run([tool, "-q", "info", path, "--format", "json"]))["wall_ns"]
    if not wall:
        return None
    calls = query(tool, path, "SELECT id, thread, start_ns, dur_ns, correlation FROM calls ORDER BY start_ns, dur_ns DESC")
    work = device_work(tool, path, calls)
    on_device = {row["id"] for row in work}
    busy = union((row["start"], row["end"]) for row in work)
    lengths = {row["id"]: row["dur_ns"] for row in calls}
    frames = {
        row["id"]
        for row in query(tool, path, "SELECT id FROM bricks WHERE kind IN ('function', 'iteration', 'run', 'layer', 'task')")
    }
    threads = {}
    for table in ("bricks", "calls", "syncs"):
        threads |= {row["id"]: row["thread"] for row in query(tool, path, f"SELECT id, thread FROM {table}")}
    sql = "SELECT * FROM critical_path.path ORDER BY start_ns"
    pieces = query(tool, path, sql, [*options, "--set", "critical_path.path_rows=10000000"])
    of_lane = {piece["lane"]: threads[piece["id"]] for piece in pieces if piece["id"] in threads}
    sums = dict.fromkeys([*KINDS, "other host", "on device"], 0)
    names = {}
    at = [0]
    for piece in pieces:
        start, end = piece["start_ns"], piece["start_ns"] + piece["dur_ns"]
        hidden = overlap(busy, start, end, at)
        row, kind = piece["id"], piece["kind"]
        if kind == "gap":
            label = "gap"
        elif kind == "sync_wait":
            label = "wait"
        elif row in on_device or kind in ("queue", "launch_delay"):
            sums["on device"] += piece["dur_ns"]
            continue
        elif row in lengths and lengths[row] > SHORT_CALL_NS:
            label = "call"
        elif row in frames:
            label = "frame"
        else:
            label = "other host"
        sums[label] += hidden
        if label != "other host" and hidden:
            name = (label, piece["name"] or "", piece["lane"] or "")
            thread = threads.get(row, of_lane.get(piece["lane"]))
            names.setdefault(name, []).append((thread, start, end, hidden))
    return wall, sum(end - start for start, end in busy), sums, names, HostBound(replay(tool, path, work, calls), work)


class HostBound:
    """Time of pieces that the host itself holds the program up by."""

    def __init__(self, replayed, work):
        self.replayed = replayed
        self.is_drained = drained(work, replayed)

    def time(self, pieces):
        pieces = [piece for piece in pieces if not self.is_drained(*piece)]
        hosts = [self.replayed.host(thread) for thread, *_ in pieces]
        if not pieces:
            return 0.0
        host = max(set(hosts), key=hosts.count)
        # Of a piece only the time counts in which a device is busy: so much less of it is taken.
        shares = [(thread, start, start + hidden) for thread, start, _, hidden in pieces]
        gain = self.replayed.length(host) - self.replayed.length(host, shares, PART)
        return min(sum(hidden for *_, hidden in pieces), max(0.0, gain / PART))


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
    heads = ["wall ms", "busy", *KINDS, "hidden", "host-bound", "unexplained", "other host", "on device"]
    print(f"{'run':44}" + "".join(f"{head:>12}" for head in heads))
    for path in map(Path, paths):
        with tempfile.TemporaryDirectory() as folder:
            imported = path
            if path.is_file():
                imported = Path(folder) / "run"
                run([tool, "-q", "import", path, "-o", imported])
            measured = measure(tool, imported, options)
        if measured is None:
            print(f"{path.name[:43]:44} not measurable: its rows state no wall", flush=True)
            continue
        wall, busy, sums, names, of_host = measured
        hidden = sum(sums[kind] for kind in KINDS)
        bound = of_host.time([piece for pieces in names.values() for piece in pieces])
        shares = [busy, *(sums[kind] for kind in KINDS), hidden, bound, hidden - bound, sums["other host"], sums["on device"]]
        cells = [f"{wall / 1e6:.3f}", *(f"{100 * ns / wall:.2f} %" for ns in shares)]
        print(f"{path.name[:43]:44}" + "".join(f"{cell:>12}" for cell in cells), flush=True)
        largest = sorted(names.items(), key=lambda item: -sum(piece[3] for piece in item[1]))
        for (label, name, lane), pieces in largest[:top]:
            ns = sum(piece[3] for piece in pieces)
            if 1000 * ns > wall:
                part = 100 * of_host.time(pieces) / ns
                print(
                    f"    {100 * ns / wall:6.2f} % {label:6} {ns} ns in {len(pieces)}, {part:.0f} % of it host-bound: {name[:80]} [{lane}]"
                )


if __name__ == "__main__":
    main()
