//! Work whose instruction set is narrower than the machine's: its place below the roof of the widest one measured.
//!
//! Efficiency there = achieved / min(compute ceiling of the widest set, intensity × bandwidth), with the precision and
//! the level of memory of the point itself. Only work whose roof is thereby raised is told: what memory binds under
//! both could not use wider registers.

use trueno_analysis::interner::Texts;
use trueno_analysis::roofline::ceilings::{Ceilings, Need};
use trueno_analysis::roofline::instruction_set::{Backend, NARROW_TO_WIDE, backend};
use trueno_analysis::roofline::model::{Place, Roof, place};
use trueno_plugin::{Finding, Severity, Table, TableBuilder, counted};

use crate::points::{Point, roof};

/// A wider set counts only if it raises the roof by at least this factor.
const RAISED: f64 = 1.5;

pub struct Wider<'a> {
    point: &'a Point,
    own: &'static str,
    widest: &'static str,
    place: Place,
}

pub fn wider_sets<'a>(points: &[&'a Point], texts: &Texts, ceilings: &Ceilings) -> Vec<Wider<'a>> {
    let wider = |point: &&'a Point| {
        let (own_place, choice) = (point.sound()?, point.choice.as_ref().ok()?);
        let Backend::Cpu(own) = backend(texts.text(point.label.backend?)) else {
            return None;
        };
        let sets = NARROW_TO_WIDE.iter().rev().take_while(|set| **set != own);
        let (widest, wide) = sets.into_iter().find_map(|set| {
            let need = Need {
                device: &point.device,
                instruction_set: Some(set),
                precision: &point.precision,
                memory: point.memory,
            };
            Some((*set, ceilings.choose(&need).ok()?))
        })?;
        let limits = Roof {
            compute: ceilings.rows[wide.compute].value,
            bandwidth: roof(ceilings, choice).bandwidth,
        };
        let place = place(&point.sum.work(), &limits).ok()?;
        let is_raised = place.attainable >= RAISED * own_place.attainable;
        is_raised.then_some(Wider {
            point,
            own,
            widest,
            place,
        })
    };
    points.iter().filter_map(wider).collect()
}

/// Table `wider_sets`: `efficiency_share` is relative to the roof of `wider_set`.
pub fn table(found: &[Wider<'_>], texts: &Texts) -> TableBuilder {
    let rows = || found.iter();
    Table::build("wider_sets")
        .text("source", rows().map(|row| row.point.label.source.name()))
        .text("name", rows().map(|row| texts.text(row.point.label.name)))
        .text("precision", rows().map(|row| row.point.precision.as_str()))
        .text("instruction_set", rows().map(|row| row.own))
        .text("wider_set", rows().map(|row| row.widest))
        .u64("calls", rows().map(|row| row.point.sum.calls))
        .i64("dur_ns", rows().map(|row| row.point.sum.dur_ns))
        .f64(
            "flops_per_s",
            rows().map(|row| row.point.achieved.map(|achieved| achieved.flops_per_s)),
        )
        .f64(
            "attainable_flops_per_s",
            rows().map(|row| row.place.attainable),
        )
        .f64("efficiency_share", rows().map(|row| row.place.efficiency))
}

/// Reports the point with the most time above its time at that roof, and the number of points.
pub fn finding(found: &[Wider<'_>], texts: &Texts) -> Option<Finding> {
    let left = |row: &&Wider<'_>| row.point.sum.dur_ns as f64 * row.place.distance();
    // Of equals the first: points come with the most time first.
    let first = found
        .iter()
        .rev()
        .max_by(|a, b| left(a).total_cmp(&left(b)))?;
    let title = format!(
        "{} runs at {:.1} % of the roof of {}: it uses {} code",
        texts.text(first.point.label.name),
        first.place.efficiency * 100.0,
        first.widest,
        first.own
    );
    let detail = format!(
        "{} of {} could use wider registers and {}; the roof is the highest rate measured on the machine, not what a \
         rewrite would reach",
        counted(found.len(), "point", "points"),
        first.own,
        if found.len() == 1 {
            "does not"
        } else {
            "do not"
        },
    );
    Some(
        Finding::new("narrow_instruction_set", Severity::Info, title)
            .detail(detail)
            .suggestion("run it with a wider backend, and compare: report --compare-backends --baseline RUN")
            .evidence("SELECT source, name, instruction_set, wider_set, calls, dur_ns, efficiency_share FROM roofline.wider_sets ORDER BY dur_ns * (1 - efficiency_share) DESC, name"),
    )
}
