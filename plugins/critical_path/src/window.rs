//! Cuts lanes to the window `0..wall_ns`.

use crate::lanes::{Lanes, by_start};

/// What cutting changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Intervals wholly outside the window, which are gone.
    pub outside: u64,
    /// Intervals of which a part was outside.
    pub shortened: u64,
}

/// Keeps of every interval the part inside the window. One without duration is
/// inside when its instant is, both ends of the window included.
pub fn cut(run: &mut Lanes) -> Cut {
    let mut cut = Cut::default();
    let wall_ns = run.wall_ns;
    for lane in &mut run.lanes {
        let before = (cut, lane.spans.len());
        lane.spans.retain_mut(|span| {
            let (start_ns, end_ns) = (span.start_ns.max(0), span.end_ns.min(wall_ns));
            let inside = start_ns < end_ns || (start_ns == end_ns && span.dur_ns() == 0);
            if !inside {
                cut.outside += 1;
            } else if (start_ns, end_ns) != (span.start_ns, span.end_ns) {
                cut.shortened += 1;
                (span.start_ns, span.end_ns) = (start_ns, end_ns);
            }
            inside
        });
        if before != (cut, lane.spans.len()) {
            by_start(&mut lane.spans);
        }
    }
    cut
}
