//! Ranks of a run that holds some: in the upper bits of ids and devices.

use trueno_plugin::{Result, Run, rank};

use crate::inputs::Side;

/// Tells ranks from numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// False in a run of one process, whose numbers may be as large as they like.
    has_ranks: bool,
}

impl Ranks {
    /// Reads the input.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(run: &mut Run, side: Side) -> Result<Self> {
        let table = run.table(&side.input("ranks"))?;
        Ok(Self {
            has_ranks: !table.is_missing(),
        })
    }

    /// The rank of an id.
    pub fn of_key(self, key: u64) -> u64 {
        if self.has_ranks { rank::of_key(key) } else { 0 }
    }

    /// The rank of a device.
    pub fn of_place(self, place: i64) -> u64 {
        if self.has_ranks {
            u64::try_from(rank::of_place(place).0).unwrap_or(0)
        } else {
            0
        }
    }
}
