# shellcheck shell=bash
# Part of cuda-acceptance.sh: checksums of tensors on the device, and what the device can do at most.
# TRUENO_CHECKSUMS names the example device_checksums of recorder/cuda, built elsewhere.

checksums="${TRUENO_CHECKSUMS:-}"
if [ -z "$checksums" ] && [ -n "${target:-}" ]; then
  (cd "$here/.." && cargo build --release -p trueno-recorder-cuda --example device_checksums) \
    && checksums="$target/release/examples/device_checksums"
fi
if [ -z "$checksums" ]; then
  skip "device checksums" "TRUENO_CHECKSUMS names no program"
else
  "$checksums" > "$folder/checksums.tsv" 2> "$folder/checksums.err"; code=$?
  while IFS=$'\t' read -r name verdict found; do say "checksums: $name" "$verdict" "$found"; done < "$folder/checksums.tsv"
  # One that ended in the middle has lines that pass.
  case $code in 0|1|3) ;; *) fail "device checksums" "exit code $code: $(tail -1 "$folder/checksums.err")" ;; esac
fi

# What data sheets and others report of DRAM copies; ours has to be near it, and below the sheet's bandwidth.
if "$record" peaks --gpu --format json > "$folder/peaks.json" 2> "$folder/peaks.err"; then
  python3 - "$folder/peaks.json" > "$folder/peaks.tsv" <<'PY'
import json, sys
for peaks in json.load(open(sys.argv[1])):
    gpu = peaks["gpu"]
    rate = {(c["level"], c["precision"], c["operation"]): c["value"] for c in peaks["ceilings"]}
    for note in peaks["notes"]:
        print(f"gpu:{gpu['number']} note\tskipped\t{note}")
    copy = rate.get(("DRAM", None, "copy"))
    # (name, least, most) in bytes/s: 3.0 and 4.3 TB/s are what copies reach elsewhere, 3.35 and 4.8 what memory has.
    for name, least, most in [("H200", 3.9e12, 4.8e12), ("H100", 2.6e12, 3.36e12)]:
        if name in gpu["name"] and copy and "PCIe" not in gpu["name"] and "NVL" not in gpu["name"]:
            print(f"gpu:{gpu['number']} DRAM copy as expected\t{'pass' if least < copy < most else 'FAIL'}\t{copy / 1e12:.2f} TB/s, expected {least / 1e12} to {most / 1e12}")
            break
    else:
        print(f"gpu:{gpu['number']} DRAM copy as expected\tskipped\tnothing is known of {gpu['name']}")
    above = rate.get(("L2", None, "read"), 0) > rate.get(("DRAM", None, "read"), float("inf"))
    print(f"gpu:{gpu['number']} L2 is faster than DRAM\t{'pass' if above else 'FAIL'}\t")
    # All multiprocessors at the highest clock, each with 128 lanes at most, two operations each.
    clock, processors = gpu["highest_clock_hz"], gpu["multiprocessors"]
    fma = rate.get(("cuda_cores", "f32", "fma"), 0)
    if clock and processors:
        most = clock * processors * 128 * 2
        print(f"gpu:{gpu['number']} FP32 FMA not above what there is\t{'pass' if 0 < fma <= most * 1.02 else 'FAIL'}\t{fma / 1e12:.1f} of {most / 1e12:.1f} TFLOP/s")
    for (level, precision, operation), value in rate.items():
        print(f"gpu:{gpu['number']} {level} {precision or ''} {operation}\tpass\t{value / 1e12:.3f} T/s")
PY
  while IFS=$'\t' read -r name verdict found; do say "peaks: $name" "$verdict" "$found"; done < "$folder/peaks.tsv"
else
  skip "peaks" "$(tail -1 "$folder/peaks.err")"
fi
