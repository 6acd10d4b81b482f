//! The trait of formats: each is one type that implements it in the module that reads it, and one line of
//! [`IMPORTERS`](crate::IMPORTERS).

use std::borrow::Cow;
use std::path::Path;

use trueno_format::run_writer::RunWriter;

use crate::{Error, Notes, Options};

/// A format that can become a run.
pub trait Importer: Sync {
    /// Name of the format, as it is typed and shown.
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

/// The beginning of a file, unpacked.
pub struct Head<'h> {
    bytes: &'h [u8],
    text: Cow<'h, str>,
}

/// First bytes of every database of SQLite.
pub(crate) const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

impl<'h> Head<'h> {
    /// The head of a file, from its first bytes.
    pub fn new(bytes: &'h [u8]) -> Self {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = String::from_utf8_lossy(text);
        Self { bytes, text }
    }

    /// The bytes as they stand in the file.
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// True for a database of SQLite whose head holds all these words, such as names of its tables.
    pub fn is_database_with(&self, words: &[&str]) -> bool {
        let has = |word: &&str| {
            let mut parts = self.bytes.windows(word.len());
            parts.any(|part| part == word.as_bytes())
        };
        self.bytes.starts_with(SQLITE_MAGIC) && words.iter().all(has)
    }

    /// As a text, without byte order mark and white space at its beginning.
    pub fn text(&self) -> &str {
        self.text.trim_start()
    }

    /// The text behind these tokens, where it begins with them; white space may stand between them.
    pub fn behind(&self, tokens: &[&str]) -> Option<&str> {
        tokens.iter().try_fold(self.text(), |text, token| {
            text.trim_start().strip_prefix(*token)
        })
    }
}
