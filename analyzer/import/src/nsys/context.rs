//! State that all parts of an import share.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use trueno_format::run_writer::{RunWriter, Text};
use trueno_format::schema::{EdgeRow, TableRow};

use super::payload_schema::Schemas;
use super::source::{Scan, Source, TEXTS_CUT, Value};
use super::threads::Threads;
use crate::cuda::call_kind::without_version;
use crate::cuda::launches::Launches;
use crate::cuda::streams::{Stream, Streams};
use crate::doubtful::Memory;
use crate::signatures::{Lists, Signatures};
use crate::{Error, Import, Notes, Options};

pub struct Context<'a> {
    path: &'a Path,
    pub into: &'a mut RunWriter,
    pub notes: &'a mut Notes,
    progress: &'a mut dyn FnMut(u64),
    bytes: u64,
    rows: u64,
    visited: u64,
    damage: Vec<String>,
    /// Time 0 of the run, by the export's clock.
    pub origin_ns: i64,
    last_ns: Option<i64>,
    strings: HashMap<i64, String>,
    texts: HashMap<i64, Text>,
    pub schemas: Schemas,
    pub threads: Threads,
    pub launches: Launches,
    streams: Streams,
    signatures: Signatures,
    pub kernel_processes: BTreeSet<u32>,
    /// Devices by process and context, as stated by device work.
    pub devices: HashMap<(u32, i64), u32>,
    pub memory: Memory,
    last_id: u64,
}

impl<'a> Context<'a> {
    pub fn new(import: &'a mut Import<'_>, bytes: u64, rows: u64) -> Self {
        Self {
            path: import.path,
            into: import.into,
            notes: import.notes,
            progress: import.progress,
            bytes,
            rows,
            visited: 0,
            damage: Vec::new(),
            origin_ns: 0,
            last_ns: None,
            strings: HashMap::new(),
            texts: HashMap::new(),
            schemas: Schemas::default(),
            threads: Threads::default(),
            launches: Launches::default(),
            streams: Streams::default(),
            signatures: Signatures::default(),
            kernel_processes: BTreeSet::new(),
            devices: HashMap::new(),
            memory: Memory::new(import.options),
            last_id: 0,
        }
    }

    pub fn read_names(&mut self, source: &mut dyn Source) -> Result<(), Error> {
        let columns = ["id", "value"];
        if !source.has_columns("StringIds", &columns) {
            self.notes.warn(
                "no table StringIds with id and value: names of kernels and calls are numbers",
            );
            return Ok(());
        }
        let scan = Scan::new("StringIds", &columns);
        let strings = &mut self.strings;
        let damage = source.merged(&[scan], &mut |_, values| {
            if let [Value::Int(id), Value::Text(text)] = values {
                strings.insert(*id, text.clone().into_owned());
            }
            Ok(())
        })?;
        self.damaged(damage);
        Ok(())
    }

    /// The text with that number, as it stands in the export.
    pub fn string_text(&mut self, id: i64) -> Option<Text> {
        let text = self.strings.get(&id)?;
        Some(self.into.text(text))
    }

    pub fn string(&self, id: Option<i64>) -> Option<&str> {
        self.strings.get(&id?).map(String::as_str)
    }

    /// The name with that number or, if the export lacks it, a placeholder of `what` and the number. Version
    /// suffixes of CUDA runtime functions are removed.
    pub fn name(&mut self, id: Option<i64>, what: &str) -> Text {
        let Some(id) = id else {
            return self.into.text(&format!("{what} without a name"));
        };
        if let Some(text) = self.texts.get(&id) {
            return *text;
        }
        let text = match self.strings.get(&id) {
            Some(text) => self.into.text(without_version(text)),
            None => self.into.text(&format!("{what} {id}")),
        };
        self.texts.insert(id, text);
        text
    }

    pub fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub fn add<R: TableRow>(&mut self, row: &R) -> Result<(), Error> {
        self.notes.add(self.into, row)
    }

    pub fn edge(&mut self, from: u64, to: u64, kind: &str) -> Result<(), Error> {
        let kind = self.text(kind);
        self.add(&EdgeRow { from, to, kind })
    }

    pub fn reach(&mut self, start_ns: i64, dur_ns: i64) {
        let end_ns = start_ns.saturating_add(dur_ns.max(0));
        self.last_ns = Some(self.last_ns.map_or(end_ns, |last| last.max(end_ns)));
    }

    /// End of the last row; `None` if no row has a time.
    pub fn last_ns(&self) -> Option<i64> {
        self.last_ns
    }

    pub fn text(&mut self, text: &str) -> Text {
        self.into.text(text)
    }

    /// The row of `signatures` with these dimensions and nothing else.
    pub fn signature(&mut self, dims: &str) -> Result<Option<u64>, Error> {
        let mut lists = Lists::default();
        lists[0].extend_from_slice(dims.as_bytes());
        let number = self.signatures.number(&lists, self.into, self.notes)?;
        Ok(number.map(u64::from))
    }

    pub fn stream(&mut self, stream: Stream) -> u32 {
        let number = self.streams.number(stream);
        if number != stream.stream {
            self.notes.warn(
                "streams of different processes or contexts have the same number: all but the first \
                 are renumbered, 1,000,000 or a multiple higher",
            );
        }
        number
    }

    /// The stream's number in the run, if it had work.
    pub fn known_stream(
        &self,
        pid: i64,
        native_context: i64,
        device: i64,
        stream: u32,
    ) -> Option<u32> {
        let is_it = |known: &u32| i64::from(*known) == pid;
        let process = self.threads.pids.iter().position(is_it)?;
        self.streams.known(Stream {
            process: u32::try_from(process).ok()?,
            context: Some(native_context),
            device: u32::try_from(device).ok(),
            stream,
        })
    }

    pub fn visited(&mut self, table: &str) {
        self.notes.read(table);
        self.visited += 1;
        if self.visited.is_multiple_of(4_096) {
            let share = self.visited.min(self.rows) as f64 / self.rows.max(1) as f64;
            (self.progress)((self.bytes as f64 * share) as u64);
        }
    }

    pub fn damaged(&mut self, damage: Vec<String>) {
        for text in damage {
            self.notes.warn(text.clone());
            // All rows are there.
            if !text.ends_with(TEXTS_CUT) {
                self.damage.push(text);
            }
        }
    }

    /// Ends the run: writes threads and problems, and returns its length.
    ///
    /// # Errors
    /// Rows cannot be read and [`Options::partial`] is not set, or the run cannot be written.
    pub fn finish(
        mut self,
        source: &mut dyn Source,
        options: &Options,
    ) -> Result<Option<i64>, Error> {
        super::facts::threads(source, &mut self)?;
        let processes = self.kernel_processes.len();
        if processes > 1 {
            self.notes.warn(format!(
                "{processes} processes ran kernels: one run holds them all (hint: --by-process makes each a rank of a job)"
            ));
        }
        let kept: u64 = self.notes.kept.values().sum();
        if let (0, Some(damage)) = (kept, self.damage.first()) {
            return Err(Error::damaged(
                self.path,
                "all tables",
                format!("no row could be read: {damage}; export the report again"),
            ));
        }
        if let (false, Some(damage)) = (options.partial, self.damage.first()) {
            return Err(damaged(self.path, damage));
        }
        let mut problems = std::mem::take(&mut self.damage);
        problems.sort();
        problems.dedup();
        self.into.run().problems.extend(problems);
        (self.progress)(self.bytes);
        Ok(self.last_ns)
    }
}

pub fn damaged(path: &Path, damage: &str) -> Error {
    Error::damaged(
        path,
        "its tables",
        format!("{damage}; export the report again, or keep what can be read with --partial"),
    )
}
