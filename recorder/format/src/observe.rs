//! A run that another process is recording, seen from outside while it goes on.
//!
//! The rings of `live/` are mapped for reading alone. A record stays in its ring after the writer has taken it, until
//! the thread comes round and needs the place: so whoever looks often enough sees every event, without a word to the
//! recorded program, and a look at a moment finds the last tens of thousands of events of each thread. What was
//! overwritten before it was read is counted by the positions of the ring.
//!
//! Reading is incremental: each look reads what is new in the rings, in the log and in the journal.

mod event;
mod line_tail;
mod observed_ring;
mod shared_pages;

use std::collections::{BTreeMap, HashMap, HashSet, btree_map};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use event::{Event, EventKind};

use crate::brick::fixed_texts;
use crate::ceiling::Ceiling;
use crate::journal::{self, Chunk, JOURNAL};
use crate::live::{COUNTS, Entry, LIVE, LOG, LiveCounts};
use crate::mapped_file::HEADER_BYTES;
use crate::row_counters::RowCounters;
use crate::schema::{TABLES, TableId};
use crate::text::SITE;
use crate::timeline::{ClockReading, Knot, Timeline};
use line_tail::LineTail;
use observed_ring::ObservedRing;
use shared_pages::SharedPages;

/// Limit on knots of the timeline; events older than all of them are ignored.
const MAX_KNOTS: usize = 256;
const MAX_NAME_BYTES: usize = 256;
/// Numbers of names from here on are treated as damage.
const MAX_NAMES: u32 = 1 << 24;

/// Facts of one look.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Look {
    /// Events that were given.
    pub events: u64,
    /// Records that were read, of all kinds.
    pub records: u64,
    /// Records that were overwritten before they could be read.
    pub overwritten: u64,
    /// The largest part of a ring that was written since the look before, 1: all of it.
    pub busiest_share: f64,
}

/// A thread that has a ring.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedThread {
    /// Its index in the run.
    pub thread: u32,
    /// Name that the program gave it.
    pub name: Option<String>,
    /// Number of the thread, by the operating system.
    pub os_id: u64,
    /// Time of its first event.
    pub start_ns: i64,
    /// Records that its ring has room for.
    pub capacity: u64,
    /// Records of it that the writer has not taken yet.
    pub unread: u64,
    /// Position of the writer in it.
    pub tail: u64,
    /// Rings of the thread that were full before this one.
    pub full_rings: u64,
}

/// The watching end of a run.
pub struct Observer {
    live: PathBuf,
    log: LineTail,
    journal: LineTail,
    /// By the number of the first ring in each.
    files: BTreeMap<u32, Arc<SharedPages>>,
    rings: BTreeMap<u32, ObservedRing>,
    there: HashSet<u32>,
    counts: Option<SharedPages>,
    names: Vec<Option<Arc<str>>>,
    sites: HashMap<u32, u32>,
    pairs: Vec<ClockReading>,
    knots: Vec<Knot>,
    timeline: Option<Timeline>,
    ceilings: Vec<Ceiling>,
    dropped: RowCounters,
    dropped_logged: HashSet<(u32, u64)>,
    written: RowCounters,
    overwritten: u64,
    unreadable_rings: u64,
}

impl Observer {
    /// Of a run directory. Nothing is read yet.
    pub fn new(run: &Path) -> Self {
        let live = run.join(LIVE);
        Self {
            log: LineTail::new(live.join(LOG)),
            journal: LineTail::new(run.join(JOURNAL)),
            live,
            files: BTreeMap::new(),
            rings: BTreeMap::new(),
            there: HashSet::new(),
            counts: None,
            names: fixed_texts().map(|text| Some(Arc::from(text))).collect(),
            sites: HashMap::new(),
            pairs: Vec::new(),
            knots: Vec::new(),
            timeline: None,
            ceilings: Vec::new(),
            dropped: RowCounters::default(),
            dropped_logged: HashSet::new(),
            written: RowCounters::default(),
            overwritten: 0,
            unreadable_rings: 0,
        }
    }

    /// Finds rings that are new, and how far each was written; reads the names and clocks of all that lies before that,
    /// and the journal.
    ///
    /// # Errors
    /// `live/` is not there, or cannot be read: the run has ended, or was removed.
    pub fn stop(&mut self) -> io::Result<()> {
        self.find_rings()?;
        // Heads first, then the log: a name is there before the first record that has it.
        for ring in self.rings.values_mut() {
            ring.stop_at_head();
        }
        self.read_log();
        self.read_journal();
        Ok(())
    }

    /// Gives what was published between the two last calls of [`Observer::stop`] to `take`, thread by thread in the
    /// order of ends.
    pub fn read(&mut self, take: &mut dyn FnMut(&Event)) -> Look {
        let mut look = Look::default();
        let Some(timeline) = &mut self.timeline else {
            return look;
        };
        let mut order: Vec<(u32, u64, u32)> = Vec::new();
        order.extend(self.rings.iter().map(|(number, ring)| {
            let who = ring.identity();
            (who.thread, who.order, *number)
        }));
        order.sort_unstable();
        for (_, _, number) in order {
            if let Some(ring) = self.rings.get_mut(&number) {
                ring.read(timeline, take, &mut look);
            }
        }
        self.overwritten += look.overwritten;
        let there = &self.there;
        self.rings
            .retain(|number, ring| there.contains(number) || !ring.is_read());
        look
    }

    fn find_rings(&mut self) -> io::Result<()> {
        let mut there = HashSet::new();
        for entry in fs::read_dir(&self.live)? {
            let path = entry?.path();
            if path.extension() != Some(OsStr::new("ring")) {
                continue;
            }
            let number = path.file_stem().and_then(OsStr::to_str);
            let Some(number) = number.and_then(|stem| stem.parse::<u32>().ok()) else {
                continue;
            };
            let pages = match self.files.entry(number) {
                btree_map::Entry::Occupied(known) => known.into_mut(),
                btree_map::Entry::Vacant(new) => match SharedPages::open(&path) {
                    Ok(pages) => new.insert(Arc::new(pages)),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(_) => {
                        self.unreadable_rings += 1;
                        continue;
                    }
                },
            };
            let count = ObservedRing::count_in(pages).max(1) as u32;
            there.extend(number..number.saturating_add(count));
            let known = &self.rings;
            let is_known = |nth: usize| known.contains_key(&number.saturating_add(nth as u32));
            let new: Vec<_> = ObservedRing::all_new(pages, is_known).collect();
            let numbered = |(nth, ring)| (number.saturating_add(nth as u32), ring);
            self.rings.extend(new.into_iter().map(numbered));
        }
        self.files.retain(|number, _| there.contains(number));
        if self.counts.is_none() {
            self.counts = SharedPages::open(&self.live.join(COUNTS))
                .ok()
                .filter(|pages| pages.bytes() >= HEADER_BYTES);
        }
        self.there = there;
        Ok(())
    }

    fn read_log(&mut self) {
        let mut has_clock = false;
        let mut log = std::mem::replace(&mut self.log, LineTail::new(PathBuf::new()));
        log.lines(|line| {
            let (entries, _) = crate::live::parse_log(line);
            for entry in entries {
                has_clock |= matches!(entry, Entry::Clock { .. });
                self.take(entry);
            }
        });
        self.log = log;
        if has_clock {
            self.timeline = Timeline::restored(&self.pairs, self.knots.clone());
        }
    }

    fn take(&mut self, entry: Entry) {
        match entry {
            Entry::Name(number, text) if number < MAX_NAMES => {
                let at = number as usize;
                if at >= self.names.len() {
                    self.names.resize(at + 1, None);
                }
                let mut end = text.len().min(MAX_NAME_BYTES);
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
                self.names[at] = Some(Arc::from(&text[..end]));
            }
            Entry::Site { number, name, .. } => {
                self.sites.insert(number | SITE, name);
            }
            Entry::Clock { pair, knot } => {
                // The first two say where time 0 is, the last one how far the clocks are.
                if self.pairs.len() > 2 {
                    self.pairs.pop();
                }
                self.pairs.push(pair);
                self.knots.extend(knot);
                if self.knots.len() > MAX_KNOTS {
                    self.knots.remove(0);
                }
            }
            Entry::Dropped {
                ring, uses, rows, ..
            } => {
                self.dropped_logged.insert((ring, uses));
                for (table, rows) in rows {
                    if let Some(id) = TableId::from_name(&table) {
                        self.dropped.add(id as usize, rows);
                    }
                }
            }
            Entry::Ceiling(ceiling) => self.ceilings.push(ceiling),
            _ => {}
        }
    }

    fn read_journal(&mut self) {
        let written = &self.written;
        self.journal.lines(|line| {
            let Some(line) = journal::Line::decode(line) else {
                return;
            };
            let table = line.segment.split('/').next().and_then(TableId::from_name);
            if let (Some(table), Some(rows), Chunk::Batch) = (table, line.rows, line.chunk) {
                written.add(table as usize, rows);
            }
        });
    }

    /// The text of a name, as far as it is known.
    pub fn name(&self, number: u32) -> Option<&Arc<str>> {
        let number = match number & SITE {
            0 => number,
            _ => *self.sites.get(&number)?,
        };
        self.names.get(number as usize)?.as_ref()
    }

    /// Number of a text, if it has one.
    pub fn number(&self, text: &str) -> Option<u32> {
        let is_it = |name: &Option<Arc<str>>| name.as_deref() == Some(text);
        let at = self.names.iter().position(is_it)?;
        u32::try_from(at).ok()
    }

    /// Texts that are known; they are never fewer.
    pub fn names(&self) -> usize {
        self.names.len()
    }

    /// Moment of a reading of the monotonic clock on the run's timeline. `None`: no clock was read yet.
    pub fn host_ns(&self, monotonic_ns: u64) -> Option<i64> {
        let pair = ClockReading {
            ticks: 0,
            monotonic_ns,
            realtime_ns: 0,
        };
        Some(self.timeline.as_ref()?.host_ns(pair))
    }

    /// Threads that may still record, by index; of each the ring that it writes to.
    pub fn threads(&mut self) -> Vec<ObservedThread> {
        let mut newest: BTreeMap<u32, ObservedThread> = BTreeMap::new();
        let Some(timeline) = &mut self.timeline else {
            return Vec::new();
        };
        for ring in self.rings.values().filter(|ring| ring.is_in_use()) {
            let who = ring.identity();
            let (tail, unread) = ring.writer_position();
            let thread = ObservedThread {
                thread: who.thread,
                name: who.name,
                os_id: who.os_id,
                start_ns: timeline.ns(who.start_ticks),
                capacity: ring.capacity(),
                unread,
                tail,
                full_rings: who.order,
            };
            let place = newest.entry(who.thread).or_insert_with(|| thread.clone());
            if place.full_rings < thread.full_rings {
                *place = thread;
            }
        }
        newest.into_values().collect()
    }

    /// Rows that were not kept so far, by table.
    pub fn dropped(&self) -> BTreeMap<&'static str, u64> {
        let counts = self.counts.as_ref().map(|pages| {
            // SAFETY: a page of atomics, any bits of which are valid; it is mapped as long as the reference lives.
            unsafe { pages.base().cast::<LiveCounts>().as_ref() }
        });
        let of_table = |table: usize| {
            let rings = self.rings.iter().filter(|(number, ring)| {
                ring.is_in_use() && !self.dropped_logged.contains(&(**number, ring.uses()))
            });
            let in_rings = rings
                .map(|(_, ring)| ring.dropped(table))
                .fold(0, u64::saturating_add);
            let elsewhere = counts.map_or(0, |counts| {
                let (no_ring, unwritten) = (counts.no_ring(), counts.unwritten());
                no_ring.get(table).saturating_add(unwritten.get(table))
            });
            self.dropped
                .get(table)
                .saturating_add(in_rings)
                .saturating_add(elsewhere)
        };
        let tables = TABLES.iter().enumerate();
        tables
            .map(|(number, table)| (table.name, of_table(number)))
            .filter(|(_, rows)| *rows > 0)
            .collect()
    }

    /// Rows in segments so far, by table.
    pub fn written(&self) -> BTreeMap<&'static str, u64> {
        let tables = TABLES.iter().enumerate();
        tables
            .map(|(number, table)| (table.name, self.written.get(number)))
            .filter(|(_, rows)| *rows > 0)
            .collect()
    }

    /// Ceilings that the program has found.
    pub fn ceilings(&self) -> &[Ceiling] {
        &self.ceilings
    }

    /// Records that were overwritten before they could be read, since the beginning.
    pub fn overwritten(&self) -> u64 {
        self.overwritten
    }

    /// The moment from which on all events were read: the latest beginning of what a ring still held at the first look.
    /// 0: all of the run.
    pub fn complete_from_ns(&self) -> i64 {
        let rings = self.rings.values();
        rings
            .filter_map(ObservedRing::first_end_ns)
            .max()
            .unwrap_or(0)
    }

    /// Files of rings that cannot be read.
    pub fn unreadable_rings(&self) -> u64 {
        self.unreadable_rings
    }
}
