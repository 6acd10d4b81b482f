//! Files that are known by sight and not read: what they seem to be, and the command that makes a file of them that is
//! read.

use std::path::Path;

use crate::importer::Head;
use crate::perf_script;
use crate::source::Packing;

/// Limit for the lines that are looked at.
const MAX_LINES: usize = 200;

/// Magic bytes of archives and compressed files, their names, and the command that unpacks each.
const PACKED: [(&[u8], &str, &str); 9] = [
    (b"\xfd7zXZ\0", "packed with xz", "xz -dk FILE"),
    (b"BZh", "packed with bzip2", "bunzip2 -k FILE"),
    (b"PK\x03\x04", "a zip archive", "unzip FILE -d FOLDER"),
    (b"PK\x05\x06", "an empty zip archive", "unzip -l FILE"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x FILE"),
    (b"Rar!\x1a\x07", "a rar archive", "unrar x FILE"),
    (b"\x04\x22\x4d\x18", "packed with lz4", "lz4 -dk FILE"),
    (b"\x1f\x9d", "packed with compress", "uncompress -k FILE"),
    (b"\x5d\0\0", "packed with lzma", "xz --format=lzma -dk FILE"),
];

const TAR_MARK: (usize, &[u8]) = (257, b"ustar");

/// Magic bytes of other files, what they are, and the next step.
const BYTES: [(&[u8], &str, &str); 7] = [
    (
        b"PAR1",
        "a Parquet file",
        "give the folder it lies in: an exported run, or what `nsys export --type parquetdir` made",
    ),
    (
        b"ARROW1",
        "an Arrow file, such as a segment of a run, or what `nsys export --type arrow` writes",
        "give the run directory it lies in, or export the report with `nsys export --type parquetdir`",
    ),
    (
        b"\x89HDF\r\n\x1a\n",
        "an HDF5 file, such as `nsys export --type hdf` writes",
        "export the report as a database: `nsys export --type sqlite REPORT.nsys-rep`",
    ),
    (
        b"tracy\0",
        "a capture of Tracy",
        "export a Chrome trace where the program can, or record with `trueno-record run PROGRAM`",
    ),
    (
        // Words of 8 bytes: no count, three that follow, version 0.
        b"\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        "a profile of gperftools, which pprof reads",
        "give samples with times: `perf script > samples.txt`",
    ),
    (
        b"SIMPLEPERF",
        "a profile of Android's simpleperf for its own tools (`report-sample --protobuf`)",
        "print the samples of the perf.data that it was made of: `report_sample.py -i perf.data > samples.txt`",
    ),
    (
        b"\x7fELF",
        "a program or library",
        "record it: `trueno-record run PROGRAM`",
    ),
];

/// Beginnings of texts, what they are, and the next step.
const TEXTS: [(&str, &str, &str); 24] = [
    (
        "version https://git-lfs.github.com/spec/",
        "a pointer of Git LFS, not the file itself",
        "fetch it: `git lfs pull`",
    ),
    ("<!DOCTYPE", PAGE.0, PAGE.1),
    ("<html", PAGE.0, PAGE.1),
    (
        "# tracer:",
        "text of ftrace, as systrace writes it",
        "convert it with `traceconv json FILE trace.json` (https://perfetto.dev/docs/quickstart/traceconv)",
    ),
    (
        "time    cpu  task name",
        "a table of perf sched, of how long tasks ran and waited",
        "give what it was made of: `perf script > samples.txt`",
    ),
    (
        "Dispatch_ID,GPU_ID,Grid_Size,",
        "counters by kernel, as ROCm Compute Profiler collects them in repeated runs",
        "record when kernels ran: `rocprofv3 --kernel-trace --hip-trace -- PROGRAM`",
    ),
    (
        "\"Sample_Timestamp\",\"Exec_Mask\",",
        PC_SAMPLES.0,
        PC_SAMPLES.1,
    ),
    ("Sample_Timestamp,Exec_Mask,", PC_SAMPLES.0, PC_SAMPLES.1),
    ("#Entity", DCGM.0, DCGM.1),
    ("# Entity", DCGM.0, DCGM.1),
    (
        "# HELP DCGM_FI",
        "metrics of dcgm-exporter, one reading without a time",
        DCGM.1,
    ),
    (
        "__rec=",
        "a profile of Caliper",
        "write a Chrome trace: `cali2traceevent.py FILE trace.json`",
    ),
    (
        "name,src_file,src_line,",
        "sums of Tracy (`tracy-csvexport`)",
        "export a Chrome trace where the program can, or record with `trueno-record run PROGRAM`",
    ),
    (
        "OP CODE,OP TYPE,GLOBAL CALL COUNT,",
        "the table of operations of Tenstorrent's profiler, with device times in cycles",
        "record the host: `trueno-record run PROGRAM`",
    ),
    (
        "cat,pid,tid,dur,ts,ph,name",
        "a table made of a Chrome trace, such as ONNX Runtime's profile",
        "give the JSON that it was made of: `sess_options.enable_profiling = True` writes it",
    ),
    // api_statistic.csv, step_trace_time.csv of one device and of a cluster, PipeUtilization.csv, OpBasicInfo.csv.
    ("Device_id,Level,API Name,", MSPROF.0, MSPROF.1),
    ("Step,Computing,", MSPROF.0, MSPROF.1),
    ("Step,Type,Index,Computing,", MSPROF.0, MSPROF.1),
    ("block_id,sub_block_id,", MSPROF.0, MSPROF.1),
    ("Op Name,Op Type,Task Duration(us),", MSPROF.0, MSPROF.1),
    // operator_details.csv, l2_cache.csv; memory_record.csv and npu_module_mem.csv, operator_memory.csv.
    (
        "Name,Input Shapes,Call Stack,Host Self ",
        MSPROF.0,
        MSPROF.1,
    ),
    ("Stream Id,Task Id,Hit Rate,", MSPROF.0, MSPROF.1),
    (
        "Component,Timestamp(us),Total ",
        MSPROF_MEMORY.0,
        MSPROF_MEMORY.1,
    ),
    (
        "Name,Size(KB),Allocation Time(us),",
        MSPROF_MEMORY.0,
        MSPROF_MEMORY.1,
    ),
];

const PAGE: (&str, &str) = (
    "a web page",
    "download the file itself, or give the data that the page shows",
);

const MSPROF_MEMORY: (&str, &str) = (
    "a table of memory that Ascend's profiler writes beside its trace",
    "give trace_view.json of the same profile: its counters have the memory too",
);

const MSPROF: (&str, &str) = (
    "a table of sums of Ascend's msprof, which has no times",
    "give trace_view.json, kernel_details.csv or task_time.csv of the same profile",
);

const PC_SAMPLES: (&str, &str) = (
    "a table of sampled instructions by rocprofv3 (`--pc-sampling-unit`), which names no kernel",
    "record when kernels ran: `rocprofv3 --kernel-trace --hip-trace -- PROGRAM`",
);

const DCGM: (&str, &str) = (
    "what `dcgmi dmon` prints, which has no times",
    "record with times: `nvidia-smi --query-gpu=timestamp,index,utilization.gpu,memory.used --format=csv -l 1`",
);

/// First keys of JSON documents, what they are, and the next step.
const KEYS: [(&str, &str, &str); 6] = [
    (
        "\"head\"",
        "a profile of the heap, as V8 writes it, which has sizes and no times",
        "record calls: `node --trace-events-enabled PROGRAM` writes a Chrome trace",
    ),
    (
        "\"Layers\"",
        "what trtexec says of the layers of an engine (`--exportLayerInfo`), which has no times",
        "measure the engine: `trtexec --loadEngine=ENGINE --exportTimes=times.json --exportProfile=profile.json`",
    ),
    (
        "\"schema\"",
        "an execution trace of PyTorch (Chakra), which has no times",
        "export the Kineto trace of the same run: `prof.export_chrome_trace(\"trace.json\")`",
    ),
    (
        "\"nodes\"",
        "a list of nodes, such as a profile of V8 (`.cpuprofile`)",
        TO_SPEEDSCOPE,
    ),
    (
        "\"alloc_samples\"",
        "a profile of Scalene, which has sums by line and no times",
        TO_PY_SPY,
    ),
    (
        "\"graph\"",
        "a graph of calls with sums, as Thicket and Hatchet write it, without times",
        "record times: a Chrome trace of the same program, or `trueno-record run PROGRAM`",
    ),
];

/// Beginnings of documents and words that follow in them, what they are, and the next step.
const DOCUMENTS: [(&[&str], &[&str], &str, &str); 5] = [
    (
        &["[", "{", "\"name\"", ":"],
        &["\"dimensions\"", "\"values\""],
        "what trtexec computed (`--exportOutput`): values, without times",
        "measure the engine: `trtexec --loadEngine=ENGINE --exportTimes=times.json`",
    ),
    (
        &["{", "\"version\"", ":"],
        &["\"missed_samples\"", "\"frames\""],
        "a profile of Ruby's stackprof",
        TO_SPEEDSCOPE,
    ),
    (
        &["{", "\"version\"", ":"],
        &["\"recording\"", "\"instrumentTypes\""],
        "a recording of Safari's Web Inspector",
        TO_SPEEDSCOPE,
    ),
    (
        &["<html>"],
        &["<title>Cargo Build Timings"],
        "the page of `cargo build --timings`, which cargo writes for browsers only",
        "record what the compiler does: `cargo +nightly rustc -- -Zself-profile`, and make a Chrome trace of it with `crox`",
    ),
    (
        &["[", "{", "\"id\"", ":"],
        &["\"timestamps\"", "\"REQUEST_START\""],
        "a trace of requests of Triton Inference Server",
        "record it as OpenTelemetry with `--trace-config mode=opentelemetry`, and give what the Collector's file exporter writes",
    ),
];

/// Keys of JSON objects, in any order, what these are, and the next step.
const OBJECTS: [(&[&str], &str, &str); 3] = [
    (
        &["root_frame", "sample_count"],
        "a profile of pyinstrument, which has sums by call and no times",
        "record it for speedscope: `pyinstrument -r speedscope -o profile.json PROGRAM.py`",
    ),
    (
        &["data", "columns", "column_metadata", "nodes"],
        "a table of Caliper (`cali-query -j`), which has sums by call path and no times",
        "record a trace with times (`CALI_CONFIG=event-trace`), and make a Chrome trace of it: `cali2traceevent.py FILE trace.json`",
    ),
    (
        &["dhatFileVersion"],
        "a profile of the heap by DHAT, which has sizes by stack and no times",
        "read it with dh_view.html, or record allocations as they happen: `trueno-record run --alloc -- PROGRAM`",
    ),
];

/// Ends of names of files whose first bytes say nothing, what they are, and the next step.
const NAMES: [(&str, &str, &str); 2] = [
    (
        "ntff",
        "a device profile of AWS Neuron, which only Neuron's tools read",
        "convert it with the NEFF beside it, and give the *.pftrace: `neuron-explorer view -d FOLDER --output-format perfetto`",
    ),
    (
        "neff",
        "a program compiled for AWS Neuron, not a profile",
        "give the *.pftrace that `neuron-explorer view -d FOLDER --output-format perfetto` makes of its profile",
    ),
];

/// Tables of databases, what these are, and the next step.
const TABLES: [(&str, &str, &str); 6] = [
    ("StepTraceTime", MSPROF_SUMS.0, MSPROF_SUMS.1),
    ("CommAnalyzerTime", MSPROF_SUMS.0, MSPROF_SUMS.1),
    ("ClusterStepTraceTime", MSPROF_SUMS.0, MSPROF_SUMS.1),
    ("ClusterCommAnalyzerTime", MSPROF_SUMS.0, MSPROF_SUMS.1),
    (
        "expert_systems_feedback",
        "a database of NVIDIA's DLProf, which has sums by operator",
        "give the database of Nsight Systems that DLProf made it of: `nsys_profile.sqlite`",
    ),
    (
        "memscope_dump",
        "a database of Ascend's MemScope, which has memory and no work",
        "give trace_view.json or the database of the profiler of the same run",
    ),
];

const MSPROF_SUMS: (&str, &str) = (
    "a database of sums of Ascend's profiler, which has no times",
    "give ascend_pytorch_profiler.db, msprof.db or trace_view.json of the same profile",
);

const TO_PY_SPY: &str =
    "record samples with times: `py-spy record -f speedscope -o profile.json -- python PROGRAM`";

const TO_NVPROF: &str = "record times: `nvprof --print-gpu-trace --csv --log-file trace.csv PROGRAM`, or `nvprof --export-profile FILE \
                         PROGRAM`";

const TO_SPEEDSCOPE: &str = "open it in speedscope.app and export it from there";

/// Expected, found and next step for a file of a known but unsupported format.
pub(crate) fn known_by_sight(
    path: &Path,
    head: &Head<'_>,
    packing: Option<Packing>,
) -> Option<String> {
    let bytes = head.bytes();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unpack = |what: &str, command: &str| {
        let command = command.replace("FILE", &quoted(&name));
        format!("is {what}; unpack it first with `{command}`")
    };
    let (at, mark) = TAR_MARK;
    if bytes.get(at..).is_some_and(|rest| rest.starts_with(mark)) {
        let command = match packing {
            None => "tar -xf FILE",
            Some(Packing::Gzip) => "tar -xzf FILE",
            Some(Packing::Zstd) => "tar --zstd -xf FILE",
        };
        return Some(unpack("a tar archive", command));
    }
    if is_binary_saved_as_text(bytes) {
        return Some(
            "is binary data that was saved as text, which replaced many of its bytes (hint: copy or download it again as it is)"
                .to_owned(),
        );
    }
    let found = PACKED.iter().find(|(first, ..)| bytes.starts_with(first));
    if let Some((_, what, command)) = found {
        return Some(unpack(what, command));
    }
    if is_of_pprof(bytes) && has_types_of_jax(bytes) {
        return Some(
            "is a memory profile of JAX (`save_device_memory_profile`): the buffers of one moment by stack, without times \
             (hint: `pprof -text FILE` prints it; give what `jax.profiler.trace(DIR)` writes to see where the time goes)"
                .to_owned(),
        );
    }
    if is_of_pprof(bytes) {
        return Some(format!(
            "is a profile of pprof (hint: {TO_SPEEDSCOPE}, or give `perf script > samples.txt`)"
        ));
    }
    let is_of_old_tools = head
        .behind(&["{", "\"label\"", ":"])
        .is_some_and(|rest| rest.contains("\"markers\"") && rest.contains("\"ticks\""));
    if is_of_old_tools {
        return Some(format!(
            "is a recording of Firefox's developer tools before version 98 (hint: {TO_SPEEDSCOPE})"
        ));
    }
    let text = head.text();
    if text.starts_with('{') && text.contains("\"Communication Time Info\"") {
        let (what, next) = MSPROF;
        return Some(format!("is {what} (hint: {next})"));
    }
    if text.starts_with('{')
        && ["\"traceID\"", "\"spans\"", "\"operationName\""]
            .iter()
            .all(|key| text.contains(key))
    {
        return Some(
            "is a trace as Jaeger's page exports it (hint: give what the file exporter of OpenTelemetry's Collector writes \
             of the same spans)"
                .to_owned(),
        );
    }
    if text.starts_with("<?xml") && text.contains("<session ") && text.contains(".nvvp\"") {
        return Some(format!(
            "is a session of NVIDIA's Visual Profiler, which only refers to profiles (hint: give the profile, or {TO_NVPROF})"
        ));
    }
    // A dict of tuples, as Python marshals it.
    if let [b'{' | 0xfb, b')' | 0xa9, 3, ..] = bytes {
        return Some(format!(
            "is a profile of Python's cProfile, which has sums and no times (hint: {TO_PY_SPY})"
        ));
    }
    let of_bytes = BYTES.iter().find(|(first, ..)| bytes.starts_with(first));
    if let Some((_, what, next)) = of_bytes {
        return Some(format!("is {what} (hint: {next})"));
    }
    let of_table = TABLES.iter().find(|(table, ..)| head.has_table(table));
    if let Some((_, what, next)) = of_table {
        return Some(format!("is {what} (hint: {next})"));
    }
    let of_document = DOCUMENTS.iter().find(|(first, keys, ..)| {
        let rest = head.behind(first);
        rest.is_some_and(|rest| keys.iter().all(|key| rest.contains(key)))
    });
    if let Some((_, _, what, next)) = of_document {
        return Some(format!("is {what} (hint: {next})"));
    }
    let of_text = TEXTS.iter().find(|(first, ..)| {
        let text = head.text().get(..first.len());
        text.is_some_and(|text| text.eq_ignore_ascii_case(first))
    });
    let of_key = KEYS
        .iter()
        .find(|(key, ..)| head.behind(&["{", key]).is_some());
    let (_, what, next) = of_text.or(of_key)?;
    Some(format!("is {what} (hint: {next})"))
}

/// The same for a JSON object of which only the keys are known.
pub(crate) fn known_by_keys(keys: &[String]) -> Option<String> {
    let has = |key: &&str| keys.iter().any(|known| known == key);
    let mut objects = OBJECTS.iter();
    let (_, what, next) = objects.find(|(of, ..)| of.iter().all(has))?;
    Some(format!("is {what} (hint: {next})"))
}

/// The same for a file that no importer recognises.
pub(crate) fn known_by_content(path: &Path, head: &Head<'_>) -> Option<String> {
    let text = head.text();
    let extension = path.extension().unwrap_or_default();
    let of_name = NAMES.iter().find(|(name, ..)| extension == *name);
    if let Some((_, what, next)) = of_name {
        return Some(format!("is {what} (hint: {next})"));
    }
    let of_nvprof = |line: &str| {
        let number = line
            .strip_prefix("==")
            .and_then(|line| line.split_once("== NVPROF is profiling"));
        number.is_some_and(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if text.lines().take(MAX_LINES).any(of_nvprof) {
        let of_trace = |line: &str| line.split_whitespace().take(2).eq(["Start", "Duration"]);
        let what = if text.lines().take(MAX_LINES).any(of_trace) {
            "a trace as a table for people, with rounded times and cut names"
        } else {
            "sums or metrics by name, without times"
        };
        return Some(format!("is what nvprof prints: {what} (hint: {TO_NVPROF})"));
    }
    const TENSORBOARD: &[u8] = b"type.googleapis.com/tensorflow.profiler.";
    let mut parts = head.bytes().windows(TENSORBOARD.len());
    if parts.any(|part| part == TENSORBOARD) {
        return Some(
            "is a page that TensorBoard's profiler computed, without times (hint: give the *.xplane.pb of the same folder)"
                .to_owned(),
        );
    }
    // The second: the first attribute of the first message, in files of other versions.
    const CHAKRA: [&[u8]; 2] = [b"-chakra.", b"\n\x06schema\xea\x01"];
    let has = |mark: &[u8]| head.bytes().windows(mark.len()).any(|part| part == mark);
    if CHAKRA.into_iter().any(has) {
        return Some(
            "is an execution trace of Chakra, which has no times (hint: export the Kineto trace of the same run: \
             `prof.export_chrome_trace(\"trace.json\")`)"
                .to_owned(),
        );
    }
    // The last line may be cut.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let is_folded = |line: &str| {
        let count = line.rsplit_once(' ').map(|(_, count)| count);
        count.is_some_and(|count| !count.is_empty() && count.bytes().all(|b| b.is_ascii_digit()))
    };
    let has_stack = whole.lines().take(MAX_LINES).any(|line| line.contains(';'));
    if has_stack && whole.lines().take(MAX_LINES).all(is_folded) {
        return Some(format!(
            "has folded stacks with counts, as flame graphs are drawn of, without times (hint: give the `perf script > \
             samples.txt` they come from, or {TO_SPEEDSCOPE})"
        ));
    }
    if perf_script::has_stacks_without_times(text) {
        return Some(
            "is text of perf script without times (hint: print them: `perf script -F +time > samples.txt`)".to_owned(),
        );
    }
    None
}

/// A message of pprof's: numbers of its own, and a type of samples, which is 4 bytes with two numbers.
fn is_of_pprof(mut bytes: &[u8]) -> bool {
    const MAX_NUMBERS: usize = 8;
    // Time, duration, period, default type of samples; each a number.
    const NUMBERS: [u8; 4] = [9 << 3, 10 << 3, 12 << 3, 14 << 3];
    for _ in 0..MAX_NUMBERS {
        match bytes {
            [b'\n', 4, 8, _, 16, ..] => return true,
            [tag, rest @ ..] if NUMBERS.contains(tag) => {
                let Some(last) = rest.iter().position(|byte| *byte < 0x80) else {
                    return false;
                };
                bytes = &rest[last + 1..];
            }
            _ => return false,
        }
    }
    false
}

/// The types of samples in JAX's memory profiles, among the texts of a message.
fn has_types_of_jax(bytes: &[u8]) -> bool {
    const TYPES: &[u8] = b"2\x0ballocations2\x05count2\x05space2\x05bytes";
    bytes.windows(TYPES.len()).any(|part| part == TYPES)
}

/// Control characters, which no text has, beside the character that replaces bytes that are no text, and no such byte.
fn is_binary_saved_as_text(bytes: &[u8]) -> bool {
    const MIN_REPLACED: usize = 8;
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // The last letter may be cut.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    let has_control = text.bytes().any(|byte| byte < 9);
    has_control && text.matches('\u{fffd}').take(MIN_REPLACED).count() == MIN_REPLACED
}

fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+=/:@%".contains(c);
    if name.chars().all(is_plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(bytes: &[u8], packing: Option<Packing>) -> Option<String> {
        known_by_sight(Path::new("some/my trace.x"), &Head::new(bytes), packing)
    }

    #[test]
    fn archives_are_named_with_the_command_that_unpacks_them() {
        for (bytes, words) in [
            (&b"\xfd7zXZ\0\0\x04"[..], "`xz -dk 'my trace.x'`"),
            (b"BZh91AY&SY", "`bunzip2 -k 'my trace.x'`"),
            (b"PK\x03\x04\x14\0", "`unzip 'my trace.x' -d FOLDER`"),
            (b"7z\xbc\xaf\x27\x1c\0", "`7z x 'my trace.x'`"),
        ] {
            let problem = seen(bytes, None).unwrap();
            assert!(problem.contains(words), "{problem}");
        }
        let mut tar = b"rank0.json".to_vec();
        tar.resize(257, 0);
        tar.extend_from_slice(b"ustar\x0000{\"traceEvents\": []}");
        for (packing, words) in [
            (None, "`tar -xf 'my trace.x'`"),
            (Some(Packing::Gzip), "`tar -xzf 'my trace.x'`"),
            (Some(Packing::Zstd), "`tar --zstd -xf 'my trace.x'`"),
        ] {
            let problem = seen(&tar, packing).unwrap();
            assert!(problem.contains(words), "{problem}");
        }
    }

    #[test]
    fn files_that_nothing_reads_are_named_by_their_content() {
        let by_content = |bytes: &[u8]| known_by_content(Path::new("a.ntf"), &Head::new(bytes));
        for (text, words) in [
            (
                &b"==21== NVPROF is profiling process 21, command: ./nbody\nN: 30720\n"[..],
                "--print-gpu-trace --csv",
            ),
            (
                b"==7== NVPROF is profiling process 7, command: python\n   Start  Duration   Grid Size\n",
                "rounded times",
            ),
            (b"\x12\xec\x01\"n\n=type.googleapis.com/tensorflow.profiler.Per", "xplane.pb"),
            (b"\xda\x90\x01\x12\x1d\n\x06schema\xea\x01\x121.0.2-chakra.0.0.4\x12", "Kineto"),
            (b"^\x12\x10\n\x06schema\xea\x01\x051.0.1\x12\t\n\x03pidh\xa6", "Kineto"),
            (b"java;[perf.map] 23\njava;main;run 1\njava;ma", "speedscope.app"),
            (
                b"java 15294 cpu-clock: \n\t    7f8a5b f+0x1 (/lib/a)\n\t    7f8a5c g ([unknown])\n",
                "perf script -F +time",
            ),
        ] {
            let problem = by_content(text).unwrap();
            assert!(problem.contains(words), "{problem}");
        }
        for (name, words) in [("a.ntff", "*.pftrace"), ("b.neff", "not a profile")] {
            let problem = known_by_content(Path::new(name), &Head::new(b"\x02\0\0\0")).unwrap();
            assert!(problem.contains(words), "{problem}");
        }
        for text in ["", "hello 12\n", "a;b\n", "plain", "x: 1\n\ty\n"] {
            assert_eq!(by_content(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn json_objects_are_named_by_their_keys_wherever_these_stand() {
        for (keys, words) in [
            (
                "start_time duration sample_count program root_frame",
                "pyinstrument -r speedscope",
            ),
            ("data columns column_metadata nodes", "cali2traceevent.py"),
            ("nodes column_metadata columns data", "Caliper"),
            ("dhatFileVersion mode verb", "run --alloc"),
        ] {
            let keys: Vec<String> = keys.split(' ').map(str::to_owned).collect();
            let problem = known_by_keys(&keys).unwrap();
            assert!(problem.contains(words), "{problem}");
        }
        assert_eq!(
            known_by_keys(&["data".to_owned(), "nodes".to_owned()]),
            None
        );
    }

    #[test]
    fn databases_of_sums_are_named_by_their_tables() {
        let head = Head::new(b"SQLite format 3\0").with_tables(vec!["StepTraceTime".to_owned()]);
        let problem = known_by_sight(Path::new("analysis.db"), &head, None).unwrap();
        assert!(problem.contains("ascend_pytorch_profiler.db"), "{problem}");
        let tables = vec!["group_ops".to_owned(), "expert_systems_feedback".to_owned()];
        let head = Head::new(b"SQLite format 3\0").with_tables(tables);
        let problem = known_by_sight(Path::new("dlprof_dldb.sqlite"), &head, None).unwrap();
        assert!(problem.contains("nsys_profile.sqlite"), "{problem}");
    }

    #[test]
    fn formats_of_others_are_named_and_traces_are_not_taken_for_them() {
        for (text, words) in [
            ("<!doctype html>", "web page"),
            (
                "\n<html>\n<head>\n  <title>Cargo Build Timings \u{2014} a 0.1.0</title>",
                "-Zself-profile",
            ),
            ("SIMPLEPERF\u{1}\0", "report_sample.py"),
            (
                "\"Sample_Timestamp\",\"Exec_Mask\",\"Dispatch_Id\"\n",
                "rocprofv3 --kernel-trace",
            ),
            ("\n\x04\x08\x01\x10\x02\n\x04\x08\x03\x10\x04", "pprof"),
            (
                "\n\x04\x08\x01\x10\x02\n\x04\x08\x03\x10\x042\x002\x0ballocations2\x05count2\x05space2\x05bytes",
                "memory profile of JAX",
            ),
            (
                "{\"label\":\"a\",\"duration\":1,\"markers\":[],\"frames\":[],\"ticks\":[],\"profile\":{}",
                "speedscope.app",
            ),
            ("H\u{9}P\u{7}\n\x04\x08\x01\x10\x02", "pprof"),
            (
                "\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10'\0\0",
                "gperftools",
            ),
            ("# tracer: nop\n#\n", "traceconv"),
            ("time    cpu  task name    wait time\n", "perf script"),
            ("Dispatch_ID,GPU_ID,Grid_Size,Workgroup_Size\n", "rocprofv3"),
            (
                "{\"head\":{\"callFrame\":{\"functionName\":\"(root)\"",
                "heap",
            ),
            (
                "{\"traceID\": \"4a\", \"spans\": [{\"operationName\": \"GET\"",
                "OpenTelemetry",
            ),
            ("#Entity   GPUTL  MCUTL\nID\n", "nvidia-smi"),
            ("{\"nodes\": [{\"id\": 1", "speedscope.app"),
            ("__rec=node,id=12,attr=8", "cali2traceevent"),
            (
                "Device_id,Level,API Name,Time(us),Count\n",
                "trace_view.json",
            ),
            (
                "Name,Input Shapes,Call Stack,Host Self Duration(us),Host Total Duration(us)\n",
                "trace_view.json",
            ),
            (
                "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB)\n",
                "trace_view.json",
            ),
            ("Step,Type,Index,Computing,Free\n", "trace_view.json"),
            ("block_id,sub_block_id,aic_time(us)\n", "trace_view.json"),
            (
                "Op Name,Op Type,Task Duration(us),Block Dim\n",
                "trace_view.json",
            ),
            (
                "{\"(0, 1)\": {\"step\": {\"hcom\": {\"0\": {\"Communication Time Info\": {",
                "trace_view.json",
            ),
            ("{\"alloc_samples\": 52, \"args\": []", "py-spy"),
            ("{\"graph\": [{\"0\": {\"data\": {", "trueno-record run"),
            (
                "{\"version\":1.2,\"mode\":\"wall\",\"missed_samples\":0,\"frames\":{",
                "stackprof",
            ),
            (
                "{\"version\":1,\"recording\":{\"displayName\":\"a\",\"instrumentTypes\":[",
                "Safari",
            ),
            (
                "[\n  { \"name\" : \"prob\"\n  , \"dimensions\" : \"1000x1x1\"\n  , \"values\" : [ 0.1",
                "--exportTimes",
            ),
            (
                "\u{8}\u{12}\u{fffd}\u{fffd}\u{fffd}\u{fffd}/device:TPU:0\u{fffd}\u{fffd}\u{fffd}\u{fffd}",
                "saved as text",
            ),
            ("{\"Layers\": [{\n  \"Name\": \"conv\"", "--exportTimes"),
            (
                "[{\"id\":1,\"timestamps\":[{\"name\":\"HTTP_RECV_START\",\"ns\":2}]},{\"id\":1,\"timestamps\":[{\"name\":\"REQUEST_START\"",
                "mode=opentelemetry",
            ),
            (
                "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID\n",
                "Tenstorrent",
            ),
            (
                "cat,pid,tid,dur,ts,ph,name,args_op_name\n",
                "enable_profiling",
            ),
            ("{)\u{3}i", "cProfile"),
            (
                "<?xml version=\"1.0\"?>\n<session version=\"2\" name=\"profile.nvvp\" hscale",
                "--export-profile",
            ),
            ("name,src_file,src_line,total_ns", "export a Chrome trace"),
            ("{\"schema\": \"1.1.0-chakra.0.0.4\"", "Chakra"),
            (
                "version https://git-lfs.github.com/spec/v1\n",
                "git lfs pull",
            ),
        ] {
            let problem = seen(text.as_bytes(), None).unwrap();
            assert!(problem.contains(words), "{problem}");
        }
        for text in ["{\"traceEvents\": []}", "[{\"ph\": \"X\"}]", "BZ", "é"] {
            assert_eq!(seen(text.as_bytes(), None), None, "{text}");
        }
    }
}
