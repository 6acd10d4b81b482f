//! Predicted gains: the best lever, and names of which none can be told.

use trueno_plugin::{Finding, Severity, counted};

use super::Facts;
use crate::predict::opportunity::Opportunity;

/// A name with a larger share of the window is a frame around the program's work.
const FRAME: f64 = 0.9;
const MIN_GAIN: f64 = 0.005;

/// Reports the name with the largest gain.
pub fn lever(facts: &Facts<'_>) -> Option<Finding> {
    // A frame around everything, a wait, and time that nothing explains, are no levers.
    let is_lever = |row: &&Opportunity| {
        !row.name.starts_with("kind:")
            && !row.is_wait
            && (row.path_ns as f64) < FRAME * facts.wall_ns as f64
    };
    let best = facts.opportunities.iter().find(is_lever)?;
    let [_, half_ns, all_ns] = best.gains_ns?;
    if facts.wall_ns == 0 || (half_ns as f64) < MIN_GAIN * facts.wall_ns as f64 {
        return None;
    }
    let percent = |ns: i64| 100.0 * ns as f64 / facts.wall_ns as f64;
    let own = match best.path_ns - best.own_ns {
        0 => String::new(),
        others_ns => format!(
            "; it accounts for {:.1} % of the path: {:.1} % its own, {:.1} % nested in it, launched or spawned by it",
            percent(best.path_ns),
            percent(best.own_ns),
            percent(others_ns)
        ),
    };
    let title = format!(
        "if `{0}` took half the time, the {1} would be {2:.1} % shorter; if it took none, {3:.1} %",
        best.name,
        facts.window(),
        percent(half_ns),
        percent(all_ns)
    );
    Some(
        Finding::new("largest_opportunity", Severity::Info, title)
            .detail(format!("predicted by re-timing the graph, including what it contains and launches{own}; gains of several names do not add up"))
            .suggestion(format!("try other values with --what-if '{}=0.8'", best.name))
            .evidence("SELECT * FROM critical_path.opportunity"),
    )
}

/// Reports the sequence of kernels with the largest gain.
pub fn sequence(facts: &Facts<'_>) -> Option<Finding> {
    let best = facts.sequences.first()?;
    let gain_ns = best.gain_ns?;
    if facts.wall_ns == 0 || (gain_ns as f64) < MIN_GAIN * facts.wall_ns as f64 {
        return None;
    }
    let [first, .., last] = &best.names[..] else {
        return None;
    };
    let title = format!(
        "{} kernels in a row, from `{first}` to `{last}`, run {} times; if each sequence were one kernel, the {} would be {:.1} % shorter",
        best.names.len(),
        best.repeats,
        facts.window(),
        100.0 * gain_ns as f64 / facts.wall_ns as f64
    );
    let detail = format!(
        "{}. Predicted by re-timing the graph without the calls that launch the kernels after the first, and without \
         the gaps before these; the kernels take as long as before. Whether they can be fused is not recorded",
        best.text()
    );
    Some(
        Finding::new("repeated_sequence", Severity::Info, title)
            .detail(detail)
            .suggestion(
                "a fused operator or a compiler that fuses; a CUDA graph saves the same launches without fusing",
            )
            .evidence(best.first_ids.clone()),
    )
}

pub fn bounded(facts: &Facts<'_>) -> Option<Finding> {
    let background = facts.background.as_ref()?;
    let rows = facts.opportunities.iter().filter(|row| row.is_bounded);
    let count = rows.count();
    if count == 0 || facts.wall_ns == 0 {
        return None;
    }
    let percent = |ns: i64| 100.0 * ns as f64 / facts.wall_ns as f64;
    let title = format!(
        "no gain can be predicted for {}: `{}` is busy for {:.1} % of the {}, and no recorded dependency connects it with the path",
        counted(count, "name or kind", "names and kinds"),
        background.lane,
        percent(background.busy_ns),
        facts.window(),
    );
    let detail = format!(
        "most of it, {:.1} % of the {}, is `{}` itself (id {}); the recording does not show whether it works or waits, so predictions keep its length",
        percent(background.self_ns),
        facts.window(),
        background.name,
        background.id
    );
    Some(
        Finding::new("prediction_bounded", Severity::Info, title)
            .detail(detail)
            .suggestion(
                "record what it waits for (a dependency or a wait), or leave that lane out of the recording",
            )
            .evidence(vec![background.id]),
    )
}

pub fn cut(opportunities: &[Opportunity]) -> Option<Finding> {
    let computed = |row: &&Opportunity| row.gains_ns.is_some();
    let asked_for = |row: &&Opportunity| computed(row) || row.is_bounded;
    let is_cut = !opportunities.iter().all(|row| asked_for(&row));
    is_cut.then(|| {
        let title = format!(
            "gains are predicted for {} of {} names and kinds on the path, those with the most time",
            opportunities.iter().filter(asked_for).count(),
            opportunities.len()
        );
        Finding::new("opportunity_cut", Severity::Info, title).suggestion(
                "predict another with --what-if, or raise the option opportunity_names of critical_path",
            )
    })
}
