//! The one row of table `run`, and the status of segments.

use trueno_plugin::{Result, Run};

pub struct Facts {
    /// `finished`, `recording` or `failed`.
    pub state: Option<String>,
    /// True if the recorder shut down properly.
    pub clean_end: Option<bool>,
    /// Events that were lost because their ring was full; `None` if unknown.
    pub dropped: Option<u64>,
    pub wall_ns: Option<i64>,
    /// True if the length was recorded, false if it is the time of the last event.
    pub wall_is_recorded: bool,
    pub cost_ns_per_span: Option<f64>,
    /// Time that the recorder took on the program's threads beside spans; `None`: it did not measure it.
    pub recorder_ns: Option<u64>,
    /// CPU time of its writer.
    pub recorder_cpu_ns: Option<u64>,
    pub segments: u64,
    /// Segments that were checked completely.
    pub verified: u64,
    /// Rows lost in segments; `None` if unknown.
    pub rows_lost: Option<u64>,
    pub rows_read: u64,
    /// Ranks that were recorded; `None` if the run has no ranks.
    pub ranks: Option<u64>,
}

impl Facts {
    /// Reads inputs `run` and `segments`.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn load(run: &mut Run) -> Result<Self> {
        let segments = run.table("segments")?;
        let (read, lost) = (segments.u64("rows_read")?, segments.u64("rows_lost")?);
        let verified = segments
            .bool("verified")?
            .iter()
            .filter(|flag| *flag == Some(true))
            .count();
        let ranks = run.table("ranks")?;
        let table = run.table("run")?;
        let state = table
            .text("state")?
            .iter()
            .next()
            .flatten()
            .map(str::to_owned);
        let source = table.text("wall_source")?.iter().next().flatten();
        Ok(Self {
            state,
            clean_end: table.bool("clean_end")?.iter().next().flatten(),
            dropped: table.u64("dropped")?.iter().next().flatten(),
            wall_ns: table.i64("wall_ns")?.iter().next().flatten(),
            wall_is_recorded: source == Some("recorded"),
            cost_ns_per_span: table.f64("cost_ns_per_span")?.iter().next().flatten(),
            recorder_ns: table.u64("recorder_ns")?.iter().next().flatten(),
            recorder_cpu_ns: table.u64("recorder_cpu_ns")?.iter().next().flatten(),
            segments: segments.rows() as u64,
            verified: verified as u64,
            rows_lost: lost
                .iter()
                .try_fold(0, |sum: u64, rows| Some(sum.saturating_add(rows?))),
            rows_read: read.iter().flatten().fold(0, u64::saturating_add),
            ranks: (!ranks.is_missing()).then(|| ranks.rows() as u64),
        })
    }

    /// True if the run is known to have every row that was recorded.
    pub fn nothing_missing(&self) -> bool {
        self.clean_end == Some(true) && self.dropped == Some(0) && self.rows_lost == Some(0)
    }
}
