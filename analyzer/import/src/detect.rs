//! Which profiler made a file, from its first bytes.

use std::fmt;
use std::io::Read;
use std::path::Path;

use crate::source::Source;
use crate::{Error, Options};

/// A format that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Chrome's trace events as JSON, packed or not: Kineto and many others.
    Kineto,
    /// Nsight Systems, exported to sqlite.
    NsysSqlite,
    /// Nsight Compute, exported to CSV.
    NcuCsv,
    /// Renacer's JSON.
    Renacer,
    /// The text of strace.
    Strace,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Kineto,
        Self::NsysSqlite,
        Self::NcuCsv,
        Self::Renacer,
        Self::Strace,
    ];

    /// As it is typed and shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kineto => "kineto",
            Self::NsysSqlite => "nsys-sqlite",
            Self::NcuCsv => "ncu-csv",
            Self::Renacer => "renacer",
            Self::Strace => "strace",
        }
    }

    /// What the first bytes of a file, unpacked, say.
    pub fn of_head(head: &[u8]) -> Option<Self> {
        if head.starts_with(b"SQLite format 3\0") {
            return Some(Self::NsysSqlite);
        }
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let text = String::from_utf8_lossy(head);
        let text = text.trim_start();
        match text.as_bytes().first() {
            Some(b'{') if text.contains("\"renacer-json") => Some(Self::Renacer),
            Some(b'{' | b'[') if !text.starts_with("[pid ") => Some(Self::Kineto),
            _ if text.lines().any(is_ncu) => Some(Self::NcuCsv),
            _ if text.lines().take(16).any(is_strace) => Some(Self::Strace),
            _ => None,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name())
    }
}

fn is_ncu(line: &str) -> bool {
    line.starts_with("==PROF==") || line.starts_with("\"ID\",") && line.contains("\"Kernel Name\"")
}

/// `[pid] [time] name(arguments) = result`.
fn is_strace(line: &str) -> bool {
    let Some((before, after)) = line.split_once('(') else {
        return false;
    };
    let name = before.split_whitespace().next_back().unwrap_or_default();
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    !name.is_empty()
        && name.chars().all(is_name)
        && (after.contains(") = ") || after.contains("<unfinished ..."))
}

/// Reads the beginning of a file and says what it is.
///
/// # Errors
/// It cannot be read, is empty, or is of no format that is known.
pub fn detect(path: &Path) -> Result<Format, Error> {
    let mut nothing = |_| ();
    let mut source = Source::open(path, &Options::default(), &mut nothing)?;
    let mut head = Vec::new();
    let read = source.by_ref().take(1 << 16).read_to_end(&mut head);
    if head.is_empty() {
        return Err(match read {
            Err(error) if source.is_packed() => Error::Damaged {
                path: path.to_owned(),
                place: "its beginning".to_owned(),
                problem: format!("a gzip file that cannot be unpacked: {error}; fetch it again"),
            },
            Err(error) => Error::io(path, "read it", error),
            Ok(_) => Error::Format {
                path: path.to_owned(),
                problem: "expected a trace, found an empty file; was it written to its end?"
                    .to_owned(),
            },
        });
    }
    Format::of_head(&head).ok_or_else(|| {
        let known: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
        Error::Format {
            path: path.to_owned(),
            problem: format!(
                "of no format that is known ({}); where it is one of them, say so with --format",
                known.join(", ")
            ),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_apart_by_their_first_bytes() {
        for (head, format) in [
            ("{\"traceEvents\": []}", Some(Format::Kineto)),
            ("\u{feff} \n[{\"ph\":\"X\"}]", Some(Format::Kineto)),
            ("SQLite format 3\0..", Some(Format::NsysSqlite)),
            ("==PROF== Connected\n", Some(Format::NcuCsv)),
            (
                "\"ID\",\"Process ID\",\"Kernel Name\"\n",
                Some(Format::NcuCsv),
            ),
            ("{\"format\": \"renacer-json-v1\"}", Some(Format::Renacer)),
            (
                "openat(AT_FDCWD, \"a\", O_RDONLY) = 3\n",
                Some(Format::Strace),
            ),
            (
                "[pid 7] 12:01:02 read(3, \"\", 1) = 0\n",
                Some(Format::Strace),
            ),
            ("hello (world)", None),
            ("\0\0\0", None),
        ] {
            assert_eq!(Format::of_head(head.as_bytes()), format, "{head:?}");
        }
    }

    #[test]
    fn empty_and_unknown_files_are_refused_with_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for (content, word) in [
            (&b""[..], "empty"),
            (b"plain", "--format"),
            (b"\x1f\x8bXXXX", "gzip"),
        ] {
            std::fs::write(&path, content).unwrap();
            let error = detect(&path).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
