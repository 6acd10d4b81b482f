//! All formats, and the one that a file is of.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;

use crate::importer::{Head, Import, Importer, SQLITE_MAGIC};
use crate::source::{Source, no_progress};
use crate::sqlite_rows::table_names;
use crate::{
    Error, Options, ascend_db, axonml, brick_profiler, cgp, chrome, device_csv, firefox,
    flight_recorder, foreign, hipprof, ncu, nsys, nvprof, otlp, perf_script, perfetto, pipeline,
    proton, renacer, rocpd, rocprof_json, rpd, speedscope, strace, tensorrt, torch_memory, xplane,
};

/// All formats. A file is of the first one that recognises it.
pub const IMPORTERS: [&Importer; 27] = [
    &axonml::IMPORTER,
    &brick_profiler::IMPORTER,
    &cgp::IMPORTER,
    &otlp::IMPORTER,
    &rocprof_json::IMPORTER,
    &tensorrt::IMPORTER,
    &proton::IMPORTER,
    &nsys::json_lines::IMPORTER,
    &speedscope::IMPORTER,
    &firefox::IMPORTER,
    &flight_recorder::IMPORTER,
    &torch_memory::IMPORTER,
    &pipeline::IMPORTER,
    &chrome::IMPORTER,
    &rpd::IMPORTER,
    &rocpd::IMPORTER,
    &ascend_db::IMPORTER,
    &hipprof::IMPORTER,
    &nvprof::IMPORTER,
    &DATABASE,
    &ncu::IMPORTER,
    &device_csv::IMPORTER,
    &renacer::IMPORTER,
    &perf_script::IMPORTER,
    &strace::IMPORTER,
    &xplane::IMPORTER,
    &perfetto::IMPORTER,
];

/// The first bytes of a packed database name no tables, which say whose it is: it is detected once more, unpacked.
const DATABASE: Importer = Importer {
    read: |mut import: Import<'_>| {
        let Some(unpacked) = nsys::unpack(&mut import)? else {
            return nsys::IMPORTER.import(import);
        };
        let importer = detect(&unpacked);
        let done = importer.and_then(|importer| importer.import(import.of(&unpacked)));
        done.map_err(|error| error.of_file(import.path))
    },
    ..nsys::IMPORTER
};

pub fn importer(name: &str) -> Option<&'static Importer> {
    IMPORTERS.into_iter().find(|importer| importer.name == name)
}

fn recognise(head: &Head<'_>) -> Option<&'static Importer> {
    let mut importers = IMPORTERS.into_iter();
    importers.find(|importer| (importer.recognises)(head))
}

/// Detects the format of a file from its first bytes.
///
/// # Errors
/// The file cannot be read, is empty, or is of no known format.
pub fn detect(path: &Path) -> Result<&'static Importer, Error> {
    detect_by(path, |_, _| true)
}

/// As [`detect`], but stricter, for a folder in which not every file is a trace: rejects JSON without events, and
/// counters and sums, which belong to another run.
///
/// # Errors
/// As [`detect`].
pub fn detect_trace(path: &Path) -> Result<&'static Importer, Error> {
    detect_by(path, |importer, head| {
        if importer.name == chrome::IMPORTER.name {
            let text = head.text();
            text.contains("\"traceEvents\"") || text.contains("\"ph\"")
        } else if importer.name == device_csv::IMPORTER.name {
            device_csv::has_times(head)
        } else if importer.name == tensorrt::IMPORTER.name {
            tensorrt::has_times(head)
        } else {
            ![ncu::IMPORTER.name, proton::IMPORTER.name].contains(&importer.name)
        }
    })
}

fn detect_by(
    path: &Path,
    is_trace: impl Fn(&Importer, &Head<'_>) -> bool,
) -> Result<&'static Importer, Error> {
    let mut source = Source::open(path, &Options::default(), no_progress())?;
    let mut head = Vec::new();
    let read = source.by_ref().take(1 << 16).read_to_end(&mut head);
    if head.is_empty() {
        return Err(match read {
            Err(error) => source.refusal("its beginning", error),
            Ok(_) => Error::format(
                path,
                "expected a trace, found an empty file; was it written completely?",
            ),
        });
    }
    let is_database = head.starts_with(SQLITE_MAGIC) && source.packing().is_none();
    let tables = if is_database {
        table_names(path)
    } else {
        Vec::new()
    };
    let head = Head::new(&head).with_tables(tables);
    let refuse = |problem| Error::format(path, problem);
    if let Some(problem) = foreign::known_by_sight(path, &head, source.packing()) {
        return Err(refuse(problem));
    }
    let importer = recognise(&head).ok_or_else(|| refuse(unknown(path, &head)))?;
    if is_trace(importer, &head) {
        Ok(importer)
    } else {
        Err(refuse("holds no trace".to_owned()))
    }
}

fn unknown(path: &Path, head: &Head<'_>) -> String {
    let next = match path.extension().and_then(OsStr::to_str) {
        Some("nsys-rep" | "qdrep") => "convert it with `nsys export --type sqlite`",
        Some("ncu-rep") => "convert it with `ncu --import FILE --csv --page raw`",
        _ if head.bytes().starts_with(perf_script::PERF_DATA) => perf_script::PERF_DATA_HINT,
        _ => match foreign::known_by_content(path, head) {
            Some(problem) => return problem,
            None => {
                "if it is one of the formats below, name it with `trueno-analyze import --input-format`"
            }
        },
    };
    let begin: String = head.text().chars().take(24).collect();
    format!(
        "begins with {begin:?}, which is not a known format (hint: {next}; formats: {})",
        IMPORTERS.map(|importer| importer.name).join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_apart_by_their_first_bytes() {
        for (head, format) in [
            ("{\"traceEvents\": []}", Some("kineto")),
            ("\u{feff} \n[{\"ph\":\"X\"}]", Some("kineto")),
            ("SQLite format 3\0..", Some("nsys-sqlite")),
            ("==PROF== Connected\n", Some("ncu-csv")),
            ("\"ID\",\"Process ID\",\"Kernel Name\"\n", Some("ncu-csv")),
            ("{\"format\": \"renacer-json-v1\"}", Some("renacer")),
            (
                "hello\n{\n  \"format\": \"renacer-json-v1\"}",
                Some("renacer"),
            ),
            ("openat(AT_FDCWD, \"a\", O_RDONLY) = 3\n", Some("strace")),
            ("[pid 7] 12:01:02 read(3, \"\", 1) = 0\n", Some("strace")),
            ("7<sh> 0.000012 <... read resumed>) = 0\n", Some("strace")),
            ("a.rs:9 main read(0x3, 0x7f, 0x1) = 1\n", Some("strace")),
            (
                "a 7 [000] 1.000000: 9 cycles: \n\tff f+0x1 (/a)\n",
                Some("perf-script"),
            ),
            (
                "41 1.000000 write(1, \"a 7 1.000000: 9 cycles: \", 9) = 9 <0.000001>\n",
                Some("strace"),
            ),
            (
                "[\n  {\n    \"name\": \"a\", \"event_type\": \"Start\", \"timestamp_ns\": 1",
                Some("axonml"),
            ),
            (
                "{\"title\": \"a\", \"total_duration_secs\": 1.0",
                Some("axonml"),
            ),
            (
                "{\"total_tokens\":0,\"total_ns\":0,\"total_throughput\":0.0,\"bricks\":[",
                Some("brick-profiler"),
            ),
            (
                "{\"bricks\":[{\"avg_us\":5.0,\"bottleneck\":\"memory\",\"bound\":0,\"count\":4",
                Some("brick-profiler"),
            ),
            (
                "{ \"tile_profiling_enabled\": true,\n\"tiles\": [",
                Some("brick-profiler"),
            ),
            (
                "[{\"name\": \"forward-compute\", \"args\": {\"step\": 1, \"mb_id\": 0}}]",
                Some("pipeline-timeline"),
            ),
            (
                "{\"bricks\":[{\"colour\":\"red\",\"count\":4}]}",
                Some("kineto"),
            ),
            ("{\"total_tokens\":12,\"model\":\"a\"}", Some("kineto")),
            (
                "{\n  \"version\": \"2.0\",\n  \"timestamp\": \"\", \"timing\": {\"wall_clock_time_us\": 1.0",
                Some("cgp"),
            ),
            (
                "{\"version\": \"2.0\", \"timestamp\": \"\", \"tests\": []}",
                Some("kineto"),
            ),
            (
                "{\"version\": \"0.6.2\", \"format\": \"renacer-json-v1\"",
                Some("renacer"),
            ),
            ("{ \"resourceSpans\": [{\"resource\":", Some("otlp")),
            (
                "{\"exporter\":\"speedscope@1.0\",\"profiles\":[",
                Some("speedscope"),
            ),
            (
                "{\"meta\":{\"interval\":1,\"preprocessedProfileVersion\":41}",
                Some("firefox-profile"),
            ),
            (
                "[\n  { \"count\" : 100 }\n, { \"name\" : \"conv\", \"timeMs\" : 1, \"percentage\" : 1 }",
                Some("trtexec"),
            ),
            (
                "[{\"children\": [], \"frame\": {\"name\": \"a\"}, \"metrics\": {}}]",
                Some("proton-hatchet"),
            ),
            (
                "{\"data\":[\"[Unknown]\",\"[Max depth]\"]}",
                Some("nsys-jsonlines"),
            ),
            (
                "{\"Type\":59,\"NvtxEvent\":{\"Type\":\"59\",\"Timestamp\":\"1\"",
                Some("nsys-jsonlines"),
            ),
            (
                "{\"entries\":[{\"collective_seq_id\":1,\"profiling_name\":\"nccl:all_reduce\"}]}",
                Some("flight-recorder"),
            ),
            (
                "{\"schemaVersion\":1,\"distributedInfo\":{\"pg_config\":[]},\"traceEvents\":[",
                Some("kineto"),
            ),
            ("\n\x04\x50\x01\x68\x01\n", Some("perfetto")),
            ("\n\x40\x12\x09/host:CPU\x1a", Some("xplane")),
            ("\n\x40\x08\x02\x12\x0d/device:GPU:0", Some("xplane")),
            ("\n\x04abcd\n", None),
            ("hello (world)", None),
            ("\0\0\0", None),
        ] {
            let found = recognise(&Head::new(head.as_bytes()));
            assert_eq!(found.map(|importer| importer.name), format, "{head:?}");
        }
    }

    #[test]
    fn names_are_unique_and_find_their_formats() {
        for format in IMPORTERS {
            let found = importer(format.name).unwrap();
            assert_eq!(found.description, format.description);
        }
        assert!(importer("paper").is_none());
    }

    #[test]
    fn empty_and_unknown_files_are_refused_with_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for (content, word) in [
            (&b""[..], "empty"),
            (
                b"plain",
                "(hint: if it is one of the formats below, name it with `trueno-analyze import --input-format`",
            ),
            (b"\x1f\x8bXXXX", "gzip"),
            (b"PERFILE2h\0\0\0", "perf script -i"),
        ] {
            std::fs::write(&path, content).unwrap();
            let error = detect(&path).err().unwrap().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
