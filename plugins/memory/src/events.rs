//! The rows of `allocations`, by time, with places and tags numbered.

use std::collections::BTreeMap;
use std::ops::Range;

use trueno_analysis::interner::Interner;
use trueno_analysis::window::Window;
use trueno_plugin::{Batch, Result, Run, U64Slice, rank};

use crate::initial_live::{AllocatorState, InitialLive, OfPlace, TAG, Totals};
use crate::out_of_memory::OutOfMemory;
use crate::sample_weight::{scaled, stands_for};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// `None`: the run holds no ranks.
    pub rank: Option<u64>,
    /// `None`: the host.
    pub device: Option<i64>,
    /// Set for blocks that the program's allocator recorded; `None` for blocks that the program stated. Both
    /// describe the same bytes, so they are never added up.
    pub heap: Option<Heap>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Heap {
    /// Mean number of bytes between samples; `None`: every block was recorded.
    pub sample_bytes: Option<u64>,
}

impl Place {
    /// Name in tables: `host`, `heap`, `gpu0`, `rank 1 host`. The name says so if numbers are estimates.
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
    pub fn sample_bytes(self) -> Option<u64> {
        self.heap?.sample_bytes
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub time_ns: i64,
    pub tag: usize,
    pub span: Option<u64>,
    /// Allocated (positive) or released (negative), never 0. For a sample, the bytes it stands for.
    pub bytes: i64,
    /// Number of blocks it stands for, in units of 1 / [`crate::sample_weight::ONE`].
    pub stands_for: u64,
    pub address: Option<u64>,
}

/// Rows of a place, in less memory than [`Event`]s take.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    all: Vec<Packed>,
    /// Distinct counts of blocks that rows stand for. One, unless samples were taken.
    counts: Interner<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Packed {
    time_ns: i64,
    bytes: i64,
    span: u64,
    address: u64,
    /// Number of the tag, and whether there is a span and an address.
    tag: u32,
    count: u32,
}

/// Tag of memory without one.
pub const NO_TAG: &str = "no tag";

const HAS_SPAN: u32 = 1 << 31;
const HAS_ADDRESS: u32 = 1 << 30;

impl Rows {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn push(&mut self, event: Event) {
        let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
        self.all.push(Packed {
            time_ns: event.time_ns,
            bytes: event.bytes,
            span: event.span.unwrap_or(0),
            address: event.address.unwrap_or(0),
            tag: event.tag as u32
                | flag(event.span.is_some(), HAS_SPAN)
                | flag(event.address.is_some(), HAS_ADDRESS),
            count: self.counts.number(event.stands_for),
        });
    }

    /// # Panics
    /// If there is no such row.
    pub fn get(&self, row: usize) -> Event {
        self.event(&self.all[row])
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = Event> + '_ {
        self.range(0..self.len())
    }

    /// # Panics
    /// If there are not as many rows.
    pub fn range(&self, rows: Range<usize>) -> impl ExactSizeIterator<Item = Event> + '_ {
        self.all[rows].iter().map(|packed| self.event(packed))
    }

    fn event(&self, packed: &Packed) -> Event {
        let has = |flag: u32| packed.tag & flag != 0;
        Event {
            time_ns: packed.time_ns,
            tag: (packed.tag & !(HAS_SPAN | HAS_ADDRESS)) as usize,
            span: has(HAS_SPAN).then_some(packed.span),
            bytes: packed.bytes,
            stands_for: self.counts.get(packed.count),
            address: has(HAS_ADDRESS).then_some(packed.address),
        }
    }

    fn sort_by_time(&mut self) {
        // Stable: a thread's rows of one tick of the clock stay in their order.
        self.all.sort_by_key(|packed| packed.time_ns);
        self.all.shrink_to_fit();
    }
}

#[derive(Clone, Debug, Default)]
pub struct Events {
    /// Places with rows, the host before devices.
    pub places: Vec<Place>,
    /// Rows of each place sorted by time; ties keep the order of the table.
    pub rows: Vec<Rows>,
    /// Live bytes of each place at the beginning; `None`: unknown.
    pub initial_live: Vec<Option<InitialLive>>,
    /// What the allocator of each place says of itself.
    pub allocators: Vec<OfPlace>,
    /// Index of the tag for what was live before the first row.
    pub initial_tag: usize,
    /// Names of tags; `None` for rows without a tag.
    pub tags: Vec<Option<String>>,
    pub window: Option<Window>,
}

#[derive(Clone, Debug, Default)]
pub struct Loaded {
    pub has_ranks: bool,
    pub ranks: Vec<Events>,
    pub allocators: BTreeMap<Place, AllocatorState>,
    pub out_of_memory: BTreeMap<Place, Vec<OutOfMemory>>,
    /// Number of rows of 0 bytes, which change nothing and are left out.
    pub zero_rows: u64,
    /// Number of rows without a time, without bytes or with an invalid weight, which are left out.
    pub broken_rows: u64,
    pub window: Option<Window>,
}

/// Collects the rows of one rank. Each rank numbers its own tags, so that results do not depend on other ranks.
#[derive(Default)]
struct RankRows {
    tags: BTreeMap<Option<String>, usize>,
    last_tag: Option<(Option<String>, usize)>,
    places: BTreeMap<Place, usize>,
    last_place: Option<(Place, usize)>,
    rows: Vec<Rows>,
}

impl RankRows {
    /// Index of a tag. Most rows have the same tag as the row before.
    fn tag(&mut self, text: Option<&str>) -> usize {
        if let Some((last, number)) = &self.last_tag
            && last.as_deref() == text
        {
            return *number;
        }
        let text = text.map(str::to_owned);
        let next = self.tags.len();
        let number = *self.tags.entry(text.clone()).or_insert(next);
        self.last_tag = Some((text, number));
        number
    }

    fn rows_of(&mut self, place: Place) -> &mut Rows {
        let number = match self.last_place {
            Some((last, number)) if last == place => number,
            _ => *self.places.entry(place).or_insert_with(|| {
                self.rows.push(Rows::default());
                self.rows.len() - 1
            }),
        };
        self.last_place = Some((place, number));
        &mut self.rows[number]
    }
}

impl Loaded {
    /// Reads inputs `allocations`, `no_thread`, `ranks` and `report_window`.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn load(run: &mut Run) -> Result<Self> {
        let mut out = Self {
            has_ranks: !run.table("ranks")?.is_missing(),
            window: Window::read(run)?,
            ..Self::default()
        };
        let mut ranks: BTreeMap<Option<u64>, RankRows> = BTreeMap::new();
        for (input, is_of_ranks) in [("allocations", false), ("no_thread", true)] {
            let mut batches = run.batches(input)?;
            while let Some(batch) = batches.next_batch()? {
                run.check_cancelled()?;
                let ranks_of = is_of_ranks.then(|| batch.u64("rank")).transpose()?;
                out.add(&batch, ranks_of, &mut ranks)?;
            }
        }
        let totals = Totals::load(run, out.has_ranks)?;
        out.allocators = totals.states(out.window);
        out.out_of_memory = OutOfMemory::load(run, &totals, out.has_ranks, out.window)?;
        for rows in ranks.into_values() {
            out.ranks.push(Events::new(rows, &totals, out.window));
        }
        Ok(out)
    }

    /// Adds rows. `of_rank` has the ranks of rows without device, thread and span.
    fn add(
        &mut self,
        table: &Batch<'_>,
        of_rank: Option<U64Slice<'_>>,
        ranks: &mut BTreeMap<Option<u64>, RankRows>,
    ) -> Result<()> {
        let (time, bytes) = (table.i64("time_ns")?, table.i64("bytes")?);
        let (thread, device) = (table.i64("thread")?, table.i64("device")?);
        let (span, address) = (table.u64("span")?, table.u64("address")?);
        let tag = table.text("tag")?;
        let (weight, sample) = (table.f64("weight")?, table.u64("sample_bytes")?);
        for row in 0..table.rows() {
            let span = span.get(row);
            let (rank, device) = match (self.has_ranks, device.get(row), thread.get(row), span) {
                (false, device, ..) => (None, device),
                (true, Some(device), ..) => {
                    let (rank, device) = rank::of_place(device);
                    (u64::try_from(rank).ok(), Some(device))
                }
                (true, None, Some(thread), _) => {
                    (u64::try_from(rank::of_place(thread).0).ok(), None)
                }
                (true, None, None, Some(span)) => (Some(rank::of_key(span)), None),
                (true, None, None, None) => match of_rank {
                    Some(of_rank) => (of_rank.get(row), None),
                    None => continue, // It comes once more, with its rank.
                },
            };
            let (Some(time_ns), Some(bytes)) = (time.get(row), bytes.get(row)) else {
                self.broken_rows += 1;
                continue;
            };
            if bytes == 0 {
                self.zero_rows += 1;
                continue;
            }
            if self.window.is_some_and(|window| time_ns >= window.until_ns) {
                continue;
            }
            let weight = weight.get(row);
            let Some(stands_for) = stands_for(weight.unwrap_or(1.0)) else {
                self.broken_rows += 1;
                continue;
            };
            let place = Place {
                rank,
                device,
                heap: weight.map(|_| Heap {
                    sample_bytes: sample.get(row),
                }),
            };
            let of_rank = ranks.entry(rank).or_default();
            let tag = of_rank.tag(tag.get(row));
            of_rank.rows_of(place).push(Event {
                time_ns,
                tag,
                span,
                bytes: weight.map_or(bytes, |weight| scaled(bytes, weight)),
                stands_for,
                address: address.get(row),
            });
        }
        Ok(())
    }
}

impl Events {
    fn new(mut of_rank: RankRows, totals: &Totals, window: Option<Window>) -> Self {
        let mut tags = vec![None; of_rank.tags.len()];
        for (text, number) in of_rank.tags {
            tags[number] = text;
        }
        let initial_tag = tags.len();
        tags.push(Some(TAG.to_owned()));
        let mut out = Self {
            initial_tag,
            tags,
            window,
            ..Self::default()
        };
        for (place, number) in of_rank.places {
            let mut rows = std::mem::take(&mut of_rank.rows[number]);
            rows.sort_by_time();
            out.places.push(place);
            out.initial_live
                .push(totals.initial_live(place, &rows, window));
            out.allocators.push(totals.of_place(place));
            out.rows.push(rows);
        }
        out
    }

    /// Index of a place's first row in the window. Earlier rows only count for what is live at its beginning.
    pub fn begin(&self, place: usize) -> usize {
        let from_ns = self.window.map_or(i64::MIN, |window| window.from_ns);
        self.rows[place]
            .all
            .partition_point(|row| row.time_ns < from_ns)
    }

    /// What was live at a place at the beginning, as a row; `None` if unknown or nothing.
    pub fn initial_row(&self, place: usize) -> Option<Event> {
        let before = self.initial_live[place].filter(|before| before.bytes > 0)?;
        Some(Event {
            time_ns: self.rows[place]
                .all
                .first()
                .map_or(0, |row| row.time_ns)
                .min(0),
            tag: self.initial_tag,
            span: None,
            bytes: before.bytes,
            stands_for: 0,
            address: None,
        })
    }

    pub fn tag_name(&self, tag: usize) -> &str {
        self.tags[tag].as_deref().unwrap_or(NO_TAG)
    }
}
