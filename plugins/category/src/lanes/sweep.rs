//! Which interval of a lane was running at every instant.
//!
//! The innermost one: of the intervals open at that instant, the last in the
//! order of [`by_start`](super::by_start), that is the latest started; of two
//! that started together the shorter; of two of equal times the higher id.
//! Where intervals nest this is the usual notion of self time. Where they
//! overlap without nesting it still gives every busy instant to exactly one
//! interval, so that self times add up to busy time whatever the data.

use super::span::Span;

/// What [`sweep`] tells, in the order of time.
pub trait Visit {
    /// The interval `index` begins. `stack` holds the indices of those begun
    /// before; the last of them is running, all others may have ended.
    fn open(&mut self, spans: &[Span], stack: &[u32], index: u32);

    /// The last interval of `stack` ran from `start_ns` to `end_ns`, which is later.
    /// The others of the stack are those it began within; they may have ended.
    fn piece(&mut self, spans: &[Span], stack: &[u32], start_ns: i64, end_ns: i64);
}

/// Walks one lane, sorted by [`by_start`](super::by_start), in one linear pass.
pub fn sweep(spans: &[Span], visit: &mut impl Visit) {
    let mut stack: Vec<u32> = Vec::new();
    let mut now_ns = i64::MIN;
    for (index, span) in spans.iter().enumerate() {
        close(spans, &mut stack, &mut now_ns, span.start_ns, visit);
        if !stack.is_empty() && now_ns < span.start_ns {
            visit.piece(spans, &stack, now_ns, span.start_ns);
        }
        now_ns = span.start_ns;
        visit.open(spans, &stack, index as u32);
        stack.push(index as u32);
    }
    close(spans, &mut stack, &mut now_ns, i64::MAX, visit);
}

/// Ends what had ended by `until_ns`, innermost first.
fn close(
    spans: &[Span],
    stack: &mut Vec<u32>,
    now_ns: &mut i64,
    until_ns: i64,
    visit: &mut impl Visit,
) {
    while let Some(&top) = stack.last() {
        let end_ns = spans[top as usize].end_ns;
        if end_ns > until_ns {
            break;
        }
        if *now_ns < end_ns {
            visit.piece(spans, stack, *now_ns, end_ns);
            *now_ns = end_ns;
        }
        stack.pop();
    }
}
