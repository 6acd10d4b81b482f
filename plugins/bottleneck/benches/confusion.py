#!/usr/bin/env python3
"""How often the plugin bottleneck is right about runs of which the answer is known.

    cargo run --release -p trueno-corpus --example bottleneck_corpus -- CORPUS [--validation | --test]
    python3 plugins/bottleneck/benches/confusion.py CORPUS TRUENO-ANALYZE [--plugin-dir DIR]

A run with a truth is right when its first finding is of that class (of several: one of them, and all are found); a near miss
when no finding is of the class it might be taken for, or, where that is `any`, when there is no finding.

What was said when each corpus was asked about for the first time: 90.4 % right of the 73 on which the rules were made; 69 of 85
(81.2 %) of `--validation`, 77 (90.6 %) after it was recorded again without interruptions and with the roofs of four loops set
right; 74 of 76 (97.4 %) of `--test`, made after the rules had been mended on the second. Wrong there: copies of two devices
under a wait that names no stream (mended since), and a chase through 40 MB, which caches partly hold: without counters of the CPU it is called slow, *or* waiting.

Prints the matrix of truths by first findings, the wrong ones with what was said, and exits 1 below 95 %.
"""
import json, os, subprocess, sys

corpus, command, *more = sys.argv[1:]
labels = [line.rstrip("\n").split("\t") for line in open(os.path.join(corpus, "labels.tsv"))]
matrix, wrong, right = {}, [], 0
for name, truth, near in labels:
    run = os.path.join(corpus, name + ".run")
    trace = os.path.join(corpus, name + ".json")
    if os.path.exists(trace):
        subprocess.run([command, "import", trace, "-o", run, "--overwrite"], check=True, capture_output=True)
    out = subprocess.run([command, "report", run, "--plugin-id", "bottleneck", "--json", "-", *more], capture_output=True, text=True)
    section = next(s for s in json.loads(out.stdout)["sections"] if s["plugin"] == "bottleneck")
    assert section["status"] == "ok", section
    table = next(t for t in section["tables"] if t["name"] == "bottlenecks")
    columns = [column["name"] for column in table["columns"]]
    rows = [dict(zip(columns, row)) for row in table["rows"]]
    first = rows[0]["class"] if rows else "none"
    said = [row["class"] for row in rows]
    truths = truth.split("+")
    if truth == "-":
        is_right = not said if near == "any" else near not in said
    else:
        is_right = first in truths and set(truths) <= set(said)
    right += is_right
    if truth != "-":
        matrix.setdefault(truth, {}).setdefault(first, 0)
        matrix[truth][first] += 1
    else:
        key = "near " + near
        say = "not " + near if is_right else near if near != "any" else first
        matrix.setdefault(key, {}).setdefault(say, 0)
        matrix[key][say] += 1
    if not is_right:
        wrong.append((name, truth if truth != "-" else "not " + near, [row["sentence"] for row in rows[:3]]))
for truth in sorted(matrix):
    print(f"{truth:28} " + ", ".join(f"{said} {n}" for said, n in sorted(matrix[truth].items())))
for name, truth, said in wrong:
    print(f"WRONG {name} ({truth}): {said or 'nothing found'}")
print(f"{right} of {len(labels)} right ({100 * right / len(labels):.1f} %)")
sys.exit(right < 0.95 * len(labels))
