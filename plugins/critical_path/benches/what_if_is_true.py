#!/usr/bin/env python3
"""Is a prediction true? Slows a brick of the decode example down and speeds it up for real, and
compares the end-to-end change with what `report --what-if` predicted.

    cargo build --release -p trueno-recorder --example decode
    cargo build -p trueno-analyze -p trueno-plugin-critical-path
    plugins/critical_path/benches/what_if_is_true.py [ROUNDS] [--record FOLDER | --from FOLDER]

In every round (default 25), for each brick and thread count, the plain program and the one that does the brick's
work three times run one after the other. On two threads it computes without SIMD, so that what a thread does for an
attention head takes much longer than waking the thread. `--record` only records (what needs a machine that does
nothing else), `--from` only predicts and compares.

How many times as long the brick then really took (its second time finds warm caches) is read from both runs, for that
is what is assumed. Slower: from the plain run, with the brick so many times as long, the wall time of the slow one is
predicted; faster: the other way round. Shown are medians over the rounds; the error is that of the rounds' errors, in
per cent of the measured wall time, with their quartiles.

While programs are recorded, a loop of the lowest priority runs on every core (where the system has such a class). A
core that falls asleep while its thread waits makes the bricks after the wait slower, by up to 30 % on a virtual
machine, and the more so the longer the wait: another change than the one asked about.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).resolve().parents[3]
DECODE = ROOT / "target/release/examples/decode"
ANALYZE = Path(os.environ.get("TRUENO_ANALYZE", ROOT / "target/debug/trueno-analyze"))
REPEAT = 3
MODELS = {
    1: "--layers 4 --dim 256 --heads 4 --ffn 512 --vocab 1024 --prompt 16 --tokens 48",
    2: "--layers 2 --dim 128 --heads 4 --ffn 256 --vocab 256 --prompt 160 --tokens 64 --backend scalar",
}
BRICKS = {
    1: ["QkvProjection", "AttentionScore", "AttentionOutput", "DownProjection", "LmHead"],
    2: ["QkvProjection", "AttentionScore", "AttentionSoftmax", "AttentionOutput", "DownProjection"],
}


def record(into: Path, threads: int, slow: str | None) -> None:
    command = [DECODE, *MODELS[threads].split(), "--threads", str(threads), "--overwrite", "--out", into]
    if slow:
        command += ["--slow", slow]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wall_ns(run: Path) -> int:
    return json.loads((run / "run.json").read_text())["wall_ns"]


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


def pair(folder: Path, threads: int, brick: str, turn: int) -> tuple[Path, Path]:
    return tuple(folder / f"{threads}-{brick}-{turn}-{name}" for name in ("plain", "slow"))


def stay_awake(core: int) -> None:
    os.sched_setaffinity(0, {core})
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    while True:
        pass


def record_awake(folder: Path, rounds: int) -> None:
    cores = os.sched_getaffinity(0) if hasattr(os, "SCHED_IDLE") else ()
    loops = [multiprocessing.Process(target=stay_awake, args=(core,), daemon=True) for core in cores]
    for loop in loops:
        loop.start()
    try:
        record_all(folder, rounds)
    finally:
        for loop in loops:
            loop.terminate()


def record_all(folder: Path, rounds: int) -> None:
    for turn in range(rounds):
        for threads, bricks in BRICKS.items():
            for brick in bricks:
                plain, slow = pair(folder, threads, brick, turn)
                record(plain, threads, None)
                record(slow, threads, f"{brick}={REPEAT}")


def compare(folder: Path, threads: int, brick: str) -> float:
    """Prints a line for slower and one for faster; the largest error."""
    found: dict[str, list[tuple[int, int, int]]] = {"slower": [], "faster": []}
    factors: list[float] = []
    turn = 0
    while (runs := pair(folder, threads, brick, turn))[1].is_dir():
        plain, slow = runs
        factor = brick_ns(slow, brick) / brick_ns(plain, brick)
        factors.append(factor)
        found["slower"].append((wall_ns(plain), predicted(plain, f"{brick}={factor}"), wall_ns(slow)))
        found["faster"].append((wall_ns(slow), predicted(slow, f"{brick}={1 / factor}"), wall_ns(plain)))
        turn += 1
    worst = 0.0
    for change, rows in found.items():
        before, guess, after = (median(row[at] for row in rows) / 1e6 for at in range(3))
        errors = [100 * (row[1] - row[2]) / row[2] for row in rows]
        low, error, high = quantiles(errors, n=4, method="inclusive")
        worst = max(worst, abs(error))
        print(f"{threads:>7}  {brick:<16} {median(factors):>6.2f} {change:<7} {before:>10.2f} {guess:>12.2f} {after:>11.2f} {error:>+6.1f}%  {low:+.1f} … {high:+.1f}%", flush=True)
    return worst


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("rounds", type=int, nargs="?", default=25)
    arguments.add_argument("--record", type=Path, metavar="FOLDER")
    arguments.add_argument("--from", type=Path, metavar="FOLDER", dest="source")
    asked = arguments.parse_args()
    if asked.rounds < 2:
        arguments.error("ROUNDS: at least 2 (for quartiles)")
    if asked.record:
        asked.record.mkdir(parents=True, exist_ok=True)
        record_awake(asked.record, asked.rounds)
        return
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as own:
        folder = asked.source or Path(own)
        if not asked.source:
            # All recordings first: the analyses in between would disturb them.
            record_awake(folder, asked.rounds)
        print(f"{'threads':>7}  {'brick':<16} {'factor':>6} {'change':<7} {'before ms':>10} {'predicted ms':>12} {'measured ms':>11} {'error':>7}  quartiles")
        worst = max(compare(folder, threads, brick) for threads, bricks in BRICKS.items() for brick in bricks)
    print(f"largest median error {worst:.1f} % of wall")


main()
