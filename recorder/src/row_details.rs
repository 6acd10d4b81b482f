//! Parts of rows beyond times and names: declared work, labels, the shape of a launch.

use trueno_format::record::{Record, extension, pair};

use crate::names::Name;

/// Declared work of a row: up to four numbers, each given or not.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    pub m: [u64; 4],
    pub given: u8,
}

impl Work {
    #[inline(always)]
    pub fn set(&mut self, at: usize, value: u64) {
        self.m[at] = value;
        self.given |= 1 << at;
    }
}

/// Names of a row beyond its own.
#[derive(Clone, Copy)]
pub(crate) struct Labels {
    pub backend: Name,
    pub category: Name,
}

impl Labels {
    pub const NONE: Self = Self {
        backend: Name::from_number(0),
        category: Name::from_number(0),
    };

    /// The backend as it fits into a primary record; 0 when it needs an extension.
    #[inline(always)]
    pub fn short_backend(self) -> u16 {
        u16::try_from(self.backend.number()).unwrap_or(0)
    }

    #[inline(always)]
    pub fn need_extension(self) -> bool {
        self.backend.number() > u32::from(u16::MAX) || self.category.number() != 0
    }

    pub fn extension(self) -> Record {
        let m = [
            u64::from(self.backend.number()),
            u64::from(self.category.number()),
            0,
            0,
        ];
        Record {
            kind: extension::LABELS,
            m,
            ..Record::default()
        }
    }
}

/// Launch shape and source; bits of `given`: grid, block, ptx, dynamic shared memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Launch {
    pub given: u8,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub ptx: u64,
    pub shared_memory_bytes: u32,
}

impl Launch {
    pub fn extension(&self) -> Record {
        Record {
            kind: extension::LAUNCH,
            flags: self.given,
            start: pair(self.grid[0], self.grid[1]),
            end: pair(self.grid[2], self.block[0]),
            m: [
                pair(self.block[1], self.block[2]),
                self.ptx,
                u64::from(self.shared_memory_bytes),
                0,
            ],
            ..Record::default()
        }
    }
}
