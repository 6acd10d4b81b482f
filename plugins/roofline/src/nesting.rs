//! Nesting of rows with work in rows with work: a brick and its kernels are counted once.

use trueno_analysis::roofline::model::Reason;
use trueno_analysis::start_order::sort_by_start;
use trueno_analysis::sweep::{Open, OpenIntervals};

use crate::rows::{NONE, Rows, WorkRow};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// No row with work is nested in it.
    Innermost,
    /// Rows with work are nested in it, so its time is also theirs.
    Outer,
    /// Its own time is not the time of its work.
    Excluded(Reason),
}

/// Sorts every lane by start (longer rows first) and returns the standing of each row. A row is nested in another
/// of its lane if it begins in it.
pub fn nesting(rows: &mut Rows) -> Vec<Vec<Standing>> {
    let mut out = Vec::with_capacity(rows.lanes.len());
    let no_reasons = rows.several_threads.is_empty() && rows.on_device.is_empty();
    let declared = &rows.declared;
    let has_work =
        |row: &WorkRow| declared[row.declared as usize].label != NONE || row.counted != NONE;
    for lane in rows.lanes.values_mut() {
        sort_by_start(&mut lane.work);
        let mut standing = vec![Standing::Innermost; lane.work.len()];
        let mut open: OpenIntervals<usize> = OpenIntervals::default();
        for (at, row) in lane.work.iter().enumerate() {
            open.advance(row.start_ns, |_, _, _| {});
            if has_work(row) {
                // What is around the innermost outer row is outer already.
                for around in open.stack().iter().rev().map(|open| open.item) {
                    if standing[around] != Standing::Innermost {
                        break;
                    }
                    standing[around] = Standing::Outer;
                }
            }
            open.open(row.end_ns, at);
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
                for &Open {
                    end_ns,
                    item: around,
                } in open.stack()
                {
                    // One that ended stays below a longer one that crosses its end.
                    let is_open = around == at || end_ns > row.start_ns;
                    if is_open && !matches!(standing[around], Standing::Excluded(_)) {
                        standing[around] = Standing::Excluded(reason);
                    }
                }
            }
        }
        out.push(standing);
    }
    out
}
