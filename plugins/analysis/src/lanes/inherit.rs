//! Categories of what is no brick itself, from the brick it began in.

use super::categories::{INHERITED, OUTSIDE, WAITING};
use super::rules::{Rules, is_ruled, plain};
use super::span::{Class, Labels, Lane};
use crate::hash::FastMap;
use crate::interner::Texts;
use crate::sweep::OpenIntervals;
use crate::vendors::is_profiler_control;

/// Gives every [`INHERITED`] interval of a sorted lane the category of the
/// interval that was running when it began, or [`OUTSIDE`] when there was none;
/// where that was not recorded, a rule on the interval's own name comes first.
/// The start and the stop of a profiler, and what lies within them, are the profiler's, whatever they are called.
/// Afterwards no category says whether a rule gave it.
pub fn inherit(lane: &mut Lane, labels: &mut Labels, rules: &Rules, texts: &mut Texts) {
    let is_open = |category| category == INHERITED || is_ruled(category);
    if !labels.all().iter().any(|label| is_open(label.category)) {
        return;
    }
    let profiler = texts.number("profiler");
    let all = labels.all().iter();
    let starts_profiler: Vec<bool> = all
        .map(|label| is_profiler_control(texts.text(label.name)))
        .collect();
    let mut profiler_until_ns = i64::MIN;
    // By label and what is around: the category, and the label that has it.
    let mut known: FastMap<(u32, u32), (u32, u32)> = FastMap::default();
    let mut open: OpenIntervals<u32> = OpenIntervals::default(); // categories
    for span in &mut lane.spans {
        open.advance(span.start_ns, |_, _, _| {});
        let around = open.innermost().unwrap_or(OUTSIDE);
        let mut label = labels.get(span.label);
        let is_of_host = matches!(
            label.class,
            Class::Scope | Class::Brick | Class::Task | Class::Call
        );
        if is_of_host && starts_profiler.get(span.label as usize) == Some(&true) {
            profiler_until_ns = profiler_until_ns.max(span.end_ns);
        }
        let is_profiler = is_of_host && span.start_ns < profiler_until_ns;
        if is_profiler || is_open(label.category) {
            let key = (span.label, if is_profiler { u32::MAX } else { around });
            let (category, number) = *known.entry(key).or_insert_with(|| {
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
