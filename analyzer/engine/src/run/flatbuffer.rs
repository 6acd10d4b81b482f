//! Reads flatbuffer tables without trusting a byte of them.
//!
//! Only what Arrow's messages need: scalars, tables, vectors of structs.
//! Whatever points outside of the bytes reads as absent.

/// A table somewhere in `bytes`.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
    vtable: usize,
    vtable_len: usize,
}

impl<'a> Table<'a> {
    /// The root table of `bytes`.
    pub(super) fn root(bytes: &'a [u8]) -> Option<Self> {
        Self::new(bytes, u32_at(bytes, 0)? as usize)
    }

    fn new(bytes: &'a [u8], at: usize) -> Option<Self> {
        let back = i64::from(u32_at(bytes, at)?.cast_signed());
        let vtable = usize::try_from(i64::try_from(at).ok()? - back).ok()?;
        let vtable_len = usize::from(u16_at(bytes, vtable)?);
        Some(Table {
            bytes,
            at,
            vtable,
            vtable_len,
        })
    }

    /// Position of a field's value; `None`: the field is not there.
    fn field(&self, number: usize) -> Option<usize> {
        let slot = 4 + 2 * number;
        if slot + 2 > self.vtable_len {
            return None;
        }
        match u16_at(self.bytes, self.vtable + slot)? {
            0 => None,
            offset => Some(self.at + usize::from(offset)),
        }
    }

    /// A byte, 0 when absent.
    pub(super) fn u8(&self, number: usize) -> u8 {
        self.field(number)
            .and_then(|at| self.bytes.get(at))
            .copied()
            .unwrap_or(0)
    }

    /// An integer, 0 when absent.
    pub(super) fn i64(&self, number: usize) -> i64 {
        self.field(number)
            .and_then(|at| i64_at(self.bytes, at))
            .unwrap_or(0)
    }

    /// A table this one refers to.
    pub(super) fn table(&self, number: usize) -> Option<Table<'a>> {
        let at = self.field(number)?;
        Self::new(
            self.bytes,
            at.checked_add(u32_at(self.bytes, at)? as usize)?,
        )
    }

    /// The items of a vector of structs of `item_bytes` each; `None`: absent or not within the bytes.
    pub(super) fn structs(
        &self,
        number: usize,
        item_bytes: usize,
    ) -> Option<std::slice::ChunksExact<'a, u8>> {
        let at = self.field(number)?;
        let at = at.checked_add(u32_at(self.bytes, at)? as usize)?;
        let count = u32_at(self.bytes, at)? as usize;
        let from = at.checked_add(4)?;
        let items = self
            .bytes
            .get(from..from.checked_add(count.checked_mul(item_bytes)?)?)?;
        Some(items.chunks_exact(item_bytes))
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn i64_at(bytes: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
