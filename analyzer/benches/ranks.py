#!/usr/bin/env python3
"""What a report over a job of many ranks costs: memory, which must not grow with the job, and time.

    cargo build --workspace --lib --bins --examples
    python3 analyzer/benches/ranks.py [--ranks 16,64,256] [--tokens 372]

The example `decode` records one run of 1 M rows, which is every rank of the job (as links: 256 ranks take the room of
one). Printed for each number of ranks: wall, CPU, the peak of memory, and sections that are not there, with the
reason. Plugins that need all rows at once say so above `--max-rows` of the command.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

PROGRAM = os.environ.get("TRUENO_ANALYZE", "target/debug/trueno-analyze")
DECODE = os.environ.get("DECODE", "target/debug/examples/decode")


def measured(command):
    """Output, wall and CPU seconds and the peak in GB of one child."""
    with tempfile.TemporaryFile() as out:
        began = time.monotonic()
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        wall = time.monotonic() - began
        out.seek(0)
        if os.waitstatus_to_exitcode(status) != 0:
            sys.exit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
        return out.read(), wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e9


def link(source, to):
    """A folder of links to the files of another."""
    for folder, _, names in os.walk(source):
        into = os.path.join(to, os.path.relpath(folder, source))
        os.makedirs(into, exist_ok=True)
        for name in names:
            os.link(os.path.join(folder, name), os.path.join(into, name))


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--ranks", default="16,64,256")
    arguments.add_argument("--tokens", default="372", help="steps of a rank, 2,750 rows each")
    arguments.add_argument("--folder", help="where the job is made, and left")
    given, further = arguments.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = given.folder or folder
        run = os.path.join(folder, "one.run")
        if not os.path.exists(run):
            shape = "--layers 48 --dim 16 --heads 2 --ffn 32 --vocab 32 --prompt 1"
            what = "--checksums off --tiles off --level kernel"
            measured([DECODE, "--out", run, "--tokens", given.tokens, *shape.split(), *what.split()])
        print(f"{'ranks':>6}{'wall s':>9}{'CPU s':>9}{'GB':>7}  not there")
        for ranks in map(int, given.ranks.split(",")):
            job = os.path.join(folder, f"{ranks}.run")
            if not os.path.exists(job):
                for rank in range(ranks):
                    link(run, os.path.join(job, f"rank={rank}"))
            said, wall, cpu, peak = measured([PROGRAM, "report", job, "--json", "-", *further])
            sections = json.loads(said)["sections"]
            left = [section["plugin"] for section in sections if section["status"] != "ok"]
            print(f"{ranks:>6}{wall:9.1f}{cpu:9.1f}{peak:7.2f}  {', '.join(left)}", flush=True)


if __name__ == "__main__":
    main()
