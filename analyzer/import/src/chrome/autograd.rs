//! Backward operators and the forward operators they belong to, where no flow joins them.
//!
//! PyTorch numbers the nodes that a thread adds to autograd's graph. Each operator states the number
//! that is due when it begins (`Sequence number`): of those of the forward pass with one number the
//! last to begin made the node. Operators of the backward pass also state the thread that made
//! it (`Fwd thread id`, 0 in the forward pass); the outermost of a node is the first to begin.
//! Kineto draws flows `fwdbwd` to the innermost (`torch/csrc/profiler/collection.cpp`), but files of
//! 2021, and later ones now and then, have none.
//!
//! Threads count by themselves, and which thread is meant is not told: a number that forward
//! operators of several threads have joins nothing.

use trueno_format::schema::EdgeRow;

use super::collector::Collector;
use super::record::{NODE_WORDS, time};
use super::row_texts::RowTexts;
use crate::Error;
use crate::sorter::Sorter;

/// Flow categories that state the same edges.
pub(super) const FLOWS: [&str; 2] = ["fwdbwd", "forward_backward"];

#[derive(Default)]
struct Operators {
    sequence: u64,
    /// The last operator to begin in the forward pass: brick and end.
    forward: Option<(u64, i64)>,
    /// Forward operators are on several threads.
    is_ambiguous: bool,
    /// The first operator to begin in the backward pass: brick and start. It contains the others of the node.
    backward: Option<(u64, i64)>,
}

impl Operators {
    fn edge(&self) -> Option<(u64, u64)> {
        let ((from, end_ns), (to, start_ns)) = (self.forward?, self.backward?);
        (end_ns <= start_ns && !self.is_ambiguous).then_some((from, to))
    }
}

/// The thread of a brick, which is the upper half of its id.
fn thread(brick: u64) -> u64 {
    brick >> 32
}

pub(super) fn link(
    collector: &mut Collector<'_>,
    texts: &RowTexts,
    nodes: Sorter<NODE_WORDS>,
) -> Result<(), Error> {
    let mut nodes = nodes.sorted()?;
    let mut of = Operators::default();
    loop {
        let next = nodes.next()?;
        if next.is_none_or(|[sequence, ..]| sequence != of.sequence)
            && let Some((from, to)) = of.edge()
        {
            let kind = texts.depends_on;
            collector.add(&EdgeRow { from, to, kind })?;
        }
        let Some([sequence, start, brick, end, is_backward]) = next else {
            return Ok(());
        };
        if sequence != of.sequence {
            of = Operators {
                sequence,
                ..Operators::default()
            };
        }
        if is_backward == 1 {
            of.backward.get_or_insert((brick, time(start)));
        } else {
            let before = of.forward.replace((brick, time(end)));
            of.is_ambiguous |= before.is_some_and(|(of, _)| thread(of) != thread(brick));
        }
    }
}
