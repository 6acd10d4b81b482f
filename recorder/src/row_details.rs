//! Parts of rows beyond times and names: declared work and labels.

use trueno_format::record::{Record, extension};

use trueno_format::Launch;

use crate::names::Name;

/// Details that are rare or do not fit into a row's one record. Stored separately from the guard.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowDetails {
    /// Given where its number has more than 16 bits.
    pub backend: Option<Name>,
    /// Number of its name; 0: not given.
    pub category: u32,
    /// Id of its row of signatures, and 1; 0: none.
    pub signature: u32,
    /// Full id of a parent that lies anywhere; 0: the enclosing row of this thread.
    pub parent: u64,
    pub launch: Launch,
}

impl RowDetails {
    /// True if the launch is given, and nothing else.
    #[inline(always)]
    pub fn is_just_launch(&self) -> bool {
        self.launch.is_given() && self.backend.is_none() && self.category == 0 && self.parent == 0
    }

    /// All labels of a row that has `backend` in its record.
    pub fn labels(&self, backend: u16) -> Labels {
        Labels {
            backend: (self.backend).unwrap_or(Name::from_number(u32::from(backend))),
            category: Name::from_number(self.category),
            signature: self.signature,
        }
    }
}

/// Declared work of a row: up to four optional numbers.
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

#[derive(Clone, Copy)]
pub(crate) struct Labels {
    pub backend: Name,
    pub category: Name,
    pub signature: u32,
}

impl Labels {
    #[cfg(feature = "tracing")]
    pub const NONE: Self = Self {
        backend: Name::from_number(0),
        category: Name::from_number(0),
        signature: 0,
    };

    /// The backend as it fits into a primary record; 0 when it needs an extension.
    #[inline(always)]
    pub fn short_backend(self) -> u16 {
        u16::try_from(self.backend.number()).unwrap_or(0)
    }

    #[inline(always)]
    pub fn need_extension(self) -> bool {
        self.backend.number() > u32::from(u16::MAX)
            || self.category.number() != 0
            || self.signature != 0
    }

    pub fn extension(self) -> Record {
        let m = [
            u64::from(self.backend.number()),
            u64::from(self.category.number()),
            u64::from(self.signature),
            0,
        ];
        Record {
            kind: extension::LABELS,
            m,
            ..Record::default()
        }
    }
}
