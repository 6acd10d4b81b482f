//! Impossible events. Each looks sound alone: one far from all others in time, a kernel that lasts over many of its
//! stream, a second copy of every event.
//!
//! They are set aside, counted and named; [`Options::keep_doubtful`] keeps them.

use std::collections::{BTreeMap, HashSet};
use std::ops::RangeInclusive;

use super::sorted;
use crate::chrome::record::{
    HOST_WORDS, Host, LINK_WORDS, Link, LinkEvent, NONE, pair, rising, time,
};
use crate::sorter::Sorter;
use crate::{Error, Notes, Options};

/// Starts are counted in pieces of so many bits of nanoseconds, 1.07 s.
const PIECE_BITS: u32 = 30;
/// So many pieces are counted apart: 12 days.
const MAX_PIECES: usize = 1 << 20;
/// A recording has no hole as long as that, and as so many times the rest of it.
const MIN_HOLE_NS: i64 = 60_000_000_000;
const HOLE_TIMES: i64 = 10;
/// So many events far from others are few, or one in so many.
const FEW: u64 = 3;
const FEW_IN: u64 = 100;

/// A kernel may begin before the one before it on its stream has ended (programmatic dependent launch), but not so many of them.
const MAX_OVERLAPPED: usize = 3;
/// Where more than one kernel in so many lasts over others, the streams are not what they seem, and no single row is wrong.
const DOUBTFUL_IN: usize = 20;

pub(in crate::chrome) const FAR: &str = "time far from that of all other events";
pub(in crate::chrome) const TWICE: &str =
    "the same event once more: the file has every event twice";

/// Events that start within a piece of time.
#[derive(Clone, Copy, Debug)]
struct Piece {
    events: u64,
    first_ns: i64,
    last_ns: i64,
}

const STREAM_WORDS: usize = 5;

/// What is gathered while events are read.
pub(in crate::chrome) struct Believable {
    is_off: bool,
    pieces: BTreeMap<i64, Piece>,
    /// All records, each taken with itself once more vanishes.
    sum: u64,
    records: u64,
    streams: Sorter<STREAM_WORDS>,
    /// The latest end of what is no kernel.
    last_ns: i64,
    doubts: Doubts,
}

/// What is set aside, once all events are read.
#[derive(Default)]
pub(in crate::chrome) struct Doubts {
    /// Starts of all other events.
    near: Option<RangeInclusive<i64>>,
    is_twice: bool,
    /// By place in the file, how many kernels of its stream a kernel lasts over.
    pub overlong: BTreeMap<u64, usize>,
    /// Records that start together, where each comes twice.
    together: (Option<[u64; 2]>, HashSet<Vec<u64>>),
}

impl Believable {
    pub fn new(folder: &std::path::Path) -> Self {
        Self {
            is_off: false,
            pieces: BTreeMap::new(),
            sum: 0,
            records: 0,
            streams: Sorter::small(folder.join("import.streams")),
            last_ns: i64::MIN,
            doubts: Doubts::default(),
        }
    }

    /// Checks nothing if the options ask for doubtful events.
    pub fn turn_off(&mut self, options: &Options) {
        self.is_off = options.keep_doubtful;
    }

    pub fn reach(&mut self, start_ns: i64, end_ns: i64) {
        let key = start_ns >> PIECE_BITS;
        if let Some(piece) = self.pieces.get_mut(&key) {
            piece.events += 1;
            piece.first_ns = piece.first_ns.min(start_ns);
            piece.last_ns = piece.last_ns.max(end_ns);
        } else if self.pieces.len() < MAX_PIECES {
            let (events, first_ns, last_ns) = (1, start_ns, end_ns);
            let piece = Piece {
                events,
                first_ns,
                last_ns,
            };
            self.pieces.insert(key, piece);
        } else {
            self.is_off = true;
        }
    }

    pub fn host(&mut self, record: &Host) {
        self.last_ns = self.last_ns.max(record.end_ns);
        self.add(&without_place(record));
    }

    pub fn link(&mut self, link: &Link) -> Result<(), Error> {
        self.add(&link_without_place(link));
        let is_kernel = matches!(link.event, LinkEvent::Kernel(_));
        if !is_kernel {
            self.last_ns = self.last_ns.max(link.start_ns + link.dur_ns.max(0));
        }
        if !is_kernel || link.stream == NONE || link.dur_ns < 0 {
            return Ok(());
        }
        let words = [
            pair(link.device, link.stream),
            rising(link.start_ns),
            !rising(link.start_ns + link.dur_ns),
            link.order,
            link.correlation,
        ];
        let done = self.streams.push(words);
        done.map_err(|e| Error::io(self.streams.path(), "write it", e))
    }

    fn add(&mut self, words: &[u64]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.sum ^= xxhash_rust::xxh3::xxh3_64(&bytes);
        self.records += 1;
    }

    /// Finds what is set aside; and of `reach`, the earliest start and the latest end of all, that of all else.
    pub fn finish(
        &mut self,
        reach: Option<(i64, i64)>,
    ) -> Result<(Doubts, Option<(i64, i64)>), Error> {
        let mut doubts = std::mem::take(&mut self.doubts);
        if self.is_off {
            return Ok((doubts, reach));
        }
        doubts.is_twice = self.records > 1 && self.sum == 0;
        let near = near(self.pieces.values().copied());
        doubts.near = near.map(|(first_ns, last_ns)| first_ns..=last_ns);
        let mut reach = near.or(reach);
        if !doubts.is_twice {
            let last_ns;
            (doubts.overlong, last_ns) = self.overlong()?;
            if !doubts.overlong.is_empty() {
                let last_ns = last_ns.max(self.last_ns);
                reach = reach.map(|(first, last)| (first, last.min(last_ns)));
            }
        }
        Ok((doubts, reach))
    }

    /// Kernels that last over others, and the latest end of all others.
    fn overlong(&mut self) -> Result<(BTreeMap<u64, usize>, i64), Error> {
        let path = self.streams.path().to_owned();
        let mut all = sorted(&mut self.streams)?;
        let mut out = BTreeMap::new();
        let mut kernels = 0_usize;
        let mut stream = Stream::default();
        while let Some(words) = all.next().map_err(|e| Error::io(&path, "read it", e))? {
            kernels += 1;
            stream.next(words, &mut out);
        }
        stream.end(&mut out);
        if out.len() * DOUBTFUL_IN > kernels.max(DOUBTFUL_IN) {
            out.clear();
        }
        Ok((out, stream.last_ns))
    }
}

/// Kernels of a stream that had not ended when the last began.
#[derive(Default)]
struct Stream {
    place: u64,
    open: Vec<Open>,
    /// The latest end of kernels that do not last over others, of all streams.
    last_ns: i64,
}

struct Open {
    end_ns: i64,
    order: u64,
    launch: u64,
    overlapped: usize,
}

impl Stream {
    fn next(&mut self, words: [u64; STREAM_WORDS], out: &mut BTreeMap<u64, usize>) {
        let [place, start, end, order, launch] = words;
        let (start_ns, end_ns) = (time(start), time(!end));
        if place != self.place {
            self.end(out);
            self.place = place;
        }
        let mut at = 0;
        while at < self.open.len() {
            if self.open[at].end_ns <= start_ns {
                let open = self.open.swap_remove(at);
                self.close(open, out);
                continue;
            }
            // Kernels of one graph may run at once.
            let open = &mut self.open[at];
            open.overlapped += usize::from(open.launch != launch && end_ns <= open.end_ns);
            at += 1;
        }
        self.open.push(Open {
            end_ns,
            order,
            launch,
            overlapped: 0,
        });
    }

    fn end(&mut self, out: &mut BTreeMap<u64, usize>) {
        for open in std::mem::take(&mut self.open) {
            self.close(open, out);
        }
    }

    fn close(&mut self, open: Open, out: &mut BTreeMap<u64, usize>) {
        if open.overlapped > MAX_OVERLAPPED {
            out.insert(open.order, open.overlapped);
        } else {
            self.last_ns = self.last_ns.max(open.end_ns);
        }
    }
}

impl Doubts {
    /// Says what was set aside.
    pub fn warn(&self, notes: &mut Notes) {
        let keep = "--keep-doubtful keeps";
        if let Some(count) = notes.left_out.get(FAR) {
            let text = format!(
                "{}: set aside, all figures are of the rest ({keep} them)",
                counted(*count, "event has a", "events have a", FAR)
            );
            notes.warn(text);
        }
        if self.is_twice {
            notes.warn(format!(
                "every event is in the file twice: each is counted once ({keep} both)"
            ));
        }
        let count = self.overlong.len() as u64;
        if count > 0 {
            let text = format!(
                "{}: not valid, as a stream runs one after the other ({keep} their times)",
                counted(
                    count,
                    "kernel lasts",
                    "kernels last",
                    "over many of its stream"
                )
            );
            notes.warn(text);
        }
    }

    /// True of an event that is not set aside for its time.
    pub fn is_near(&self, start_ns: i64) -> bool {
        let near = self.near.as_ref();
        near.is_none_or(|near| near.contains(&start_ns))
    }

    /// True of a record of a lane that came before.
    pub fn is_again(&mut self, record: &Host) -> bool {
        let at = [u64::from(record.lane), rising(record.start_ns)];
        self.is_twice && self.came_before(at, without_place(record).to_vec())
    }

    /// The same of a record with a correlation.
    pub fn is_link_again(&mut self, link: &Link) -> bool {
        let at = [link.correlation, rising(link.start_ns)];
        self.is_twice && self.came_before(at, link_without_place(link).to_vec())
    }

    /// Of records that start together every second of equal ones.
    fn came_before(&mut self, at: [u64; 2], words: Vec<u64>) -> bool {
        let (last, together) = &mut self.together;
        if last.replace(at) != Some(at) {
            together.clear();
        }
        if together.remove(&words) {
            return true;
        }
        together.insert(words);
        false
    }
}

fn counted(count: u64, one: &str, many: &str, what: &str) -> String {
    format!("{count} {} {what}", if count == 1 { one } else { many })
}

fn without_place(record: &Host) -> [u64; HOST_WORDS] {
    Host {
        order: 0,
        ..*record
    }
    .words()
}

fn link_without_place(link: &Link) -> [u64; LINK_WORDS] {
    Link { order: 0, ..*link }.words()
}

/// First start and last end of nearly all events, where few lie far from them.
fn near(pieces: impl Iterator<Item = Piece>) -> Option<(i64, i64)> {
    let mut groups: Vec<Piece> = Vec::new();
    for piece in pieces {
        match groups.last_mut() {
            Some(last) if piece.first_ns.saturating_sub(last.last_ns) < MIN_HOLE_NS => {
                last.events += piece.events;
                last.last_ns = last.last_ns.max(piece.last_ns);
            }
            _ => groups.push(piece),
        }
    }
    let most = *groups.iter().max_by_key(|group| group.events)?;
    let span_ns = most.last_ns.saturating_sub(most.first_ns);
    let is_far = |group: &&Piece| {
        let hole_ns = group.first_ns.saturating_sub(most.last_ns);
        let hole_ns = hole_ns.max(most.first_ns.saturating_sub(group.last_ns));
        let is_few = group.events <= FEW || group.events <= most.events / FEW_IN;
        let is_part = group.first_ns == most.first_ns;
        let is_minor = group.events < most.events / HOLE_TIMES.cast_unsigned();
        !is_part && is_few && is_minor && hole_ns / HOLE_TIMES >= span_ns
    };
    let far = groups.iter().filter(is_far).count();
    let near = groups.iter().filter(|group| !is_far(group));
    (far > 0).then(|| {
        near.fold((i64::MAX, i64::MIN), |(first, last), group| {
            (first.min(group.first_ns), last.max(group.last_ns))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn piece(events: u64, first_ns: i64, last_ns: i64) -> Piece {
        Piece {
            events,
            first_ns,
            last_ns,
        }
    }

    #[test]
    fn few_events_far_from_all_others_are_no_part_of_the_run() {
        let run = piece(1_000, 1_700_000_000 * S, 1_700_000_001 * S);
        let early = piece(2, run.first_ns - 3_600 * S, run.first_ns - 3_600 * S + 5);
        let found = |pieces: &[Piece]| near(pieces.iter().copied());
        assert_eq!(found(&[run]), None);
        assert_eq!(
            found(&[piece(1, 0, 0), run]),
            Some((run.first_ns, run.last_ns))
        );
        assert_eq!(found(&[early, run]), Some((run.first_ns, run.last_ns)));
        // One that lasts until the others begin is set-up.
        let set_up = piece(1, early.first_ns, run.first_ns);
        assert_eq!(found(&[set_up, run]), None);
        // Many, or a hole that is short beside the run.
        assert_eq!(found(&[piece(400, 0, S), run]), None);
        let long = piece(1_000, 0, 600 * S);
        assert_eq!(found(&[long, piece(2, 900 * S, 901 * S)]), None);
    }
}
