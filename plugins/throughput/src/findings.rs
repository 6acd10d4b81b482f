//! Findings about iterations.

use std::collections::BTreeMap;
use trueno_analysis::producer::Producer;
use trueno_analysis::wording::time;

use trueno_plugin::{Finding, Severity, agreeing, counted};

use crate::Options;
use crate::declared::{Counts, WORK};
use crate::outlier_cause::Name;
use crate::series::LeftOut;
use crate::tables::Result;
use crate::warm_up::{MIN_ITERATIONS, SteadyState};

pub fn nothing_recorded(left_out: &LeftOut, producer: Producer) -> Finding {
    let rows = left_out.bound + left_out.broken;
    let title = match rows {
        _ if left_out.outside > 0 => format!(
            "no complete iteration lies in the window: {} of the run {} outside or {} cut by it",
            left_out.outside,
            agreeing(left_out.outside, "lies", "lie"),
            agreeing(left_out.outside, "is", "are")
        ),
        0 => "no iteration was recorded: throughput is not measurable".to_owned(),
        rows => format!(
            "throughput is not measurable: the times of {} are only bounds, or invalid",
            counted(rows, "iteration", "iterations")
        ),
    };
    let mut finding = Finding::new("not_recorded", Severity::Info, title);
    finding.suggestion = producer.record_steps().map(str::to_owned);
    finding.evidence("SELECT COUNT(*) AS iterations FROM bricks WHERE kind = 'iteration'")
}

pub fn findings(
    left_out: &LeftOut,
    results: &[Result],
    declared: &Counts,
    options: &Options,
    producer: Producer,
) -> Vec<Finding> {
    let mut out = Vec::new();
    for result in results {
        out.push(state(result));
        out.extend(outliers(result));
        out.extend(drifts(result, options));
    }
    out.extend(not_declared(declared, producer));
    if left_out.cut > 0 {
        out.push(
            Finding::new(
                "cut_off",
                Severity::Info,
                format!(
                    "{} at the start or end of the recording {} less than half as long as the others, and {} not counted",
                    counted(left_out.cut, "iteration", "iterations"),
                    agreeing(left_out.cut, "is", "are"),
                    agreeing(left_out.cut, "is", "are")
                ),
            )
            .detail("the recording began or ended within it, or it had less to do, so it does not show how long a step takes")
            .evidence("SELECT id, thread, iteration, start_ns, dur_ns FROM bricks WHERE kind = 'iteration' ORDER BY thread, start_ns"),
        );
    }
    let rows = left_out.bound + left_out.nested + left_out.broken;
    if rows > 0 {
        let detail = format!(
            "{}, {}, {} an impossible time",
            counted(
                left_out.bound,
                "only bounds its work",
                "only bound their work"
            ),
            counted(
                left_out.nested,
                "overlaps an earlier one of its thread",
                "overlap an earlier one of their thread"
            ),
            counted(left_out.broken, "has", "have")
        );
        out.push(
            Finding::new("left_out", Severity::Info, counted(rows, "iteration is left out", "iterations are left out"))
                .detail(detail)
                .evidence(
                    "SELECT id, thread, start_ns, dur_ns, timing FROM bricks WHERE kind = 'iteration' ORDER BY thread, start_ns",
                ),
        );
    }
    out
}

fn rows_of(result: &Result, which: &str) -> String {
    let (name, and) = (&result.name, if which.is_empty() { "" } else { " AND " });
    format!(
        "SELECT * FROM throughput.iterations WHERE series = '{name}'{and}{which} ORDER BY number"
    )
}

fn state(result: &Result) -> Finding {
    let (name, n) = (&result.name, result.rows.len());
    match result.steady_state {
        SteadyState::TooFew => Finding::new(
            "too_few",
            Severity::Info,
            format!(
                "{name}: {}, too few to find a steady state ({MIN_ITERATIONS} are needed)",
                counted(n, "iteration", "iterations")
            ),
        )
        .evidence(rows_of(result, "")),
        SteadyState::Never => Finding::new(
            "no_steady_state",
            Severity::Warning,
            format!("{name}: {n} iterations reach no steady state in their first half"),
        )
        .detail("means and rates over changing iterations say little about the program")
        .suggestion("record more iterations, or check what changes from one to the next")
        .evidence(rows_of(result, "")),
        SteadyState::From(first) => {
            let mut wall: Vec<f64> = result.steady_ns().iter().map(|wall| *wall as f64).collect();
            let median = trueno_analysis::quantiles::median(&mut wall).unwrap_or(0.0);
            Finding::new(
                "steady_state",
                Severity::Info,
                format!(
                    "{name}: median {} over {}, after {}",
                    time(median.round() as i64),
                    counted(n - first, "steady iteration", "steady iterations"),
                    match first {
                        0 => "no warm-up".to_owned(),
                        first => counted(first, "iteration of warm-up", "iterations of warm-up"),
                    }
                ),
            )
            .evidence(format!(
                "SELECT * FROM throughput.summary WHERE series = '{name}'"
            ))
        }
    }
}

fn outliers(result: &Result) -> Option<Finding> {
    let slow: Vec<_> = result
        .steady()
        .iter()
        .filter(|row| row.outlier == Some("slow"))
        .collect();
    if slow.is_empty() {
        return None;
    }
    let mut named: BTreeMap<&Name, (usize, f64)> = BTreeMap::new();
    for cause in slow.iter().filter_map(|row| row.cause.as_ref()) {
        let entry = named.entry(&cause.name).or_default();
        entry.0 += 1;
        entry.1 += cause.excess_ns;
    }
    let worst = named.iter().rev().max_by(|a, b| {
        (a.1.0, a.1.1)
            .partial_cmp(&(b.1.0, b.1.1))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let by = match worst {
        Some(((kind, name), (count, excess))) => {
            let own = match kind.as_str() {
                "iteration" | "layer" => format!("time in the {kind} outside bricks"),
                _ => name.clone(),
            };
            let which = match (slow.len(), *count) {
                (1, _) => String::new(),
                (all, count) if all == count => "all ".to_owned(),
                (_, count) => format!("{count} of them "),
            };
            format!(
                ", {which}mainly because of {own} (+{})",
                time(excess.round() as i64)
            )
        }
        None => String::new(),
    };
    let title = format!(
        "{}: {} of {} {}{by}",
        result.name,
        slow.len(),
        counted(
            result.steady().len(),
            "steady iteration",
            "steady iterations"
        ),
        agreeing(slow.len(), "is a slow outlier", "are slow outliers")
    );
    Some(
        Finding::new("outliers", Severity::Info, title)
            .detail(
                "self times on the iteration's own thread; a wait for other threads counts for the name that waited",
            )
            .suggestion(
                "look at these iterations in a timeline, and check what else ran on the machine",
            )
            .evidence(rows_of(result, "outlier = 'slow'")),
    )
}

fn drifts(result: &Result, options: &Options) -> Option<Finding> {
    let drift = result
        .drift()
        .filter(|drift| drift.abs() > options.tolerance)?;
    let way = if drift > 0.0 { "slower" } else { "faster" };
    let title = format!(
        "{}: the last third of the steady iterations is {:.1} % {way} than the first",
        result.name,
        drift.abs() * 100.0
    );
    let found = if drift > 0.0 {
        Finding::new("drift", Severity::Warning, title)
            .suggestion("check whether the work grows with the iteration, like attention over a growing cache, or the machine slows down")
    } else {
        Finding::new("drift", Severity::Info, title)
            .detail("either the warm-up had not ended (caches, memory, the machine's clock), or later iterations have less to do")
            .suggestion("record more iterations to see the final speed: the median still includes the slower first ones")
    };
    Some(found.evidence(rows_of(result, "phase = 'steady'")))
}

fn not_declared(declared: &Counts, producer: Producer) -> Vec<Finding> {
    let mut out = Vec::new();
    let elsewhere: Vec<String> = [0, 1]
        .into_iter()
        .filter(|work| declared.anywhere[*work] > declared.readings[*work])
        .map(|work| {
            let count = declared.anywhere[work] - declared.readings[work];
            format!(
                "{count} {} `{}` {} on other rows",
                agreeing(count, "counter", "counters"),
                WORK[work],
                agreeing(count, "is", "are")
            )
        })
        .collect();
    if declared.readings == [0, 0] || !elsewhere.is_empty() {
        let title = if declared.readings == [0, 0] {
            "tokens/s and samples/s are not measurable: no iteration declares tokens or samples"
        } else {
            "not all tokens or samples are declared on iterations"
        };
        let finding = Finding::new("not_declared", Severity::Info, title)
            .suggestion(producer.to_record_here("in each iteration, outside of layers and bricks: Recorder::counter(\"tokens\", count, \"token\", Source::Declared), or \"samples\""))
            .evidence("SELECT name, COUNT(*) AS readings FROM counters GROUP BY name ORDER BY name");
        out.push(if elsewhere.is_empty() {
            finding
        } else {
            finding.detail(elsewhere.join(", "))
        });
    }
    let unusable = declared.unusable;
    if unusable > 0 {
        let title = counted(
            unusable,
            "iteration declares its work more than once, or not as a number",
            "iterations declare their work more than once, or not as a number",
        );
        let detail = format!(
            "{} negative or not finite; if a name has two values, neither is used",
            counted(declared.broken, "value is", "values are")
        );
        out.push(Finding::new("declared_twice", Severity::Warning, title).detail(detail).evidence(
            "SELECT span, name, COUNT(*) AS readings FROM counters WHERE name = 'tokens' OR name = 'samples' \
             GROUP BY span, name ORDER BY readings DESC, span, name",
        ));
    }
    out
}
