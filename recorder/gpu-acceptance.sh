#!/usr/bin/env bash
# Every check of CUDA recording that needs a GPU, in five and a half minutes, and a table of pass, FAIL, figure and skipped.
#
#   recorder/acceptance/pack FOLDER      builds what travels, on a machine with Rust (x86-64, under 64 MiB)
#   OUT=DIR FOLDER/gpu-acceptance.sh     on the machine with the GPU: a driver and python3, no Rust; DIR gets the results
#
# In FOLDER: trueno-record, libtrueno_inject.so, launches (must be there); two_streams, sync_modes, device_checksums,
# nvtxcost, cupti/VERSION/libcupti.so.N (each checked if it is there). In DIR: table.txt, logs.tar.gz, plain.run.tar.gz,
# torch.run.tar.gz, raw.spool.gz, peaks.json, facts.txt.
#
# GPU_SECONDS bounds it (335). With TRUENO_ACCEPTANCE_TIMINGS=figures no time is judged, as where nothing was measured;
# TRUENO_ACCEPTANCE_LAUNCHES is the number of launches whose cost is measured (50000).
# Exit code: 0 nothing failed, 1 something did, 3 nothing can be recorded here.
set -uo pipefail
export LC_ALL=C PYTHONUNBUFFERED=1
PYTHON="${TRUENO_PYTHON:-python3}"; N="${TRUENO_ACCEPTANCE_LAUNCHES:-50000}"
K="$(cd "$(dirname "$0")" && pwd)"; O="${OUT:-/tmp/gpu-out}"; W="$(mktemp -d /tmp/gpuacc.XXXXXX)"
mkdir -p "$O"; : > "$O/table.txt"; export XDG_CACHE_HOME="$W/cache" TMPDIR="$W"
T0=$(date +%s); LIMIT="${GPU_SECONDS:-335}"
left() { echo $(( LIMIT - ($(date +%s) - T0) )); }
say() { printf '%4ss %-52s %-7s %s\n' "$(( $(date +%s) - T0 ))" "$1" "$2" "${3:-}" | tee -a "$O/table.txt"; }
need() { if [ "$(left)" -lt "$1" ]; then say "$2" skipped "no time left"; return 1; fi; }
trap 'pack' EXIT
pack() {
  trap - EXIT; cd "$W" || return
  tar czf "$O/logs.tar.gz" --exclude='*.run' --exclude=cache --exclude='*.spool' . 2>/dev/null
  for r in plain torch; do [ -d "$W/$r.run" ] && tar czf "$O/$r.run.tar.gz" "$r.run"; done
  find "$O" -type f -size +15M -delete -printf 'too large, left out: %f\n' | tee -a "$O/table.txt"
  printf '%s passed, %s failed, %s skipped\n' "$(grep -c ' pass ' "$O/table.txt")" "$(grep -c ' FAIL ' "$O/table.txt")" "$(grep -c ' skipped ' "$O/table.txt")" | tee -a "$O/table.txt"
}

# ---- 0. facts
R="${TRUENO_RECORD:-$K/trueno-record}"; export TRUENO_INJECT="${TRUENO_INJECT:-$K/libtrueno_inject.so}"; chmod +x "$K"/* 2>/dev/null
# the CUPTI that torch itself will load: a second copy beside it would see nothing
SITE="$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2>/dev/null)"
CUPTI="$(ls "$SITE"/nvidia/cu13/lib/libcupti.so.13 "$SITE"/nvidia/cuda_cupti/lib/libcupti.so.1? /usr/local/cuda/extras/CUPTI/lib64/libcupti.so.1? 2>/dev/null | head -1)"
{ nvidia-smi --query-gpu=name,driver_version,uuid,memory.total,clocks.max.sm,clocks.max.mem,power.limit,ecc.mode.current,mig.mode.current,compute_mode,persistence_mode --format=csv
  uname -a; ldd --version | head -1; nproc; ls -l /proc/driver/nvidia/params && grep -i profiling /proc/driver/nvidia/params
  ls /usr/lib/x86_64-linux-gnu/libcuda* /usr/local/nvidia/lib64/libcuda* /usr/local/cuda*/extras/CUPTI/lib64 2>/dev/null
  echo "cupti: $CUPTI"; env | grep -i 'cuda\|nv\|ld_lib'; which cc gcc nvcc ncu python3; date +%s.%N; } > "$O/facts.txt" 2>&1
head -2 "$O/facts.txt"; [ -n "$CUPTI" ] && export TRUENO_CUPTI="$CUPTI"
L="$K/launches"; [ -x "$L" ] || { L="$W/launches"; cc -O2 -o "$L" "$K/acceptance/launches.c" -ldl || exit 3; }
timeout 30 "$R" doctor > "$W/doctor.txt" 2>&1; cat "$W/doctor.txt" | head -30
timeout 30 env -u TRUENO_CUPTI "$R" doctor --need cuda > "$W/doctor_unaided.txt" 2>&1 && say "doctor finds CUPTI unaided (no --cupti)" pass || say "doctor finds CUPTI unaided (no --cupti)" FAIL "$(grep -m1 'kernels, transfers' "$W/doctor_unaided.txt")"
timeout 30 env -u TRUENO_CUPTI "$R" doctor --need cuda "$PYTHON" > "$W/doctor_python.txt" 2>&1 && say "doctor finds CUPTI of python3" pass || say "doctor finds CUPTI of python3" FAIL
timeout 30 "$R" doctor --need cuda > /dev/null 2>&1 && say "doctor: CUDA can be recorded" pass || { say "doctor: CUDA can be recorded" FAIL "$(grep -m1 'kernels, transfers' "$W/doctor.txt")"; exit 3; }

fact() { "$PYTHON" - "$1" "$2" <<'P'
import json,sys
r=json.load(open(sys.argv[1]+"/run.json")); c=r.get("capture") or {}
rows=lambda t: r["tables"].get(t,{}).get("rows",0)
print(eval(sys.argv[2]))
P
}
expect() { local f; f="$(fact "$2" "$3" 2>&1 | tail -1)"; if [ "$f" = "$4" ]; then say "$1" pass "$f"; else say "$1" FAIL "found $f, expected $4"; fi; }
rec() { local n="$1" lim="$2"; shift 2; rm -rf "$W/$n.run"; timeout "$lim" "$R" run -o "$W/$n.run" "$@" > "$W/$n.out" 2> "$W/$n.err"; local c=$?; [ $c = 124 ] && say "$n" FAIL "did not end within $lim s"; return $c; }
sound() { expect "$1: no sign of another profiler" "$W/$1.run" 'sum("another profiler" in p for p in r["problems"])' 0; expect "$1: dropped, invalid, unreadable are 0" "$W/$1.run" '(r["dropped"], sum(c["invalid"].values()), sum(c["unreadable"].values()))' "(0, 0, 0)"; [ -f "$W/$1.run/run.json" ] && fact "$W/$1.run" '"   invalid %s unreadable %s refused %s" % (c["invalid"], c["unreadable"], c["refused"])' | tee -a "$W/capture.txt"; }

# ---- 1. exact launches
rec plain 30 -- "$L" plain 1000; c=$?; [ $c = 0 ] && say "plain: exit code" pass 0 || say "plain: exit code" FAIL "$c"
expect "plain: 1000 kernels" "$W/plain.run" 'rows("kernels")' 1000; sound plain
expect "plain: clean end, device waited for" "$W/plain.run" '(c["clean_end"], c["synchronized"])' "(True, True)"
expect "plain: one event record" "$W/plain.run" 'c["records"].get("cuda_event",0)' 1
rows() { "$PYTHON" -c "import pyarrow" 2>/dev/null || { printf "%s|skipped|no pyarrow for %s\n" "$1" "$PYTHON"; cat >/dev/null; return 1; }; }
# Where nothing was measured, times are figures.
judged() { if [ "${TRUENO_ACCEPTANCE_TIMINGS:-}" = figures ]; then sed "s/|\(pass\|FAIL\)|/|figure|/"; else cat; fi; }
py() { "$PYTHON" - "$@" 2> "$W/py.err" || printf 'a check written in Python died|FAIL|%s\n' "$(tail -1 "$W/py.err")"; }
{ rows "rows, one by one" && py "$W"; } <<'P' | judged | while IFS='|' read -r n v t; do say "$n" "$v" "$t"; done
import sys,glob,statistics as s,pyarrow.ipc as ipc,pyarrow as pa
w=sys.argv[1]
def t(name): return pa.concat_tables([ipc.open_file(f).read_all().select([c for c in ipc.open_file(f).schema.names if c in ("grid_x","stream","start_ns","dur_ns","correlation","name","valid")]) for f in sorted(glob.glob(f"{w}/plain.run/{name}/*.arrow"))]).to_pylist()
k=sorted(t("kernels"),key=lambda r:r["grid_x"]); c={r["correlation"]:r for r in t("calls") if r.get("correlation")}
seen={int(l.split()[1]):int(l.split()[-1]) for l in open(f"{w}/plain.out") if l.startswith("kernel")}
d=[r["dur_ns"]-seen[r["grid_x"]] for r in k if r["grid_x"] in seen]
print(f"plain: durations against %globaltimer|{'pass' if d and -2000<=s.median(d)<=10000 else 'FAIL'}|longer by {s.median(d) if d else None} ns, {min(d,default=0)} to {max(d,default=0)}")
lat=[r["start_ns"]-c[r["correlation"]]["start_ns"] for r in k if r["correlation"] in c]
print(f"plain: each kernel has its call, none starts before it|{'pass' if len(lat)==len(k) and min(lat)>=0 else 'FAIL'}|{len(lat)} of {len(k)}; least {min(lat,default=None)} ns, first kernel after its call {lat[0] if lat else None} ns")
st=sorted({r["stream"] for r in k}); h=len(k)//2
gap=min(r["start_ns"] for r in k[h:])-max(r["start_ns"]+r["dur_ns"] for r in k[:h])
print(f"plain: second stream starts after the first ended|{'pass' if len(st)==2 and gap>=0 else 'FAIL'}|streams {st}, {gap} ns between")
over=sum(a["start_ns"]+a["dur_ns"]>b["start_ns"] for a,b in zip(k[:h],k[1:h]))
print(f"plain: kernels of one stream do not overlap|{'pass' if over==0 else 'FAIL'}|{over} do")
P
rec pending 30 -- "$L" pending 1000; expect "pending: work nobody waited for" "$W/pending.run" 'rows("kernels")' 1000; sound pending
rec graph 30 -- "$L" graph 2000; expect "graph: 3 kernels a replay" "$W/graph.run" 'rows("kernels")' 6000
expect "graph: edges" "$W/graph.run" 'rows("edges") >= 10000' True; sound graph
rec whole 30 --graphs whole -- "$L" graph 2000; expect "graph, whole: a row a replay" "$W/whole.run" 'rows("kernels")' 2000; sound whole
rec exit 30 -- "$L" _exit 1000; c=$?; [ $c = 5 ] && say "_exit: exit code" pass 5 || say "_exit: exit code" FAIL "$c"
expect "_exit: what was delivered is there" "$W/exit.run" 'rows("kernels")' 1000
rec full 30 --level full -- "$L" plain 1000; expect "full: memory, clocks, stages" "$W/full.run" '(rows("allocations") >= 1, c["records"].get("environment",0) >= 1, "stages of launches" in c["refused"])' "(True, True, False)"; sound full
rec kernels 30 --level kernels -- "$L" plain 1000; expect "level kernels: kernels of the driver's API have a launch" "$W/kernels.run" 'sum(c["invalid"].values())' 0
rec event 30 -- "$L" event 50
{ rows "rows, one by one" && py "$W"; } <<'P' | judged | while IFS='|' read -r n v t; do say "$n" "$v" "$t"; done
import sys,glob,statistics as s,pyarrow.ipc as ipc
w=sys.argv[1]; k=[r for f in glob.glob(f"{w}/event.run/kernels/*.arrow") for r in ipc.open_file(f).read_all().select(["grid_x","dur_ns"]).to_pylist()]
e={int(l.split()[1]):int(l.split()[-1]) for l in open(f"{w}/event.out") if l.startswith("event")}
d=[e[r["grid_x"]]-r["dur_ns"] for r in k if r["grid_x"] in e]
print(f"event: CUDA events enclose CUPTI's durations|{'pass' if d and -1000<=s.median(d)<=50000 else 'FAIL'}|{len(d)} kernels of 1 ms, events longer by {s.median(d) if d else None} ns")
P
# raw spool of real records, as a fixture for tests
mkdir -p "$W/cap"; TRUENO_CAPTURE="$W/cap" TRUENO_CAPTURE_LEVEL=full CUDA_INJECTION64_PATH="$TRUENO_INJECT" NVTX_INJECTION64_PATH="$TRUENO_INJECT" timeout 20 "$L" graph 50 > "$W/raw.out" 2>&1
cat "$W"/cap/*.spool 2>/dev/null | gzip > "$O/raw.spool.gz"; [ -s "$O/raw.spool.gz" ] && say "raw spool of real records kept" pass "$(ls "$W"/cap/*.spool | wc -l) file(s)"

# ---- 2. what recording costs a launch, and a range (medians of 3)
cost() { local a=(); for i in 1 2 3; do a+=("$("$@" | sed -n 's/per_launch_ns \([0-9.]*\).*/\1/p;s/nvtx_pair_ns \([0-9.]*\).*/\1/p')"); done; printf '%s\n' "${a[@]}" | sort -n | sed -n 2p; }
say "launch: not recorded" figure "$(cost timeout 20 "$L" overhead "$N") ns"
for level in kernels edges full; do a=(); for i in 1 2 3; do rec "over_$level" 40 --level $level -- "$L" overhead "$N"; a+=("$(sed -n 's/per_launch_ns \([0-9.]*\).*/\1/p' "$W/over_$level.out")"); done
  say "launch: --level $level" figure "$(printf '%s\n' "${a[@]}" | sort -n | sed -n 2p) ns"
  expect "launch: --level $level loses none" "$W/over_$level.run" 'rows("kernels")' $((N + 1000)); rm -rf "$W/over_$level.run"; done
if [ -x "$K/nvtxcost" ]; then
  say "NVTX push+pop: not recorded" figure "$("$K/nvtxcost" 200000 | sed 's/.* //') ns"
  rec nv1 30 --ranges-only -- "$K/nvtxcost" 200000; say "NVTX push+pop: --ranges-only" figure "$(sed 's/.* //' "$W/nv1.out") ns"
  rec nv2 30 -- "$K/nvtxcost" 200000 cuda; say "NVTX push+pop: with CUPTI on" figure "$(sed 's/.* //' "$W/nv2.out") ns"; rm -rf "$W"/nv?.run
fi

# ---- 3. torch: 60 steps, beside CUDA events and torch.profiler of the same loop in another process
cat > "$W/loop.py" <<'P'
import os,sys,time,json,torch
torch.manual_seed(0); m=torch.nn.Sequential(*[torch.nn.Linear(2048,2048) for _ in range(8)]).cuda().bfloat16()
o=torch.optim.SGD(m.parameters(),lr=1e-3); x=torch.randn(512,2048,device="cuda",dtype=torch.bfloat16)
def step():
    torch.cuda.nvtx.range_push("step"); o.zero_grad(); m(x).square().mean().backward(); o.step(); torch.cuda.nvtx.range_pop()
for _ in range(20): step()
torch.cuda.synchronize(); a,b=torch.cuda.Event(True),torch.cuda.Event(True); t=time.perf_counter(); a.record()
for _ in range(60): step()
b.record(); torch.cuda.synchronize(); w=time.perf_counter()-t
how=sys.argv[1] if len(sys.argv)>1 else ""
out={"steps":80,"wall_ms_a_step":w/60*1e3,"event_ms_a_step":a.elapsed_time(b)/60}
if how=="profiler":
    from torch.profiler import profile,ProfilerActivity as A
    with profile(activities=[A.CUDA]) as p:
        for _ in range(20): step()
        torch.cuda.synchronize()
    ks=[e for e in p.events() if e.device_type==torch.autograd.DeviceType.CUDA and not e.name.startswith("Mem")]
    out["kernels_a_step"]=len(ks)/20; out["kernel_us_a_step"]=sum(e.time_range.elapsed_us() for e in ks)/20
print(json.dumps(out),flush=True)
if how=="_exit": time.sleep(.5); os._exit(7)
P
if need 100 torch && timeout 90 "$PYTHON" -c 'import torch,sys; sys.exit(0 if torch.cuda.is_available() else 1)'; then
  timeout 60 "$PYTHON" "$W/loop.py" profiler > "$W/torch_bare.out" 2> "$W/torch_bare.err"; say "torch: not recorded, torch.profiler" figure "$(tail -1 "$W/torch_bare.out")"
  rec torch 80 -- "$PYTHON" "$W/loop.py"; say "torch: recorded" figure "$(tail -1 "$W/torch.out")"; sound torch
  { rows "rows, one by one" && py "$W"; } <<'P' | judged | while IFS='|' read -r n v t; do say "$n" "$v" "$t"; done
import sys,glob,json,pyarrow.ipc as ipc
w=sys.argv[1]
def t(n,cols): return [r for f in sorted(glob.glob(f"{w}/torch.run/{n}/*.arrow")) for r in ipc.open_file(f).read_all().select(cols).to_pylist()]
k=t("kernels",["id","name","start_ns","dur_ns","correlation","valid","brick"]); c={r["correlation"]:r for r in t("calls",["correlation","start_ns","name"]) if r["correlation"]}
b={r["id"]:r for r in t("bricks",["id","start_ns","name"])}; j=lambda f: json.loads(open(f"{w}/{f}").read().strip().splitlines()[-1])
bare,mine=j("torch_bare.out"),j("torch.out"); steps=mine["steps"]
own=[r for r in b.values() if r["name"]=="step"]  # libraries state ranges of their own
print(f"torch: a range a step, own ranges only|{'pass' if len(own)==steps else 'FAIL'}|{len(own)} of {steps}, {len(b)-len(own)} of libraries")
first=min(r["start_ns"] for r in own); inside=[r for r in k if r["start_ns"]>=first]
inferred={r["span"] for r in t("attributes",["span","name"]) if r["name"]=="brick_inferred"}
counted=sum(bool(r["brick"]) for r in inside); by_time=sum(r["id"] in inferred for r in inside)
print(f"torch: kernels counted to a step, backward's by inference|{'pass' if counted>=0.99*len(inside) and by_time>0 else 'FAIL'}|{counted} of {len(inside)}, {by_time} inferred")
n=len(inside)/steps; us=sum(r["dur_ns"] for r in inside)/steps/1e3
if "kernels_a_step" in bare:
    print(f"torch: as many kernels a step as torch.profiler|{'pass' if abs(n-bare['kernels_a_step'])<=0.02*n+1 else 'FAIL'}|{n:.1f}, torch.profiler {bare['kernels_a_step']:.1f}")
    print(f"torch: kernel time a step as torch.profiler's|{'pass' if abs(us/bare['kernel_us_a_step']-1)<.10 else 'FAIL'}|{us:.0f} us, torch.profiler {bare['kernel_us_a_step']:.0f} us")
print(f"torch: kernel time below CUDA events' time|{'pass' if us<=mine['event_ms_a_step']*1e3*1.02 else 'FAIL'}|{us:.0f} of {mine['event_ms_a_step']*1e3:.0f} us a step")
no=sum(r["correlation"] not in c for r in k); early=sum(r["correlation"] in c and r["start_ns"]<c[r["correlation"]]["start_ns"] for r in k)
print(f"torch: every kernel has its call, none before it|{'pass' if no==0 and early==0 else 'FAIL'}|{no} without, {early} early, of {len(k)}")
print(f"torch: recording slows a step|figure|{mine['wall_ms_a_step']/bare['wall_ms_a_step']:.3f} times")
P
  rec torch_kernels 60 --level kernels -- "$PYTHON" "$W/loop.py"; say "torch: --level kernels" figure "$(tail -1 "$W/torch_kernels.out")"; sound torch_kernels; rm -rf "$W/torch_kernels.run"
  need 60 "torch: _exit" && { rec torch_exit 60 -- "$PYTHON" "$W/loop.py" _exit; c=$?; [ $c = 7 ] && say "torch: os._exit keeps its code" pass || say "torch: os._exit keeps its code" FAIL "$c"; expect "torch: os._exit loses no step" "$W/torch_exit.run" 'rows("bricks") >= 80' True; rm -rf "$W/torch_exit.run"; }
  need 60 "torch.profiler inside" && { rec torch_inside 60 -- "$PYTHON" "$W/loop.py" profiler; say "torch.profiler inside a recording" figure "$(tail -1 "$W/torch_inside.out")"
    expect "torch.profiler inside: what it took is said" "$W/torch_inside.run" 'any("profiler" in p for p in r["problems"]) or rows("kernels") >= .98*100/80*json.load(open(sys.argv[1].replace("torch_inside","torch")+"/run.json"))["tables"]["kernels"]["rows"]' True; rm -rf "$W/torch_inside.run"; }
else say torch skipped "no torch with a device, or no time left"; fi

# ---- 4. ceilings beside data sheets and torch
if need 45 peaks; then
  if ! timeout 60 "$R" peaks --gpu --format json > "$O/peaks.json" 2> "$W/peaks.err"; then
    # A driver too old to be asked is no failure of ours.
    case "$(tail -1 "$W/peaks.err")" in *"newer NVIDIA driver"*) v=skipped;; *) v=FAIL;; esac
    say peaks "$v" "$(tail -1 "$W/peaks.err")"
  fi
  timeout 40 "$PYTHON" - > "$W/torchpeak.json" 2> "$W/torchpeak.err" <<'P'
import torch,json
def ms(f,n=10):
    for _ in range(3): f()
    a,b=torch.cuda.Event(True),torch.cuda.Event(True); a.record()
    for _ in range(n): f()
    b.record(); torch.cuda.synchronize(); return a.elapsed_time(b)/n
x=torch.randn(1<<30,device="cuda"); y=torch.empty_like(x); copy=2*x.numel()*4/ms(lambda:y.copy_(x))*1e3; del x,y
r={"copy":copy}
for n,d in (("bf16",torch.bfloat16),("f16",torch.float16),("f64",torch.float64)):
    s=4096 if n=="f64" else 8192; a=torch.randn(s,s,device="cuda",dtype=d); r[n]=2*s**3/ms(lambda:a@a,5)*1e3
torch.backends.cuda.matmul.allow_tf32=True; a=torch.randn(8192,8192,device="cuda"); r["tf32"]=2*8192**3/ms(lambda:a@a,5)*1e3
print(json.dumps(r))
P
  [ -s "$O/peaks.json" ] && py "$O/peaks.json" "$W/torchpeak.json" <<'P' | while IFS='|' read -r n v t; do say "$n" "$v" "$t"; done
import json,sys
try: tp=json.load(open(sys.argv[2]))
except Exception: tp={}
for p in json.load(open(sys.argv[1])):
    g=p["gpu"]; r={(c["level"],c.get("precision"),c["operation"]):c["value"] for c in p["ceilings"]}; h2="H200" in g["name"]
    for x in p["notes"]: print(f"peaks: note|figure|{x}")
    sheet={("DRAM",None,"read"):(.85,4.8e12 if h2 else 3.35e12),("DRAM",None,"copy"):(.80,4.8e12 if h2 else 3.35e12),("DRAM",None,"triad"):(.80,4.8e12 if h2 else 3.35e12),
      ("cuda_cores","f32","fma"):(.85,66.9e12),("cuda_cores","f64","fma"):(.85,33.5e12),("shared",None,"read"):(.80,132*128*1.98e9),
      }
    # operations follow the instruction: mma.sync on Hopper is about 0.6 of the sheet, wgmma should be above 0.8
    for (level,precision,_),v in list(r.items()):
        tera={"bf16":989,"f16":989,"f16_acc":989,"tf32":494,"f8":1979,"i8":1979,"f64":67}.get(precision)
        share={"tensor_mma_sync":(.75,1.02) if precision=="f64" else (.45,.76),"tensor_wgmma":(.75,1.08)}.get(level)
        if tera and share: sheet[(level,precision,_)]=(share[0]/share[1],tera*1e12*share[1])
    if "H100" in g["name"] or h2:
        for p_ in ("bf16","f16","tf32","f8","i8"):
            ok=any(k[0]=="tensor_wgmma" and k[1]==p_ for k in r)
            print(f"peaks: {p_} has a ceiling of wgmma|{'pass' if ok else 'FAIL'}|")
        for p_ in ("bf16","f16","tf32"):
            roof=max((v for k,v in r.items() if k[1]==p_),default=0)
            if p_ in tp and roof: print(f"peaks: cuBLAS through torch lies below our roof of {p_}|{'pass' if tp[p_]<=roof*1.02 else 'FAIL'}|{tp[p_]/1e12:.1f} of {roof/1e12:.1f} T/s")
    for k,v in r.items():
        lo,hi=sheet.get(k,(0,1e30)); ok=lo*hi<=v<=hi*1.02
        ref={"copy":tp.get("copy")}.get(k[2]) if k[0]=="DRAM" else tp.get(k[1])
        print(f"peaks: {k[0]} {k[1] or ''} {k[2]}|{'figure' if k not in sheet else 'pass' if ok else 'FAIL'}|{v/1e12:.3f} T/s, sheet {hi/1e12 if hi<1e29 else float('nan'):.2f}, torch {ref/1e12 if ref else float('nan'):.3f}")
    if ("DRAM",None,"read") in r and ("L2",None,"read") in r: print(f"peaks: L2 above DRAM|{'pass' if r[('L2',None,'read')]>r[('DRAM',None,'read')] else 'FAIL'}|")
    print(f"peaks: clock|figure|{(p.get('clock_hz') or 0)/1e6:.0f} MHz measured, {(g.get('highest_clock_hz') or 0)/1e6:.0f} highest")
P
fi

# ---- 5. Rust programs around cudarc, checksums on the device
if [ -x "$K/two_streams" ] && need 30 in-process; then
  timeout 40 "$K/two_streams" "$W/in.run" 1000 > "$W/in.out" 2> "$W/in.err" && say "in-process: two_streams ran" pass "$(tr '\n' ' ' < "$W/in.out")" || say "in-process: two_streams ran" FAIL "$(tail -1 "$W/in.err")"
  expect "in-process: kernels" "$W/in.run" 'rows("kernels")' 2001; expect "in-process: dropped, problems" "$W/in.run" '(r["dropped"], len(r["problems"]))' "(0, 0)"
  rec both 40 -- "$K/two_streams" "$W/own.run" 1000; expect "in-process, injected: kernels and ranges" "$W/both.run" '(rows("kernels"), rows("bricks"))' "(2001, 2)"; sound both
  # The cost is one of launches: judged for kernels of 100 us, shown for kernels of 10 us.
  for us in 10 100; do timeout 60 "$K/sync_modes" "$W" 32 20 $us > "$W/sync_modes_$us.txt" 2>&1; while read -r m ns o; do case "$m" in none) b=1;; deferred) b=5;; per_layer) b=20;; immediate) b=200;; *) continue;; esac
    if [ $us = 10 ] || [ "${TRUENO_ACCEPTANCE_TIMINGS:-}" = figures ]; then v=figure; else v="$("$PYTHON" -c "print('pass' if float('$o')<=$b else 'FAIL')" 2>/dev/null)"; fi
    say "sync mode $m, bricks of $us us" "$v" "$ns ns a brick, $o % more, target $b %"; done < "$W/sync_modes_$us.txt"; done
fi
[ -x "$K/device_checksums" ] && need 25 checksums && { timeout 40 "$K/device_checksums" > "$W/checksums.tsv" 2> "$W/checksums.err"; while IFS=$'\t' read -r n v t; do say "checksums: $n" "$v" "$t"; done < "$W/checksums.tsv"; }

# ---- 6. other CUPTI versions on this driver (records of each against its own sizes)
for f in "$K"/cupti/*/libcupti.so.*; do [ -f "$f" ] && need 12 "cupti $f" || continue; v="$(basename "$(dirname "$f")")"
  TRUENO_CUPTI="$f" rec "v$v" 15 -- "$L" graph 200; expect "CUPTI $v: 600 kernels, sound" "$W/v$v.run" '(rows("kernels"), sum(c["invalid"].values()), sum(c["unreadable"].values()))' "(600, 0, 0)"
  [ -d "$W/v$v.run" ] || say "CUPTI $v: said" figure "$(grep -m1 trueno-record "$W/v$v.err" | cut -c1-150)"; rm -rf "$W/v$v.run"; done

nvidia-smi --query-gpu=clocks.sm,clocks.mem,temperature.gpu,power.draw,clocks_event_reasons.active --format=csv,noheader >> "$O/facts.txt" 2>&1
dmesg 2>/dev/null | grep -i xid >> "$O/facts.txt"
pack; grep -q ' FAIL ' "$O/table.txt" && exit 1; exit 0
