//! Formats of other tools: each is one type that implements [`Importer`] in the module that reads it, and one
//! line of [`IMPORTERS`].

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

use trueno_format::run_writer::RunWriter;

use crate::source::Source;
use crate::{Error, Notes, Options, chrome, ncu, nsys, renacer, strace};

/// A format that can become a run.
pub trait Importer: Sync {
    /// As it is typed and shown.
    fn name(&self) -> &'static str;

    /// One line for people who choose a format.
    fn description(&self) -> &'static str;

    /// True for a file that begins so.
    fn recognises(&self, head: &Head<'_>) -> bool;

    /// Reads a file into a run; returns the run's length in nanoseconds, where a clock measured it. `progress` is
    /// told the bytes of the file that were read so far.
    ///
    /// # Errors
    /// Not of this format, damaged beyond use, or the run cannot be written. The run should be dropped then.
    fn import(
        &self,
        path: &Path,
        options: &Options,
        into: &mut RunWriter,
        notes: &mut Notes,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Option<i64>, Error>;
}

/// All formats; a file is of the first that recognises it.
pub const IMPORTERS: [&dyn Importer; 5] = [
    &chrome::Kineto,
    &nsys::NsysSqlite,
    &ncu::NcuCsv,
    &renacer::Renacer,
    &strace::Strace,
];

/// The format of that name.
pub fn importer(name: &str) -> Option<&'static dyn Importer> {
    IMPORTERS
        .into_iter()
        .find(|importer| importer.name() == name)
}

/// The beginning of a file, unpacked.
pub struct Head<'h> {
    bytes: &'h [u8],
    text: Cow<'h, str>,
}

impl<'h> Head<'h> {
    /// From the first bytes of a file.
    pub fn new(bytes: &'h [u8]) -> Self {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = String::from_utf8_lossy(text);
        Self { bytes, text }
    }

    /// As they stand there.
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// As a text, without byte order mark and white space at its beginning.
    pub fn text(&self) -> &str {
        self.text.trim_start()
    }

    /// The format of a file that begins so.
    pub fn importer(&self) -> Option<&'static dyn Importer> {
        IMPORTERS
            .into_iter()
            .find(|importer| importer.recognises(self))
    }
}

/// Reads the beginning of a file and tells its format.
///
/// # Errors
/// It cannot be read, is empty, or is of no format that is known.
pub fn detect(path: &Path) -> Result<&'static dyn Importer, Error> {
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
    Head::new(&head).importer().ok_or_else(|| Error::Format {
        path: path.to_owned(),
        problem: format!(
            "of no format that is known ({}); where it is one of them, say so with --format",
            IMPORTERS.map(Importer::name).join(", ")
        ),
    })
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
            ("openat(AT_FDCWD, \"a\", O_RDONLY) = 3\n", Some("strace")),
            ("[pid 7] 12:01:02 read(3, \"\", 1) = 0\n", Some("strace")),
            ("hello (world)", None),
            ("\0\0\0", None),
        ] {
            let found = Head::new(head.as_bytes()).importer();
            assert_eq!(found.map(Importer::name), format, "{head:?}");
        }
    }

    #[test]
    fn names_are_unique_and_find_their_formats() {
        for format in IMPORTERS {
            let found = importer(format.name()).unwrap();
            assert_eq!(found.description(), format.description());
        }
        assert!(importer("paper").is_none());
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
            let error = detect(&path).err().unwrap().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
