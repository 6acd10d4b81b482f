//! Cuts lanes to the window `0..wall_ns`.

use trueno_analysis::lanes::{Class, Lanes};
use trueno_analysis::start_order::sort_by_start;

/// What cutting to the window changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Removed intervals, entirely outside of the window.
    pub outside: u64,
    /// Intervals that were partly outside.
    pub shortened: u64,
    /// Of those in a chosen window: intervals that also reach beyond the recording.
    pub beyond: u64,
}

/// Clips every interval to the window. One without duration stays if it is inside or at either end.
pub fn cut(run: &mut Lanes) -> Cut {
    let mut cut = Cut {
        outside: run.outside, // left out while reading
        ..Cut::default()
    };
    let wall_ns = run.wall_ns;
    let first_ns = run.origin_ns.saturating_neg();
    let last_ns = run.recorded_ns.map_or(i64::MAX, |recorded_ns| {
        recorded_ns.saturating_sub(run.origin_ns)
    });
    let is_part = run.is_part;
    for lane in &mut run.lanes {
        let before = (cut, lane.spans.len());
        lane.spans.retain_mut(|span| {
            let (start_ns, end_ns) = (span.start_ns.max(0), span.end_ns.min(wall_ns));
            let inside = start_ns < end_ns || (start_ns == end_ns && span.dur_ns() == 0);
            if !inside {
                cut.outside += 1;
            } else if (start_ns, end_ns) != (span.start_ns, span.end_ns) {
                cut.shortened += 1;
                cut.beyond +=
                    u64::from(is_part && (span.start_ns < first_ns || last_ns < span.end_ns));
                (span.start_ns, span.end_ns) = (start_ns, end_ns);
            }
            inside
        });
        if before != (cut, lane.spans.len()) {
            sort_by_start(&mut lane.spans);
        }
    }
    cut
}

/// Makes host waits the innermost intervals of their lane. A wait may have exactly the same times as the call that
/// waited; then the wait is the inner one. Waits of streams block no host, so their rows leave the lanes and remain
/// only as dependencies.
pub fn waits_inside(run: &mut Lanes) {
    let labels: Vec<(bool, bool)> = run
        .labels
        .all()
        .iter()
        .map(|label| {
            let waits = label.class == Class::Wait;
            (waits, waits && run.texts.text(label.name) == "stream_wait")
        })
        .collect();
    if labels.iter().all(|label| !label.0) {
        return;
    }
    for lane in &mut run.lanes {
        lane.spans.retain(|span| !labels[span.label as usize].1);
        let spans = &mut lane.spans;
        for at in 1..spans.len() {
            let (outer, inner) = (spans[at - 1], spans[at]);
            let same = (outer.start_ns, outer.end_ns) == (inner.start_ns, inner.end_ns);
            if same && labels[outer.label as usize].0 && !labels[inner.label as usize].0 {
                spans.swap(at - 1, at);
            }
        }
    }
}
