#!/usr/bin/env python3
"""Repeats a Kineto trace: repeat_trace.py TRACE[.gz] COPIES OUT

Copy k lies k windows later; its correlations, external ids, flow ids and the numbers of its
ProfilerSteps are shifted as well, so that all links stay one to one. Metadata and the
profiler's own window stand once. One event per line, as decimal text: no time is rounded.
Then, with the time and the peak memory of the import:

    cargo build --release -p trueno-import --example import
    /usr/bin/time -v target/release/examples/import OUT RUN
"""
import gzip
import json
import sys
from decimal import Decimal

ID_ARGS = ("correlation", "External id")


def main(path, copies, out):
    opener = gzip.open if path.endswith(".gz") else open
    trace = json.loads(opener(path, "rb").read(), parse_float=Decimal)
    events = trace["traceEvents"]
    once = [e for e in events if e["ph"] == "M" or e.get("cat") == "Trace" or "ts" not in e]
    again = [e for e in events if not (e["ph"] == "M" or e.get("cat") == "Trace" or "ts" not in e)]
    spans = [e for e in again if e["ph"] == "X"]
    ends = max(Decimal(e["ts"]) + Decimal(e["dur"]) for e in spans)
    window_us = int(ends - min(Decimal(e["ts"]) for e in spans)) + 1000
    ids = [e["args"][a] for e in spans for a in ID_ARGS if a in e.get("args", {})]
    ids += [e["id"] for e in again if isinstance(e.get("id"), int)]
    shift = max(ids) + 1
    steps = len({e["name"] for e in spans if e["name"].startswith("ProfilerStep#")})

    # A line is a template with the numbers that change as holes.
    lines = []
    for e in again:
        e, holes = dict(e), [("ts", Decimal(e["ts"]))]
        e["ts"] = "\0"
        if isinstance(e.get("id"), int):
            holes.append(("id", e["id"]))
            e["id"] = "\0"
        if e["name"].startswith("ProfilerStep#"):
            holes.append(("step", int(e["name"][13:])))
            e["name"] = "ProfilerStep#\0"
        if "args" in e:
            e["args"] = dict(e["args"])
            for a in ID_ARGS:
                if a in e["args"]:
                    holes.append(("id", e["args"][a]))
                    e["args"][a] = "\0"
        # Holes in the order in which they are written.
        order = {"ts": 0, "id": 1, "name": 2, "args": 3}
        keys = sorted(e, key=lambda key: order.get(key, -1))
        e = {key: e[key] for key in keys}
        holes.sort(key=lambda hole: {"ts": 0, "id": 1, "step": 2}[hole[0]])
        if e["name"].startswith("ProfilerStep#") and "args" in e:
            inner = [h for h in holes if h[0] == "id"]
            holes = [h for h in holes if h[0] != "id"] + inner
        text = json.dumps(e, default=float)
        text = text.replace("#\\u0000\"", "#%s\"").replace('"\\u0000"', "%s") if "%" not in text else None
        lines.append((text, e, holes))

    with open(out, "w") as to:
        rest = {k: v for k, v in trace.items() if k != "traceEvents"}
        to.write(json.dumps(rest, default=float)[:-1] + ', "traceEvents": [\n')
        to.write(",\n".join(json.dumps(e, default=str) for e in once))
        for k in range(copies):
            add = {"ts": k * window_us, "id": k * shift, "step": k * steps}
            for text, e, holes in lines:
                values = tuple(value + add[kind] for kind, value in holes)
                if text is None:
                    text = json.dumps(e, default=float)
                    for value in values:
                        text = text.replace('"\\u0000"', str(value), 1)
                    to.write(",\n" + text)
                else:
                    to.write(",\n" + text % values)
        to.write("\n]}\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
