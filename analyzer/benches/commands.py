#!/usr/bin/env python3
"""What other commands than `report` cost on large runs, in units of one group-by of the same run.

    cargo build --workspace --lib --bins --examples
    python3 analyzer/benches/commands.py [RUN]

Without a run the example `decode` records one of 10 M rows, and one of 1 M beside it, into a folder for temporary
files, and they are removed at the end. The unit is that of `report.py`: the CPU time of a `SELECT name, COUNT(*),
SUM(dur_ns) FROM kernels GROUP BY name`, the least of five. Measured are the first screen of `tree` and of `tui` (from
the start until it ends by `q`, pressed as soon as it has drawn), both with the critical path and without, a query of
`timeline.spans`, `compare` of the run with itself, and exports. Printed are wall, CPU, the peak of memory, and CPU in units. Other work on the machine moves all of
it; with several rounds (`--rounds`) the least and the most of each are printed at the end, and for what was measured on
both runs the exponent by which CPU and memory grow from the smaller to the larger.
"""

import argparse
import fcntl
import math
import os
import pty
import struct
import sys
import tempfile
import termios
import threading
import time

from report import DECODE, PROGRAM, UNIT, measured

SCREENS = [["tree"], ["tree", "--path"], ["tree", "--no-path"], ["tui"], ["tui", "--no-path"]]
SPANS = "SELECT lane, COUNT(*) AS n, SUM(self_ns) AS self_ns FROM timeline.spans GROUP BY lane"
# Less than a screen, more than what sets a terminal up.
SCREEN_BYTES = 500
EXPORTS = ["chrome", "perfetto", "parquet"]


def record(folder, name, tokens):
    run = os.path.join(folder, name)
    shape = f"--layers 48 --dim 16 --heads 2 --ffn 32 --vocab 32 --tokens {tokens} --prompt 1"
    measured(DECODE, "--out", run, *shape.split(), *"--checksums off --tiles off --level kernel".split())
    return run


def in_terminal(*command):
    """As `measured`, of a command in a terminal in which `q` is pressed when it has drawn."""
    began = time.monotonic()
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        os.execv(command[0], command)

    def drain():
        shown = 0
        try:
            while output := os.read(terminal, 1 << 16):
                shown += len(output)
                # What is pressed before a screen is drawn is thrown away with the terminal's old mode.
                if shown > SCREEN_BYTES:
                    os.write(terminal, b"q")
        except OSError:
            # The terminal's other end is closed.
            pass

    reader = threading.Thread(target=drain)
    reader.start()
    _, status, used = os.wait4(child, 0)
    wall = time.monotonic() - began
    reader.join()
    os.close(terminal)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{' '.join(command)}: exit code {os.waitstatus_to_exitcode(status)}")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e9


def table(run, whole, folder):
    """Measures everything once: wall, CPU, memory and units by command."""
    unit = min(measured(PROGRAM, "query", run, UNIT)[1] for _ in range(5))
    print(f"{run}: unit {unit:.2f} CPU s")
    print(f"{'':<20}{'wall s':>8}{'CPU s':>8}{'GB':>7}{'units':>8}")
    rows = {}

    def row(name, figures):
        wall, cpu, peak = figures
        rows[name] = (wall, cpu, peak, cpu / unit)
        print(f"{name:<20}{wall:8.2f}{cpu:8.2f}{peak:7.2f}{cpu / unit:8.1f}", flush=True)

    for command in SCREENS:
        measure = in_terminal if command[0] == "tui" else measured
        row(" ".join(command), measure(PROGRAM, *command, run))
    row("query of spans", measured(PROGRAM, "query", run, SPANS))
    if whole:
        row("compare", measured(PROGRAM, "compare", run, run))
        for form in EXPORTS:
            with tempfile.TemporaryDirectory(dir=folder) as to:
                row(f"export {form}", measured(PROGRAM, "export", form, run, "-o", os.path.join(to, "exported")))
    return rows


def spread(run, rounds):
    print(f"{run}: least and most of {len(rounds)} rounds")
    print(f"{'':<20}{'CPU s':>16}{'GB':>14}{'units':>16}")
    for name in rounds[0]:
        _, cpu, peak, units = zip(*(rows[name] for rows in rounds))
        ranges = [f"{min(all_of):.{places}f}–{max(all_of):.{places}f}" for all_of, places in [(cpu, 2), (peak, 2), (units, 1)]]
        print(f"{name:<20}{ranges[0]:>16}{ranges[1]:>14}{ranges[2]:>16}")


def growth(smaller, larger):
    """By which power CPU and memory grow with the size of the run."""
    sizes = [os.path.getsize(os.path.join(run, "batches.jsonl")) for run, _ in (smaller, larger)]
    times_larger = math.log(sizes[1] / sizes[0])
    print(f"{'exponents':<20}{'CPU':>8}{'GB':>7}")
    for name in smaller[1][0]:
        least = [[min(rows[name][at] for rows in rounds) for at in (1, 2)] for _, rounds in (smaller, larger)]
        cpu, peak = (math.log(after / before) / times_larger for before, after in zip(*least))
        print(f"{name:<20}{cpu:8.2f}{peak:7.2f}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("run", nargs="?")
    arguments.add_argument("--rounds", type=int, default=1)
    arguments.add_argument("--screens", action="store_true", help="the first screens only")
    given = arguments.parse_args()
    whole = not given.screens
    with tempfile.TemporaryDirectory() as folder:
        if given.run:
            runs = [given.run]
        else:
            runs = [record(folder, "1m.run", 372), record(folder, "10m.run", 3720)]
        rounds = {run: [] for run in runs}
        for number in range(given.rounds):
            print(f"round {number + 1}")
            for run in runs:
                rounds[run].append(table(run, whole, folder))
        if given.rounds > 1:
            for run in runs:
                spread(run, rounds[run])
        if len(runs) == 2:
            growth(*rounds.items())


if __name__ == "__main__":
    main()
