#!/usr/bin/env python3
"""A job of many ranks on a cluster, simulated from costs that were measured on one machine.

    simulate.py                                  # the figures of docs/clusters.md
    simulate.py --ranks 1000 --rows 1e6 --cores 64 --ranks-per-task 16
    simulate.py --no-catalog               # each task opens the whole job
    simulate.py measure target/debug/trueno-analyze   # measures the costs, on this machine

Tasks are handed to cores as they become free, in two rounds. Each opens its ranks, or without a catalog the whole job,
and then makes the parts of its ranks; some are slow, and some executors are lost, and with them what they had begun.
Nothing but this is modelled: no network that is full, no disk that is shared. The same seed gives the same figures.
"""

import argparse
import heapq
import json
import math
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Measured by `simulate.py measure` on two cores of an Intel Xeon, with the builds of the README (optimised plugins,
# polars at opt-level 1): seconds of one core, and bytes.
MEASURED = {
    # `rank-task` of one rank of a job of one small rank: starting, plugins and their parts of few rows.
    "task_start_s": 0.196,
    # For each rank that a task opens: its files held against the journal's hashes.
    "open_rank_s": 0.00605,
    # For each row of these ranks: read once to compare it with its hash.
    "verify_row_s": 3.86e-08,
    # For each rank of the job: read from the catalog by each task; with 4,096 ranks.
    "catalog_rank_s": 5e-07,
    # For each row of a task's own ranks, both rounds together.
    "part_row_s": 1.41e-06,
    # Bytes of the files of a rank for each row, and of its parts.
    "row_bytes": 18.0,
    "part_bytes": 126634,
    # For each rank, where the report is made: reading its parts and merging them.
    "merge_rank_s": 0.07325,
    # Tasks that one scheduler hands out in a second.
    "tasks_per_s": 15.0,
    # Silence after which an executor is lost.
    "lost_after_s": 15.0,
}


def simulate(ranks, rows, cores, ranks_per_task, losses_per_core_h, seed, costs, has_catalog):
    """Both rounds over the ranks with their losses, and the merging: a summary."""
    chance = random.Random(seed)

    def opening(opened):
        of_ranks = opened * (costs["open_rank_s"] + rows / ranks * costs["verify_row_s"])
        return costs["task_start_s"] + of_ranks + has_catalog * ranks * costs["catalog_rank_s"]

    counts = [min(ranks_per_task, ranks - at) for at in range(0, ranks, ranks_per_task)]
    opened = counts if has_catalog else [ranks] * len(counts)
    # The catalog is written first, by one that opens the whole job.
    wall_s = cpu_s = opening(ranks) if has_catalog else 0.0
    straggling_s, lost = 0.0, 0
    # The second round opens the ranks again; the rows were counted in the first.
    for rows_of_rank in (rows / ranks, 0.0):
        free, waiting, ends, handed = [0.0] * cores, [(0.0, at) for at in range(len(counts))], [], 0
        while waiting:
            ready, number = heapq.heappop(waiting)
            core = heapq.heappop(free)
            handed += 1
            start = max(core, ready, handed / costs["tasks_per_s"])
            # Most tasks vary by a tenth; one in a hundred is three times as slow.
            slow = 3.0 if chance.random() < 0.01 else 1.0
            took = opening(opened[number]) + counts[number] * rows_of_rank * costs["part_row_s"]
            took *= slow * math.exp(chance.gauss(0.0, 0.1))
            fails_at = chance.expovariate(losses_per_core_h / 3600.0) if losses_per_core_h else math.inf
            cpu_s += min(took, fails_at)
            if fails_at < took:
                lost += 1
                # Its task goes to another executor once it is known to be lost, and one takes its place.
                gone = start + fails_at + costs["lost_after_s"]
                heapq.heappush(waiting, (gone, number))
                heapq.heappush(free, gone)
                continue
            ends.append(start + took)
            heapq.heappush(free, start + took)
        ends.sort()
        wall_s += ends[-1]
        # From when nine of ten tasks have ended to the end of the last one.
        straggling_s += ends[-1] - ends[int(len(ends) * 0.9)]
    # Whoever makes the report opens the job as well.
    merge_s = opening(ranks) + ranks * costs["merge_rank_s"]
    return {
        "tasks": 2 * len(counts),
        "straggling_s": straggling_s,
        "wall_s": wall_s + merge_s,
        "cpu_h": (cpu_s + merge_s) / 3600.0,
        "opening_share": 2 * sum(map(opening, opened)) / cpu_s,
        "lost_tasks": lost,
        "read_bytes": 2 * sum(opened) * rows / ranks * costs["row_bytes"],
    }


def measure(analyze, rows=2_000_000, many=128):
    """Measures the costs with jobs of synthetic ranks."""
    analyze = str(Path(analyze).resolve())
    with tempfile.TemporaryDirectory(prefix="simulate.") as folder:
        folder = Path(folder)

        def run(*args, stdin=""):
            before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            subprocess.run([analyze, *map(str, args)], input=stdin, text=True, check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            return cpu, time.monotonic() - began

        def job(name, ranks, kernels):
            trace = folder / f"{name}.json"
            with open(trace, "w") as out:
                out.write('{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"GPU"}],"traceEvents":[{}')
                for at in range(kernels):
                    args = {"External id": at, "correlation": at}
                    start = 10 * at
                    for event in (
                        {"cat": "cpu_op", "name": f"aten::op{at % 40}", "pid": 1, "tid": 1, "ts": start, "dur": 9},
                        {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": start + 2, "dur": 5},
                        {"cat": "kernel", "name": f"kernel{at % 50}", "pid": 0, "tid": 7, "ts": start + 8, "dur": 9},
                    ):
                        more = {"device": 0, "stream": 7} if event["cat"] == "kernel" else {}
                        out.write("," + json.dumps({"ph": "X", "args": {**args, **more}, **event}))
                out.write("]}")
            made = folder / name
            run("import", trace, "-o", made / "rank=0")
            for rank in range(1, ranks):
                shutil.copytree(made / "rank=0", made / f"rank={rank}")
            return made

        def task(job, ranks, catalog=None):
            parts = folder / f"parts.{time.monotonic_ns()}"
            of = {"job": str(job), "ranks": ranks, "parts": str(parts)}
            if catalog:
                of["catalog"] = str(catalog)
                run("rank-task", "--write-catalog", stdin=json.dumps(of))
            runs = [run("rank-task", stdin=json.dumps(of))[0] for _ in range(2)]
            made = sum(file.stat().st_size for file in parts.rglob("*") if file.is_file())
            return runs[0], made, parts

        few = 50
        small, wide = job("small", 1, few), job("wide", many, few)
        large, larger = job("large", 1, rows // 3), job("larger", 4, rows // 3)
        of_small = min(task(small, [0])[0] for _ in range(3))
        of_wide = min(task(wide, [0])[0] for _ in range(3))
        pair = job("pair", 2, few)
        of_pair, of_catalog = (min(task(of, [0], folder / "catalog")[0] for _ in range(5)) for of in (pair, wide))
        of_large, part_bytes, _ = task(large, [0])
        of_larger = task(larger, [0])[0]
        stored = sum(file.stat().st_size for file in large.rglob("*") if file.is_file())
        open_rank = max(0.0, (of_wide - of_small) / (many - 1))
        verify_row = max(0.0, (of_larger - of_large - 3 * open_rank) / (3 * rows))
        _, _, parts = task(wide, list(range(many)))
        merged = run("report", wide, "--parts", parts, "--json", "/dev/null")[0]
        _, _, parts = task(small, [0])
        merged_one = run("report", small, "--parts", parts, "--json", "/dev/null")[0]
        return {
            "task_start_s": round(of_small, 3),
            "open_rank_s": round(open_rank, 5),
            "verify_row_s": float(f"{verify_row:.3g}"),
            "catalog_rank_s": float(f"{max(0.0, of_catalog - of_pair) / (many - 2):.3g}"),
            "part_row_s": float(f"{max(0.0, of_large - of_small) / rows - verify_row:.3g}"),
            "row_bytes": round(stored / rows, 1),
            "part_bytes": part_bytes,
            "merge_rank_s": round(max(0.0, merged - merged_one) / (many - 1), 5),
        }


def shown_bytes(count):
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} PB"


def shown_time(seconds):
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["measure"])
    parser.add_argument("analyze", nargs="?", default="target/debug/trueno-analyze")
    parser.add_argument("--ranks", type=int, default=10_000)
    parser.add_argument("--rows", type=float, default=1e10, help="of the whole job")
    parser.add_argument("--cores", type=int, action="append")
    parser.add_argument("--ranks-per-task", type=int, action="append")
    parser.add_argument("--no-catalog", action="store_true", help="tasks open the whole job")
    parser.add_argument("--losses", type=float, default=0.01, help="executors lost, for each core and hour")
    parser.add_argument("--seed", type=int, default=55)
    args = parser.parse_args()
    if args.what == "measure":
        json.dump(measure(args.analyze), sys.stdout, indent=2)
        print()
        return
    print("| cores | ranks per task | tasks | wall | last tenth of tasks | CPU | opening | read | lost tasks |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for cores in args.cores or [64, 1024]:
        for ranks_per_task in args.ranks_per_task or [4, 16, 40, 64, 256]:
            has_catalog = not args.no_catalog
            found = simulate(
                args.ranks, args.rows, cores, ranks_per_task, args.losses, args.seed, MEASURED, has_catalog
            )
            print(
                f"| {cores:,} | {ranks_per_task} | {found['tasks']:,} | {shown_time(found['wall_s'])} "
                f"| {shown_time(found['straggling_s'])} | {found['cpu_h']:,.0f} h | {found['opening_share']:.0%} "
                f"| {shown_bytes(found['read_bytes'])} | {found['lost_tasks']} |"
            )
    merge_s = args.ranks * MEASURED["merge_rank_s"]
    parts_bytes = args.ranks * MEASURED["part_bytes"]
    print(f"\nMerging: {shown_time(merge_s)} on one core, {shown_bytes(parts_bytes)} of parts.")


if __name__ == "__main__":
    main()
