//! The rows of `allocations`, by time, with places and tags numbered.

use std::collections::BTreeMap;

use trueno_analysis::window::Window;
use trueno_plugin::{Result, Run, rank};

use crate::initial_live::{InitialLive, TAG, Totals};
use crate::sample_weight::{scaled, stands_for};

/// Place of memory: the host or a device, of one rank where the run holds ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// `None`: the run holds no ranks, or the row does not tell.
    pub rank: Option<u64>,
    /// Number of the device; `None`: the host.
    pub device: Option<i64>,
    /// Blocks of the program's own allocator, which recorded them by itself; `None`: what the program
    /// stated. The two tell of the same bytes, and are never added up.
    pub heap: Option<Heap>,
}

/// Sampling of an allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Heap {
    /// Bytes from one sample to the next on average; `None`: every block was recorded.
    pub sample_bytes: Option<u64>,
}

impl Place {
    /// As tables call it: `host`, `heap`, `gpu0`, `rank 1 host`. What is estimated says so wherever
    /// the place is named.
    pub fn name(self) -> String {
        let place = match (self.device, self.heap) {
            (Some(device), _) => format!("gpu{device}"),
            (None, None) => "host".to_owned(),
            (None, Some(Heap { sample_bytes: None })) => "heap".to_owned(),
            (
                None,
                Some(Heap {
                    sample_bytes: Some(mean),
                }),
            ) => {
                format!("heap (estimated, 1 sample in {mean} B)")
            }
        };
        match self.rank {
            None => place,
            Some(rank) => format!("rank {rank} {place}"),
        }
    }
}

impl Place {
    /// Bytes from one sample to the next; `None`: nothing is estimated here.
    pub fn sample_bytes(self) -> Option<u64> {
        self.heap?.sample_bytes
    }
}

/// One row that changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time.
    pub time_ns: i64,
    /// Number in [`Events::tags`].
    pub tag: usize,
    /// The row of bricks that was open.
    pub span: Option<u64>,
    /// Taken (positive) or given back (negative); never 0. Of a sample: what it stands for.
    pub bytes: i64,
    /// Blocks it stands for, in parts of [`crate::sample_weight::ONE`].
    pub stands_for: u64,
    /// Its address.
    pub address: Option<u64>,
}

/// All rows, place by place.
#[derive(Clone, Debug)]
pub struct Events {
    /// True if the run holds ranks.
    pub has_ranks: bool,
    /// Places with rows, ranks first, host before devices.
    pub places: Vec<Place>,
    /// Rows of each place, by time; rows of one time in the order of the table.
    pub rows: Vec<Vec<Event>>,
    /// Live bytes that each place began with; `None`: not known.
    pub initial_live: Vec<Option<InitialLive>>,
    /// Number of the tag of what was live before the first row.
    pub initial_tag: usize,
    /// Texts of tags; the tag of rows without one is `None`.
    pub tags: Vec<Option<String>>,
    /// Rows of 0 bytes; they change nothing and are left out.
    pub zero_rows: u64,
    /// Rows without a time, without bytes or with a weight that is none; left out.
    pub broken_rows: u64,
    /// The part that is looked at; rows behind it are not here.
    pub window: Option<Window>,
}

impl Events {
    /// Reads inputs `allocations`, `ranks` and `report_window`.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn load(run: &mut Run) -> Result<Self> {
        let has_ranks = !run.table("ranks")?.is_missing();
        let window = Window::read(run)?;
        let table = run.table("allocations")?;
        let (time, bytes) = (table.i64("time_ns")?, table.i64("bytes")?);
        let (thread, device) = (table.i64("thread")?, table.i64("device")?);
        let (span, address) = (table.u64("span")?, table.u64("address")?);
        let tag = table.text("tag")?;
        let (weight, sample) = (table.f64("weight")?, table.u64("sample_bytes")?);
        let mut out = Self {
            has_ranks,
            places: Vec::new(),
            rows: Vec::new(),
            initial_live: Vec::new(),
            initial_tag: 0,
            tags: Vec::new(),
            zero_rows: 0,
            broken_rows: 0,
            window,
        };
        let mut tags: BTreeMap<Option<&str>, usize> = BTreeMap::new();
        let mut places: BTreeMap<Place, Vec<Event>> = BTreeMap::new();
        for row in 0..table.rows() {
            if row % 65_536 == 0 {
                run.check_cancelled()?;
            }
            let (Some(time_ns), Some(bytes)) = (time.get(row), bytes.get(row)) else {
                out.broken_rows += 1;
                continue;
            };
            if bytes == 0 {
                out.zero_rows += 1;
                continue;
            }
            if window.is_some_and(|window| time_ns >= window.until_ns) {
                continue;
            }
            let weight = weight.get(row);
            let Some(stands_for) = stands_for(weight.unwrap_or(1.0)) else {
                out.broken_rows += 1;
                continue;
            };
            let bytes = weight.map_or(bytes, |weight| scaled(bytes, weight));
            let heap = weight.map(|_| Heap {
                sample_bytes: sample.get(row),
            });
            let next = tags.len();
            let tag = *tags.entry(tag.get(row)).or_insert(next);
            let span = span.get(row);
            let place = match (has_ranks, device.get(row)) {
                (false, device) => Place {
                    rank: None,
                    device,
                    heap,
                },
                (true, Some(device)) => {
                    let (rank, device) = rank::of_place(device);
                    Place {
                        rank: u64::try_from(rank).ok(),
                        device: Some(device),
                        heap,
                    }
                }
                (true, None) => Place {
                    rank: match (thread.get(row), span) {
                        (Some(thread), _) => u64::try_from(rank::of_place(thread).0).ok(),
                        (None, span) => span.map(rank::of_key),
                    },
                    device: None,
                    heap,
                },
            };
            places.entry(place).or_default().push(Event {
                time_ns,
                tag,
                span,
                bytes,
                stands_for,
                address: address.get(row),
            });
        }
        out.tags = vec![None; tags.len()];
        for (text, number) in tags {
            out.tags[number] = text.map(str::to_owned);
        }
        out.initial_tag = out.tags.len();
        out.tags.push(Some(TAG.to_owned()));
        let totals = Totals::load(run, has_ranks)?;
        for (place, mut rows) in places {
            // Stable: a thread's rows of one tick of the clock stay in their order.
            rows.sort_by_key(|event| event.time_ns);
            out.places.push(place);
            out.initial_live
                .push(totals.initial_live(place, &rows, window));
            out.rows.push(rows);
        }
        Ok(out)
    }

    /// The first row of a place that lies in the window; those before only say what it begins with.
    pub fn begin(&self, place: usize) -> usize {
        let from_ns = self.window.map_or(i64::MIN, |window| window.from_ns);
        self.rows[place].partition_point(|event| event.time_ns < from_ns)
    }

    /// Live bytes that a place began with, as a row; `None` where that is not known, or nothing.
    pub fn initial_row(&self, place: usize) -> Option<Event> {
        let before = self.initial_live[place].filter(|before| before.bytes > 0)?;
        Some(Event {
            time_ns: self.rows[place].first().map_or(0, |row| row.time_ns).min(0),
            tag: self.initial_tag,
            span: None,
            bytes: before.bytes,
            stands_for: 0,
            address: None,
        })
    }

    /// A tag for people.
    pub fn tag_name(&self, tag: usize) -> &str {
        self.tags[tag].as_deref().unwrap_or("no tag")
    }
}
