//! Which rows with work lie around others with work: a brick and its kernels are counted once.

use crate::order::by_start;
use crate::place::Reason;
use crate::rows::{NONE, Rows, WorkRow};

/// What a row with work is to sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// None with work lies in it.
    Innermost,
    /// Its time is also that of others with work.
    Outer,
    /// Its own time is not that of its work.
    Refused(Reason),
}

/// Sorts every lane by start, the longer row first, and says what each row is.
///
/// A row lies in another one of its lane when it begins in it.
pub fn nest(rows: &mut Rows) -> Vec<Vec<Standing>> {
    let mut out = Vec::with_capacity(rows.lanes.len());
    let no_reasons = rows.several_threads.is_empty() && rows.on_device.is_empty();
    for lane in rows.lanes.values_mut() {
        by_start(&mut lane.work);
        let mut standing = vec![Standing::Innermost; lane.work.len()];
        let mut open: Vec<usize> = Vec::new();
        for (at, row) in lane.work.iter().enumerate() {
            while open
                .last()
                .is_some_and(|top| lane.work[*top].end_ns <= row.start_ns)
            {
                open.pop();
            }
            let has_work = |row: &WorkRow| row.label != NONE || row.counted != NONE;
            if has_work(row) {
                // What is around the innermost outer row is outer already.
                for &around in open.iter().rev() {
                    if standing[around] != Standing::Innermost {
                        break;
                    }
                    standing[around] = Standing::Outer;
                }
            }
            open.push(at);
            let reason = if no_reasons {
                None
            } else if rows.several_threads.contains(&row.id) {
                Some(Reason::SeveralThreads)
            } else if rows.on_device.contains(&row.id) {
                Some(Reason::OnDevice)
            } else {
                None
            };
            if let Some(reason) = reason {
                for &around in &open {
                    // One that ended stays below a longer one that crosses its end.
                    let is_open = around == at || lane.work[around].end_ns > row.start_ns;
                    if is_open && !matches!(standing[around], Standing::Refused(_)) {
                        standing[around] = Standing::Refused(reason);
                    }
                }
            }
        }
        out.push(standing);
    }
    out
}

/// Length of a union of intervals in any order.
pub fn union_ns(intervals: &mut [(i64, i64)]) -> i64 {
    // Bricks and kernels follow each other, each mostly in order: a stable sort merges such runs.
    intervals.sort();
    let (mut total_ns, mut reached_ns) = (0_i64, i64::MIN);
    for &(start_ns, end_ns) in intervals.iter() {
        let from_ns = start_ns.max(reached_ns);
        if end_ns > from_ns {
            total_ns = total_ns.saturating_add(end_ns.saturating_sub(from_ns));
            reached_ns = end_ns;
        }
    }
    total_ns
}
