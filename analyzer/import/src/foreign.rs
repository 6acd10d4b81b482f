//! Files that are known by sight and not read: what they seem to be, and the command that makes a file of them that is
//! read.

use std::path::Path;

use crate::importer::Head;
use crate::source::Packing;

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
const BYTES: [(&[u8], &str, &str); 5] = [
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
        b"\x7fELF",
        "a program or library",
        "record it: `trueno-record run PROGRAM`",
    ),
];

/// Beginnings of texts, what they are, and the next step.
const TEXTS: [(&str, &str, &str); 8] = [
    (
        "version https://git-lfs.github.com/spec/",
        "a pointer of Git LFS, not the file itself",
        "fetch it: `git lfs pull`",
    ),
    ("<!DOCTYPE", "a web page", "download the file itself"),
    ("<html", "a web page", "download the file itself"),
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
];

const DCGM: (&str, &str) = (
    "what `dcgmi dmon` prints, which has no times",
    "record with times: `nvidia-smi --query-gpu=timestamp,index,utilization.gpu,memory.used --format=csv -l 1`",
);

/// First keys of JSON documents, what they are, and the next step.
const KEYS: [(&str, &str, &str); 2] = [
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
];

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
        format!("is {what}; unpack it first: `{command}`, and give what comes out")
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
    let found = PACKED.iter().find(|(first, ..)| bytes.starts_with(first));
    if let Some((_, what, command)) = found {
        return Some(unpack(what, command));
    }
    // The types of its samples stand first: a message of 4 bytes with two numbers.
    if let [b'\n', 4, 8, _, 16, ..] = bytes {
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
    let of_bytes = BYTES.iter().find(|(first, ..)| bytes.starts_with(first));
    if let Some((_, what, next)) = of_bytes {
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
    fn formats_of_others_are_named_and_traces_are_not_taken_for_them() {
        for (text, words) in [
            ("<!doctype html>", "web page"),
            ("\n\x04\x08\x01\x10\x02\n\x04\x08\x03\x10\x04", "pprof"),
            (
                "{\"label\":\"a\",\"duration\":1,\"markers\":[],\"frames\":[],\"ticks\":[],\"profile\":{}",
                "speedscope.app",
            ),
            ("#Entity   GPUTL  MCUTL\nID\n", "nvidia-smi"),
            ("{\"nodes\": [{\"id\": 1", "speedscope.app"),
            ("__rec=node,id=12,attr=8", "cali2traceevent"),
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
