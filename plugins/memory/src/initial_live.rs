//! Live bytes before the first row, from what an allocator says it holds.
//!
//! A trace of some seconds of a program begins with memory taken long before. Where counters
//! `gpu<number> allocated` (measured, in bytes) stand beside the rows, live before the first = a total −
//! Σ rows up to its time. Without them live bytes count from when the recording began.

use std::collections::BTreeMap;

use trueno_analysis::window::Window;
use trueno_plugin::{Result, Run};

use crate::events::{Place, Rows};

pub const TAG: &str = "allocated before the recording began";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitialLive {
    /// Live bytes before the first row.
    pub bytes: i64,
    pub totals: u64,
    /// Number of totals that do not match `bytes` plus the rows up to them.
    pub disagreeing: u64,
}

/// By device: times and bytes, sorted by time.
#[derive(Clone, Debug, Default)]
pub struct Totals(BTreeMap<Place, Vec<(i64, i64)>>);

impl Totals {
    /// Reads input `totals`, or `totals_of_ranks` for a run of several ranks.
    ///
    /// # Errors
    /// It lacks a column or has it in another type.
    pub fn load(run: &mut Run, has_ranks: bool) -> Result<Self> {
        let input = if has_ranks {
            "totals_of_ranks"
        } else {
            "totals"
        };
        let table = run.table(input)?;
        let mut out = Self::default();
        if table.is_missing() {
            return Ok(out);
        }
        let rank = has_ranks.then(|| table.u64("rank")).transpose()?;
        let (time, name) = (table.i64("time_ns")?, table.text("name")?);
        let value = table.f64("value")?;
        for row in 0..table.rows() {
            let device = name.get(row).and_then(|name| {
                let number = name.strip_prefix("gpu")?.strip_suffix(" allocated")?;
                number.parse::<i64>().ok()
            });
            // Doubles hold whole numbers up to 2^53.
            let bytes = value.get(row).filter(|bytes| (0.0..9e15).contains(bytes));
            if let (Some(device), Some(time_ns), Some(bytes)) = (device, time.get(row), bytes) {
                let rank = rank.as_ref().and_then(|rank| rank.get(row));
                let place = Place {
                    rank,
                    device: Some(device),
                    heap: None,
                };
                let of_device = out.0.entry(place).or_default();
                of_device.push((time_ns, bytes as i64));
            }
        }
        for totals in out.0.values_mut() {
            totals.sort_unstable();
        }
        Ok(out)
    }

    /// Live bytes before the first row of a place; `None`: unknown. `rows` must be sorted by time. Times with
    /// several totals or rows are skipped, because their order is unknown.
    pub fn initial_live(
        &self,
        place: Place,
        rows: &Rows,
        window: Option<Window>,
    ) -> Option<InitialLive> {
        let totals = self.0.get(&place)?;
        let mut rows = rows.iter().peekable();
        let (mut sum, mut out) = (0_i128, None::<InitialLive>);
        for at in totals.chunk_by(|a, b| a.0 == b.0) {
            let (time_ns, total) = at[0];
            // Rows behind the window were not read.
            if window.is_some_and(|window| time_ns >= window.until_ns) {
                break;
            }
            let mut here = 0;
            while let Some(row) = rows.next_if(|row| row.time_ns <= time_ns) {
                here += u64::from(row.time_ns == time_ns);
                sum += i128::from(row.bytes);
            }
            if at.len() > 1 || here > 1 {
                continue;
            }
            let bytes = i128::from(total) - sum;
            match &mut out {
                None if bytes < 0 => return None,
                None => {
                    out = Some(InitialLive {
                        bytes: i64::try_from(bytes).ok()?,
                        totals: 1,
                        disagreeing: 0,
                    });
                }
                Some(out) => {
                    out.totals += 1;
                    out.disagreeing += u64::from(bytes != i128::from(out.bytes));
                }
            }
        }
        out
    }
}
