//! The part of the run that is looked at.

use trueno_analysis::window::Window as Part;
use trueno_plugin::{Result, Run};

use super::Producer;

/// Start and end of the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Window {
    pub from_ns: i64,
    pub until_ns: i64,
    pub wall_ns: i64,
    /// True if it is not the whole run.
    pub is_part: bool,
    /// Cost of a span for the program, where the recorder measured it.
    pub cost_ns_per_span: Option<f64>,
    /// Processors of the machine, of ranks those of each; `None`: not known, or not the same.
    pub processors: Option<u64>,
    /// Ranks of the run; 0: it is not one of several.
    pub ranks: usize,
    pub producer: Producer,
}

impl Window {
    /// Reads inputs `run`, `report_window` and `ranks`.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn load(run: &mut Run) -> Result<Self> {
        let table = run.table("run")?;
        let wall_ns = table
            .i64("wall_ns")
            .ok()
            .and_then(|wall| wall.iter().flatten().next());
        let cost = table
            .f64("cost_ns_per_span")
            .ok()
            .and_then(|cost| cost.iter().flatten().next());
        let processors = table
            .u64("logical_cpus")
            .ok()
            .and_then(|count| count.iter().flatten().next());
        let part = Part::read(run)?;
        let from_ns = part.map_or(0, |part| part.from_ns);
        let until_ns = part.map(|part| part.until_ns).or(wall_ns);
        let until_ns = until_ns.unwrap_or(0).max(from_ns);
        // So that the length of any part of it is a number.
        let until_ns = until_ns.min(from_ns.saturating_add(i64::MAX));
        Ok(Self {
            from_ns,
            until_ns,
            wall_ns: until_ns - from_ns,
            is_part: part.is_some(),
            cost_ns_per_span: cost,
            processors: processors.filter(|count| *count > 0),
            ranks: run.table("ranks")?.rows(),
            producer: Producer::of_run(&table),
        })
    }

    /// Of a number in all ranks what one rank has on average.
    pub fn per_rank(&self, n: u64) -> u64 {
        n / self.ranks.max(1) as u64
    }

    /// Part of an interval that lies inside; `None`: nothing.
    pub fn cut(&self, start_ns: i64, end_ns: i64) -> Option<(i64, i64)> {
        let (from_ns, until_ns) = (self.from_ns, self.until_ns);
        Part { from_ns, until_ns }.clip(start_ns, end_ns)
    }

    /// Part of a row that lies inside; `None`: nothing, or its times are not known.
    pub fn row(&self, start_ns: Option<i64>, dur_ns: Option<i64>) -> Option<(i64, i64)> {
        let (start_ns, dur_ns) = start_ns.zip(dur_ns)?;
        self.cut(start_ns, start_ns.saturating_add(dur_ns))
    }

    /// A condition of SQL that rows of the window meet; empty for the whole run.
    pub fn sql(&self, lead: &str) -> String {
        if self.is_part {
            format!(
                "{lead} start_ns < {} AND start_ns + dur_ns > {}",
                self.until_ns, self.from_ns
            )
        } else {
            String::new()
        }
    }
}
