#!/usr/bin/env python3
"""Does work at the roof come out at the roof? From the ceilings measured to the efficiency reported.

    cargo build --release -p trueno-ceilings --example at_the_roof
    cargo build -p trueno-analyze -p trueno-plugin-roofline
    plugins/roofline/benches/at_the_roof.py [ROUNDS [--small-pages]]

Each round (default 3) measures the machine, records a triad in memory and a loop of fused multiplications and
additions in registers, in f32 and f64, and reads the plugin's table. `all calls` is what the report says; `best call` is the fastest
call against the same roof: a ceiling is a best one, too. Shown are medians over the rounds. Ends with 1 if a kernel
misses its roof by more than 15 % with all its calls.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[3]
RECORD = Path(os.environ.get("AT_THE_ROOF", ROOT / "target/release/examples/at_the_roof"))
ANALYZE = Path(os.environ.get("TRUENO_ANALYZE", ROOT / "target/debug/trueno-analyze"))
NEAR = 0.15


def out(*command) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def points(run: Path) -> list[dict]:
    report = json.loads(out(ANALYZE, "report", run, "--plugin-id", "roofline", "--json", "-"))
    tables = next(s["tables"] for s in report["sections"] if s["plugin"] == "roofline")
    table = next(table for table in tables if table["name"] == "points")
    names = [column["name"] for column in table["columns"]]
    sql = "SELECT name, backend, MIN(dur_ns) AS ns, COUNT(*) AS calls FROM kernels GROUP BY name, backend"
    best = json.loads(out(ANALYZE, "query", run, sql, "--format", "json"))
    fastest = {(row["name"], row["backend"]): row["ns"] for row in best}
    found = [dict(zip(names, row)) for row in table["rows"]]
    for point in found:
        mean_ns = point["dur_ns"] / point["calls"]
        ns = fastest[point["name"], point["backend"]]
        # The plugin says none where most calls lie above the roof: these do one thing, and are all alike.
        point["efficiency_share"] = point["flops_per_s"] / point["attainable_flops_per_s"]
        point["best_share"] = point["efficiency_share"] * mean_ns / ns
    return found


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    found: dict[tuple[str, str], list[dict]] = {}
    with tempfile.TemporaryDirectory() as folder:
        runs = [Path(folder) / f"{turn}.run" for turn in range(rounds)]
        # All recordings first: the analyses in between would disturb them.
        for run in runs:
            out(RECORD, "--out", run, *sys.argv[2:])
        for run in runs:
            for point in points(run):
                found.setdefault((point["name"], point["backend"]), []).append(point)
    far = 0
    print(f"{'kernel':<8} {'backend':<10} {'bound by':<8} {'reached':>14} {'all calls':>9} {'best call':>9}")
    for (name, backend), all_points in sorted(found.items()):
        share, best = (median(p[key] for p in all_points) for key in ("efficiency_share", "best_share"))
        rate, unit = ("flops_per_s", "GFLOP/s") if name.startswith("fma") else ("bytes_per_s", "GB/s")
        reached = f"{median(p[rate] for p in all_points) / 1e9:.1f} {unit}"
        bound = all_points[0]["bound_by"]
        print(f"{name:<8} {backend:<10} {bound:<8} {reached:>14} {share:>9.3f} {best:>9.3f}")
        far += abs(share - 1) > NEAR
    print(f"{far} of {len(found)} are more than {NEAR:.0%} away from their roof")
    return 1 if far else 0


if __name__ == "__main__":
    sys.exit(main())
