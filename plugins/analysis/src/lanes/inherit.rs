//! Categories of what is no brick itself, from the brick it began in.

use super::categories::{INHERITED, OUTSIDE, WAITING};
use super::rules::{Rules, is_ruled, plain};
use super::span::{Class, Labels, Lane};
use crate::hash::FastMap;
use crate::interner::Texts;
use crate::sweep::OpenIntervals;

/// Gives every [`INHERITED`] interval of a sorted lane the category of the
/// interval that was running when it began, or [`OUTSIDE`] when there was none;
/// where that was not recorded, a rule on the interval's own name comes first.
/// What lies within work of a profiler is the profiler's, whatever it is called.
/// Afterwards no category says whether a rule gave it.
pub fn inherit(lane: &mut Lane, labels: &mut Labels, rules: &Rules, texts: &mut Texts) {
    let is_open = |category| category == INHERITED || is_ruled(category);
    if !labels.all().iter().any(|label| is_open(label.category)) {
        return;
    }
    let profiler = texts.number("profiler");
    // By label and what is around: the category, and the label that has it.
    let mut known: FastMap<(u32, u32), (u32, u32)> = FastMap::default();
    let mut open: OpenIntervals<u32> = OpenIntervals::default(); // categories
    for span in &mut lane.spans {
        open.advance(span.start_ns, |_, _, _| {});
        let around = open.innermost().unwrap_or(OUTSIDE);
        let mut label = labels.get(span.label);
        let is_profiler = plain(around) == profiler
            && matches!(
                label.class,
                Class::Scope | Class::Brick | Class::Task | Class::Call
            );
        if is_profiler || is_open(label.category) {
            let (category, number) = *known.entry((span.label, around)).or_insert_with(|| {
                if is_profiler {
                    label.category = profiler;
                } else if label.category == INHERITED {
                    label.category = rules.work_category(label.class, label.name, around, texts);
                }
                let category = label.category;
                label.category = plain(category);
                (category, labels.number(label))
            });
            (label.category, span.label) = (category, number);
        }
        // Work that a thread does while it waits is not waiting.
        let category = match label.category {
            WAITING => around,
            category => category,
        };
        open.open(span.end_ns, category);
    }
}
