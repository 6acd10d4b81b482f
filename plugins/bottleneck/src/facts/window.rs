//! The part of the run that is looked at.

use trueno_analysis::window::Window as Part;
use trueno_plugin::{Result, Run};

use trueno_analysis::producer::Producer;

#[derive(Clone, Copy, Debug, Default)]
pub struct Window {
    pub from_ns: i64,
    pub until_ns: i64,
    pub wall_ns: i64,
    pub is_part: bool,
    /// Measured cost of recording one span; `None`: not measured.
    pub cost_ns_per_span: Option<f64>,
    /// Processors of the machine, or of each rank's; `None`: unknown or different between ranks.
    pub processors: Option<u64>,
    /// Number of ranks; 0 if the run is not distributed.
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

    pub fn per_rank(&self, n: u64) -> u64 {
        n / self.ranks.max(1) as u64
    }

    /// Clips an interval to the window; `None`: nothing remains.
    pub fn cut(&self, start_ns: i64, end_ns: i64) -> Option<(i64, i64)> {
        let (from_ns, until_ns) = (self.from_ns, self.until_ns);
        Part { from_ns, until_ns }.clip(start_ns, end_ns)
    }

    /// Clips a row to the window; `None`: nothing remains, or its times are unknown.
    pub fn row(&self, start_ns: Option<i64>, dur_ns: Option<i64>) -> Option<(i64, i64)> {
        let (start_ns, dur_ns) = start_ns.zip(dur_ns)?;
        self.cut(start_ns, start_ns.saturating_add(dur_ns))
    }

    /// SQL condition for rows in the window, after `lead`; empty for the whole run.
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
