#!/usr/bin/env bash
# Every check of CUDA recording that needs a GPU, in one go, and a table of pass, fail and skipped.
#
#   recorder/cuda-acceptance.sh [FOLDER]      FOLDER keeps the recordings; default: a new one in /tmp
#
# It needs a driver, a libcupti, a C compiler, python3 and cargo (or TRUENO_RECORD and TRUENO_INJECT, built
# elsewhere). TRUENO_ANALYZE names a trueno-analyze: without one, checks of single rows are skipped. Torch, if
# there is one, is recorded too. Exit code: 0 nothing failed, 1 something did, 3 nothing can be recorded here.
set -uo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
folder="${1:-$(mktemp -d /tmp/trueno-cuda.XXXXXX)}"
mkdir -p "$folder"
table="$folder/table.txt"
: > "$table"

say() { printf '%-44s %-8s %s\n' "$1" "$2" "${3:-}" | tee -a "$table"; }
pass() { say "$1" pass "${2:-}"; }
fail() { say "$1" FAIL "${2:-}"; }
skip() { say "$1" skipped "${2:-}"; }

if [ -z "${TRUENO_RECORD:-}" ]; then
  (cd "$here/.." && cargo build --release -p trueno-recorder --features cli --bin trueno-record \
    && cargo build --release -p trueno-inject) || exit 2
  target="$(cd "$here/.." && cargo metadata --format-version 1 --no-deps | python3 -c 'import json,sys; print(json.load(sys.stdin)["target_directory"])')"
  TRUENO_RECORD="$target/release/trueno-record"
  export TRUENO_INJECT="$target/release/libtrueno_inject.so"
fi
record="$TRUENO_RECORD"
analyze="${TRUENO_ANALYZE:-}"

"$record" doctor | tee "$folder/doctor.txt"
if ! "$record" doctor --need cuda > /dev/null; then
  fail "doctor: CUDA can be recorded here" "see above"
  exit 3
fi
pass "doctor: CUDA can be recorded here"
cc -O2 -o "$folder/launches" "$here/acceptance/launches.c" -ldl || exit 2

# fact RUN EXPRESSION: of run.json, as `r`.
fact() { python3 -c 'import json,sys; r=json.load(open(sys.argv[1]+"/run.json")); c=r["capture"]; rows=lambda t: r["tables"].get(t,{}).get("rows",0); print(eval(sys.argv[2]))' "$1" "$2"; }
# expect NAME RUN EXPRESSION VALUE
expect() {
  local found; found="$(fact "$2" "$3" 2>&1 | tail -1)"
  if [ "$found" = "$4" ]; then pass "$1" "$4"; else fail "$1" "found $found, expected $4"; fi
}
# run NAME OPTIONS... -- PROGRAM...: records to $folder/NAME.run, prints to NAME.out
run() { local name="$1"; shift; rm -rf "$folder/$name.run"; "$record" run -o "$folder/$name.run" "$@" > "$folder/$name.out" 2> "$folder/$name.err"; }
whole() { expect "$1: nothing dropped, invalid or unreadable" "$folder/$1.run" '(r["dropped"], sum(c["invalid"].values()), sum(c["unreadable"].values()))' "(0, 0, 0)"; }
sql() { "$analyze" query "$1" "$2" --format csv; }

n=1000
launches="${TRUENO_ACCEPTANCE_LAUNCHES:-200000}"
run plain -- "$folder/launches" plain $n
expect "plain: as many kernels as launches" "$folder/plain.run" 'rows("kernels")' $n
# A kernel before its launch call, or an end before a start, is invalid.
whole plain
expect "plain: one wait of a stream for an event" "$folder/plain.run" 'c["records"].get("cuda_event",0)' 1
expect "plain: the end is clean" "$folder/plain.run" 'c["clean_end"] and c["synchronized"]' True

run pending -- "$folder/launches" pending $n
expect "pending: work nobody waited for is there" "$folder/pending.run" 'rows("kernels")' $n
whole pending

run graph -- "$folder/launches" graph 2000
expect "graph: 3 kernels a replay" "$folder/graph.run" 'rows("kernels")' 6000
whole graph

run exit -- "$folder/launches" _exit $n; code=$?
if [ "$code" = 5 ]; then pass "_exit: the program's exit code" 5; else fail "_exit: the program's exit code" "found $code"; fi
expect "_exit: what was delivered is there" "$folder/exit.run" 'rows("kernels")' $n
expect "_exit: and the end is not called clean" "$folder/exit.run" 'c["clean_end"]' False

run full --level full -- "$folder/launches" plain $n
expect "full: stages of launches are not refused" "$folder/full.run" '"stages of launches" in c["refused"]' False

run event -- "$folder/launches" event 50
if [ -n "$analyze" ]; then
  # Rows of a run as CSV, in $folder/NAME.csv
  sql "$folder/plain.run" 'SELECT grid_x, stream, start_ns, dur_ns FROM kernels ORDER BY grid_x' > "$folder/plain.csv"
  sql "$folder/event.run" 'SELECT grid_x, stream, start_ns, dur_ns FROM kernels ORDER BY grid_x' > "$folder/event.csv"
  python3 - "$folder" > "$folder/rows.txt" <<'PY'
import re, statistics, sys
folder = sys.argv[1]
def table(name):
    lines = [re.split(r'[,\s]+', l.strip().replace('"', '')) for l in open(f'{folder}/{name}.csv') if l.strip()]
    head = lines[0]
    return [dict(zip(head, map(int, l))) for l in lines[1:] if all(re.fullmatch(r'-?\d+', x) for x in l)]
def printed(name, word):
    return {int(l.split()[1]): int(l.split()[-1]) for l in open(f'{folder}/{name}.out') if l.startswith(word)}
def verdict(name, good, text): print(f'{name}|{"pass" if good else "FAIL"}|{text}')
plain, event = table('plain'), table('event')
seen = printed('plain', 'kernel')
# The clock steps: its smallest step bounds what it can say. Ours is longer by what lies before and after.
off = [row['dur_ns'] - seen[row['grid_x']] for row in plain if row['grid_x'] in seen]
verdict('plain: durations and %globaltimer', len(off) == len(seen) and -2000 <= statistics.median(off) <= 10000,
        f'{len(off)} kernels, ours longer by {statistics.median(off):.0f} ns in the median, {min(off)} to {max(off)}')
streams = sorted({row['stream'] for row in plain})
half = len(plain) // 2
first_end = max((r['start_ns'] + r['dur_ns'] for r in plain[:half]), default=0)
second_start = min((r['start_ns'] for r in plain[half:]), default=-1)
verdict('plain: the second stream waits for the first', len(streams) == 2 and second_start >= first_end,
        f'{second_start - first_end} ns between')
by_event = printed('event', 'event')
off = [by_event[row['grid_x']] - row['dur_ns'] for row in event if row['grid_x'] in by_event]
# Resolution of events: half a microsecond; they enclose the launch's gaps too.
verdict('event: durations and CUDA events', len(off) == len(by_event) and -1000 <= statistics.median(off) <= 50000,
        f'{len(off)} kernels, events longer by {statistics.median(off):.0f} ns in the median')
PY
  while IFS='|' read -r name result text; do say "$name" "$result" "$text"; done < "$folder/rows.txt"
  "$analyze" report "$folder/plain.run" --json "$folder/plain.json" > "$folder/plain.report" 2>&1
  if python3 - "$folder/plain.json" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
path = [t for s in report["sections"] if s["plugin"] == "critical_path" for t in s["tables"] if t["name"] == "path"][0]
lane = [c["name"] for c in path["columns"]].index("lane")
lanes = {row[lane] for row in path["rows"] if row[lane] and row[lane].startswith("gpu")}
sys.exit(0 if len(lanes) == 2 else 1)
PY
  then pass "plain: the critical path crosses both streams"; else fail "plain: the critical path crosses both streams"; fi
else
  for what in "plain: durations and %globaltimer" "plain: the second stream waits for the first" \
    "event: durations and CUDA events" "plain: the critical path crosses both streams"; do
    skip "$what" "TRUENO_ANALYZE is not set"
  done
fi

# What recording costs a launch. Figures, no verdict: they belong to this machine.
bare="$("$folder/launches" overhead "$launches")"
say "overhead: not recorded" figure "$bare"
for level in kernels edges full; do
  run "overhead_$level" --level "$level" -- "$folder/launches" overhead "$launches"
  say "overhead: --level $level" figure "$(cat "$folder/overhead_$level.out")"
  expect "overhead: kernels of --level $level" "$folder/overhead_$level.run" 'rows("kernels")' $((launches + 1000))
done

if python3 -c 'import torch,sys; sys.exit(0 if torch.cuda.is_available() else 1)' 2> /dev/null; then
  cat > "$folder/loop.py" <<'PY'
import os, sys, time, torch
model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(8)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
data = torch.randn(64, 1024, device="cuda")
def step():
    torch.cuda.nvtx.range_push("step")
    optimizer.zero_grad(); model(data).square().mean().backward(); optimizer.step()
    torch.cuda.nvtx.range_pop()
for _ in range(20): step()
torch.cuda.synchronize(); start = time.perf_counter()
for _ in range(200): step()
torch.cuda.synchronize(); print("steps_per_s %.1f" % (200 / (time.perf_counter() - start)))
how = sys.argv[1] if len(sys.argv) > 1 else "return"
if how == "_exit": time.sleep(.5); os._exit(7)
if how == "exception": raise SystemExit(8)
PY
  say "torch: not recorded" figure "$(python3 "$folder/loop.py")"
  run torch -- python3 "$folder/loop.py"
  say "torch: recorded" figure "$(cat "$folder/torch.out")"
  expect "torch: a range a step" "$folder/torch.run" 'rows("bricks")' 220
  whole torch
  run torch_exit -- python3 "$folder/loop.py" _exit; code=$?
  if [ "$code" = 7 ]; then pass "torch: os._exit keeps its exit code"; else fail "torch: os._exit keeps its exit code" "found $code"; fi
  expect "torch: os._exit loses no step" "$folder/torch_exit.run" 'rows("bricks")' 220
  run torch_exception -- python3 "$folder/loop.py" exception; code=$?
  if [ "$code" = 8 ]; then pass "torch: an exception keeps its exit code"; else fail "torch: an exception keeps its exit code" "found $code"; fi
else
  skip "torch" "no torch with a device"
fi

skip "sync modes side by side" "not built: they need the in-process recorder of CUDA programs"

# shellcheck source=acceptance/device.sh
. "$here/acceptance/device.sh"

echo
echo "recordings and outputs: $folder"
if grep -q ' FAIL ' "$table"; then exit 1; fi
