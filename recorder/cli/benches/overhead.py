#!/usr/bin/env python3
"""Overhead of `trueno-record run` beside strace and perf, on the same programs in the same rounds.

    cargo build --release -p trueno-record
    python3 recorder/cli/benches/overhead.py calls        # system calls: all, and with a filter
    python3 recorder/cli/benches/overhead.py samples      # 997 samples in a second of CPU time
    python3 recorder/cli/benches/overhead.py counts       # calls by name, as `strace -f -c` counts them
    python3 recorder/cli/benches/overhead.py memory       # peak of the tracer's memory by number of calls

The programs are a loop of calls (`dd bs=1`), threads that compute and call (`programs/threads.rs`, built here by
`rustc`), and NumPy in the Python of `--python`. In each round each tool records each of them once, in turn, so that
other work on the machine meets all of them alike. Printed are medians over the rounds with the least and the most,
of wall time and of CPU time, which is that of the program and of the tool. Added is CPU time less that of the program
alone in the same round; ratios in wall time are of the least. What a tool is refused here is said, and has no figure. `perf trace` reads the kernel's tracepoints, which may
need `unshare -m sh -c 'mount -t tracefs tracefs /sys/kernel/tracing; python3 …'`.
"""

import argparse
import collections
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RECORD = os.path.abspath(os.environ.get("TRUENO_RECORD", "target/release/trueno-record"))
NUMPY = "import numpy; a = numpy.random.default_rng(1).random((400, 400)); [a := a @ a / 100 for _ in range({})]"
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
# Threads that allocate at once get heaps of their own, by one call more or less.
ENVIRONMENT["MALLOC_ARENA_MAX"] = "1"
HZ = 997

Used = collections.namedtuple("Used", "wall cpu peak_mib")


def ran(command, folder):
    """What a command took, with all that it waited for; `None` and its last line if it failed."""
    with open(os.path.join(folder, "said"), "wb+") as said:
        began = time.monotonic()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said, cwd=folder, env=ENVIRONMENT)
        _, status, used = os.wait4(child.pid, 0)
        wall = time.monotonic() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            said.seek(0)
            return None, (said.read().decode(errors="replace").strip().splitlines() or ["failed"])[-1]
    return Used(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024), None


def record(folder, *flags):
    run = os.path.join(folder, "it.run")
    return [RECORD, "run", "--overwrite", "-o", run, *flags, "--"]


def call_tools(folder):
    text = os.path.join(folder, "calls.txt")
    return {
        "alone": [],
        "trueno-record --calls": record(folder, "--calls"),
        "strace -f -T -ttt": ["strace", "-f", "-T", "-ttt", "-o", text],
        "perf trace": ["perf", "trace", "-o", text, "--"],
        "trueno-record --calls=openat": record(folder, "--calls=openat"),
        "strace -f -T -ttt -e openat": ["strace", "-f", "-T", "-ttt", "-e", "trace=openat", "-o", text],
        "strace --seccomp-bpf -e openat": ["strace", "-f", "--seccomp-bpf", "-T", "-ttt", "-e", "trace=openat", "-o", text],
        "perf trace -e openat": ["perf", "trace", "-e", "openat", "-o", text, "--"],
    }


def sample_tools(folder):
    data = os.path.join(folder, "perf.data")
    perf = ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(HZ), "-o", data]
    # What a recording has at once: samples with functions, files and lines.
    reported = " ".join(perf) + f' -g -- "$@" && perf report -i {data} --stdio --no-children --sort sym,srcline'
    return {
        "alone": [],
        "trueno-record --sample": record(folder, f"--sample={HZ}"),
        "perf record": [*perf, "--"],
        "perf record -g": [*perf, "-g", "--"],
        "perf record --call-graph dwarf": [*perf, "--call-graph", "dwarf", "--"],
        "perf record -g; perf report": ["sh", "-c", reported, "sh"],
    }


def build(folder):
    program = os.path.join(folder, "threads")
    source = os.path.join(HERE, "programs", "threads.rs")
    subprocess.run(["rustc", "--edition", "2024", "-O", "-g", source, "-o", program], check=True)
    return program


def has_numpy(python):
    asked = subprocess.run([python, "-c", "import numpy"], capture_output=True)
    if asked.returncode != 0:
        print(f"left out: NumPy, which {python} has not (--python)")
    return asked.returncode == 0


def programs(folder, python, parts):
    found = {}
    for name, part, count in parts:
        if part == "dd":
            found[name] = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", f"count={count}", "status=none"]
        elif part == "numpy":
            if has_numpy(python):
                found[name] = [python, "-c", NUMPY.format(count)]
        else:
            found[name] = [os.path.join(folder, "threads"), part, str(count)]
    return found


def compare(tools, programs, rounds, folder):
    for name, program in programs.items():
        taken = {tool: [] for tool in tools}
        refused = {}
        for _ in range(rounds):
            for tool, before in tools.items():
                if tool in refused:
                    continue
                used, why = ran([*before, *program], folder)
                if used is None:
                    refused[tool] = why
                else:
                    taken[tool].append(used)
        show(name, taken, refused)


def show(name, taken, refused):
    rounds = len(taken["alone"])
    print(f"\n{name}: {rounds} rounds, s")
    print(f"{'':<34}{'wall':>8}{'least':>8}{'CPU':>8}{'least':>8}{'most':>8}{'added':>8}{'added %':>9}{'least':>8}{'most':>8}")
    for tool, all_used in taken.items():
        if tool in refused:
            print(f"{tool:<34}refused: {refused[tool]}")
            continue
        wall, cpu = [used.wall for used in all_used], [used.cpu for used in all_used]
        if tool.startswith(NO_CPU):
            print(f"{tool:<34}{statistics.median(wall):8.2f}{min(wall):8.2f}   CPU not measured: it does not wait for the program")
            continue
        added = added_cpu(taken, tool)
        share = 100 * statistics.median(added) / statistics.median(used.cpu for used in taken["alone"])
        figures = [statistics.median(wall), min(wall), statistics.median(cpu), min(cpu), max(cpu), statistics.median(added)]
        columns = "".join(f"{figure:8.2f}" for figure in figures)
        print(f"{tool:<34}{columns}{share:9.1f}{min(added):+8.2f}{max(added):+8.2f}")
    for ours, theirs in RATIOS:
        if all(taken.get(tool) and tool not in refused for tool in (ours, theirs)):
            cpu = [statistics.median(added_cpu(taken, tool)) for tool in (ours, theirs)]
            # The least of each: what others did meanwhile makes a wall time longer only.
            alone = min(used.wall for used in taken["alone"])
            wall = [min(used.wall for used in taken[tool]) - alone for tool in (ours, theirs)]
            of_cpu = "" if theirs.startswith(NO_CPU) else f"{ratio(cpu)} in CPU time, "
            print(f"overhead of {ours} / {theirs}: {of_cpu}{ratio(wall)} in wall time")
    sys.stdout.flush()


def added_cpu(taken, tool):
    """By round, as a median of its own: rounds with nearly nothing added would give any ratio."""
    return [one.cpu - other.cpu for one, other in zip(taken[tool], taken["alone"])]


def ratio(pair):
    return f"{pair[0] / pair[1]:.2f}" if pair[1] > 0 else "none (nothing was added)"


# It leaves the program to others to be waited for, so that its CPU time is in no sum.
NO_CPU = "perf trace"

RATIOS = [
    ("trueno-record --calls", "strace -f -T -ttt"),
    ("trueno-record --calls", "perf trace"),
    ("trueno-record --calls=openat", "strace -f -T -ttt -e openat"),
    ("trueno-record --calls=openat", "strace --seccomp-bpf -e openat"),
    ("trueno-record --sample", "perf record"),
    ("trueno-record --sample", "perf record -g"),
    ("trueno-record --sample", "perf record --call-graph dwarf"),
]


def strace_counts(program, folder):
    text = os.path.join(folder, "counts.txt")
    # Without a random place in memory: a heap of a thread is cut to size by one call or by two.
    subprocess.run(["setarch", "-R", "strace", "-f", "-c", "-o", text, *program], check=True, cwd=folder, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    counts = {}
    with open(text, encoding="utf-8") as lines:
        for line in lines:
            row = re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(\d+)?\s*(\w+)$", line)
            if row and row[3] != "total":
                counts[row[3]] = (int(row[1]), int(row[2] or 0))
    return counts


def own_counts(program, folder):
    subprocess.run(["setarch", "-R", *record(folder, "--calls"), *program], check=True, cwd=folder, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    analyze = os.environ.get("TRUENO_ANALYZE", "target/debug/trueno-analyze")
    sql = "SELECT name, COUNT(*) AS calls, COUNT(errno) AS errors FROM calls GROUP BY name"
    done = subprocess.run([analyze, "query", os.path.join(folder, "it.run"), sql, "--format", "json"], check=True, capture_output=True)
    return {row["name"]: (row["calls"], row["errors"]) for row in json.loads(done.stdout)["rows"]}


# Calls in which their thread ends, which never return: strace counts them.
ENDS = {"exit", "exit_group"}


def compare_counts(programs, folder):
    are_equal = True
    for name, program in programs.items():
        theirs, ours = strace_counts(program, folder), own_counts(program, folder)
        differ = []
        for call in sorted((theirs.keys() | ours.keys()) - ENDS):
            if theirs.get(call, (0, 0)) != ours.get(call, (0, 0)):
                differ.append(f"{call}: strace {theirs.get(call)}, ours {ours.get(call)}")
        total = sum(calls for calls, _ in ours.values())
        print(f"{name}: {total} calls of {len(ours)} names, {'equal' if not differ else '; '.join(differ)}", flush=True)
        are_equal &= not differ
    return are_equal


def peak_mib(command, folder):
    """The most memory that the command itself had: its children's is not in it, nor this program's before it began."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, env=ENVIRONMENT)
    peaks = {}
    began = time.monotonic()
    while child.poll() is None:
        try:
            with open(f"/proc/{child.pid}/status", encoding="utf-8") as status:
                for line in status:
                    if line.startswith(("VmHWM", "RssAnon")):
                        kind, kib, _ = line.split()
                        peaks[kind] = max(peaks.get(kind, 0), int(kib) / 1024)
        except OSError:
            pass
        time.sleep(0.05)
    return peaks.get("VmHWM:", 0), peaks.get("RssAnon:", 0), time.monotonic() - began


def memory(programs, folder):
    print(f"{'':<34}{'peak MiB':>10}{'own MiB':>10}{'wall s':>9}{'run MB':>9}")
    for name, program in programs.items():
        shutil.rmtree(os.path.join(folder, "it.run"), ignore_errors=True)
        peak, own, wall = peak_mib([*record(folder, "--calls"), *program], folder)
        files = (os.path.join(at, file) for at, _, names in os.walk(os.path.join(folder, "it.run")) for file in names)
        size = sum(os.path.getsize(file) for file in files) / 1e6
        print(f"{name:<34}{peak:10.1f}{own:10.1f}{wall:9.1f}{size:9.1f}", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("what", choices=["calls", "samples", "counts", "memory"])
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--python", default=sys.executable)
    arguments.add_argument("--most", type=int, default=10**7, help="calls of the longest program of `memory`")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build(folder)
        chosen = lambda *parts: programs(folder, given.python, parts)
        if given.what == "calls":
            parts = chosen(("40,000 calls", "dd", 20_000), ("threads", "calls", 20_000), ("NumPy", "numpy", 20))
            compare(call_tools(folder), parts, given.rounds, folder)
        elif given.what == "samples":
            parts = chosen(("threads", "busy", 1_000_000), ("NumPy", "numpy", 400))
            compare(sample_tools(folder), parts, given.rounds, folder)
        elif given.what == "counts":
            parts = chosen(("dd", "dd", 5_000), ("threads that write", "writes", 5_000), ("threads", "calls", 500), ("NumPy", "numpy", 3))
            sys.exit(0 if compare_counts(parts, folder) else 1)
        else:
            counts = [count for count in (10**5, 10**6, 10**7) if count <= given.most]
            parts = [(f"loop, {count:,} calls", "dd", count // 2) for count in counts]
            parts += [(f"turns, {count:,} turns", "turns", count) for count in (10**3, 10**4, 10**5)]
            memory(chosen(*parts), folder)


if __name__ == "__main__":
    main()
