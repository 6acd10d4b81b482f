#!/usr/bin/env python3
"""Whether what the plugin bottleneck predicts is what the fix brings.

    cargo run --release -p trueno-corpus --example bottleneck_fixes -- FOLDER
    python3 plugins/bottleneck/benches/fix_is_true.py FOLDER TRUENO-ANALYZE [--plugin-dir DIR]

For each pair the first finding on the run before the fix, its predicted gain, and by how much the fixed program is shorter.
"""
import glob, json, os, subprocess, sys

folder, command, *more = sys.argv[1:]


def report(run):
    out = subprocess.run([command, "report", run, "--plugin-id", "bottleneck", "--json", "-", *more], capture_output=True, text=True)
    report = json.loads(out.stdout)
    section = next(s for s in report["sections"] if s["plugin"] == "bottleneck")
    table = next((t for t in section["tables"] if t["name"] == "top"), {"columns": [], "rows": []})
    names = [column["name"] for column in table["columns"]]
    return report["run"]["wall_ns"], [dict(zip(names, row)) for row in table["rows"]]


print(f"{'program':14} {'first finding':16} {'before':>9} {'after':>9} {'predicted':>10} {'came true':>10}   of wall")
for before in sorted(glob.glob(os.path.join(folder, "*.before.run"))):
    name = os.path.basename(before).split(".")[0]
    before_ns, found = report(before)
    after_ns, _ = report(before.replace(".before.", ".after."))
    first = found[0] if found else {"class": "none", "gain_ns": None}
    gain, true = first["gain_ns"], before_ns - after_ns
    said = "–" if gain is None else f"{gain / 1e6:.1f} ms"
    shares = "–" if gain is None else f"{100 * gain / before_ns:.0f} % against {100 * true / before_ns:.0f} %"
    print(f"{name:14} {first['class']:16} {before_ns / 1e6:6.1f} ms {after_ns / 1e6:6.1f} ms {said:>10} {true / 1e6:7.1f} ms   {shares}")
