#!/usr/bin/env python3
"""Is a prediction true? Slows a brick of the decode example down and speeds it up for real, and
compares the end-to-end change with what `report --what-if` predicted.

    cargo build --release -p trueno-recorder --example decode
    cargo build -p trueno-analyze -p trueno-plugin-critical-path
    plugins/critical_path/benches/what_if_is_true.py [ROUNDS]

In every round (default 25), for each brick and thread count, the plain program and the one that does
the brick's work three times run one after the other. How many times as long the brick then really took (its second
time finds warm caches) is read from both runs, for that is what is assumed. Slower: from the plain run, with the
brick so many times as long, the wall time of the slow one is predicted; faster: the other way round. Shown are
medians over the rounds; the error is that of the rounds' errors, in per cent of the measured wall time.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[3]
DECODE = ROOT / "target/release/examples/decode"
ANALYZE = Path(os.environ.get("TRUENO_ANALYZE", ROOT / "target/debug/trueno-analyze"))
BRICKS = ["QkvProjection", "AttentionScore", "AttentionOutput", "DownProjection", "LmHead"]
REPEAT = 3
MODEL = "--layers 4 --dim 256 --heads 4 --ffn 512 --vocab 1024 --prompt 16 --tokens 48".split()


def record(into: Path, threads: int, slow: str | None) -> int:
    command = [DECODE, *MODEL, "--threads", str(threads), "--overwrite", "--out", into]
    if slow:
        command += ["--slow", slow]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return json.loads((into / "run.json").read_text())["wall_ns"]


def predicted(run: Path, rule: str) -> int:
    command = [ANALYZE, "report", run, "--only", "critical_path", "--what-if", rule, "--json", "-"]
    command += ["--set", "critical_path.opportunity_names=0"]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for section in json.loads(out)["sections"]:
        for table in section["tables"]:
            if table["name"] == "what_if":
                names = [column["name"] for column in table["columns"]]
                return table["rows"][0][names.index("predicted_ns")]
    raise SystemExit(f"{run}: no prediction")


def brick_ns(run: Path, brick: str) -> int:
    sql = f"SELECT SUM(dur_ns) AS ns FROM bricks WHERE name = '{brick}'"
    command = [ANALYZE, "query", run, sql, "--format", "json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)[0]["ns"]


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 25
    shared = Path("/dev/shm")
    worst = 0.0
    print(f"{'threads':>7}  {'brick':<16} {'factor':>6} {'change':<7} {'before ms':>10} {'predicted ms':>12} {'measured ms':>11} {'error':>7}")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        for threads in (1, 2):
            # All recordings first: the analyses in between would disturb them.
            pairs = {brick: [] for brick in BRICKS}
            for turn in range(rounds):
                for brick, done in pairs.items():
                    plain, slow = (Path(folder) / f"{name}{brick}{turn}" for name in ("plain", "slow"))
                    plain_ns = record(plain, threads, None)
                    slow_ns = record(slow, threads, f"{brick}={REPEAT}")
                    done.append((plain, plain_ns, slow, slow_ns))
            for brick, done in pairs.items():
                found: dict[str, list[tuple[int, int, int]]] = {"slower": [], "faster": []}
                factors: list[float] = []
                for plain, plain_ns, slow, slow_ns in done:
                    factor = brick_ns(slow, brick) / brick_ns(plain, brick)
                    factors.append(factor)
                    guess = predicted(plain, f"{brick}={factor}")
                    found["slower"].append((plain_ns, guess, slow_ns))
                    guess = predicted(slow, f"{brick}={1 / factor}")
                    found["faster"].append((slow_ns, guess, plain_ns))
                    shutil.rmtree(plain)
                    shutil.rmtree(slow)
                for change, rows in found.items():
                    before, guess, after = (median(row[at] for row in rows) for at in range(3))
                    error = median(100 * (row[1] - row[2]) / row[2] for row in rows)
                    worst = max(worst, abs(error))
                    print(f"{threads:>7}  {brick:<16} {median(factors):>6.2f} {change:<7} {before / 1e6:>10.2f} {guess / 1e6:>12.2f} {after / 1e6:>11.2f} {error:>+6.1f}%", flush=True)
    print(f"largest median error {worst:.1f} % of wall")


main()
