#!/usr/bin/env python3
"""Agreement of the model of operators with reference tables of TraceLens.

    cargo build -p trueno-operator-model --example operator_work
    tests/operators_agreement.py FOLDER [target/debug/examples/operator_work]

Reads every CSV below FOLDER that has columns of input dims, GFLOPS and data moved, asks the model about each row's
signature, and prints how many rows agree to 1e-6, and each operator for which they do not, with the reason. A reason only
counts where the formula that it blames gives the table's own value. Exits with 1 if a difference has no such reason.
Needs Python 3 alone.
"""

import ast
import collections
import csv
import json
import math
import pathlib
import re
import subprocess
import sys

TOLERANCE = 1e-6
MIB = 1 << 20

# Differences that are known: operators, column, which side is right and why.
REASONS = [
    ("copy_|upsample_nearest", "flops", "model: copies, casts and repetitions do no arithmetic; the table counts one operation an element"),
    ("copy_|add|mul|div|sub", "bytes", "model: a stride of 0 is read once, and a scalar argument is no memory (the table counts 4 bytes)"),
    ("convolution$", "flops|bytes", "model: the bias is added and read; the table takes every call as one without bias"),
    ("convolution_backward", "bytes", "model: the gradient of the output is read once for both gradients, and the mask decides; the table sums two passes"),
    ("convolution_backward", "flops", "model: gradients that the mask leaves out are not computed"),
    ("batch_norm$|instance_norm$", "flops|bytes", "model: parameters and statistics that are absent are not read, and inference has no statistics; the table takes all calls as affine and training"),
    ("layer_norm$", "flops|bytes", "model: statistics are those of a row, and there are no running ones; the table counts six tensors of the normalised size"),
    ("group_norm$", "flops|bytes", "model: statistics are those of a group of a sample, there are no running ones, and absent parameters are not read"),
    ("native_batch_norm_backward", "flops|bytes", "model: mean and deviation are read in their own type, the mask decides which gradients are written"),
    ("(cudnn|miopen)_batch_norm_backward", "flops|bytes", "model: always a gradient of training, so the gradient of the input is computed and written"),
    ("(layer|group)_norm_backward", "flops|bytes", "model: mean and deviation are of the rows, the sums for weight and bias are counted where the mask asks for them"),
    ("_fused_rms_norm", "flops|bytes", "model: the deviation of a row is read backward, an absent weight is neither read nor multiplied with"),
    ("sum|mean|max|min|norm|amax|amin|cumsum|std|var", "bytes", "model: the output has the elements that the reduced dimensions leave; the table takes it as one element"),
    ("std|var|norm|logsumexp", "flops", "model: squares and exponentials are operations of their own"),
    ("add_?$|sub_?$", "flops", "model: alpha other than 1 is one more operation"),
    ("sigmoid_backward|threshold_backward", "bytes", "model: a stride of 0 is read once"),
    ("mm$|matmul", "bytes", "model: operands that are expanded are read once, outputs have their own type"),
    ("attention", "bytes", "model: the output of the forward pass and its log-sum-exp are read backward, and a bias is read"),
    ("attention", "flops", "model: of causal masks that are not square the visible pairs are counted"),
]


BYTES = {"double": 8, "long int": 8, "float": 4, "int": 4, "Scalar": 4, "c10::Half": 2, "c10::BFloat16": 2}


def product(lengths):
    return math.prod(lengths) if lengths else 1


def listed_in(cell):
    """Numbers of a recorded list."""
    return [int(part) for part in cell.strip("[]").split(",") if part.strip()]


def blamed(name, texts):
    """FLOPs and bytes by the formulas of the tables, where they are not the model's; `None` for what is not known."""
    dims, types, _, concrete = (json.loads(part) if part else [] for part in texts)
    sizes = [BYTES.get(kind, 1) for kind in types]
    size, operator = sizes[0], name.removeprefix("aten::")
    elements = product(dims[0])
    if operator == "copy_":
        return elements, elements * (size + (sizes[1] if dims[1] else size))
    if operator.startswith("upsample_nearest"):
        outputs = product(dims[0][:2]) * product(listed_in(concrete[1]))
        return outputs, (elements + outputs) * size
    if operator in ("add", "add_", "sub", "sub_", "mul", "mul_", "div", "div_"):
        shapes = [[1] * (max(map(len, dims[:2])) - len(shape)) + shape for shape in dims[:2]]
        outputs = product([max(pair) for pair in zip(*shapes)])
        wide = max(sizes[:2]) if dims[0] and dims[1] else size
        wide = sizes[2] if len(dims) > 2 and dims[2] else wide
        return outputs, elements * size + product(dims[1]) * sizes[1] + outputs * wide
    if operator in ("sum", "mean", "max", "min", "norm", "amax", "amin", "std", "var"):
        return elements, elements * size + size
    if operator == "convolution":
        stride, padding, dilation = (listed_in(concrete[at]) for at in (3, 4, 5))
        spatial = zip(dims[0][2:], dims[1][2:], *(part * 3 if len(part) == 1 else part for part in (stride, padding, dilation)))
        outputs = dims[0][0] * dims[1][0] * product([(x + 2 * p - d * (k - 1) - 1) // s + 1 for x, k, s, p, d in spatial])
        return 2 * outputs * product(dims[1][1:]), (elements + product(dims[1]) + outputs) * size
    if operator == "convolution_backward":
        moved = 2 * (elements + product(dims[1]) + product(dims[2])) * sizes[1]
        return 4 * elements * product(dims[2][1:]), moved
    if re.fullmatch("(native_|miopen_|cudnn_)?(batch|layer|group|instance)_norm", operator):
        channels = product(listed_in(concrete[1])) if "layer" in operator else dims[0][1]
        return 5 * elements + 6 * channels, (2 * elements + 6 * channels) * size
    if operator in ("miopen_batch_norm_backward", "cudnn_batch_norm_backward"):
        channels = dims[0][1]
        return 4 * elements + 3 * channels, (2 * elements + channels) * size
    if operator in ("native_batch_norm_backward", "native_layer_norm_backward", "native_group_norm_backward"):
        parameters = 4
        if "layer" in operator:
            mask = concrete[7].strip("[]").split(", ")
            channels = product(listed_in(concrete[2]))
            parameters = 1 + (2 + (mask[2] == "True") if mask[1] == "True" else 0)
        else:
            channels = dims[1][1] // (int(concrete[8]) if "group" in operator else 1)
        return 9 * elements, (3 * elements + parameters * channels) * sizes[1]
    if operator == "_fused_rms_norm":
        width = product(listed_in(concrete[1]))
        return elements // width * (2 * width + 2) + 2 * elements, (2 * elements + width) * size
    if operator == "_fused_rms_norm_backward":
        width = product(listed_in(concrete[2]))
        weight = "True]" in concrete[5]
        return elements * (10 if weight else 8), (3 * elements + 2 * width) * sizes[1]
    return None, None


def column(row, *names):
    """The first of these columns that a row has."""
    for name in names:
        if row.get(name) not in (None, ""):
            return row[name]
    return None


def text(cell):
    """A cell of Python lists or tuples as JSON; tuples of one are lists, too."""
    if cell is None:
        return ""
    value = ast.literal_eval(cell)

    def listed(value):
        return [listed(part) for part in value] if isinstance(value, (list, tuple)) else value

    return json.dumps(listed(value))


def rows(folder):
    """Rows with a signature and figures: table, name, texts, FLOPs, bytes."""
    csv.field_size_limit(1 << 30)
    for path in sorted(pathlib.Path(folder).rglob("*.csv")):
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                dims = column(row, "Input Dims", "Input Dims_first")
                gflops = column(row, "GFLOPS", "GFLOPS_first")
                moved = column(row, "Data Moved (MB)", "Data Moved (MB)_first")
                if dims is None or gflops is None or gflops == "nan":
                    continue
                texts = [text(column(row, name, name + "_first")) for name in ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")]
                yield path, row["name"], texts, float(gflops) * 1e9, None if moved in (None, "nan") else float(moved) * MIB, column(row, "Compute Spec")


def reason(name, what):
    for operators, columns, why in REASONS:
        if re.search(operators, name) and re.search(columns, what):
            return why
    return None


def main():
    folder = sys.argv[1]
    model = sys.argv[2] if len(sys.argv) > 2 else "target/debug/examples/operator_work"
    table = list(rows(folder))
    lines = "".join("\t".join([name, *texts]) + "\n" for _, name, texts, *_ in table)
    answers = subprocess.run([model], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    counts = collections.defaultdict(collections.Counter)
    differences = collections.defaultdict(list)
    for (path, name, texts, flops, moved, spec), answer in zip(table, answers, strict=True):
        kind = path.stem
        parts = answer.split("\t")
        if parts[0] == "not modelled":
            counts[kind]["not modelled"] += 1
            differences[name, "not modelled", parts[1]].append((flops, moved, texts[0]))
            continue
        for what, theirs, ours in (("flops", flops, int(parts[1])), ("bytes", moved, int(parts[2]))):
            if theirs is None:
                continue
            agrees = abs(theirs - ours) <= TOLERANCE * max(theirs, ours)
            counts[kind][what + (" agree" if agrees else " differ")] += 1
            if not agrees:
                formula = blamed(name, texts)[what == "bytes"]
                explained = formula is not None and abs(formula - theirs) <= TOLERANCE * theirs
                why = reason(name, what) if explained else None
                differences[name, what, why].append((theirs, ours, texts[0]))
        if spec:
            same = f"{parts[4]}_{parts[3]}" == spec
            counts[kind]["roof agrees" if same else "roof differs"] += 1
    columns = ["flops agree", "flops differ", "bytes agree", "bytes differ", "roof agrees", "roof differs", "not modelled"]
    print("table".ljust(24), *(name.rjust(13) for name in columns))
    for kind, count in sorted(counts.items()):
        print(kind.ljust(24), *(str(count[name]).rjust(13) for name in columns))
    unknown = 0
    for (name, what, why), found in sorted(differences.items(), key=lambda item: (item[0][0], item[0][1], item[0][2] or "")):
        theirs, ours, dims = found[0]
        unknown += why is None
        shown = "" if what == "not modelled" else f": table {theirs:.0f}, model {ours:.0f} of {dims}"
        print(f"\n{name}, {what}, {len(found)} rows{shown}\n    {why or 'NO REASON that gives this value of the table'}")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
