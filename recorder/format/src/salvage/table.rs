//! Rows to segments in memory.

use std::io;

use super::{SalvagedBatch, SalvagedSegment};
use crate::columns::Columns;
use crate::embedded_hashes::Part;
use crate::kept_rows::WindowRows;
use crate::schema::{TABLES, Table};
use crate::segment::{self, BATCH_ROWS, BatchEncoder, Block, Dictionary, SEGMENT_ROWS};
use crate::text::{Text, TextTable, Texts};

pub(super) struct SalvageTables {
    pub texts: TextTable,
    tables: Vec<SalvageTable>,
    encoder: BatchEncoder,
    /// A rolling window was recorded: which rows belong to it is known only once all are there.
    keeps: bool,
    problems: Vec<String>,
}

struct SalvageTable {
    table: &'static Table,
    columns: Option<Columns>,
    /// Full batches of a rolling window.
    kept: Vec<Columns>,
    dictionaries: Vec<Dictionary>,
    blocks: Vec<Block>,
    parts: Vec<Part>,
    open: SalvagedSegment,
    done: Vec<SalvagedSegment>,
}

impl SalvageTables {
    pub fn new(texts: TextTable, keeps: bool) -> Self {
        Self {
            keeps,
            texts,
            tables: TABLES.iter().map(SalvageTable::new).collect(),
            encoder: BatchEncoder::new(),
            problems: Vec::new(),
        }
    }

    /// The columns of a table with room for `rows` more rows. `None`: there is no memory,
    /// which [`SalvageTables::finish`] will say.
    pub fn room(&mut self, number: usize, rows: usize) -> Option<(&mut Columns, &mut TextTable)> {
        let table = &mut self.tables[number];
        let columns = table.columns.as_ref();
        let is_full = columns.is_some_and(|columns| columns.rows() + rows > BATCH_ROWS);
        if is_full && self.keeps {
            table.kept.extend(table.columns.take());
        } else if is_full && let Err(error) = table.flush(&mut self.encoder, &mut self.texts) {
            self.problems.push(format!("{}: {error}", table.table.name));
        }
        if table.columns.is_none() {
            table.columns = Columns::anonymous(table.table);
        }
        if table.columns.is_none() && self.problems.is_empty() {
            self.problems
                .push("no memory for the rows that were left".to_owned());
        }
        Some((self.tables[number].columns.as_mut()?, &mut self.texts))
    }

    /// Rows of a table so far.
    pub fn rows(&self, number: usize) -> u64 {
        let table = &self.tables[number];
        let done: u64 = table.done.iter().map(|segment| segment.rows).sum();
        let kept = table.kept.iter().map(|columns| columns.rows() as u64);
        done + table.open.rows
            + kept.sum::<u64>()
            + table
                .columns
                .as_ref()
                .map_or(0, |columns| columns.rows() as u64)
    }

    /// Leaves out what does not belong to the rolling window from `from_ns` on. Returns how many rows that were, by table,
    /// and the latest time of all.
    pub fn keep_from(&mut self, from_ns: i64) -> (Vec<u64>, Option<i64>) {
        let all: Vec<Vec<Columns>> = self
            .tables
            .iter_mut()
            .map(|table| {
                let mut batches = std::mem::take(&mut table.kept);
                batches.extend(table.columns.take());
                batches
            })
            .collect();
        self.keeps = false;
        let batches = all.iter().enumerate();
        let batches =
            batches.flat_map(|(table, batches)| batches.iter().map(move |batch| (table, batch)));
        let latest_ns = batches
            .clone()
            .filter_map(|(_, batch)| batch.latest_end_ns())
            .max();
        let window = WindowRows::new(from_ns, batches);
        let mut left_out = vec![0; all.len()];
        for (number, batches) in all.into_iter().enumerate() {
            for batch in batches {
                if let Some((columns, _)) = self.room(number, BATCH_ROWS) {
                    left_out[number] += window.copy(number, &batch, columns);
                }
            }
        }
        (left_out, latest_ns)
    }

    /// The segments of all tables, in order.
    pub fn finish(mut self, problems: &mut Vec<String>) -> Vec<SalvagedSegment> {
        let mut segments = Vec::new();
        for mut table in self.tables {
            let end = table
                .flush(&mut self.encoder, &mut self.texts)
                .and_then(|()| table.seal(&mut self.texts));
            if let Err(error) = end {
                self.problems.push(format!("{}: {error}", table.table.name));
            }
            segments.append(&mut table.done);
        }
        problems.append(&mut self.problems);
        segments
    }
}

impl SalvagedSegment {
    fn new(table: &'static Table) -> Self {
        Self {
            table: table.name,
            bytes: segment::head_bytes(table),
            rows: 0,
            batches: Vec::new(),
        }
    }
}

impl SalvageTable {
    fn new(table: &'static Table) -> Self {
        Self {
            table,
            columns: None,
            kept: Vec::new(),
            dictionaries: segment::text_columns(table)
                .map(|_| Dictionary::default())
                .collect(),
            blocks: Vec::new(),
            parts: Vec::new(),
            open: SalvagedSegment::new(table),
            done: Vec::new(),
        }
    }

    fn flush(&mut self, encoder: &mut BatchEncoder, texts: &mut dyn Texts) -> io::Result<()> {
        let Some(columns) = self.columns.as_mut().filter(|columns| columns.rows() > 0) else {
            return Ok(());
        };
        let before: Vec<usize> = self.dictionaries.iter().map(Dictionary::len).collect();
        let dictionaries = &mut self.dictionaries;
        let offset = self.open.bytes.len() as u64;
        let (bytes, block) = columns.view(|batch| {
            encoder.encode(batch, offset, |column, text| {
                dictionaries[column].key(Text::from_number(text as u32))
            })
        });
        let mut line = SalvagedBatch {
            offset,
            bytes: bytes.len() as u64,
            rows: columns.rows() as u64,
            new: Default::default(),
        };
        let named = segment::text_columns(self.table).zip(&self.dictionaries);
        for ((column, dictionary), from) in named.zip(before) {
            let new = &dictionary.texts()[from..];
            if !new.is_empty() {
                let new = new.iter().map(|text| texts.str(*text).to_owned());
                line.new.insert(column.name.to_owned(), new.collect());
            }
        }
        if self.parts.is_empty() {
            self.parts.push(Part::new(0, &self.open.bytes, 0));
        }
        self.parts.push(Part::new(offset, bytes, line.rows));
        self.open.bytes.extend_from_slice(bytes);
        self.open.rows += line.rows;
        self.open.batches.push(line);
        self.blocks.push(block);
        columns.clear(true);
        if self.open.rows >= SEGMENT_ROWS {
            self.seal(texts)?;
        }
        Ok(())
    }

    fn seal(&mut self, texts: &mut dyn Texts) -> io::Result<()> {
        if self.open.rows == 0 {
            return Ok(());
        }
        let mut segment = std::mem::replace(&mut self.open, SalvagedSegment::new(self.table));
        let text = |dictionary: &Dictionary, texts: &mut dyn Texts| {
            let names = dictionary.texts().iter();
            names.map(|text| texts.str(*text).to_owned()).collect()
        };
        let values: Vec<Vec<String>> = self
            .dictionaries
            .iter()
            .map(|dictionary| text(dictionary, texts))
            .collect();
        let offset = segment.bytes.len() as u64;
        let blocks = std::mem::take(&mut self.blocks);
        let parts = std::mem::take(&mut self.parts);
        let tail = segment::tail_bytes(self.table, &values, &blocks, &parts, offset)?;
        segment.bytes.extend_from_slice(&tail);
        self.dictionaries.iter_mut().for_each(Dictionary::clear);
        self.done.push(segment);
        Ok(())
    }
}
