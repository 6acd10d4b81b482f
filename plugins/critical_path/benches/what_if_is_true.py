#!/usr/bin/env python3
"""Is a prediction true? Slows a brick of the decode example down and speeds it up for real, and
compares the end-to-end change with what `report --what-if` predicted.

    cargo build --release -p trueno-recorder --example decode
    cargo build -p trueno-analyze -p trueno-plugin-critical-path
    plugins/critical_path/benches/what_if_is_true.py [RUNS]

For each brick, thread count and direction: of RUNS recordings (default 30) of either configuration,
taken in turns, the fastest counts. Slower: from the plain run, the brick times its repeat count. Faster: from the slow
run, divided by it. The error is in per cent of the measured wall time of the run that is predicted.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DECODE = ROOT / "target/release/examples/decode"
ANALYZE = ROOT / "target/debug/trueno-analyze"
BRICKS = ["QkvProjection", "AttentionScore", "AttentionOutput", "DownProjection", "LmHead"]
REPEAT = 3
MODEL = "--layers 4 --dim 256 --heads 4 --ffn 512 --vocab 1024 --prompt 16 --tokens 48".split()


def record(into: Path, threads: int, slow: str | None) -> int:
    command = [DECODE, *MODEL, "--threads", str(threads), "--overwrite", "--out", into]
    if slow:
        command += ["--slow", slow]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return json.loads((into / "run.json").read_text())["wall_ns"]


def fastest(folder: Path, runs: int, threads: int) -> dict[str, tuple[Path, int]]:
    """The fastest run of every configuration; they take turns, so that all meet the same machine."""
    best: dict[str, tuple[Path, int]] = {}
    for _ in range(runs):
        for brick in ["", *BRICKS]:
            now, kept = folder / "now.run", folder / f"{brick or 'plain'}{threads}.run"
            wall_ns = record(now, threads, f"{brick}={REPEAT}" if brick else None)
            if brick not in best or wall_ns < best[brick][1]:
                shutil.rmtree(kept, ignore_errors=True)
                now.rename(kept)
                best[brick] = (kept, wall_ns)
    return best


def predicted(run: Path, rule: str) -> int:
    command = [ANALYZE, "report", run, "--only", "critical_path", "--what-if", rule, "--json", "-"]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for section in json.loads(out)["sections"]:
        for table in section["tables"]:
            if table["name"] == "what_if":
                names = [column["name"] for column in table["columns"]]
                return table["rows"][0][names.index("predicted_ns")]
    raise SystemExit(f"{run}: no prediction")


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    worst = 0.0
    print(f"{'threads':>7}  {'brick':<16} {'change':<9} {'before ms':>10} {'predicted ms':>12} {'measured ms':>11} {'error':>7}")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for threads in (1, 2):
            best = fastest(folder, runs, threads)
            plain, plain_ns = best[""]
            for brick in BRICKS:
                slow, slow_ns = best[brick]
                for change, run, factor, before, after in [
                    ("slower", plain, str(REPEAT), plain_ns, slow_ns),
                    ("faster", slow, str(1 / REPEAT), slow_ns, plain_ns),
                ]:
                    guess = predicted(run, f"{brick}={factor}")
                    error = 100 * (guess - after) / after
                    worst = max(worst, abs(error))
                    print(f"{threads:>7}  {brick:<16} {change:<9} {before / 1e6:>10.2f} {guess / 1e6:>12.2f} {after / 1e6:>11.2f} {error:>+6.1f}%")
    print(f"largest error {worst:.1f} % of wall")


main()
