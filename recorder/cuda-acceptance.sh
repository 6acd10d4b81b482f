#!/usr/bin/env bash
# Every check of CUDA recording that needs a GPU, in one go, and a table of pass, fail and skipped.
#
#   recorder/cuda-acceptance.sh [FOLDER]      FOLDER keeps the recordings; default: a new one in /tmp
#
# It needs a driver, a libcupti, a C compiler, python3 and cargo (or TRUENO_RECORD and TRUENO_INJECT, built
# elsewhere). TRUENO_ANALYZE names a trueno-analyze: without one, checks of single rows are skipped.
# TRUENO_CUDA_EXAMPLES names the folder of the examples of recorder/cuda, if they are built elsewhere. With
# TRUENO_ACCEPTANCE_TIMINGS=figures no time is judged, as where nothing was measured. Torch, if there is one, is
# recorded too. Exit code: 0 nothing failed, 1 something did, 3 nothing can be recorded here.
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
  (cd "$here/.." && cargo build --release -p trueno-record \
    && cargo build --release -p trueno-inject \
    && cargo build --release -p trueno-recorder-cuda --features cuda --examples) || exit 2
  target="$(cd "$here/.." && cargo metadata --format-version 1 --no-deps | python3 -c 'import json,sys; print(json.load(sys.stdin)["target_directory"])')"
  TRUENO_RECORD="$target/release/trueno-record"
  export TRUENO_INJECT="$target/release/libtrueno_inject.so"
  TRUENO_CUDA_EXAMPLES="${TRUENO_CUDA_EXAMPLES:-$target/release/examples}"
fi
examples="${TRUENO_CUDA_EXAMPLES:-}"
record="$TRUENO_RECORD"
analyze="${TRUENO_ANALYZE:-}"

"$record" doctor | tee "$folder/doctor.txt"
if ! "$record" doctor --need cuda > /dev/null; then
  skip "doctor: CUDA can be recorded here" "no: see above"
  skip "all other checks" "they need what the doctor misses"
  exit 3
fi
pass "doctor: CUDA can be recorded here"
cc -O2 -o "$folder/launches" "$here/acceptance/launches.c" -ldl || exit 2

# fact RUN EXPRESSION: of run.json, as `r`.
fact() { python3 -c 'import json,sys; r=json.load(open(sys.argv[1]+"/run.json")); c=r.get("capture") or {}; rows=lambda t: r["tables"].get(t,{}).get("rows",0); print(eval(sys.argv[2]))' "$1" "$2"; }
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
# Each kernel has its launch; two of the three wait for the one before.
expect "graph: what nodes wait for is edges" "$folder/graph.run" 'rows("edges") >= 10000' True
whole graph

run exit -- "$folder/launches" _exit $n; code=$?
if [ "$code" = 5 ]; then pass "_exit: the program's exit code" 5; else fail "_exit: the program's exit code" "found $code"; fi
expect "_exit: what was delivered is there" "$folder/exit.run" 'rows("kernels")' $n
expect "_exit: and the end is not called clean" "$folder/exit.run" 'c["clean_end"]' False

run whole --graphs whole -- "$folder/launches" graph 2000
expect "graph --graphs whole: a row a replay" "$folder/whole.run" 'rows("kernels")' 2000
whole whole

run full --level full -- "$folder/launches" plain $n
expect "full: memory is taken" "$folder/full.run" 'rows("allocations") >= 1' True
expect "full: clocks and power of the device" "$folder/full.run" 'c["records"].get("environment",0) >= 1' True
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
  for level in kernels full; do
    run "torch_$level" --level "$level" -- python3 "$folder/loop.py"
    say "torch: --level $level" figure "$(cat "$folder/torch_$level.out")"
    whole "torch_$level"
  done
  name="torch: every kernel has its launch call"
  if [ -n "$analyze" ]; then
    lost="$(sql "$folder/torch.run" 'SELECT COUNT(*) AS n FROM kernels WHERE correlation NOT IN (SELECT correlation FROM calls WHERE correlation IS NOT NULL)' | tail -n 1)"
    if [ "$lost" = 0 ]; then pass "$name"; else fail "$name" "$lost have none"; fi
    name="torch: no kernel starts before its launch call"
    early="$(sql "$folder/torch.run" 'SELECT COUNT(*) AS n FROM kernels AS k JOIN calls AS c ON k.correlation = c.correlation WHERE k.start_ns < c.start_ns' | tail -n 1)"
    if [ "$early" = 0 ]; then pass "$name"; else fail "$name" "$early do"; fi
  else
    skip "$name" "TRUENO_ANALYZE is not set"
  fi
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

# The in-process recorder of Rust programs.
if [ -n "$examples" ] && [ -x "$examples/two_streams" ]; then
  rm -rf "$folder/in_process.run"
  if "$examples/two_streams" "$folder/in_process.run" "$n" > "$folder/in_process.out" 2> "$folder/in_process.err"; then
    pass "in-process: the program ran"
    of_run() { expect "in-process: $1" "$folder/in_process.run" "$2" "$3"; }
    of_run "as many kernels as launches" 'rows("kernels")' $((2 * n + 1))
    of_run "nothing dropped, no problems" '(r["dropped"], len(r["problems"]))' "(0, 0)"
    of_run "memory, fills and a copy" '(rows("allocations"), rows("transfers"))' "(4, 3)"
    of_run "one PTX source is kept" 'rows("ptx")' 1
    of_run "times are those of CUDA events" 'r["values"]["device.0.time_source"]' cuda_event
    say "in-process: resolution of times" figure "$(fact "$folder/in_process.run" 'r["values"]["device.0.resolution_ns"]') ns"
  else
    fail "in-process: the program ran" "$(tail -n 1 "$folder/in_process.err")"
  fi
  run both -- "$examples/two_streams" "$folder/both_own.run" "$n"
  expect "in-process, injected too: CUPTI has every kernel" "$folder/both.run" 'rows("kernels")' $((2 * n + 1))
  expect "in-process, injected too: bricks are ranges" "$folder/both.run" 'rows("bricks")' 2
  whole both
  if [ -n "$analyze" ]; then
    name="in-process: one dependency between streams"
    found="$(sql "$folder/in_process.run" "SELECT COUNT(*) AS n FROM edges WHERE kind = 'depends_on'" | tail -n 1)"
    if [ "$found" = 1 ]; then pass "$name"; else fail "$name" "found $found"; fi
    name="in-process: every row has times of the device"
    found="$(sql "$folder/in_process.run" "SELECT COUNT(*) AS n FROM kernels WHERE timing <> 'device' OR NOT valid" | tail -n 1)"
    if [ "$found" = 0 ]; then pass "$name"; else fail "$name" "$found have none"; fi
    # The last kernel's own reading of %globaltimer; events enclose the launch's gaps too.
    inside="$(sed -n 's/^globaltimer_ns //p' "$folder/in_process.out")"
    consumer="$(sed -n 's/^consumer //p' "$folder/in_process.out")"
    outside="$(sql "$folder/in_process.run" "SELECT dur_ns FROM kernels WHERE id = $consumer" | tail -n 1)"
    name="in-process: events and %globaltimer"
    if [ $((outside - inside)) -ge -2000 ] && [ $((outside - inside)) -le 50000 ]; then pass "$name" "events longer by $((outside - inside)) ns"
    else fail "$name" "$outside ns of events, $inside ns inside the kernel"; fi
  else
    skip "in-process: dependency, times, %globaltimer" "TRUENO_ANALYZE is not set"
  fi

  # What each mode is said to cost at most, in percent. A kernel of 10 us a brick: most of the time is the device's.
  if "$examples/sync_modes" "$folder" > "$folder/sync_modes.txt" 2> "$folder/sync_modes.err"; then
    while read -r mode ns over; do
      case "$mode" in
        not_recorded) say "sync modes: not recorded" figure "$ns ns a brick"; continue ;;
        none) most=1 ;;
        deferred) most=5 ;;
        per_layer) most=20 ;;
        immediate) most=200 ;;
        *) continue ;;
      esac
      text="$ns ns a brick, $over % more, said to be at most $most %"
      if [ "${TRUENO_ACCEPTANCE_TIMINGS:-}" = figures ]; then say "sync modes: $mode" figure "$text"
      elif python3 -c 'import sys; sys.exit(0 if float(sys.argv[1]) <= float(sys.argv[2]) else 1)' "$over" "$most"; then pass "sync modes: $mode" "$text"
      else fail "sync modes: $mode" "$text"; fi
    done < "$folder/sync_modes.txt"
  else
    fail "sync modes side by side" "$(tail -n 1 "$folder/sync_modes.err")"
  fi
else
  skip "in-process recorder, sync modes side by side" "TRUENO_CUDA_EXAMPLES is not set"
fi

# shellcheck source=acceptance/device.sh
. "$here/acceptance/device.sh"

echo
echo "recordings and outputs: $folder"
if grep -q ' FAIL ' "$table"; then exit 1; fi
