//! Flows: arrows between slices, as edges.

use trueno_format::schema::EdgeRow;

use super::collector::Collector;
use super::record::time;
use super::row_texts::RowTexts;
use super::sweep::FLOW_WORDS;
use crate::Error;
use crate::sorter::Sorter;

struct From {
    flow: u64,
    brick: u64,
    start_ns: i64,
    end_ns: i64,
    is_used: bool,
}

/// Writes an edge for each flow, unless its times contradict it.
pub(super) fn link(
    collector: &mut Collector<'_>,
    texts: &RowTexts,
    points: Sorter<FLOW_WORDS>,
) -> Result<(), Error> {
    let mut points = points.sorted()?;
    let mut from: Option<From> = None;
    while let Some([flow, _, phase, brick, start, end]) = points.next()? {
        let (start_ns, end_ns) = (time(start), time(end));
        if from.as_ref().is_some_and(|from| from.flow != flow) {
            forget(collector, from.take());
        }
        if phase > 0 {
            let Some(from) = &mut from else {
                collector.notes.skip("flow end without its start");
                continue;
            };
            from.is_used = true;
            let kind = if from.brick == brick {
                collector.notes.skip("flow inside one slice");
                None
            } else if from.end_ns <= start_ns {
                Some(texts.depends_on)
            } else if from.start_ns <= start_ns {
                Some(texts.spawns)
            } else {
                collector
                    .notes
                    .skip("flow into a slice that had begun before");
                None
            };
            if let Some(kind) = kind {
                let (from, to) = (from.brick, brick);
                collector.add(&EdgeRow { from, to, kind })?;
            }
        }
        if phase < 2 {
            let is_used = phase == 1;
            if !is_used {
                forget(collector, from.take());
            }
            from = Some(From {
                flow,
                brick,
                start_ns,
                end_ns,
                is_used,
            });
        }
    }
    forget(collector, from);
    Ok(())
}

fn forget(collector: &mut Collector<'_>, from: Option<From>) {
    if from.is_some_and(|from| !from.is_used) {
        collector.notes.skip("flow start without its end");
    }
}
