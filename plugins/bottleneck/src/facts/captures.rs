//! When graphs of device work were captured.

use std::collections::BTreeMap;

use trueno_analysis::intervals::IntervalSet;
use trueno_plugin::{Result, Run};

use super::Window;

/// Captures of graphs. What lies between two of them belongs to them, unless a graph was launched there.
#[derive(Clone, Debug, Default)]
pub struct Captures {
    pub times: IntervalSet<i64>,
    pub count: u64,
}

impl Captures {
    /// Reads input `captures`.
    ///
    /// # Errors
    /// The input lacks a column or has it in another type.
    pub fn load(run: &mut Run, window: &Window) -> Result<Self> {
        let table = run.table("captures")?;
        let (name, thread) = (table.text("name")?, table.i64("thread")?);
        let (start, dur) = (table.i64("start_ns")?, table.i64("dur_ns")?);
        let mut begun: BTreeMap<Option<i64>, i64> = BTreeMap::new();
        let mut ended_ns = None;
        let (mut times, mut count) = (Vec::new(), 0);
        for row in 0..table.rows() {
            let (Some(name), Some(start_ns)) = (name.get(row), start.get(row)) else {
                continue;
            };
            let end_ns = start_ns.saturating_add(dur.get(row).unwrap_or(0));
            if name.contains("GraphLaunch") {
                ended_ns = None;
            } else if name.contains("BeginCapture") {
                begun.entry(thread.get(row)).or_insert(start_ns);
            } else if let Some(from_ns) = begun.remove(&thread.get(row)) {
                count += 1;
                let from_ns = ended_ns.map_or(from_ns, |ended: i64| ended.min(from_ns));
                times.extend(window.cut(from_ns, end_ns));
                ended_ns = Some(end_ns);
            }
        }
        Ok(Self {
            times: times.into_iter().collect(),
            count,
        })
    }
}
