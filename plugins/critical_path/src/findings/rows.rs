//! Rows that are no part of the graph, or only in part, and clocks that were moved.

use trueno_analysis::lanes::LeftOut;
use trueno_analysis::wording::time;
use trueno_plugin::rank::of_place;
use trueno_plugin::{Finding, Severity, counted};

use crate::infer::clock_skew::Skew;
use crate::infer::ranks::Ranks;
use crate::load::window::Cut;

/// Reports rows that reach beyond the recording. What a chosen window leaves out is expected.
pub fn outside(cut: Cut, is_part: bool) -> Vec<Finding> {
    let mut out = Vec::new();
    let beyond = match is_part {
        false if cut.outside + cut.shortened > 0 => Some(format!(
            "{} outside the recording, {} in part",
            counted(cut.outside, "row lies", "rows lie"),
            cut.shortened
        )),
        true if cut.beyond > 0 => Some(counted(
            cut.beyond,
            "row in the window reaches beyond the recording",
            "rows in the window reach beyond the recording",
        )),
        _ => None,
    };
    if let Some(title) = beyond {
        out.push(
            Finding::new("outside_recording", Severity::Warning, title)
                .detail("they begin before the recording or end after it; the path uses only the part within it")
                .suggestion("see the section `sanity` for other problems with the times"),
        );
    }
    if is_part && cut.outside + cut.shortened > 0 {
        let title = format!(
            "{} outside the chosen window, {} in part",
            counted(cut.outside, "row lies", "rows lie"),
            cut.shortened
        );
        out.push(
            Finding::new("outside_window", Severity::Info, title).detail(
                "the path uses the part of each row within the window; shares divide by its length",
            ),
        );
    }
    out
}

pub fn left_out(left_out: LeftOut) -> Option<Finding> {
    let rows = left_out.rows();
    (rows > 0).then(|| {
        let title = counted(
            rows,
            "row has no usable times and is left out",
            "rows have no usable times and are left out",
        );
        Finding::new("left_out", Severity::Info, title).detail(left_out.reasons())
    })
}

pub fn ranks(ranks: &Ranks) -> Option<Finding> {
    if ranks.collectives == 0 {
        return None;
    }
    let title = format!(
        "the path crosses {} by {}; their clocks are known to within ±{}",
        counted(ranks.ranks, "rank", "ranks"),
        counted(ranks.collectives, "collective", "collectives"),
        time(ranks.uncertainty_ns)
    );
    let mut detail = format!(
        "all times here are on the clock of the first rank, and the others differ by up to {}; where the path goes \
         from rank to rank is known only to within that uncertainty",
        time(ranks.shift_ns)
    );
    if ranks.contradicted > 0 {
        detail += &format!(
            "; {} nowhere, because a rank left before another arrived",
            counted(ranks.contradicted, "collective leads", "collectives lead")
        );
    }
    Some(Finding::new("ranks", Severity::Info, title).detail(detail))
}

pub fn skew(skew: &Skew) -> Finding {
    let direction = if skew.shift_ns > 0 {
        "behind"
    } else {
        "ahead of"
    };
    let title = format!(
        "the clock of device {} is {:.1} µs {direction} that of the host; the path corrects its times by that",
        of_place(skew.device).1,
        skew.shift_ns.abs() as f64 / 1e3
    );
    let inferred = match skew.inferred {
        0 => String::new(),
        _ => format!(
            " ({} of them inferred from the constant time by which the host continued before work had ended)",
            skew.inferred
        ),
    };
    let detail = format!(
        "estimated: work begins after its launch, and a wait returns after the work it waited for. The recorded times contradict {} of {} such facts{inferred}, the corrected times {}; no smaller shift leaves fewer",
        skew.contradicted, skew.facts, skew.left
    );
    Finding::new("clock_skew", Severity::Info, title).detail(detail)
}
