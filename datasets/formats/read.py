#!/usr/bin/env python3
"""Reads a run with pyarrow alone, as docs/format.md says: rows and nanoseconds by name, as `trueno-analyze query` has them.

    python3 read.py RUN [TABLE]        # TABLE has the columns name and dur_ns: bricks, kernels, calls
"""

import csv
import json
import sys
from pathlib import Path

import pyarrow as pa
from pyarrow import ipc


def read(run: Path, table: str) -> pa.Table:
    form = json.loads((run / "run.json").read_text())["format"]
    if form["name"] != "trueno-run" or form["major"] != 1:
        sys.exit(f"{run}: {form}, this reader knows trueno-run of major version 1")
    segments = [ipc.open_file(path).read_all() for path in sorted((run / table).glob("*.arrow"))]
    # Dictionaries are local to their segment, and later versions have columns more.
    texts = [segment.unify_dictionaries() for segment in segments]
    return pa.concat_tables(texts, promote_options="default")


def main(run: str, table: str = "bricks") -> None:
    rows = read(Path(run), table)
    name, duration = rows["name"].cast(pa.string()), rows["dur_ns"]
    sums = pa.table({"name": name, "ns": duration}).group_by("name").aggregate([("ns", "count"), ("ns", "sum")])
    lines = [(row["name"], row["ns_count"], row["ns_sum"]) for row in sums.to_pylist()]
    lines.sort(key=lambda line: (-line[1], line[0]))
    csv.writer(sys.stdout).writerows([("name", "n", "ns"), *lines])


if __name__ == "__main__":
    main(*sys.argv[1:])
