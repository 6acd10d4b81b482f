//! The work of a device that held up the host for a stretch of time, told by the times alone.
//!
//! A wait that names no stream, a call that frees memory, a copy whose kinds of memory are not recorded: each may
//! have waited for a device, and nothing says for what. Of the work that was launched before and ended meanwhile, the
//! one that ended last explains the stretch if the host went on right after it. Work on streams to which the waiting
//! thread itself launched comes first. Such a dependency is inferred, never measured.

use trueno_analysis::lanes::Lanes;

use crate::load::scale::Scale;
use crate::load::streams::Stream;

/// The host goes on within this many [usual calls](Scale) after the work has ended, or within a tenth of the
/// stretch: waking it takes time, and clocks agree only within microseconds.
const WAKE_UP_CALLS: i64 = 10;

/// Ends on several streams that are at most this far apart count as the same: clocks and time stamps have steps of
/// this size.
const AGREEMENT_NS: i64 = 1_000;

/// For shorter stretches, in usual calls, that may have another explanation, nothing is inferred: work may have
/// ended meanwhile by chance.
pub const MIN_HELD_CALLS: i64 = 2;

#[derive(Clone, Copy, Debug)]
pub struct Held {
    pub lane: u32,
    /// Work launched later did not cause the stretch.
    pub called_ns: i64,
    pub start_ns: i64,
    /// When the host went on.
    pub end_ns: i64,
    pub scale: Scale,
}

impl Held {
    /// Returns whether work that ended at `work_end_ns` explains why the host went on when it did.
    pub fn is_explained_by(&self, work_end_ns: i64) -> bool {
        let tolerance_ns = self.scale.calls(WAKE_UP_CALLS);
        let tolerance_ns = tolerance_ns.max((self.end_ns - self.start_ns) / 10);
        self.start_ns < work_end_ns
            && work_end_ns <= self.end_ns
            && self.end_ns - work_end_ns <= tolerance_ns
    }

    /// Ids of the work that explains the stretch: the last to end, and any whose end clocks cannot tell apart
    /// from it.
    pub fn last_works<'s>(
        &self,
        run: &Lanes,
        streams: impl Iterator<Item = &'s Stream> + Clone,
    ) -> Vec<u64> {
        let own = streams.clone();
        let own = own.filter(|stream| stream.launchers.contains(&self.lane));
        let mut ends = self.ends(run, own);
        if ends.is_empty() {
            ends = self.ends(run, streams);
        }
        let last_ns = ends.iter().map(|end| end.0).max();
        let is_last = |end: &&(i64, u64)| last_ns.is_some_and(|ns| ns - end.0 <= AGREEMENT_NS);
        ends.iter().filter(is_last).map(|end| end.1).collect()
    }

    pub fn last_work<'s>(
        &self,
        run: &Lanes,
        streams: impl Iterator<Item = &'s Stream> + Clone,
    ) -> Option<(u64, i64)> {
        let own = streams.clone();
        let own = own.filter(|stream| stream.launchers.contains(&self.lane));
        let last = self.last_of(run, own);
        last.or_else(|| self.last_of(run, streams))
    }

    fn last_of<'s>(
        &self,
        run: &Lanes,
        streams: impl Iterator<Item = &'s Stream>,
    ) -> Option<(u64, i64)> {
        let last = self.ends(run, streams).into_iter().max();
        last.map(|(end_ns, id)| (id, end_ns))
    }

    fn ends<'s>(&self, run: &Lanes, streams: impl Iterator<Item = &'s Stream>) -> Vec<(i64, u64)> {
        let ends = streams.filter_map(|stream| {
            let (mut at, _) = stream.last_ended(self.end_ns)?;
            let spans = &run.lanes[stream.lane].spans;
            loop {
                let work = &spans[at];
                if !self.is_explained_by(work.end_ns) {
                    return None;
                }
                if stream.launched[at] < self.called_ns {
                    return Some((work.end_ns, work.id));
                }
                at = at.checked_sub(1)?;
            }
        });
        ends.collect()
    }
}
