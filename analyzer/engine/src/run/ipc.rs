//! Checks Arrow IPC bytes before the query engine sees them.
//!
//! The engine trusts lengths and offsets further than damaged bytes allow: it
//! allocates what they ask for. So every message is walked here first, and
//! only bytes whose sizes make sense go on.

use std::ops::Range;

use super::flatbuffer::{Table, i64_at, u32_at};

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
    header: Table<'a>,
    body: &'a [u8],
    /// Where it lies in the bytes it was read from.
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
    let table = Table::root(bytes.get(metadata_at..body_at)?)?;
    let kind = match table.u8(1) {
        1 => Kind::Schema,
        2 => Kind::Dictionary,
        3 => Kind::Batch,
        _ => return None,
    };
    let end = body_at.checked_add(usize::try_from(table.i64(3)).ok()?)?;
    Some(Message {
        kind,
        header: table.table(2)?,
        body: bytes.get(body_at..end)?,
        range: at..end,
    })
}

impl Message<'_> {
    /// Rows of a batch, or entries of a dictionary, if all its sizes make sense.
    fn checked_rows(&self) -> Result<u64, String> {
        let batch = match self.kind {
            Kind::Schema => return Ok(0),
            Kind::Batch => self.header,
            Kind::Dictionary if self.header.u8(2) != 0 => return Err("a delta dictionary".into()),
            Kind::Dictionary => self.header.table(1).ok_or("a dictionary without data")?,
        };
        let rows = u64::try_from(batch.i64(0)).map_err(|_| "a negative number of rows")?;
        let most = (self.body.len() as u64 + 1).saturating_mul(8 * LZ4_MAX_RATIO);
        for node in batch.structs(1, 16).ok_or("no field nodes")? {
            let length = i64_at(node, 0)
                .and_then(|n| u64::try_from(n).ok())
                .ok_or("a negative field length")?;
            let nulls = i64_at(node, 8)
                .and_then(|n| u64::try_from(n).ok())
                .ok_or("a negative null count")?;
            if length > most || nulls > length {
                return Err(format!(
                    "a field of {length} rows with {nulls} nulls in {} bytes",
                    self.body.len()
                ));
            }
        }
        let compression = batch.table(3);
        if compression.is_some_and(|c| c.u8(0) != 0) {
            return Err("a compression other than LZ4".into());
        }
        for buffer in batch.structs(2, 16).ok_or("no buffers")? {
            self.check_buffer(buffer, compression.is_some())?;
        }
        Ok(rows)
    }

    fn check_buffer(&self, buffer: &[u8], compressed: bool) -> Result<(), String> {
        let bounds = || {
            let from = usize::try_from(i64_at(buffer, 0)?).ok()?;
            let length = usize::try_from(i64_at(buffer, 8)?).ok()?;
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
        .and_then(|at| Table::root(&bytes[at..footer_end]))
        .ok_or("its footer does not lie within the file")?;
    if footer.table(1).is_none() {
        return Err("its footer has no schema".into());
    }
    for block in footer.structs(2, 24).into_iter().flatten() {
        block_message(bytes, block, Kind::Dictionary)?.checked_rows()?;
    }
    let mut rows: u64 = 0;
    for block in footer.structs(3, 24).ok_or("its footer lists no batches")? {
        rows = rows.saturating_add(block_message(bytes, block, Kind::Batch)?.checked_rows()?);
    }
    Ok(rows)
}

fn block_message<'a>(bytes: &'a [u8], block: &[u8], kind: Kind) -> Result<Message<'a>, String> {
    let parts = || {
        let at = usize::try_from(i64_at(block, 0)?).ok()?;
        let metadata = usize::try_from(u32_at(block, 8)?.cast_signed()).ok()?;
        let body = usize::try_from(i64_at(block, 16)?).ok()?;
        let message = message(bytes, at)?;
        let same = message.kind == kind
            && message.body.len() == body
            && message.range.end == at.checked_add(metadata)?.checked_add(body)?;
        same.then_some(message)
    };
    parts()
        .ok_or_else(|| format!("its footer points to a {kind:?} that is not there").to_lowercase())
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
