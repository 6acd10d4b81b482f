//! The trait of formats: each is one type that implements it in the module that reads it, and one line of
//! [`IMPORTERS`](crate::IMPORTERS).

use std::borrow::Cow;
use std::path::Path;

use trueno_format::run_writer::RunWriter;

use crate::{Error, Notes, Options};

pub trait Importer: Sync {
    fn name(&self) -> &'static str;

    /// One line to help choose a format.
    fn description(&self) -> &'static str;

    fn recognises(&self, head: &Head<'_>) -> bool;

    /// Reads a file into a run. Returns the run's length in nanoseconds, if a clock measured it. `progress` is
    /// called with the number of bytes read so far.
    ///
    /// # Errors
    /// The file is not of this format or is damaged beyond use, or the run cannot be written. Drop the run
    /// then.
    fn import(
        &self,
        path: &Path,
        options: &Options,
        into: &mut RunWriter,
        notes: &mut Notes,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Option<i64>, Error>;
}

/// The first bytes of a file, uncompressed.
pub struct Head<'h> {
    bytes: &'h [u8],
    text: Cow<'h, str>,
    /// Of a database that is not packed.
    tables: Vec<String>,
}

pub(crate) const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

impl<'h> Head<'h> {
    pub fn new(bytes: &'h [u8]) -> Self {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = String::from_utf8_lossy(text);
        Self {
            bytes,
            text,
            tables: Vec::new(),
        }
    }

    /// The same with the tables of a database: those of a large schema need not be named in its first bytes.
    pub(crate) fn with_tables(self, tables: Vec<String>) -> Self {
        Self { tables, ..self }
    }

    pub(crate) fn has_table(&self, name: &str) -> bool {
        self.tables.iter().any(|table| table == name)
    }

    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// A SQLite database whose head or names of tables contain all these words.
    pub fn is_database_with(&self, words: &[&str]) -> bool {
        let has = |word: &&str| {
            let mut parts = self.bytes.windows(word.len());
            self.tables.iter().any(|table| table.contains(word))
                || parts.any(|part| part == word.as_bytes())
        };
        self.bytes.starts_with(SQLITE_MAGIC) && words.iter().all(has)
    }

    /// As text, without the byte order mark and leading white space.
    pub fn text(&self) -> &str {
        self.text.trim_start()
    }

    /// The text after these tokens, if it begins with them; white space may separate them.
    pub fn behind(&self, tokens: &[&str]) -> Option<&str> {
        tokens.iter().try_fold(self.text(), |text, token| {
            text.trim_start().strip_prefix(*token)
        })
    }
}
