//! Live bytes before the first row, from what an allocator says it holds.
//!
//! A trace of some seconds of a program begins with memory taken long before. Where counters
//! `gpu<number> allocated` (measured, in bytes) stand beside the rows, live before the first = a total −
//! Σ rows up to its time. Without them live bytes count from when the recording began.

use std::collections::BTreeMap;
use std::ops::Range;

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

/// Readings of a counter by device: times and bytes, sorted by time. Those of one time keep the order of the table.
type Readings = BTreeMap<Place, Vec<(i64, i64)>>;

/// What the allocators of devices say of themselves.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    allocated: Readings,
    /// Memory taken from the driver.
    reserved: Readings,
    /// The part of it in segments without a block.
    in_free_segments: Readings,
    /// The largest free piece beside blocks, within one segment.
    largest_free: Readings,
}

/// The allocator of one place over time: times and bytes, by time.
#[derive(Clone, Debug, Default)]
pub struct OfPlace {
    pub allocated: Vec<(i64, i64)>,
    pub reserved: Vec<(i64, i64)>,
    in_free_segments: Vec<(i64, i64)>,
    largest_free: Vec<(i64, i64)>,
}

/// The free memory of an allocator by its segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeInSegments {
    /// Bytes of segments without a block, which the allocator can return.
    pub in_free_segments: i64,
    /// The largest free piece beside blocks, within one segment.
    pub largest_piece: i64,
}

impl OfPlace {
    /// The segments when they were last read in `times`.
    pub fn segments(&self, times: Range<i64>) -> Option<FreeInSegments> {
        let last = |readings: &[(i64, i64)]| {
            let count = readings.partition_point(|reading| reading.0 < times.end);
            let last = readings[..count].last()?;
            (last.0 >= times.start).then_some(last.1)
        };
        Some(FreeInSegments {
            in_free_segments: last(&self.in_free_segments)?,
            largest_piece: last(&self.largest_free)?,
        })
    }
}

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
            let counter = name.get(row).and_then(|name| {
                let (number, what) = name.strip_prefix("gpu")?.split_once(' ')?;
                let readings = match what {
                    "allocated" => &mut out.allocated,
                    "reserved" => &mut out.reserved,
                    "free segments" => &mut out.in_free_segments,
                    "largest free piece" => &mut out.largest_free,
                    _ => return None,
                };
                Some((number.parse::<i64>().ok()?, readings))
            });
            // Doubles hold whole numbers up to 2^53.
            let bytes = value.get(row).filter(|bytes| (0.0..9e15).contains(bytes));
            if let (Some((device, readings)), Some(time_ns), Some(bytes)) =
                (counter, time.get(row), bytes)
            {
                let rank = rank.as_ref().and_then(|rank| rank.get(row));
                let place = Place {
                    rank,
                    device: Some(device),
                    heap: None,
                };
                let of_device = readings.entry(place).or_default();
                of_device.push((time_ns, bytes as i64));
            }
        }
        for readings in [
            &mut out.allocated,
            &mut out.reserved,
            &mut out.in_free_segments,
            &mut out.largest_free,
        ] {
            for of_device in readings.values_mut() {
                of_device.sort_by_key(|reading| reading.0);
            }
        }
        Ok(out)
    }

    pub fn of_place(&self, place: Place) -> OfPlace {
        let of = |readings: &Readings| readings.get(&place).cloned().unwrap_or_default();
        OfPlace {
            allocated: of(&self.allocated),
            reserved: of(&self.reserved),
            in_free_segments: of(&self.in_free_segments),
            largest_free: of(&self.largest_free),
        }
    }

    /// What the allocator of each device held when it was last read.
    pub fn states(&self, window: Option<Window>) -> BTreeMap<Place, AllocatorState> {
        let until_ns = window.map_or(i64::MAX, |window| window.until_ns);
        let last = |readings: &Readings, place: &Place| last_before(readings.get(place)?, until_ns);
        let places = self.reserved.keys();
        let state = |place: &Place| {
            Some(AllocatorState {
                allocated: last(&self.allocated, place)?,
                reserved: last(&self.reserved, place)?,
                in_free_segments: last(&self.in_free_segments, place),
            })
        };
        let states = places.filter_map(|place| Some((*place, state(place)?)));
        states.collect()
    }

    /// Live bytes before the first row of a place; `None`: unknown. `rows` must be sorted by time. Times with
    /// several totals or rows are skipped, because their order is unknown.
    pub fn initial_live(
        &self,
        place: Place,
        rows: &Rows,
        window: Option<Window>,
    ) -> Option<InitialLive> {
        let totals = self.allocated.get(&place)?;
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

/// What an allocator held at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocatorState {
    pub allocated: i64,
    pub reserved: i64,
    /// `None`: the segments were not recorded.
    pub in_free_segments: Option<i64>,
}

/// The last reading before a time.
pub fn last_before(readings: &[(i64, i64)], until_ns: i64) -> Option<i64> {
    let count = readings.partition_point(|reading| reading.0 < until_ns);
    readings[..count].last().map(|reading| reading.1)
}
