//! Impossible events. Each looks sound alone: one far from all others in time, a kernel that lasts over many of its
//! stream, a second copy of every event.
//!
//! They are set aside, counted and named; [`Options::keep_doubtful`] keeps them.

use std::collections::{BTreeMap, HashSet};
use std::ops::RangeInclusive;

use trueno_analysis::wording;

use crate::chrome::record::{
    HOST_WORDS, Host, HostEvent, LINK_WORDS, Link, LinkEvent, NONE, pair, rising, time,
};
use crate::doubtful::{Pieces, Stream, without_many};
use crate::sorter::Sorter;
use crate::{Error, Notes, Options};

pub(in crate::chrome) const FAR: &str = "time far from that of all other events";
pub(in crate::chrome) const TWICE: &str =
    "the same event once more: the file has every event twice";

pub(in crate::chrome) const AFTER_THE_END: &str =
    "call that began after the profiler was off and all else had ended";

const STREAM_WORDS: usize = 5;

pub(in crate::chrome) struct Believable {
    is_off: bool,
    pieces: Pieces,
    /// XOR of the hashes of all records: equal pairs cancel out.
    sum: u64,
    records: u64,
    streams: Sorter<STREAM_WORDS>,
    last_ns: i64,
    doubts: Doubts,
}

#[derive(Default)]
pub(in crate::chrome) struct Doubts {
    /// The range in which all other events start.
    near: Option<RangeInclusive<i64>>,
    is_twice: bool,
    /// By position in the file: how many later kernels of its stream this kernel outlasts.
    pub overlong: BTreeMap<u64, usize>,
    /// Calls that begin later than this are no part of the recorded program.
    end_of_recording: Option<i64>,
    /// The latest end of the calls that are.
    last_call_ns: Option<i64>,
    /// Records with the same start, if every record of the file occurs twice.
    together: (Option<[u64; 2]>, HashSet<Vec<u64>>),
}

impl Believable {
    pub fn new(folder: &std::path::Path) -> Self {
        Self {
            is_off: false,
            pieces: Pieces::default(),
            sum: 0,
            records: 0,
            streams: Sorter::small(folder.join("import.streams")),
            last_ns: i64::MIN,
            doubts: Doubts::default(),
        }
    }

    /// Turns the checks off if the options ask to keep doubtful events.
    pub fn turn_off(&mut self, options: &Options) {
        self.is_off = options.keep_doubtful;
    }

    pub fn reach(&mut self, start_ns: i64, end_ns: i64) {
        self.is_off |= !self.pieces.add(start_ns, end_ns);
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
        self.streams.push(words)
    }

    fn add(&mut self, words: &[u64]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.sum ^= xxhash_rust::xxh3::xxh3_64(&bytes);
        self.records += 1;
    }

    /// Decides what to set aside. Shrinks `reach`, the earliest start and latest end, to the remaining events.
    pub fn finish(
        &mut self,
        reach: Option<(i64, i64)>,
        end_of_recording: Option<i64>,
    ) -> Result<(Doubts, Option<(i64, i64)>), Error> {
        let mut doubts = std::mem::take(&mut self.doubts);
        if self.is_off {
            return Ok((doubts, reach));
        }
        doubts.end_of_recording = end_of_recording;
        doubts.is_twice = self.records > 1 && self.sum == 0;
        let near = self.pieces.near();
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

    /// Kernels that outlast others, and the latest end of everything else.
    fn overlong(&mut self) -> Result<(BTreeMap<u64, usize>, i64), Error> {
        let mut all = self.streams.take()?;
        let (mut out, mut kernels, mut last_ns) = (BTreeMap::new(), 0, i64::MIN);
        let (mut stream, mut at) = (Stream::default(), None);
        while let Some(words) = all.next()? {
            let [place, start, end, order, launch] = words;
            kernels += 1;
            if at.replace(place) != Some(place) {
                last_ns = last_ns.max(std::mem::take(&mut stream).end(&mut out));
            }
            stream.next((time(start), time(!end)), (order, launch), &mut out);
        }
        last_ns = last_ns.max(stream.end(&mut out));
        Ok((without_many(out, kernels), last_ns))
    }
}

impl Doubts {
    pub fn warn(&self, notes: &mut Notes) {
        let keep = "--keep-doubtful keeps";
        if let Some(count) = notes.left_out.get(FAR) {
            let text = format!(
                "{}: set aside, all figures are of the rest ({keep} them)",
                counted(*count, "event has a", "events have a", FAR)
            );
            notes.warn(text);
        }
        if let Some(count) = notes.left_out.get(AFTER_THE_END) {
            let text = format!(
                "{}: set aside, the run ends before ({keep} them)",
                counted(
                    *count,
                    "call",
                    "calls",
                    "began after the profiler was off and all else had ended"
                )
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
                "{}: not valid, because a stream runs one kernel at a time ({keep} their times)",
                counted(
                    count,
                    "kernel lasts",
                    "kernels last",
                    "longer than several next kernels of its stream"
                )
            );
            notes.warn(text);
        }
    }

    /// True for a call after the end of the recorded program.
    pub fn is_after_the_end(&mut self, record: &Host) -> bool {
        if !matches!(record.event, HostEvent::Call { .. }) {
            return false;
        }
        let is_after = self
            .end_of_recording
            .is_some_and(|end_ns| record.start_ns > end_ns);
        if !is_after {
            self.last_call_ns = self.last_call_ns.max(Some(record.end_ns));
        }
        is_after
    }

    /// The end of the run without what was set aside: `last_ns` is that of all records, `beside_calls` of all but
    /// calls.
    pub fn last_ns(&self, last_ns: i64, beside_calls: Option<i64>, notes: &Notes) -> i64 {
        if !notes.left_out.contains_key(AFTER_THE_END) {
            return last_ns;
        }
        let of_rest = self.last_call_ns.max(beside_calls);
        of_rest.map_or(last_ns, |of_rest| of_rest.min(last_ns))
    }

    pub fn is_near(&self, start_ns: i64) -> bool {
        let near = self.near.as_ref();
        near.is_none_or(|near| near.contains(&start_ns))
    }

    pub fn is_again(&mut self, record: &Host) -> bool {
        let at = [u64::from(record.lane), rising(record.start_ns)];
        self.is_twice && self.came_before(at, without_place(record).to_vec())
    }

    pub fn is_link_again(&mut self, link: &Link) -> bool {
        let at = [link.correlation, rising(link.start_ns)];
        self.is_twice && self.came_before(at, link_without_place(link).to_vec())
    }

    /// True for every second one of equal records with the same start.
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
    format!("{} {what}", wording::counted(count, one, many))
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
