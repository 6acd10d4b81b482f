//! The rows of `allocations`, by time, with places and tags numbered.

use std::collections::BTreeMap;

use trueno_analysis::window::Window;
use trueno_plugin::{Result, Run, Table, U64Column, rank};

use crate::initial_live::{InitialLive, TAG, Totals};
use crate::sample_weight::{scaled, stands_for};

/// Place of memory: the host or a device, of one rank where the run holds ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// `None`: the run holds no ranks.
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
    pub time_ns: i64,
    /// Number in [`Events::tags`].
    pub tag: usize,
    /// The row of bricks that was open.
    pub span: Option<u64>,
    /// Taken (positive) or given back (negative); never 0. Of a sample: what it stands for.
    pub bytes: i64,
    /// Blocks it stands for, in parts of [`crate::sample_weight::ONE`].
    pub stands_for: u64,
    pub address: Option<u64>,
}

/// Rows of one rank, place by place.
#[derive(Clone, Debug, Default)]
pub struct Events {
    /// Places with rows, host before devices.
    pub places: Vec<Place>,
    /// Rows of each place, by time; rows of one time in the order of the table.
    pub rows: Vec<Vec<Event>>,
    /// Live bytes that each place began with; `None`: not known.
    pub initial_live: Vec<Option<InitialLive>>,
    /// Number of the tag of what was live before the first row.
    pub initial_tag: usize,
    /// Texts of tags; the tag of rows without one is `None`.
    pub tags: Vec<Option<String>>,
    /// The part that is looked at; rows behind it are not here.
    pub window: Option<Window>,
}

#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// True if the run holds ranks.
    pub has_ranks: bool,
    /// Rows of each rank that has some.
    pub ranks: Vec<Events>,
    /// Rows of 0 bytes; they change nothing and are left out.
    pub zero_rows: u64,
    /// Rows without a time, without bytes or with a weight that is none; left out.
    pub broken_rows: u64,
    /// The part that is looked at.
    pub window: Option<Window>,
}

/// Rows of a rank in the making. Its tags have numbers of their own, so that no order depends on other ranks.
#[derive(Default)]
struct RankRows<'a> {
    tags: BTreeMap<Option<&'a str>, usize>,
    last_tag: Option<(Option<&'a str>, usize)>,
    places: BTreeMap<Place, usize>,
    last_place: Option<(Place, usize)>,
    /// Rows of each place.
    rows: Vec<Vec<Event>>,
}

impl<'a> RankRows<'a> {
    /// The number of a tag: most rows have that of the row before.
    fn tag(&mut self, text: Option<&'a str>) -> usize {
        if let Some((last, number)) = self.last_tag
            && last == text
        {
            return number;
        }
        let next = self.tags.len();
        let number = *self.tags.entry(text).or_insert(next);
        self.last_tag = Some((text, number));
        number
    }

    fn rows_of(&mut self, place: Place) -> &mut Vec<Event> {
        let number = match self.last_place {
            Some((last, number)) if last == place => number,
            _ => *self.places.entry(place).or_insert_with(|| {
                self.rows.push(Vec::new());
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
        let tables = [run.table("allocations")?, run.table("no_thread")?];
        let mut ranks: BTreeMap<Option<u64>, RankRows<'_>> = BTreeMap::new();
        out.add(run, &tables[0], None, &mut ranks)?;
        let rank = tables[1].u64("rank")?;
        out.add(run, &tables[1], Some(rank), &mut ranks)?;
        let totals = Totals::load(run, out.has_ranks)?;
        for rows in ranks.into_values() {
            out.ranks.push(Events::new(rows, &totals, out.window));
        }
        Ok(out)
    }

    /// Adds rows of a table; `of_rank`: the ranks of rows that have neither device, thread nor span.
    fn add<'a>(
        &mut self,
        run: &Run,
        table: &'a Table,
        of_rank: Option<&U64Column>,
        ranks: &mut BTreeMap<Option<u64>, RankRows<'a>>,
    ) -> Result<()> {
        let (time, bytes) = (table.i64("time_ns")?, table.i64("bytes")?);
        let (thread, device) = (table.i64("thread")?, table.i64("device")?);
        let (span, address) = (table.u64("span")?, table.u64("address")?);
        let tag = table.text("tag")?;
        let (weight, sample) = (table.f64("weight")?, table.u64("sample_bytes")?);
        for row in 0..table.rows() {
            if row % 65_536 == 0 {
                run.check_cancelled()?;
            }
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
    fn new(mut of_rank: RankRows<'_>, totals: &Totals, window: Option<Window>) -> Self {
        let mut tags = vec![None; of_rank.tags.len()];
        for (text, number) in of_rank.tags {
            tags[number] = text.map(str::to_owned);
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
            // Stable: a thread's rows of one tick of the clock stay in their order.
            rows.sort_by_key(|event| event.time_ns);
            out.places.push(place);
            out.initial_live
                .push(totals.initial_live(place, &rows, window));
            out.rows.push(rows);
        }
        out
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
