#!/usr/bin/env python3
"""Is a prediction true? Slows a brick of the decode example down and speeds it up for real, and
compares the end-to-end change with what `report --what-if` predicted.

    cargo build --release -p trueno-decode --example decode
    cargo build -p trueno-analyze -p trueno-plugin-critical-path
    plugins/critical_path/benches/what_if_is_true.py [ROUNDS] [--case CASE] [--record FOLDER | --from FOLDER]

In every round (default 25), for each brick and each case below, the plain program and the one that does the brick's
work three times run one after the other, in turns. `--record` only records (what needs a machine that does nothing
else), `--from` only predicts and compares.

How many times as long the brick then really took (its second time finds warm caches) is read from both runs, for that
is what is assumed. Slower: from the plain run, with the brick so many times as long, the wall time of the slow one is
predicted; faster: the other way round. Shown are medians over the rounds; the error is that of the rounds' errors, in
per cent of the measured wall time, with their quartiles. `others` is by how much the bricks that nobody touched took
another time than before, in per cent of the same wall time: weights that were still in a cache before are not any
more, or are now. A prediction takes them as they were, and cannot know better.

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
LARGE = "--layers 4 --dim 256 --heads 4 --ffn 512 --vocab 1024 --prompt 16 --tokens 48"
# Without SIMD, so that what a thread does for an attention head takes much longer than waking the thread.
SMALL = "--layers 2 --dim 128 --heads 4 --ffn 256 --vocab 256 --prompt 160 --tokens 64 --backend scalar"
PROJECTIONS = ["QkvProjection", "DownProjection"]
CASES = {
    "simd": (f"{LARGE} --threads 1", [*PROJECTIONS, "AttentionScore", "AttentionOutput", "LmHead"]),
    "scalar": (f"{SMALL} --threads 1", [*PROJECTIONS, "AttentionScore", "AttentionOutput", "LmHead"]),
    "scalar, 2 threads": (f"{SMALL} --threads 2", [*PROJECTIONS, "AttentionScore", "AttentionOutput", "AttentionSoftmax"]),
}


def record(into: Path, options: str, slow: str | None) -> None:
    command = [DECODE, *options.split(), "--overwrite", "--out", into]
    if slow:
        command += ["--slow", slow]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wall_ns(run: Path) -> int:
    return json.loads((run / "run.json").read_text())["wall_ns"]


def predicted(run: Path, rule: str) -> int:
    command = [ANALYZE, "report", run, "--plugin-id", "critical_path", "--what-if", rule, "--json", "-"]
    command += ["--set", "critical_path.opportunity_names=0"]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for section in json.loads(out)["sections"]:
        for table in section["tables"]:
            if table["name"] == "what_if":
                names = [column["name"] for column in table["columns"]]
                return table["rows"][0][names.index("predicted_ns")]
    raise SystemExit(f"{run}: no prediction")


def bricks_ns(run: Path, brick: str) -> tuple[int, int]:
    """Of a brick, and of all others."""
    sql = f"SELECT name = '{brick}' AS it, SUM(dur_ns) AS ns FROM bricks WHERE kind = 'brick' GROUP BY it"
    command = [ANALYZE, "query", run, sql, "--format", "json"]
    rows = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    found = {row["it"]: row["ns"] for row in rows}
    return found[True], found[False]


def pair(folder: Path, case: str, brick: str, turn: int) -> tuple[Path, Path]:
    return tuple(folder / f"{case}-{brick}-{turn}-{name}" for name in ("plain", "slow"))


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
        for case, (options, bricks) in CASES.items():
            for brick in bricks:
                plain, slow = pair(folder, case, brick, turn)
                both = [(plain, None), (slow, f"{brick}={REPEAT}")]
                # In turns first, so that a machine that grows slower makes neither of them slower.
                for into, slowed in both if turn % 2 == 0 else reversed(both):
                    record(into, options, slowed)


def compare(folder: Path, case: str, brick: str) -> float:
    """Prints a line for slower and one for faster; the larger error."""
    found: dict[str, list[tuple[int, int, int, int]]] = {"slower": [], "faster": []}
    factors: list[float] = []
    turn = 0
    while (runs := pair(folder, case, brick, turn))[1].is_dir():
        plain, slow = runs
        (plain_ns, plain_others_ns), (slow_ns, slow_others_ns) = (bricks_ns(run, brick) for run in runs)
        factor = slow_ns / plain_ns
        factors.append(factor)
        others_ns = slow_others_ns - plain_others_ns
        found["slower"].append((wall_ns(plain), predicted(plain, f"{brick}={factor}"), wall_ns(slow), others_ns))
        found["faster"].append((wall_ns(slow), predicted(slow, f"{brick}={1 / factor}"), wall_ns(plain), -others_ns))
        turn += 1
    worst = 0.0
    for change, rows in found.items():
        before, guess, after = (median(row[at] for row in rows) / 1e6 for at in range(3))
        others = median(100 * row[3] / row[2] for row in rows)
        errors = [100 * (row[1] - row[2]) / row[2] for row in rows]
        low, error, high = quantiles(errors, n=4, method="inclusive")
        worst = max(worst, abs(error))
        print(f"{case:<17} {brick:<16} {median(factors):>6.2f} {change:<6} {before:>9.2f} {guess:>12.2f} {after:>11.2f} {error:>+6.1f}%  {low:>+6.1f} … {high:<+6.1f} {others:>+6.1f}%", flush=True)
    return worst


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("rounds", type=int, nargs="?", default=25)
    arguments.add_argument("--case", choices=list(CASES), action="append", help="only this one; may be given again")
    arguments.add_argument("--record", type=Path, metavar="FOLDER")
    arguments.add_argument("--from", type=Path, metavar="FOLDER", dest="source")
    asked = arguments.parse_args()
    if asked.rounds < 2:
        arguments.error("ROUNDS: at least 2 (for quartiles)")
    for case in [case for case in CASES if case not in (asked.case or CASES)]:
        del CASES[case]
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
        print(f"{'case':<17} {'brick':<16} {'factor':>6} {'change':<6} {'before ms':>9} {'predicted ms':>12} {'measured ms':>11} {'error':>7}  {'quartiles':<15} {'others':>7}")
        worst = {case: max(compare(folder, case, brick) for brick in bricks) for case, (_, bricks) in CASES.items()}
    for case, error in worst.items():
        print(f"{case}: largest median error {error:.1f} % of wall")


main()
