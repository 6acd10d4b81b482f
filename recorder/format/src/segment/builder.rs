//! Puts segments together from batches that are encoded already.

use std::collections::BTreeMap;
use std::mem::take;

use super::metadata::Block;
use super::{head_bytes, tail_bytes, text_columns};
use crate::embedded_hashes::Part;
use crate::journal::{Chunk, Line};
use crate::schema::Table;

/// A segment that ends where its writer did not come to: the bytes of a sealed file, and its
/// lines for the journal.
///
/// ```
/// use trueno_format::{schema, segment::{SegmentBuilder, head_bytes}};
/// let table = schema::table("bricks").ok_or("no such table")?;
/// let (bytes, lines) = SegmentBuilder::new(table, "bricks/000000.arrow").seal()?;
/// assert!(bytes.starts_with(&head_bytes(table)) && bytes.ends_with(b"ARROW1"));
/// assert_eq!(lines.iter().map(|line| line.bytes).sum::<u64>(), bytes.len() as u64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SegmentBuilder {
    table: &'static Table,
    name: String,
    bytes: Vec<u8>,
    lines: Vec<Line>,
    blocks: Vec<Block>,
    rows: u64,
    dictionaries: BTreeMap<String, Vec<String>>,
    new: BTreeMap<String, Vec<String>>,
}

impl SegmentBuilder {
    /// Without batches; `name` is the segment's in the journal.
    pub fn new(table: &'static Table, name: &str) -> Self {
        let bytes = head_bytes(table);
        Self {
            lines: vec![Line::new(name, Chunk::Head, 0, &bytes)],
            table,
            name: name.to_owned(),
            bytes,
            blocks: Vec::new(),
            rows: 0,
            dictionaries: BTreeMap::new(),
            new: BTreeMap::new(),
        }
    }

    /// Adds the texts that a batch introduced, whether the batch itself is still there or
    /// not: those after it count on them.
    pub fn texts(&mut self, new: &BTreeMap<String, Vec<String>>) {
        for (column, texts) in new {
            for to in [&mut self.dictionaries, &mut self.new] {
                to.entry(column.clone())
                    .or_default()
                    .extend_from_slice(texts);
            }
        }
    }

    /// Adds one record batch message, as it stands in a segment. Its texts were added before.
    ///
    /// # Errors
    /// The bytes are no message of an Arrow IPC stream.
    pub fn batch(&mut self, bytes: &[u8], rows: u64) -> Result<(), String> {
        let word = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let metadata = (word(0) == Some(u32::MAX)).then(|| word(4)).flatten();
        let metadata = metadata.map(|length| length as usize + 8);
        let Some(metadata) = metadata.filter(|length| *length <= bytes.len()) else {
            return Err("not a message of an Arrow stream".to_owned());
        };
        let offset = self.bytes.len() as u64;
        let body = bytes.len() - metadata;
        self.blocks.push(Block {
            offset,
            metadata_bytes: metadata,
            body_bytes: body,
        });
        self.lines.push(Line {
            rows: Some(rows),
            new: take(&mut self.new),
            ..Line::new(&self.name, Chunk::Batch, offset, bytes)
        });
        self.bytes.extend_from_slice(bytes);
        self.rows += rows;
        Ok(())
    }

    /// The whole segment, and a line for each of its chunks.
    ///
    /// # Errors
    /// Its texts cannot be encoded: there are more than a column can number.
    pub fn seal(mut self) -> Result<(Vec<u8>, Vec<Line>), String> {
        let columns = text_columns(self.table);
        let values: Vec<Vec<String>> = columns
            .map(|column| self.dictionaries.remove(column.name).unwrap_or_default())
            .collect();
        let offset = self.bytes.len() as u64;
        let parts: Vec<Part> = self.lines.iter().map(Part::from).collect();
        let tail = tail_bytes(self.table, &values, &self.blocks, &parts, offset);
        let tail = tail.map_err(|error| error.to_string())?;
        self.lines.push(Line {
            rows: Some(self.rows),
            ..Line::new(&self.name, Chunk::Tail, offset, &tail)
        });
        self.bytes.extend_from_slice(&tail);
        Ok((self.bytes, self.lines))
    }
}
