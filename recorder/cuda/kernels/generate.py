#!/usr/bin/env python3
"""Makes the PTX texts that are checked in from the CUDA C beside each. For developers alone: no build needs it.

    pip install --no-deps nvidia-cuda-nvrtc-cu12==12.0.140 nvidia-cuda-nvcc-cu12 nvidia-cuda-nvdisasm
    kernels/generate.py            # writes the texts
    kernels/generate.py --check    # also assembles them for each architecture, and counts what loops consist of

NVRTC 12.0 and not a newer one: a text begins with the version of PTX it is in, and drivers refuse newer ones than
their own. `ptxas` and `nvdisasm` of newer releases look at the result.
"""
import ctypes
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Source, its macros, text, architecture, the oldest version of PTX that has all that is in it (checked by ptxas).
TEXTS = [
    ("fingerprint.cu", [], "fingerprint.ptx", "compute_70", "7.0"),
    ("fingerprint.cu", ["--define-macro=STRIDED"], "strided.ptx", "compute_70", "7.0"),
    ("../../ceilings/src/gpu/ceilings.cu", [], "../../ceilings/src/gpu/ceilings.ptx", "compute_70", "7.0"),
    ("../../ceilings/src/gpu/tensor.cu", ["--define-macro=PART=80"], "../../ceilings/src/gpu/tensor.ptx", "compute_80", "7.0"),
    ("../../ceilings/src/gpu/tensor.cu", ["--define-macro=PART=89"], "../../ceilings/src/gpu/tensor_sm89.ptx", "compute_89", "8.4"),
    ("../../ceilings/src/gpu/tensor.cu", ["--define-macro=PART=90"], "../../ceilings/src/gpu/tensor_sm90a.ptx", "compute_90a", "8.0"),
    ("../../ceilings/src/gpu/tensor.cu", ["--define-macro=PART=100"], "../../ceilings/src/gpu/tensor_sm100f.ptx", "compute_100f", "8.8"),
]
ASSEMBLED_FOR = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]
# Texts for one device or family alone.
ASSEMBLED_ALONE = {"compute_90a": ["sm_90a"], "compute_100f": ["sm_100a", "sm_103a"], "compute_89": ["sm_89", "sm_120"]}


def found(name: str) -> Path:
    for folder in map(Path, sys.path):
        for path in sorted(folder.glob(f"nvidia/**/{name}")):
            return path
    sys.exit(f"{name} is missing: see the top of this file")


def compiled(source: Path, macros: list[str], architecture: str) -> str:
    library = found("libnvrtc.so.12")
    ctypes.CDLL(str(next(library.parent.glob("libnvrtc-builtins.so.12.*"))), mode=ctypes.RTLD_GLOBAL)
    nvrtc = ctypes.CDLL(str(library))
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.read_bytes(), source.name.encode(), 0, None, None)
    # NVRTC 12.0 does not read inline assembly, so what it compiles for its newest device can be for a later one.
    known = "compute_90a" if architecture == "compute_100f" else architecture
    options = [f"--gpu-architecture={known}", "--fmad=false", "--std=c++17", *macros]
    array = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    code = nvrtc.nvrtcCompileProgram(program, len(options), array)
    size = ctypes.c_size_t()
    if code:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.exit(f"{source.name}: {log.value.decode()}")
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, text)
    return text.value.decode()


def text_of(source: Path, macros: list[str], architecture: str, version: str) -> str:
    text = compiled(source, macros, architecture)
    text = re.sub(r"(?m)^//.*\n", "", text).lstrip()
    text = re.sub(r"(?m)^\.version .*$", f".version {version}", text)
    text = re.sub(r"(?m)^\.target .*$", f".target {architecture.replace('compute', 'sm')}", text)
    # Constants of the compiler's own header, which nothing uses.
    for line, name in re.findall(r"(?m)^(\.global .*?(\w+)(?:\[\d+\])?(?: = .*)?;\n)", text):
        if len(re.findall(rf"\b{name}\b", text)) == 1:
            text = text.replace(line, "")
    return f"// Made of {source.name} by generate.py: do not edit.\n// FNV-1a of the source: {fnv1a(source.read_bytes()):016x}\n" + text


def fnv1a(data: bytes) -> int:
    """So that a test sees that a text was not made of the source beside it."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def check(text: Path, oldest: str) -> None:
    for architecture in ASSEMBLED_ALONE.get(oldest, ASSEMBLED_FOR):
        if oldest not in ASSEMBLED_ALONE and int(architecture[3:]) < int(oldest.removeprefix("compute_")):
            continue
        with tempfile.NamedTemporaryFile(suffix=".cubin") as cubin:
            subprocess.run([found("ptxas"), f"-arch={architecture}", "-v", text, "-o", cubin.name], check=True, stderr=subprocess.PIPE)
            code = subprocess.run([found("nvdisasm"), "-c", cubin.name], check=True, capture_output=True, text=True).stdout
        print(text.name, architecture, loops(code))


def loops(code: str) -> dict[str, str]:
    """What arithmetic the largest innermost loop of each function has."""
    result = {}
    for function in re.split(r"(?m)^\s*\.section\s+\.text\.", code)[1:]:
        name = re.match(r"[^,\s]+", function).group()
        lines, labels, best = function.splitlines(), {}, {}
        for at, line in enumerate(lines):
            if label := re.match(r"(\.L_x_\d+):", line):
                labels[label.group(1)] = at
            branch = re.search(r"BRA.*?(\.L_x_\d+)", line)
            start = labels.get(branch.group(1)) if branch else None
            if start is not None and not any(re.match(r"\.L_x_\d+:", inner) for inner in lines[start + 1 : at]):
                counts: dict[str, int] = {}
                for inner in lines[start:at]:
                    if operation := re.search(r"\b(FFMA|DFMA|[A-Z]*MMA|LDG|STG|LDS|STS)\b", inner):
                        counts[operation.group(1)] = counts.get(operation.group(1), 0) + 1
                if sum(counts.values()) > sum(best.values()):
                    best = counts
        if best:
            result[name] = " ".join(f"{count} {operation}" for operation, count in sorted(best.items()))
    return result


def main() -> None:
    for source, macros, text, architecture, version in TEXTS:
        (HERE / text).write_text(text_of(HERE / source, macros, architecture, version))
        if "--check" in sys.argv:
            check(HERE / text, architecture)


if __name__ == "__main__":
    main()
