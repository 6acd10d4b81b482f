//! The shape of all formats: each module has one [`Importer`], which is one line of [`IMPORTERS`](crate::IMPORTERS).

use std::borrow::Cow;
use std::fmt::Display;
use std::path::Path;

use trueno_format::run_writer::{RunWriter, Text};
use trueno_format::schema::{CounterRow, TableRow};

use crate::source::{Source, no_progress};
use crate::{Error, Notes, Options};

/// How files of one format are recognised and read.
pub struct Importer {
    pub name: &'static str,
    /// One line to help choose a format.
    pub description: &'static str,
    pub(crate) recognises: fn(&Head<'_>) -> bool,
    pub(crate) read: fn(Import<'_>) -> Result<Option<i64>, Error>,
}

impl Importer {
    /// Reads a file into a run. Returns the run's length in nanoseconds, if a clock measured it.
    ///
    /// # Errors
    /// The file is not of this format or is damaged beyond use, or the run cannot be written. Drop the run
    /// then.
    pub fn import(&self, import: Import<'_>) -> Result<Option<i64>, Error> {
        (self.read)(import)
    }
}

/// A file on its way into a run.
pub struct Import<'i> {
    pub path: &'i Path,
    pub options: &'i Options,
    pub into: &'i mut RunWriter,
    pub notes: &'i mut Notes,
    /// Called with the number of bytes read so far.
    pub progress: &'i mut dyn FnMut(u64),
}

impl<'i> Import<'i> {
    /// Opens the file. From then on it is the source that reports progress.
    pub(crate) fn open(&mut self) -> Result<Source<'i>, Error> {
        Source::open(self.path, self.options, self.take_progress())
    }

    pub(crate) fn take_progress(&mut self) -> &'i mut dyn FnMut(u64) {
        std::mem::replace(&mut self.progress, no_progress())
    }

    pub fn text(&mut self, text: &str) -> Text {
        self.into.text(text)
    }

    pub fn add<R: TableRow>(&mut self, row: &R) -> Result<(), Error> {
        self.notes.add(self.into, row)
    }

    pub fn problem(&mut self, text: impl Into<String>) {
        self.notes.problem(self.into, text);
    }

    /// Adds a sum of a file that has no times, as a counter. `source` is a value of the column `source`.
    pub(crate) fn sum(
        &mut self,
        time_ns: i64,
        name: &str,
        value: f64,
        (unit, source): (&str, &str),
    ) -> Result<(), Error> {
        let row = CounterRow {
            time_ns,
            name: self.text(name),
            value,
            unit: Some(self.text(unit)),
            source: self.text(source),
            ..CounterRow::default()
        };
        self.add(&row)
    }

    /// Of damage at a place: what was read before is kept with `--partial`. If that is nothing, the file is refused.
    pub(crate) fn keep_before(
        &mut self,
        place: &str,
        problem: impl Display,
        is_nothing: bool,
    ) -> Result<(), Error> {
        if self.options.partial && !is_nothing {
            let name = self.path.file_name().unwrap_or_default().to_string_lossy();
            self.problem(format!("{name} was imported up to {place} only: {problem}"));
            return Ok(());
        }
        let hint = if is_nothing {
            ""
        } else {
            "; --partial keeps what comes before"
        };
        Err(self.damaged(place, format!("{problem}{hint}")))
    }

    pub(crate) fn count_stacks(&mut self) {
        self.notes.count_stacks(self.into);
    }

    /// Gives the run the hash of the file as its id.
    pub(crate) fn identify(&mut self) -> Result<(), Error> {
        let hash = Source::hash_of(self.path, self.options)?;
        self.into.run().run_id = format!("{hash:016x}");
        Ok(())
    }

    /// The same import of another file, such as an unpacked copy.
    pub(crate) fn of<'o>(&'o mut self, path: &'o Path) -> Import<'o> {
        Import {
            path,
            options: self.options,
            into: self.into,
            notes: self.notes,
            progress: self.progress,
        }
    }

    /// The error of a file that is not what it should be: expected, found, next step.
    pub fn refused(&self, problem: impl Into<String>) -> Error {
        Error::format(self.path, problem)
    }

    /// The error of a file that is damaged at a byte, line, table or row.
    pub fn damaged(&self, place: impl Into<String>, problem: impl Into<String>) -> Error {
        Error::damaged(self.path, place, problem)
    }
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
