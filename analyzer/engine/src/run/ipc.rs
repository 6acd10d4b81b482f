//! Checks Arrow IPC bytes before the query engine sees them.
//!
//! The engine trusts lengths and offsets further than damaged bytes allow: it
//! allocates what they ask for. So every message is walked here first, and
//! only bytes whose sizes make sense go on. Tables are read by the engine's own reader of them, which
//! checks each offset.

use std::ops::Range;

use polars_arrow_format::ipc::planus::ReadAsRoot;
use polars_arrow_format::ipc::{
    BlockRef, BufferRef, CompressionType, FieldRef, FooterRef, IntRef, MessageHeaderRef,
    MessageRef, Precision, RecordBatchRef, TypeRef,
};

use trueno_format::embedded_hashes::FOOTER_KEY;

use super::lz4;

const MAGIC: &[u8; 6] = b"ARROW1";
const CONTINUATION: u32 = u32::MAX;
/// LZ4 expands at most by this factor.
const LZ4_MAX_RATIO: u64 = 255;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Schema,
    Dictionary,
    Batch,
}

pub(super) struct Message<'a> {
    pub(super) kind: Kind,
    header: MessageHeaderRef<'a>,
    body: &'a [u8],
    pub(super) range: Range<usize>,
}

/// The message at `at`; `None` at the end of the stream, or if it is malformed.
pub(super) fn message(bytes: &[u8], at: usize) -> Option<Message<'_>> {
    let mut metadata_at = at + 4;
    let mut metadata_bytes = u32_at(bytes, at)?;
    if metadata_bytes == CONTINUATION {
        metadata_bytes = u32_at(bytes, at + 4)?;
        metadata_at += 4;
    }
    let body_at = metadata_at.checked_add(metadata_bytes as usize)?;
    let found = MessageRef::read_as_root(bytes.get(metadata_at..body_at)?).ok()?;
    let header = found.header().ok()??;
    let kind = match header {
        MessageHeaderRef::Schema(_) => Kind::Schema,
        MessageHeaderRef::DictionaryBatch(_) => Kind::Dictionary,
        MessageHeaderRef::RecordBatch(_) => Kind::Batch,
        _ => return None,
    };
    let end = body_at.checked_add(usize::try_from(found.body_length().ok()?).ok()?)?;
    Some(Message {
        kind,
        header,
        body: bytes.get(body_at..end)?,
        range: at..end,
    })
}

impl Message<'_> {
    /// Rows of a batch, or entries of a dictionary, after validating all sizes.
    fn checked_rows(&self) -> Result<u64, String> {
        self.checked_rows_of(|_| true)
    }

    /// As [`Message::checked_rows`], but buffers that were not read need only lie within the body.
    fn checked_rows_of(&self, is_read: impl Fn(usize) -> bool) -> Result<u64, String> {
        let batch: RecordBatchRef<'_> = match self.header {
            MessageHeaderRef::RecordBatch(batch) => batch,
            MessageHeaderRef::DictionaryBatch(dictionary) => {
                if !matches!(dictionary.is_delta(), Ok(false)) {
                    return Err("a delta dictionary".into());
                }
                let data = dictionary.data().ok().flatten();
                data.ok_or("a dictionary without data")?
            }
            _ => return Ok(0),
        };
        let rows = batch.length().ok().and_then(|n| u64::try_from(n).ok());
        let rows = rows.ok_or("a negative number of rows")?;
        let most = (self.body.len() as u64 + 1).saturating_mul(8 * LZ4_MAX_RATIO);
        for node in batch.nodes().ok().flatten().ok_or("no field nodes")? {
            let length = u64::try_from(node.length()).map_err(|_| "a negative field length")?;
            let nulls = u64::try_from(node.null_count()).map_err(|_| "a negative null count")?;
            if length > most || nulls > length {
                return Err(format!(
                    "a field of {length} rows with {nulls} nulls in {} bytes",
                    self.body.len()
                ));
            }
        }
        let compression = batch
            .compression()
            .map_err(|_| "a compression that cannot be read")?;
        if compression.is_some_and(|c| !matches!(c.codec(), Ok(CompressionType::Lz4Frame))) {
            return Err("a compression other than LZ4".into());
        }
        let buffers = batch.buffers().ok().flatten().ok_or("no buffers")?;
        for (number, buffer) in buffers.into_iter().enumerate() {
            self.check_buffer(buffer, compression.is_some() && is_read(number))?;
        }
        Ok(rows)
    }

    fn check_buffer(&self, buffer: BufferRef<'_>, compressed: bool) -> Result<(), String> {
        let bounds = || {
            let from = usize::try_from(buffer.offset()).ok()?;
            let length = usize::try_from(buffer.length()).ok()?;
            self.body.get(from..from.checked_add(length)?)
        };
        let buffer = bounds().ok_or("a buffer outside of its batch")?;
        if compressed && !buffer.is_empty() {
            let unpacked = i64_at(buffer, 0).ok_or("a compressed buffer without its length")?;
            let most = (buffer.len() as u64).saturating_mul(LZ4_MAX_RATIO);
            if unpacked != -1 && u64::try_from(unpacked).is_ok_and(|n| n > most) || unpacked < -1 {
                return Err(format!(
                    "a buffer of {} bytes that claims to unpack to {unpacked}",
                    buffer.len()
                ));
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) bytes: usize,
    /// Bytes before the buffers.
    pub(super) metadata_bytes: usize,
}

/// Storage type of a column that can be read without the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldType {
    I64,
    U64,
    U32,
    F64,
    Bool,
    /// 32-bit keys.
    Text {
        dictionary: i64,
    },
}

impl FieldType {
    /// Bytes per value; `None` for bits.
    pub(super) fn width(self) -> Option<usize> {
        match self {
            Self::I64 | Self::U64 | Self::F64 => Some(8),
            Self::U32 | Self::Text { .. } => Some(4),
            Self::Bool => None,
        }
    }

    fn of(field: FieldRef<'_>) -> Option<Self> {
        let whole = |int: IntRef<'_>| match (int.bit_width().ok()?, int.is_signed().ok()?) {
            (64, true) => Some(Self::I64),
            (64, false) => Some(Self::U64),
            (32, false) => Some(Self::U32),
            _ => None,
        };
        match (field.type_().ok()??, field.dictionary().ok()?) {
            (TypeRef::Int(int), None) => whole(int),
            (TypeRef::FloatingPoint(float), None) => {
                (float.precision().ok()? == Precision::Double).then_some(Self::F64)
            }
            (TypeRef::Bool(_), None) => Some(Self::Bool),
            (TypeRef::Utf8(_), Some(dictionary)) => {
                let keys = dictionary.index_type().ok()??;
                let is_i32 = keys.bit_width().ok()? == 32 && keys.is_signed().ok()?;
                is_i32.then_some(Self::Text {
                    dictionary: dictionary.id().ok()?,
                })
            }
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) of: FieldType,
}

pub(super) struct Footer {
    pub(super) fields: Vec<Field>,
    pub(super) dictionaries: Vec<Place>,
    pub(super) batches: Vec<Place>,
    pub(super) table: Option<String>,
}

impl Footer {
    /// Reads the footer of a file of `length` bytes. `read` fills a buffer from an offset.
    pub(super) fn read(
        length: u64,
        read: impl Fn(u64, &mut [u8]) -> Result<(), String>,
    ) -> Result<Self, String> {
        const NO_FOOTER: &str = "its footer does not lie within the file";
        let mut end = [0; 10];
        let end_at = length.checked_sub(10).ok_or(NO_FOOTER)?;
        read(end_at, &mut end)?;
        let bytes = u32_at(&end, 0).filter(|_| end[4..] == *MAGIC);
        let bytes = bytes.ok_or(NO_FOOTER)?;
        let at = end_at.checked_sub(u64::from(bytes)).ok_or(NO_FOOTER)?;
        let mut footer = vec![0; bytes as usize];
        read(at, &mut footer)?;
        let footer = FooterRef::read_as_root(&footer).map_err(|_| NO_FOOTER)?;
        let schema = footer.schema().ok().flatten();
        let fields = schema.and_then(|schema| schema.fields().ok().flatten());
        let fields = fields.ok_or("its footer has no schema")?;
        let fields = fields.iter().map(|field| {
            let field = field.map_err(|_| "a field that cannot be read")?;
            let name = field.name().ok().flatten().unwrap_or_default().to_owned();
            match FieldType::of(field) {
                Some(of) => Ok(Field { name, of }),
                None => Err(format!(
                    "column {name} is of a type that only the engine reads"
                )),
            }
        });
        let place = |block: BlockRef<'_>| -> Result<Place, String> {
            let (metadata, body) = (i64::from(block.meta_data_length()), block.body_length());
            let bytes = metadata
                .checked_add(body)
                .and_then(|n| usize::try_from(n).ok());
            let offset = u64::try_from(block.offset()).ok();
            let metadata_bytes = usize::try_from(metadata).unwrap_or(0);
            match (offset, bytes) {
                (Some(offset), Some(bytes)) if bytes as u64 <= length => Ok(Place {
                    offset,
                    bytes,
                    metadata_bytes: metadata_bytes.min(bytes),
                }),
                _ => Err("its footer points outside of the file".to_owned()),
            }
        };
        let dictionaries = footer.dictionaries().ok().flatten().into_iter().flatten();
        let batches = footer.record_batches().ok().flatten();
        let batches = batches.ok_or("its footer lists no batches")?;
        Ok(Self {
            fields: fields.collect::<Result<_, String>>()?,
            dictionaries: dictionaries.map(place).collect::<Result<_, _>>()?,
            batches: batches.into_iter().map(place).collect::<Result<_, _>>()?,
            table: table_of(footer),
        })
    }
}

fn table_of(footer: FooterRef<'_>) -> Option<String> {
    let entries = footer.custom_metadata().ok()??;
    let mut entries = entries.iter().filter_map(Result::ok);
    let entry = entries.find(|entry| matches!(entry.key(), Ok(Some(FOOTER_KEY))))?;
    Some(entry.value().ok()??.to_owned())
}

/// A record batch with validated sizes.
pub(super) struct Batch<'a> {
    pub(super) rows: usize,
    nodes: Vec<(usize, usize)>,
    buffers: Vec<&'a [u8]>,
    is_compressed: bool,
}

/// The batch in `bytes`. Only the buffers for which `is_read` holds have been read, and may be used.
pub(super) fn batch(bytes: &[u8], is_read: impl Fn(usize) -> bool) -> Result<Batch<'_>, String> {
    let message = message(bytes, 0).filter(|message| message.range.end == bytes.len());
    let message = message.ok_or("not one record batch")?;
    match message.header {
        MessageHeaderRef::RecordBatch(batch) => message.batch(batch, is_read),
        _ => Err("not one record batch".to_owned()),
    }
}

/// Where the buffers of the batch in `bytes` lie, of which only the metadata has been read.
pub(super) fn buffers(bytes: &[u8]) -> Result<Vec<Range<usize>>, String> {
    let message = message(bytes, 0).ok_or("not one record batch")?;
    let MessageHeaderRef::RecordBatch(batch) = message.header else {
        return Err("not one record batch".to_owned());
    };
    message.checked_rows_of(|_| false)?;
    let body_at = message.range.end - message.body.len();
    let number = |n: i64| usize::try_from(n).unwrap_or(0);
    let buffers = batch.buffers().ok().flatten().into_iter().flatten();
    let range = |buffer: BufferRef<'_>| {
        let from = body_at + number(buffer.offset());
        from..from + number(buffer.length())
    };
    Ok(buffers.map(range).collect())
}

/// The id of the single dictionary in `bytes`, and its texts as a batch with one column.
pub(super) fn dictionary(bytes: &[u8]) -> Result<(i64, Batch<'_>), String> {
    let message = message(bytes, 0).filter(|message| message.range.end == bytes.len());
    let message = message.ok_or("not one dictionary")?;
    let MessageHeaderRef::DictionaryBatch(dictionary) = message.header else {
        return Err("not one dictionary".to_owned());
    };
    let id = dictionary.id().map_err(|_| "a dictionary without its id")?;
    let data = dictionary.data().ok().flatten();
    let data = data.ok_or("a dictionary without data")?;
    Ok((id, message.batch(data, |_| true)?))
}

impl<'a> Message<'a> {
    fn batch(
        &self,
        batch: RecordBatchRef<'_>,
        is_read: impl Fn(usize) -> bool,
    ) -> Result<Batch<'a>, String> {
        let rows = self.checked_rows_of(is_read)?;
        let rows = usize::try_from(rows).map_err(|_| "too many rows")?;
        // Checked just now: none of them is negative, and buffers lie within the body.
        let number = |n: i64| usize::try_from(n).unwrap_or(0);
        let nodes = batch.nodes().ok().flatten().into_iter().flatten();
        let buffers = batch.buffers().ok().flatten().into_iter().flatten();
        let buffer = |buffer: BufferRef<'_>| {
            let from = number(buffer.offset());
            &self.body[from..from + number(buffer.length())]
        };
        Ok(Batch {
            rows,
            nodes: nodes
                .map(|node| (number(node.length()), number(node.null_count())))
                .collect(),
            buffers: buffers.map(buffer).collect(),
            is_compressed: batch.compression().ok().flatten().is_some(),
        })
    }
}

impl Batch<'_> {
    /// Number of rows and of nulls of a field.
    pub(super) fn node(&self, field: usize) -> Result<(usize, usize), String> {
        let node = self.nodes.get(field).copied();
        node.ok_or_else(|| "a field without a node".to_owned())
    }

    pub(super) fn buffers(&self) -> usize {
        self.buffers.len()
    }

    /// Decompresses a buffer into `to`, which must have at least the given size.
    pub(super) fn unpack(
        &self,
        buffer: usize,
        bytes: usize,
        to: &mut Vec<u8>,
    ) -> Result<(), String> {
        let packed = self
            .buffers
            .get(buffer)
            .ok_or("a buffer that is not there")?;
        lz4::unpack(packed, self.is_compressed, to)?;
        if to.len() >= bytes {
            Ok(())
        } else {
            Err(format!("a buffer of {} bytes, expected {bytes}", to.len()))
        }
    }

    /// The value that all rows of a buffer have, if that can be determined without decompressing it. `width` is
    /// in bytes.
    pub(super) fn same_value(
        &self,
        buffer: usize,
        width: usize,
        rows: usize,
    ) -> Result<Option<u64>, String> {
        let packed = self
            .buffers
            .get(buffer)
            .ok_or("a buffer that is not there")?;
        Ok(self
            .is_compressed
            .then(|| lz4::same_value(packed, width, rows * width))
            .flatten())
    }

    pub(super) fn texts(&self) -> Result<Vec<String>, String> {
        let (mut ends, mut bytes) = (Vec::new(), Vec::new());
        if self.rows == 0 {
            return Ok(Vec::new());
        }
        if self.node(0)? != (self.rows, 0) || self.buffers.len() != 3 {
            return Err("a dictionary that is not a list of texts".to_owned());
        }
        self.unpack(1, 4 * (self.rows + 1), &mut ends)?;
        self.unpack(2, 0, &mut bytes)?;
        let end = |row: usize| u32_at(&ends, 4 * row).map(|end| end as usize);
        let text = |row: usize| {
            let text = bytes.get(end(row)?..end(row + 1)?)?;
            std::str::from_utf8(text).ok().map(str::to_owned)
        };
        let texts: Option<Vec<String>> = (0..self.rows).map(text).collect();
        texts.ok_or_else(|| "a text outside of its dictionary".to_owned())
    }
}

pub(super) fn batch_rows(bytes: &[u8]) -> Result<u64, String> {
    match message(bytes, 0) {
        Some(message) if message.kind == Kind::Batch && message.range.end == bytes.len() => {
            message.checked_rows()
        }
        _ => Err("not one record batch".into()),
    }
}

/// The schema message of a segment's head, which follows the magic bytes and their padding.
pub(super) fn schema_message(head: &[u8]) -> Option<&[u8]> {
    if !head.starts_with(MAGIC) {
        return None;
    }
    let padding = head[MAGIC.len()..].iter().position(|&b| b != 0)?;
    let at = MAGIC.len() + padding;
    let message = message(head, at)?;
    (message.kind == Kind::Schema).then(|| &head[message.range])
}

/// Number of rows of a whole file, after validating its footer and every message.
pub(super) fn file_rows(bytes: &[u8]) -> Result<u64, String> {
    if !bytes.starts_with(MAGIC) {
        return Err("it does not begin with ARROW1".into());
    }
    let Some(footer_end) = bytes
        .len()
        .checked_sub(10)
        .filter(|&at| bytes[at + 4..] == *MAGIC)
    else {
        return Err("it does not end with ARROW1: it was cut, or never sealed".into());
    };
    let footer = u32_at(bytes, footer_end)
        .and_then(|length| footer_end.checked_sub(length as usize))
        .and_then(|at| FooterRef::read_as_root(&bytes[at..footer_end]).ok())
        .ok_or("its footer does not lie within the file")?;
    if !matches!(footer.schema(), Ok(Some(_))) {
        return Err("its footer has no schema".into());
    }
    for block in footer.dictionaries().ok().flatten().into_iter().flatten() {
        block_message(bytes, block, Kind::Dictionary)?.checked_rows()?;
    }
    let mut rows: u64 = 0;
    let batches = footer.record_batches().ok().flatten();
    for block in batches.ok_or("its footer lists no batches")? {
        rows = rows.saturating_add(block_message(bytes, block, Kind::Batch)?.checked_rows()?);
    }
    Ok(rows)
}

fn block_message<'a>(
    bytes: &'a [u8],
    block: BlockRef<'_>,
    kind: Kind,
) -> Result<Message<'a>, String> {
    let parts = || {
        let at = usize::try_from(block.offset()).ok()?;
        let metadata = usize::try_from(block.meta_data_length()).ok()?;
        let body = usize::try_from(block.body_length()).ok()?;
        let message = message(bytes, at)?;
        let same = message.kind == kind
            && message.body.len() == body
            && message.range.end == at.checked_add(metadata)?.checked_add(body)?;
        same.then_some(message)
    };
    parts()
        .ok_or_else(|| format!("its footer points to a {kind:?} that is not there").to_lowercase())
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn i64_at(bytes: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_bytes_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..400), at in 0..400_usize) {
            let mut file = [MAGIC.as_slice(), &[0; 58], &bytes].concat();
            let footer = u32::try_from(at.min(file.len())).unwrap();
            file.extend_from_slice(&footer.to_le_bytes());
            file.extend_from_slice(MAGIC);
            prop_assert!(file_rows(&file).is_err() || footer > 0);
            prop_assert!(batch_rows(&bytes).is_err());
            let _ = schema_message(&file);
        }
    }

    #[test]
    fn the_heads_of_all_tables_hold_a_schema() {
        for table in trueno_format::schema::TABLES {
            let head = trueno_format::segment::head_bytes(table);
            assert!(schema_message(&head).is_some(), "{}", table.name);
            assert!(schema_message(&head[..head.len() - 1]).is_none());
        }
    }
}
