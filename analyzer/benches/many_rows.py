#!/usr/bin/env python3
"""What `divergence` and `memory` cost on many rows, in units of one group-by of the same rows.

    cargo build --workspace --lib --bins --examples
    python3 analyzer/benches/many_rows.py [--rounds N]

The examples `many_checksums` and `many_allocations` record 1 M and 10 M rows into a folder for temporary files (2 GB),
and it is removed at the end. `divergence` holds a run against itself, against one in which one checksum in ten thousand
differs, and against one in which all do. The unit is the CPU time of a `SELECT` that counts and sums the rows by a text,
the least of five. Printed are wall, CPU, the peak of memory, and CPU in units, at the end with several rounds the least and
the most of each, and the exponent by which CPU and memory grow from 1 M to 10 M rows.
"""

import argparse
import os
import tempfile

from commands import growth, spread
from report import PROGRAM, measured

EXAMPLES = os.environ.get("EXAMPLES", "target/debug/examples")
ROWS = [1_000_000, 10_000_000]
CHECKSUMS = "SELECT name, COUNT(*) AS n, SUM(elements * 1) AS elements FROM checksums GROUP BY name"
ALLOCATIONS = "SELECT tag, COUNT(*) AS n, SUM(bytes * 1) AS bytes FROM allocations GROUP BY tag"


def record(folder, rows):
    to = os.path.join(folder, str(rows))
    os.mkdir(to)
    for example in ["many_checksums", "many_allocations"]:
        measured(os.path.join(EXAMPLES, example), to, str(rows))
    return os.path.join(to, "base.run")


def table(base):
    """Measures everything once: wall, CPU, memory and units by case."""
    folder = os.path.dirname(base)
    allocations = os.path.join(folder, "allocations.run")
    divergence = ["--baseline", base, "--plugin-id", "divergence"]
    cases = [
        ("divergence, equal", CHECKSUMS, base, divergence),
        ("divergence, few", CHECKSUMS, os.path.join(folder, "big.run"), divergence),
        ("divergence, all", CHECKSUMS, os.path.join(folder, "other.run"), divergence),
        ("memory", ALLOCATIONS, allocations, ["--plugin-id", "memory"]),
    ]
    units = {sql: min(measured(PROGRAM, "query", run, sql)[1] for _ in range(5)) for _, sql, run, _ in cases}
    print(f"{folder}: units {units[CHECKSUMS]:.2f} and {units[ALLOCATIONS]:.2f} CPU s")
    print(f"{'':<20}{'wall s':>8}{'CPU s':>8}{'GB':>7}{'units':>8}")
    rows = {}
    for name, sql, run, options in cases:
        wall, cpu, peak = measured(PROGRAM, "report", run, *options)
        rows[name] = (wall, cpu, peak, cpu / units[sql])
        print(f"{name:<20}{wall:8.2f}{cpu:8.2f}{peak:7.2f}{cpu / units[sql]:8.1f}", flush=True)
    return rows


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=1)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rounds = {record(folder, rows): [] for rows in ROWS}
        for number in range(given.rounds):
            print(f"round {number + 1}")
            for base in rounds:
                rounds[base].append(table(base))
        if given.rounds > 1:
            for base in rounds:
                spread(base, rounds[base])
        growth(*rounds.items())


if __name__ == "__main__":
    main()
