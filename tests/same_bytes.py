#!/usr/bin/env python3
"""Keeps what the commands print, for every dataset and any traces, to compare two builds.

    python3 tests/same_bytes.py keep target/debug/trueno-analyze BEFORE [TRACE_OR_FOLDER ...]
    ... change the code, build ...
    python3 tests/same_bytes.py keep target/debug/trueno-analyze AFTER [TRACE_OR_FOLDER ...]
    python3 tests/same_bytes.py compare BEFORE AFTER [--renamed WORDS]

`keep` runs report (text, JSON, HTML, Markdown, CSV, charts), tree, dot, info, tables, query,
golden, check, compare, import and every export, and writes what each printed or wrote into one file
of the folder, with its exit code. `compare` lists the cases that differ and exits with 1 if there
are any; WORDS is a file of lines `old<TAB>new`, words that were renamed on purpose (# begins a
comment): they are replaced in both before comparing.
"""

import argparse
import concurrent.futures
import difflib
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLES = [
    "bricks", "kernels", "tiles", "transfers", "calls", "syncs", "device_events", "edges",
    "checksums", "allocations", "counters", "ceilings", "ptx", "threads", "clock_pairs",
    "diagnostics",
]
EXPORTS = {
    "chrome": "out.json", "perfetto": "out.pftrace", "folded": "out.folded",
    "flamegraph": "out.svg", "otlp": "out.otlp.json", "parquet": "out.parquet",
}
ASSERTIONS = ROOT / "tests" / "documented.toml"
TRACE_ENDINGS = (".json", ".json.gz", ".sqlite", ".csv", ".txt")


def traces_below(path):
    """Trace files at or below a path, in the order of their names."""
    path = pathlib.Path(path)
    if path.is_file():
        return [path]
    files = (p for p in sorted(path.rglob("*")) if p.is_file())
    return [p for p in files if p.name.endswith(TRACE_ENDINGS) and "_csvs" not in str(p.parent)]


def everything_in(folder):
    """Names and contents of all files below a folder, as one list of bytes."""
    parts = []
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        content = file.read_bytes()
        # An imported or exported run says when it was made.
        if file.name == "run.json":
            content = re.sub(rb'("(?:finished|written|imported|exported)_at[^"]*": )[^,\n]*', rb"\1_", content)
        parts.append(f"--- {file.relative_to(folder)} {len(content)}\n".encode() + content + b"\n")
    return b"".join(parts)


class Keeper:
    """Runs cases with one build and keeps what they give."""

    def __init__(self, program, out):
        self.program = pathlib.Path(program).resolve()
        self.out = pathlib.Path(out)
        self.env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}

    def case(self, name, arguments, cwd, wrote=None):
        """Runs one command in `cwd`; keeps exit code, both streams and what it wrote there."""
        done = subprocess.run([self.program, *arguments], cwd=cwd, env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True)
        kept = f"exit {done.returncode}\n".encode() + done.stdout + b"--- stderr\n" + done.stderr
        if wrote is not None:
            target = pathlib.Path(cwd) / wrote
            if target.is_dir():
                kept += everything_in(target)
            elif target.is_file():
                kept += target.read_bytes()
            else:
                kept += b"--- nothing was written\n"
        (self.out / name).write_bytes(kept)

    def run(self, label, run, folder):
        """All cases of one run, which lies at `folder / run`."""
        def case(name, *arguments, wrote=None):
            self.case(f"{label}.{name}", arguments, folder, wrote)

        case("report.text", "report", run, "-v", "--width", "100")
        case("report.brief", "report", run, "--width", "80")
        for form in ("json", "html", "markdown"):
            case(f"report.{form}", "report", run, f"--{form}", "-")
        case("report.csv", "report", run, "-q", "--csv", "csv", wrote="csv")
        case("report.charts", "report", run, "-q", "--charts", "charts", wrote="charts")
        case("report.what_if", "report", run, "--only", "critical_path", "--what-if",
             "kind:kernel=0.5", "--json", "-")
        case("tree.text", "tree", run, "--width", "100")
        case("tree.json", "tree", run, "--json")
        case("tree.merge", "tree", run, "--merge", "--width", "120", "--tiles")
        case("dot", "dot", run)
        case("ptx", "ptx", run)
        case("info.text", "info", run)
        case("info.json", "info", run, "--json")
        case("tables.text", "tables", run)
        case("tables.json", "tables", run, "--json")
        for table in TABLES:
            case(f"table.{table}", "query", run, f"SELECT * FROM {table}", "--format", "csv")
        for form in ("table", "json"):
            case(f"query.{form}", "query", run, "SELECT name, COUNT(*) AS n, SUM(dur_ns) AS ns "
                 "FROM bricks GROUP BY name ORDER BY ns DESC, name", "--format", form)
        case("query.plugin", "query", run, "SELECT * FROM category.by_name", "--format", "csv")
        case("golden.save", "golden", "save", run, "-o", "kept.golden.json", wrote="kept.golden.json")
        case("golden.show", "golden", "show", "kept.golden.json", "--width", "100")
        case("check.text", "check", run, "--assert", str(ASSERTIONS), "--golden",
             "kept.golden.json", "--width", "100", "--junit", "check.xml", wrote="check.xml")
        case("check.json", "check", run, "--assert", str(ASSERTIONS), "--json")
        for form in ("table", "json", "markdown"):
            case(f"compare.golden.{form}", "compare", "kept.golden.json", run, "--format", form)
        for form, target in EXPORTS.items():
            case(f"export.{form}", "export", form, run, "-o", target, wrote=target)
        case("exported.report", "report", "out.parquet", "--json", "-")

    def pair(self, label, base, run, folder):
        """All cases of two runs held against each other."""
        for form in ("table", "json", "markdown"):
            self.case(f"{label}.compare.{form}", ["compare", base, run, "--format", form], folder)
        self.case(f"{label}.compare.html", ["compare", base, run, "--html", "-"], folder)
        self.case(f"{label}.report", ["report", run, "--baseline", base, "-v"], folder)
        self.case(f"{label}.backends", ["report", run, "--baseline", base, "--compare-backends"], folder)


def keep(options):
    """Runs all cases."""
    out = pathlib.Path(options.out)
    if out.exists():
        shutil.rmtree(out)
    out.mkdir(parents=True)
    keeper = Keeper(options.program, out)
    work = pathlib.Path(tempfile.mkdtemp(prefix="same-bytes-"))
    jobs = []
    datasets = sorted((ROOT / "datasets").rglob("*.run"))
    for dataset in datasets:
        label = ".".join(dataset.relative_to(ROOT / "datasets").with_suffix("").parts)
        folder = work / label
        folder.mkdir()
        shutil.copytree(dataset, folder / dataset.name)
        jobs.append(lambda l=label, d=dataset, f=folder: keeper.run(l, d.name, f))
    for first, second in [("decode/scalar", "decode/simd"), ("decode/simd", "decode/simd_slow"),
                          ("divergence/base", "divergence/planted"), ("divergence/base", "divergence/nan"),
                          ("divergence/base", "divergence/reordered"), ("divergence/base", "divergence/truncated")]:
        paths = [str(ROOT / "datasets" / f"{name}.run") for name in (first, second)]
        if all(os.path.isdir(path) for path in paths):
            label = f"{first}-{second}".replace("/", ".")
            folder = work / label
            folder.mkdir()
            shutil.copytree(paths[0], folder / "base.run")
            shutil.copytree(paths[1], folder / "changed.run")
            jobs.append(lambda l=label, f=folder: keeper.pair(l, "base.run", "changed.run", f))
    for root in options.traces:
        for trace in traces_below(root):
            base = pathlib.Path(root) if pathlib.Path(root).is_dir() else pathlib.Path(root).parent
            label = "trace." + ".".join(trace.relative_to(base).parts)
            jobs.append(lambda l=label, t=trace: one_trace(keeper, l, t, work))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for nth, done in enumerate(concurrent.futures.as_completed([pool.submit(j) for j in jobs]), 1):
            done.result()
            if sys.stderr.isatty():
                print(f"\r{nth} of {len(jobs)}", end="", file=sys.stderr)
    shutil.rmtree(work)
    lines = []
    for file in sorted(out.iterdir()):
        lines.append(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n")
    (out.parent / (out.name + ".sha256")).write_text("".join(lines))
    print(f"{len(lines)} cases in {out}, their hashes in {out}.sha256")


def one_trace(keeper, label, trace, work):
    """Imports a trace and runs all cases of the run made of it."""
    folder = work / label
    folder.mkdir()
    shutil.copy(trace, folder / trace.name)
    keeper.case(f"{label}.import", ["import", trace.name, "-o", "imported.run"], folder, wrote="imported.run")
    if (folder / "imported.run" / "run.json").is_file():
        keeper.run(label, "imported.run", folder)


def renamed_words(file):
    """The pairs of words of a file of renamings."""
    pairs = []
    for line in pathlib.Path(file).read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            old, new = line.split("\t")
            pairs.append((old.encode(), new.encode()))
    return pairs


def compare(options):
    """Lists the cases that differ."""
    before, after = pathlib.Path(options.before), pathlib.Path(options.after)
    pairs = renamed_words(options.renamed) if options.renamed else []
    names = sorted({p.name for p in before.iterdir()} | {p.name for p in after.iterdir()})
    differing = 0
    for name in names:
        if not (before / name).exists() or not (after / name).exists():
            differing += 1
            print(f"{name}: only in {before if (before / name).exists() else after}")
            continue
        old, new = (before / name).read_bytes(), (after / name).read_bytes()
        for was, now in pairs:
            old, new = old.replace(was, now), new.replace(was, now)
        if old == new:
            continue
        differing += 1
        print(f"{name}: differs")
        lines = difflib.unified_diff(old.decode(errors="replace").splitlines(),
                                     new.decode(errors="replace").splitlines(), "before", "after", lineterm="", n=0)
        for nth, line in enumerate(lines):
            if nth == options.lines:
                break
            print("    " + line[:300])
    print(f"{len(names)} cases, {differing} differ")
    sys.exit(1 if differing else 0)


def main():
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    one = verbs.add_parser("keep")
    one.add_argument("program")
    one.add_argument("out")
    one.add_argument("traces", nargs="*")
    one.add_argument("--jobs", type=int, default=os.cpu_count())
    one.set_defaults(call=keep)
    two = verbs.add_parser("compare")
    two.add_argument("before")
    two.add_argument("after")
    two.add_argument("--renamed")
    two.add_argument("--lines", type=int, default=8)
    two.set_defaults(call=compare)
    options = parser.parse_args()
    options.call(options)


if __name__ == "__main__":
    main()
