//! Categories of what is no brick itself, from the brick it began in.

use super::hash::FastMap;
use super::span::{Labels, Lane};
use super::text::{INHERITED, OUTSIDE, WAITING};

/// Gives every [`INHERITED`] interval of a sorted lane the category of the
/// interval that was running when it began, or [`OUTSIDE`] when there was none.
pub fn inherit(lane: &mut Lane, labels: &mut Labels) {
    if !lane
        .spans
        .iter()
        .any(|span| labels.get(span.label).category == INHERITED)
    {
        return;
    }
    let mut known: FastMap<(u32, u32), u32> = FastMap::default();
    let mut stack: Vec<(i64, u32)> = Vec::new(); // end, category
    for span in &mut lane.spans {
        while stack
            .last()
            .is_some_and(|&(end_ns, _)| end_ns <= span.start_ns)
        {
            stack.pop();
        }
        let around = stack.last().map_or(OUTSIDE, |&(_, category)| category);
        let mut label = labels.get(span.label);
        if label.category == INHERITED {
            label.category = around;
            span.label = *known
                .entry((span.label, label.category))
                .or_insert_with(|| labels.number(label));
        }
        // Work that a thread does while it waits is not waiting.
        let category = match label.category {
            WAITING => around,
            category => category,
        };
        stack.push((span.end_ns, category));
    }
}
