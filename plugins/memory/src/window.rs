//! The part of the run that a report is about.

use trueno_plugin::{Result, Run};

/// From when (included) to when (not).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Start of the part: what is live here is what it begins with.
    pub from_ns: i64,
    /// End.
    pub until_ns: i64,
    /// True if it is only a part.
    pub is_part: bool,
}

impl Window {
    /// All of a run.
    pub const ALL: Self = Self {
        from_ns: i64::MIN,
        until_ns: i64::MAX,
        is_part: false,
    };

    /// Reads input `report_window`; without it, all of the run.
    ///
    /// # Errors
    /// It lacks a column or has it in another type.
    pub fn load(run: &mut Run) -> Result<Self> {
        let table = run.table("report_window")?;
        let (from_ns, until_ns) = (table.i64("from_ns")?, table.i64("until_ns")?);
        let ends = from_ns.iter().flatten().zip(until_ns.iter().flatten());
        Ok(ends
            .into_iter()
            .next()
            .map_or(Self::ALL, |(from_ns, until_ns)| Self {
                from_ns,
                until_ns,
                is_part: true,
            }))
    }

    /// Its length.
    pub fn length_ns(&self) -> Option<i64> {
        self.is_part
            .then(|| self.until_ns.saturating_sub(self.from_ns))
    }
}
