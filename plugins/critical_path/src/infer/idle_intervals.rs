//! Stretches of a host lane in which nothing of its own is recorded: gaps between rows, and self time of frames.

use trueno_analysis::lanes::{Class, Lane, LaneKind, Lanes};
use trueno_analysis::sweep::self_times;

use crate::load::wait_functions::only_waits;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub start_ns: i64,
    /// When the lane did something again.
    pub end_ns: i64,
    /// Id of the enclosing row; for a gap, of the row before it.
    pub row: u64,
    pub is_gap: bool,
}

/// All stretches of a lane of at least `min_ns`, sorted by time. Work of devices and tiles, calls that do something
/// and recorded waits are no stretches. Neither is the time before a lane's first row or after its last, because
/// nobody knows when the lane would have gone on.
pub fn stretches(run: &Lanes, lane: &Lane, min_ns: i64) -> Vec<Stretch> {
    let mut out: Vec<Stretch> = Vec::new();
    if lane.kind != LaneKind::Host {
        return out;
    }
    let labels = run.labels.all().iter();
    let is_frame: Vec<bool> = labels
        .map(|label| match label.class {
            Class::Scope | Class::Brick | Class::Task => true,
            Class::Call => only_waits(*label, &run.texts),
            Class::Kernel | Class::Tile | Class::Wait | Class::Transfer => false,
        })
        .collect();
    let mut last: Option<Stretch> = None;
    let mut ran_to: Option<(i64, u64)> = None;
    let mut end = |last: &mut Option<Stretch>| {
        let ended = last.take();
        out.extend(ended.filter(|ended| ended.end_ns - ended.start_ns >= min_ns));
    };
    self_times(&lane.spans, |row, start_ns, end_ns| {
        let before = ran_to.replace((end_ns, row.id));
        if let Some((until_ns, before)) = before.filter(|(until_ns, _)| *until_ns < start_ns) {
            end(&mut last);
            last = Some(Stretch {
                start_ns: until_ns,
                end_ns: start_ns,
                row: before,
                is_gap: true,
            });
        }
        let goes_on =
            |last: &Stretch| last.row == row.id && !last.is_gap && last.end_ns == start_ns;
        match &mut last {
            // What took no time interrupted nothing.
            Some(last)
                if is_frame[row.label as usize]
                    && before.is_some_and(|(until_ns, _)| until_ns == start_ns)
                    && goes_on(last) =>
            {
                last.end_ns = end_ns;
            }
            last => {
                end(last);
                *last = is_frame[row.label as usize].then_some(Stretch {
                    start_ns,
                    end_ns,
                    row: row.id,
                    is_gap: false,
                });
            }
        }
    });
    end(&mut last);
    let last_ns = lane.spans.last().map_or(0, |row| row.start_ns);
    out.retain(|stretch| stretch.end_ns <= last_ns);
    out
}
