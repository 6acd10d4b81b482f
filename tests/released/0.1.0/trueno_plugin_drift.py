# /// trueno-plugin
# id = "drift"
# version = "0.1.0"
# summary = "Whether bricks get slower while the program runs."
#
# [inputs]
# bricks = "SELECT name, dur_ns FROM bricks WHERE kind = 'brick' ORDER BY start_ns, id"
#
# [options]
# min_share = 0.2
#
# [tables.by_name]
# name = "text"
# drift_share = "f64"
# ///
from statistics import median

from trueno_plugin import Result


def run(tables, options):
    calls = {}
    for name, dur_ns in tables["bricks"].rows("name", "dur_ns"):
        calls.setdefault(name, []).append(dur_ns)
    result, columns = Result(), {"name": [], "drift_share": []}
    for name, ns in sorted(calls.items()):
        first, second = ns[: len(ns) // 2], ns[len(ns) // 2 :]
        before = median(first) if first else 0
        drift = median(second) / before - 1 if before > 0 else None
        if drift is not None and drift > options["min_share"]:
            result.finding("drift", "warning", f"{name} is slower by {drift:.0%} in its second half")
        columns["name"].append(name)
        columns["drift_share"].append(drift)
    return result.table("by_name", columns)
