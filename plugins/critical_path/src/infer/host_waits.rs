//! Waits of the host that no row records, put into the lanes as rows of their own.
//!
//! Such a row is inferred and says so by its name. It is a wait like others: it lasts as long as what it waits for,
//! is nobody's work, and is gone when that takes no time. It has no id in the run, and tables show none.

use trueno_analysis::lanes::{Class, Label, Lanes, NO_ELEMENTS, Span, WAITING};
use trueno_analysis::start_order::sort_by_start;

use crate::load::device::{Found, implied};
use crate::load::edges::DependencyKind;
use crate::load::inferred::Rule;
use crate::load::window::waits_inside;

pub const NAME: &str = "wait (inferred)";

/// Ids from here on belong to inferred rows and never occur in a run.
const FIRST_ID: u64 = u64::MAX - (1 << 31);
/// Inferred ids from here on belong to [`ranks`](crate::infer::ranks).
pub const FIRST_RANK_ID: u64 = u64::MAX - (1 << 30);

pub fn is_inferred(id: u64) -> bool {
    id >= FIRST_ID
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostWait {
    pub lane: u32,
    pub start_ns: i64,
    /// The last end of what it waited for.
    pub end_ns: i64,
    pub waited_for: Vec<u64>,
    /// Rows of other lanes that were started during the wait, each as (starting row, started row).
    pub began: Vec<(u64, u64)>,
    pub rule: Rule,
}

pub fn insert(run: &mut Lanes, waits: &[HostWait], found: &mut Found) {
    if waits.is_empty() {
        return;
    }
    let label = Label {
        class: Class::Wait,
        kind: run.texts.number("sync"),
        name: run.texts.number(NAME),
        category: WAITING,
    };
    let label = run.labels.number(label);
    for (id, wait) in (FIRST_ID..).zip(waits) {
        run.lanes[wait.lane as usize].spans.push(Span {
            start_ns: wait.start_ns,
            end_ns: wait.end_ns,
            id,
            label,
            elements: NO_ELEMENTS,
        });
        for &from in &wait.waited_for {
            found.infer(from, id, DependencyKind::Joins, wait.rule);
        }
        for &(from, to) in &wait.began {
            found.edges.push(implied(from, to, DependencyKind::Spawns));
            found.inferred.add(from, to, wait.rule);
        }
    }
    let mut lanes: Vec<u32> = waits.iter().map(|wait| wait.lane).collect();
    lanes.sort_unstable();
    lanes.dedup();
    for lane in lanes {
        sort_by_start(&mut run.lanes[lane as usize].spans);
    }
    waits_inside(run);
}
