#!/usr/bin/env python3
"""Confusion of bottleneck classes over real traces that were labelled by hand.

    python3 tests/real_traces/confusion.py target/debug/trueno-analyze FOLDER [--facts]

FOLDER holds the public traces that `labels.toml` names; those that are not there are passed over and listed.
Counted are findings of medium severity and above, by their confidence: true (the label has the class), false (it has
not), and missed (the label asks for it, and it is not there). Exits with 1 where a finding of high confidence is
false, or more than 5 % of those of medium confidence.

`--facts` prints what labels rest on, from the rows alone: wall, time of each device by kind, its longest idle stretch.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib

LABELS = pathlib.Path(__file__).with_name("labels.toml")
COUNTED = ("medium", "high", "critical")


def said(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def rows(table):
    names = [column["name"] if isinstance(column, dict) else column for column in table["columns"]]
    return [dict(zip(names, row)) for row in table["rows"]]


def verdicts(program, run):
    """Class and confidence of each finding that counts; a part of one is not counted beside the whole."""
    report = json.loads(said(program, "report", run, "--plugin-id", "bottleneck", "--json", "-"))
    for section in report["sections"]:
        for table in section.get("tables", []):
            if section["plugin"] == "bottleneck" and table["name"] == "bottlenecks":
                for row in rows(table):
                    if row["severity"] in COUNTED and row["scope_kind"] != "category":
                        yield row["class"], row["confidence"], row["sentence"]


def union_ns(intervals):
    total, end = 0, None
    for start, stop in sorted(intervals):
        if end is None or start > end:
            total, end = total + stop - start, stop
        elif stop > end:
            total, end = total + stop - end, stop
    return total


def facts(program, run):
    wall = json.loads(said(program, "query", run, "SELECT wall_ns FROM run", "--format", "json"))
    work = {}
    for table, name in (("kernels", "name"), ("transfers", "direction")):
        sql = f"SELECT device, CAST({name} AS VARCHAR) AS name, start_ns, dur_ns FROM {table} WHERE device IS NOT NULL"
        answer = json.loads(said(program, "query", run, sql, "--format", "json"))
        for row in answer if isinstance(answer, list) else rows(answer):
            if row["dur_ns"] is None or row["start_ns"] is None:
                continue
            kind = "copy" if table == "transfers" else "kernel"
            if kind == "kernel" and "nccl" in (row["name"] or "").lower():
                kind = "communication"
            times = (row["start_ns"], row["start_ns"] + row["dur_ns"])
            work.setdefault(row["device"], {}).setdefault(kind, []).append(times)
    print(f"    wall {wall}")
    for device, kinds in sorted(work.items()):
        everything = sorted(times for all_times in kinds.values() for times in all_times)
        longest, end = 0, everything[0][0]
        for start, stop in everything:
            longest, end = max(longest, start - end), max(end, stop)
        shown = ", ".join(f"{kind} {union_ns(times)}" for kind, times in sorted(kinds.items()))
        span = end - everything[0][0]
        print(f"    device {device}: span {span}, busy {union_ns(everything)}, {shown}, longest idle {longest} ns")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("program")
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--facts", action="store_true")
    given = arguments.parse_args()
    counts = {}
    missed, absent = [], []
    for label in tomllib.loads(LABELS.read_text())["trace"]:
        trace = given.folder / label["file"]
        if not trace.is_file():
            absent.append(label["file"])
            continue
        print(label["file"])
        with tempfile.TemporaryDirectory() as folder:
            run = pathlib.Path(folder) / "trace.run"
            said(given.program, "import", trace, "-o", run)
            if given.facts:
                facts(given.program, run)
                continue
            found = list(verdicts(given.program, run))
        for name, confidence, sentence in found:
            is_true = name in label["found"] + label["may_find"]
            counts.setdefault(confidence, {True: 0, False: 0})[is_true] += 1
            print(f"    {'true ' if is_true else 'FALSE'} {confidence:<6} {name}: {sentence}")
        for name in label["found"]:
            if name not in [row[0] for row in found]:
                missed.append(f"{label['file']}: {name}")
                print(f"    MISSED {name}")
    if given.facts:
        return 0
    print(f"\n{'confidence':<12}{'true':>6}{'false':>7}")
    for confidence in ("high", "medium", "low"):
        both = counts.get(confidence, {True: 0, False: 0})
        print(f"{confidence:<12}{both[True]:>6}{both[False]:>7}")
    print(f"missed {len(missed)}, not there {len(absent)}")
    for file in absent:
        print(f"    {file}")
    high, medium = counts.get("high", {}), counts.get("medium", {})
    too_many = medium.get(False, 0) > 0.05 * sum(medium.values())
    return int(bool(high.get(False)) or too_many)


if __name__ == "__main__":
    sys.exit(main())
