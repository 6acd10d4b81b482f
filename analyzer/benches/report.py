#!/usr/bin/env python3
"""What a report costs on a large run, in units of one group-by of the same run.

    cargo build --workspace --lib --bins --examples
    python3 analyzer/benches/report.py [RUN]

Without a run the example `decode` records one of 10 M rows (3.9 M bricks, 6.3 M kernels; 150 MB) into a folder for
temporary files, and it is removed at the end. The unit is the CPU time of `trueno-analyze query` with
`SELECT name, COUNT(*), SUM(dur_ns * 1) FROM kernels GROUP BY name`, the least of five: the product keeps it on the query
engine, where the plain sum, which is printed beside it, is made from columns as they are kept. Printed for each
plugin alone (what it reads of others runs with it) and for all of them: wall, CPU, the peak of memory, and CPU in
units. Other work on the machine moves all of it; further rounds show by how much (`--rounds`).
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

PROGRAM = os.environ.get("TRUENO_ANALYZE", "target/debug/trueno-analyze")
DECODE = os.environ.get("DECODE", "target/debug/examples/decode")
UNIT = "SELECT name, COUNT(*) AS n, SUM(dur_ns * 1) AS dur_ns FROM kernels GROUP BY name"
DIRECT = "SELECT name, COUNT(*) AS n, SUM(dur_ns) AS dur_ns FROM kernels GROUP BY name"
PLUGINS = ["sanity", "category", "device", "memory", "throughput", "tiles", "roofline", "critical_path", "bottleneck"]


def measured(*command):
    """Wall and CPU seconds, and the peak in GB."""
    began = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    wall = time.monotonic() - began
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{' '.join(command)}: {said.decode()}")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e9


def record(folder):
    run = os.path.join(folder, "large.run")
    shape = "--layers 48 --dim 16 --heads 2 --ffn 32 --vocab 32 --tokens 3720 --prompt 1"
    what = "--checksums off --tiles off --level kernel"
    measured(DECODE, "--out", run, *shape.split(), *what.split())
    return run


def report(run, rounds):
    for number in range(rounds):
        unit, direct = (min(measured(PROGRAM, "query", run, sql)[1] for _ in range(5)) for sql in (UNIT, DIRECT))
        print(f"round {number + 1}: unit {unit:.2f} CPU s, from columns as they are kept {direct:.2f}")
        print(f"{'':<16}{'wall s':>8}{'CPU s':>8}{'GB':>7}{'units':>8}")
        for plugin in PLUGINS + ["all"]:
            only = [] if plugin == "all" else ["--plugin-id", plugin]
            wall, cpu, peak = measured(PROGRAM, "report", run, *only)
            print(f"{plugin:<16}{wall:8.2f}{cpu:8.2f}{peak:7.2f}{cpu / unit:8.1f}", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("run", nargs="?")
    arguments.add_argument("--rounds", type=int, default=1)
    given = arguments.parse_args()
    if given.run:
        return report(given.run, given.rounds)
    with tempfile.TemporaryDirectory() as folder:
        report(record(folder), given.rounds)


if __name__ == "__main__":
    main()
