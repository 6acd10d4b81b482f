//! Queue length: operations that were asked for and had not begun.
//!
//! From the beginning of a call to the start of its work an operation is waiting. The mean is over time, from the first
//! call to the last start; the graph nodes of one call wait from that call on.

use crate::operations::Operation;

/// Operations that were launched but had not started.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Queue {
    /// Mean number waiting; `None` if no time passed.
    pub mean: Option<f64>,
    pub most: u64,
}

/// Queue of the operations with a call; `None` if there are none.
pub fn queue<'a>(operations: impl Iterator<Item = &'a Operation>) -> Option<Queue> {
    let waiting = operations.filter_map(|o| Some((o.call?.0, o.start_ns)));
    // Of one instant, what begins leaves before what is asked for comes.
    let mut steps: Vec<(i64, i64)> = waiting
        .flat_map(|(called_ns, start_ns)| [(called_ns, 1), (start_ns, -1)])
        .collect();
    steps.sort_unstable();
    let (first, last) = (steps.first()?.0, steps.last()?.0);
    let (mut now, mut most, mut area, mut before_ns) = (0_i64, 0_i64, 0_i128, first);
    for (at_ns, step) in steps {
        area += i128::from(now) * i128::from(at_ns.saturating_sub(before_ns));
        now += step;
        most = most.max(now);
        before_ns = at_ns;
    }
    let all_ns = last.saturating_sub(first);
    Some(Queue {
        mean: (all_ns > 0).then(|| area as f64 / all_ns as f64),
        most: most.max(0) as u64,
    })
}
