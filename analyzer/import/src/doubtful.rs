//! Rows that cannot be: far from all others in time, a kernel that lasts over many of its stream, more memory than an
//! address space has.

use std::collections::{BTreeMap, HashMap};

use crate::{Notes, Options};

/// Starts are counted in pieces of 2^30 ns (1.07 s).
const PIECE_BITS: u32 = 30;
/// Limit for the pieces (12 days).
const MAX_PIECES: usize = 1 << 20;
/// A gap at least this long, and (next line) this many times as long as the rest, is implausible.
const MIN_HOLE_NS: i64 = 60_000_000_000;
const HOLE_TIMES: i64 = 10;
/// Up to this many distant events, or one in so many (next line), count as few.
const FEW: u64 = 3;
const FEW_IN: u64 = 100;

/// How many later kernels of its stream a kernel may outlast. Some may run before it has ended, by programmatic
/// dependent launch.
const MAX_OVERLAPPED: usize = 3;
/// If more than one kernel in this many outlasts others, the streams are not what they seem, and no single row is
/// wrong.
const DOUBTFUL_IN: usize = 20;

#[derive(Clone, Copy, Debug)]
struct Piece {
    events: u64,
    first_ns: i64,
    last_ns: i64,
}

/// Numbers of events by the piece in which they start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces(BTreeMap<i64, Piece>);

impl Pieces {
    /// Counts an event; false if there are too many pieces to decide anything.
    pub fn add(&mut self, start_ns: i64, end_ns: i64) -> bool {
        let key = start_ns >> PIECE_BITS;
        if let Some(piece) = self.0.get_mut(&key) {
            piece.events += 1;
            piece.first_ns = piece.first_ns.min(start_ns);
            piece.last_ns = piece.last_ns.max(end_ns);
            return true;
        }
        if self.0.len() >= MAX_PIECES {
            return false;
        }
        let (events, first_ns, last_ns) = (1, start_ns, end_ns);
        let piece = Piece {
            events,
            first_ns,
            last_ns,
        };
        self.0.insert(key, piece);
        true
    }

    /// First start and last end of nearly all events, if few are far from the rest.
    pub fn near(&self) -> Option<(i64, i64)> {
        near(self.0.values().copied())
    }
}

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

/// Kernels of a stream, sorted by start, that had not ended when the latest began.
pub(crate) struct Stream {
    open: Vec<Open>,
    /// The latest end of kernels that do not outlast others.
    last_ns: i64,
}

struct Open {
    end_ns: i64,
    number: u64,
    launch: u64,
    overlapped: usize,
}

impl Default for Stream {
    fn default() -> Self {
        Self {
            open: Vec::new(),
            last_ns: i64::MIN,
        }
    }
}

impl Stream {
    /// Adds the next kernel: its times, its number and its launch. Adds to `out` the kernels now known to
    /// outlast many later ones, with the count.
    pub fn next(
        &mut self,
        (start_ns, end_ns): (i64, i64),
        (number, launch): (u64, u64),
        out: &mut BTreeMap<u64, usize>,
    ) {
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
            number,
            launch,
            overlapped: 0,
        });
    }

    /// Ends the stream. Returns the latest end of the kernels that do not outlast others.
    pub fn end(mut self, out: &mut BTreeMap<u64, usize>) -> i64 {
        for open in std::mem::take(&mut self.open) {
            self.close(open, out);
        }
        self.last_ns
    }

    fn close(&mut self, open: Open, out: &mut BTreeMap<u64, usize>) {
        if open.overlapped > MAX_OVERLAPPED {
            out.insert(open.number, open.overlapped);
        } else {
            self.last_ns = self.last_ns.max(open.end_ns);
        }
    }
}

pub(crate) fn without_many(overlong: BTreeMap<u64, usize>, kernels: usize) -> BTreeMap<u64, usize> {
    if overlong.len() * DOUBTFUL_IN > kernels.max(DOUBTFUL_IN) {
        BTreeMap::new()
    } else {
        overlong
    }
}

pub(crate) fn lasts_over(over: usize) -> String {
    format!("lasts over the next {over} kernels of its stream")
}

/// No address space has more bytes than 2^56.
const MOST_BYTES: u64 = 1 << 56;
const TOO_MUCH: &str = "size of memory beyond 64 PiB, which no address space has";

/// What is allocated on each device.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    keeps_all: bool,
    live_bytes: HashMap<Option<u32>, i64>,
}

impl Memory {
    pub fn new(options: &Options) -> Self {
        Self {
            keeps_all: options.keep_doubtful,
            live_bytes: HashMap::new(),
        }
    }

    /// Adds an allocation, or a release as a negative size. False, and counted, if it cannot be.
    pub fn holds(&mut self, device: Option<u32>, bytes: i64, notes: &mut Notes) -> bool {
        let live_bytes = self.live_bytes.entry(device).or_default();
        let sum = live_bytes.saturating_add(bytes);
        let is_possible = bytes.unsigned_abs().max(sum.unsigned_abs()) <= MOST_BYTES;
        if is_possible || self.keeps_all {
            *live_bytes = sum;
            return true;
        }
        set_aside(notes);
        false
    }

    /// The same for a total that a file states.
    pub fn may_be(&self, bytes: u64, notes: &mut Notes) -> bool {
        let is_possible = bytes <= MOST_BYTES || self.keeps_all;
        if !is_possible {
            set_aside(notes);
        }
        is_possible
    }
}

fn set_aside(notes: &mut Notes) {
    notes.leave_out(TOO_MUCH);
    notes.warn(
        "some allocations or releases have a size beyond 64 PiB, which no address space has: set aside, all figures are \
         of the rest (--keep-doubtful keeps them)",
    );
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
    fn sizes_and_sums_beyond_an_address_space_are_set_aside() {
        let (mut memory, mut notes) = (Memory::default(), Notes::default());
        let most = MOST_BYTES as i64;
        let mut holds = |device, bytes| memory.holds(device, bytes, &mut notes);
        assert!(holds(Some(0), most - 8) && holds(Some(0), 8) && !holds(Some(0), 1));
        assert!(holds(Some(0), -most) && holds(Some(0), most));
        assert!(!holds(Some(1), i64::MAX) && !holds(Some(1), i64::MIN) && holds(None, 64));
        assert!(memory.may_be(MOST_BYTES, &mut notes) && !memory.may_be(u64::MAX, &mut notes));
        assert_eq!(notes.left_out[TOO_MUCH], 4);
        assert_eq!(notes.warnings.len(), 1);
        let mut all = Memory::new(&Options {
            keep_doubtful: true,
            ..Options::default()
        });
        assert!(all.holds(None, i64::MAX, &mut notes) && all.holds(None, i64::MAX, &mut notes));
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
