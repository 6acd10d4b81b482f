//! Checks Arrow IPC bytes before the query engine sees them.
//!
//! The engine trusts lengths and offsets further than damaged bytes allow: it
//! allocates what they ask for. So every message is walked here first, and
//! only bytes whose sizes make sense go on. Tables are read by the engine's own reader of them, which
//! checks each offset.

use std::ops::Range;

use polars_arrow_format::ipc::planus::ReadAsRoot;
use polars_arrow_format::ipc::{
    BlockRef, BufferRef, CompressionType, FooterRef, MessageHeaderRef, MessageRef, RecordBatchRef,
};

const MAGIC: &[u8; 6] = b"ARROW1";
const CONTINUATION: u32 = u32::MAX;
/// LZ4 cannot make 256 bytes of one.
const LZ4_MAX_RATIO: u64 = 255;

/// Kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Schema,
    Dictionary,
    Batch,
}

/// One encapsulated message.
pub(super) struct Message<'a> {
    pub(super) kind: Kind,
    header: MessageHeaderRef<'a>,
    body: &'a [u8],
    /// Its place in the bytes it was read from.
    pub(super) range: Range<usize>,
}

/// The message at `at`; `None`: end of stream, or nothing that makes sense.
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
    /// Rows of a batch, or entries of a dictionary, if all its sizes make sense.
    fn checked_rows(&self) -> Result<u64, String> {
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
        for buffer in batch.buffers().ok().flatten().ok_or("no buffers")? {
            self.check_buffer(buffer, compression.is_some())?;
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

/// Rows of the one batch that `bytes` hold.
pub(super) fn batch_rows(bytes: &[u8]) -> Result<u64, String> {
    match message(bytes, 0) {
        Some(message) if message.kind == Kind::Batch && message.range.end == bytes.len() => {
            message.checked_rows()
        }
        _ => Err("not one record batch".into()),
    }
}

/// The schema message of a segment's head: what follows the magic and its padding.
pub(super) fn schema_message(head: &[u8]) -> Option<&[u8]> {
    if !head.starts_with(MAGIC) {
        return None;
    }
    let padding = head[MAGIC.len()..].iter().position(|&b| b != 0)?;
    let at = MAGIC.len() + padding;
    let message = message(head, at)?;
    (message.kind == Kind::Schema).then(|| &head[message.range])
}

/// Rows of a whole file, if its footer and every message it points to make sense.
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
