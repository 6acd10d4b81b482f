//! Ranks of a run that holds some: in the upper bits of ids and devices.

use trueno_plugin::{Result, Run, rank};

use crate::inputs::Side;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// False for a run of one process, where the upper bits are no rank.
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

    pub fn of_key(self, key: u64) -> u64 {
        if self.has_ranks { rank::of_key(key) } else { 0 }
    }

    pub fn of_place(self, place: i64) -> u64 {
        if self.has_ranks {
            u64::try_from(rank::of_place(place).0).unwrap_or(0)
        } else {
            0
        }
    }
}
