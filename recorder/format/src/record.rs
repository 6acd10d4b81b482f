//! The fixed 64-byte record that threads write and the writer reads.
//!
//! An event is a *group*: one primary record and up to 15 extension records
//! right behind it, published together or not at all. Names are numbers of
//! texts ([`crate::text::Text`]); times are raw ticks.

use crate::schema::TableId;

/// One record: a cache line. Its `kind` says what `m` holds.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct Record {
    /// Ticks at which it began.
    pub start: u64,
    /// Ticks at which it ended.
    pub end: u64,
    /// Sequence number within the thread; 0 where the row has no id.
    pub seq: u32,
    /// Sequence number of the enclosing row on the same thread; 0: none.
    pub parent: u32,
    /// Number of its name; of a row with a place, that of a [`Site`](crate::text::Site).
    pub name: u32,
    /// One of [`kind`] or [`extension`].
    pub kind: u8,
    /// Low half: a bit for each of `m` that was given. High half: extension records that follow.
    pub flags: u8,
    /// Name number of the backend; 0: not given.
    pub backend: u16,
    /// Numbers; see the kinds.
    pub m: [u64; 4],
}

const _: () = assert!(size_of::<Record>() == 64 && align_of::<Record>() == 64);

/// The word of a [`Record`] from `name` to `backend`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(8))]
pub struct Subject {
    /// As of [`Record`].
    pub name: u32,
    /// As of [`Record`].
    pub kind: u8,
    /// As of [`Record`].
    pub flags: u8,
    /// As of [`Record`].
    pub backend: u16,
}

/// A [`Record`] with its subject as one word, because some compilers would copy it field by field.
#[repr(C, align(64))]
struct RecordOfWords {
    start: u64,
    end: u64,
    seq: u32,
    parent: u32,
    subject: Subject,
    m: [u64; 4],
}

const _: () = assert!(
    size_of::<RecordOfWords>() == size_of::<Record>()
        && std::mem::offset_of!(RecordOfWords, subject) == std::mem::offset_of!(Record, name)
        && std::mem::offset_of!(Record, kind) == 28
        && std::mem::offset_of!(Record, flags) == 29
        && std::mem::offset_of!(Record, backend) == 30
        && std::mem::offset_of!(Record, m) == 32
        && std::mem::offset_of!(RecordOfWords, m) == 32
);

impl Record {
    /// A record with all its fields.
    #[inline(always)]
    pub fn new(
        (start, end): (u64, u64),
        (seq, parent): (u32, u32),
        subject: Subject,
        m: [u64; 4],
    ) -> Self {
        let words = RecordOfWords {
            start,
            end,
            seq,
            parent,
            subject,
            m,
        };
        // SAFETY: both are plain numbers without padding, and the same ones at the same places.
        unsafe { std::mem::transmute::<RecordOfWords, Self>(words) }
    }
}

/// Declares the kinds of primary records: number, table of their rows (none: no rows), and whether `name` is the name of
/// the row.
macro_rules! records {
    ($($(#[doc = $doc:literal])+ $name:ident = $number:literal $(=> $table:ident $($named:ident)?)?;)+) => {
        /// Kinds of primary records.
        pub mod kind {
            $($(#[doc = $doc])+ pub const $name: u8 = $number;)+
        }

        impl Record {
            /// The table a primary record makes rows of.
            #[inline]
            pub fn table(&self) -> Option<TableId> {
                match self.kind {
                    $($(kind::$name => Some(TableId::$table),)?)+
                    _ => None,
                }
            }

            pub(crate) fn is_named(&self) -> bool {
                match self.kind {
                    $($($(kind::$name => stringify!($named) == "named",)?)?)+
                    _ => false,
                }
            }
        }
    };
}

records! {
    /// `m[0]` the number of the iteration.
    ITERATION = 1 => Bricks;
    /// `m[0]` the number of the layer.
    LAYER = 2 => Bricks;
    /// `m` elements, flops, bytes read, bytes written; likewise the next two.
    BRICK = 3 => Bricks named;
    /// As [`BRICK`].
    FUNCTION = 4 => Bricks named;
    /// As [`BRICK`].
    TASK = 5 => Bricks named;
    /// `m` elements, flops, bytes.
    KERNEL = 8 => Kernels named;
    /// `m` elements, flops, bytes, row | column << 32; `name` the depth (given: bit 3 of `flags`); `backend` the level.
    TILE = 9 => Tiles;
    /// A host wait.
    WAIT = 10 => Syncs named;
    /// `m` from, to.
    DEPENDS = 11 => Edges;
    /// Up to six ids (low half of `flags`: how many) in start, end and `m`, joined by wait `seq`.
    JOINS = 12 => Edges;
    /// `start` when, `end` the hash, `m` FNV hash, elements, dtype | shape << 32 (names), position (given: bit 3 of
    /// `flags`).
    CHECKSUM = 13 => Checksums named;
    /// `m` bytes (signed), address, weight (bits of an f64), distance of sample points (given: bits 1 to 3 of `flags`);
    /// `end` the device and 1, 0: the host.
    ALLOCATION = 14 => Allocations;
    /// `m` value (bits of an f64), unit (name), source.
    COUNTER = 15 => Counters named;
    /// Work of a device: `parent` the thread that launched it, `flags` as [`super::device_timing`], `m` brick (full id),
    /// device | stream << 32, reason (name), its own full id (0: thread and `seq`).
    DEVICE_WORK = 16 => Kernels named;
    /// A host wait for a device: `m[0]` its number.
    DEVICE_WAIT = 17 => Syncs;
    /// A copy or fill of device memory: as [`DEVICE_WORK`], `name` the direction, `m[2]` the bytes.
    TRANSFER = 18 => Transfers;
    /// An attribute: `name` the key, `m` the full id of the row it describes, and the value; low half of `flags`: its
    /// type, of [`super::attribute_type`].
    ATTRIBUTE = 19 => Attributes named;
    /// An instant: `start` when, `m[0]` its arguments as JSON (name; given: bit 0 of `flags`).
    INSTANT = 20 => Annotations named;
    /// A stretch in which the recorder was paused, `start` to `end`.
    PAUSE = 21 => Annotations named;
    /// The thread's iteration and layer from here on; flags as [`super::Context`].
    CONTEXT = 32;
}

/// Provenance of the times of [`kind::DEVICE_WORK`].
pub mod device_timing {
    /// Stamped by the device.
    pub const STAMPED: u8 = 0;
    /// The work lies between them.
    pub const BOUND: u8 = 1;
    /// Only the launch; the row is not valid.
    pub const LAUNCH: u8 = 2;
    /// Read or stated by the host.
    pub const HOST: u8 = 3;
    /// The bits of the above.
    pub const MASK: u8 = 3;
    /// Bit: device and stream are known.
    pub const ON_DEVICE: u8 = 4;
}

/// Types of the value of [`kind::ATTRIBUTE`].
pub mod attribute_type {
    /// An i64.
    pub const INTEGER: u8 = 0;
    /// A u64 that is no i64.
    pub const UNSIGNED: u8 = 1;
    /// Bits of an f64.
    pub const NUMBER: u8 = 2;
    /// 0 or 1.
    pub const TRUTH: u8 = 3;
    /// The number of a text.
    pub const TEXT: u8 = 4;
}

/// Kinds of extension records.
pub mod extension {
    /// `m[0]` the backend where its number needs more than 16 bits, `m[1]` the category, `m[2]` the id of the
    /// signature and 1; 0: not given.
    pub const LABELS: u8 = 64;
    /// `m[0]` the full id of a parent that lies anywhere.
    pub const PARENT: u8 = 65;
    /// A row that began on another thread: `name` that thread (not of a checksum), `m[0]`
    /// full id of the parent, then its context.
    pub const ORIGIN: u8 = 66;
    /// Shape and source of a launch: a [`Launch`](crate::Launch).
    pub const LAUNCH: u8 = 67;
    /// `m` NaN, infinite and zero elements.
    pub const COUNTS: u8 = 68;
    /// `start` min, `end` max, `m` absmax, mean, l2 (bits of f64), present bits in `flags`.
    pub const STATISTICS: u8 = 69;
    /// Up to six sampled values (bits of f64; `flags`: how many) in `start`, `end` and `m`. Several follow
    /// one another.
    pub const SAMPLES: u8 = 70;
    /// Of device work: `m` elements, flops, bytes, registers | static shared memory << 32; bits of `flags`:
    /// the first three, registers, static shared memory.
    pub const WORK: u8 = 71;
    /// Of a transfer: `m[0]` kinds of memory, source | destination << 32 (names; 0: not given).
    pub const MEMORY: u8 = 72;
}

/// The iteration and layer that rows of a thread belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Number of the iteration.
    pub iteration: Option<u64>,
    /// Number of the layer.
    pub layer: Option<u32>,
}

impl Context {
    /// Puts the context into `flags` (bit 0 and 1), `m[1]` and `m[2]`.
    #[inline]
    pub fn store(self, record: &mut Record) {
        record.flags |= u8::from(self.iteration.is_some()) | u8::from(self.layer.is_some()) << 1;
        record.m[1] = self.iteration.unwrap_or(0);
        record.m[2] = u64::from(self.layer.unwrap_or(0));
    }

    /// The context that a record holds.
    #[inline]
    pub fn load(record: &Record) -> Self {
        Self {
            iteration: (record.flags & 1 != 0).then_some(record.m[1]),
            layer: (record.flags & 2 != 0).then_some(record.m[2] as u32),
        }
    }

    /// A record of its own for it.
    pub fn record(self) -> Record {
        let mut record = Record {
            kind: kind::CONTEXT,
            ..Record::default()
        };
        self.store(&mut record);
        record
    }
}

impl Record {
    /// Extension records that follow a primary one.
    #[inline]
    pub fn extensions(&self) -> usize {
        if self.kind == kind::CONTEXT {
            0
        } else {
            usize::from(self.flags >> 4)
        }
    }

    /// Rows that a primary record makes.
    #[inline(always)]
    pub fn rows(&self) -> usize {
        if self.kind == kind::JOINS {
            usize::from(self.flags & 15)
        } else {
            1
        }
    }

    /// Metric `at`, where it was given.
    #[inline]
    pub fn metric(&self, at: usize) -> Option<u64> {
        (self.flags & 1 << at != 0).then_some(self.m[at])
    }
}

/// Two 32-bit numbers in one word.
pub const fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

/// The reverse of [`pair`].
pub const fn unpair(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

/// Unique id of a row: thread and sequence number.
pub const fn row_id(thread: u32, seq: u32) -> u64 {
    (thread as u64 + 1) << 32 | seq as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_survives_its_record() {
        for context in [
            Context::default(),
            Context {
                iteration: Some(u64::MAX),
                layer: None,
            },
            Context {
                iteration: Some(0),
                layer: Some(0),
            },
            Context {
                iteration: None,
                layer: Some(u32::MAX),
            },
        ] {
            assert_eq!(Context::load(&context.record()), context);
        }
    }
}
