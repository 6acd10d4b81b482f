//! Parts of rows beyond times and names: declared work and labels.

use trueno_format::record::{Record, extension};

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
