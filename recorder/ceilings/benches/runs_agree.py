#!/usr/bin/env python3
"""Do runs of `trueno-record peaks` agree with each other?

    cargo build -p trueno-record
    recorder/ceilings/benches/runs_agree.py [RUNS [MORE OPTIONS OF peaks]]

Measures RUNS times (default 3), one after the other, and prints for each ceiling the largest over the smallest value,
its values, their spreads within each run, and in how many runs it was settled. Ends with 1 if a ceiling differs by more
than 10 %. On a machine that does nothing else: what shares its caches and memory, other virtual machines as well,
shows here.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
RECORD = Path(os.environ.get("TRUENO_RECORD", ROOT / "target/debug/trueno-record"))
NEAR = 1.10


def measured(options: list[str]) -> dict[str, dict]:
    with tempfile.TemporaryDirectory() as cache:
        command = [RECORD, "peaks", "--format", "json", "--no-keep", *options]
        environment = {**os.environ, "XDG_CACHE_HOME": cache}
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    key = ("level", "precision", "operation", "threads")
    return {" ".join(str(c[k]) for k in key if c[k] is not None): c for c in json.loads(done.stdout)["ceilings"]}


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    if runs < 2:
        print("at least two runs are needed to compare", file=sys.stderr)
        return 2
    found = [measured(sys.argv[2:]) for _ in range(runs)]
    near = 0
    print(f"{'ceiling':<24} {'max/min':>7}   {'G/s in each run':<{10 * runs}} {'spread':<{8 * runs}} settled")
    for name in found[0]:
        rows = [run[name] for run in found if name in run]
        values = [row["value"] for row in rows]
        ratio = max(values) / min(values) if len(rows) == runs else float("inf")
        near += ratio <= NEAR
        texts = "".join(f"{value / 1e9:10.1f}" for value in values)
        spreads = "".join(f"{row['spread']:7.1%} " for row in rows)
        settled = sum(row["settled"] for row in rows)
        print(f"{name:<24} {ratio:6.2f}{' ' if ratio <= NEAR else '*'}  {texts} {spreads} {settled} of {runs}")
    print(f"{near} of {len(found[0])} ceilings agree within {NEAR - 1:.0%} over {runs} runs")
    return 0 if near == len(found[0]) else 1


if __name__ == "__main__":
    sys.exit(main())
