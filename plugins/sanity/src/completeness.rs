//! Checks of the run as a whole: its end, its losses, what it covers and cost.

use trueno_plugin::{Severity, counted};

use crate::check::{Check, Spec};
use crate::facts::Facts;
use crate::tallies::Tallies;

/// Above this share of the wall time, the recorder's own cost is a finding.
const COST_SHARE: f64 = 0.05;
/// Of the recorder's own time: less may be a few preemptions, as it passes on the clock.
const MIN_OWN_NS: f64 = 100e6;

const ENDED: Spec = Spec {
    name: "ended_cleanly",
    fault: "the run did not end cleanly",
    expected: "finished",
    severity: Severity::Error,
    suggestion: "call Recorder::finish before the program ends, so that the end of the run is recorded",
};
const DROPPED: Spec = Spec {
    name: "nothing_dropped",
    fault: "dropped events",
    expected: "0 dropped events",
    severity: Severity::Error,
    suggestion: "raise Builder::growth_bytes or Builder::ring_records, or record with Overflow::Block",
};
const READ: Spec = Spec {
    name: "all_rows_read",
    fault: "rows that cannot be read",
    expected: "0 rows lost",
    severity: Severity::Error,
    suggestion: "the damaged segments are listed under problems; record again, or read the figures without them",
};
const COVERAGE: Spec = Spec {
    name: "coverage",
    fault: "coverage of the wall by recorded work",
    expected: "above 0, at most 1",
    severity: Severity::Error,
    suggestion: "record bricks, functions or kernels around the work; a value above 1 means times outside the run",
};
const TOGETHER: Spec = Spec {
    name: "one_timeline",
    fault: "holes without recorded work",
    expected: "holes of at least 10 minutes take less than 99 % of wall",
    severity: Severity::Error,
    suggestion: "some times probably come from another clock or recording, so shares of the wall are meaningless; look at one group of rows with --from and --to",
};
const COST: Spec = Spec {
    name: "recorder_cost",
    fault: "cost of recording",
    expected: "at most 5 % of wall",
    severity: Severity::Warning,
    suggestion: "record fewer levels (Builder::without_table(\"tiles\")), or longer bricks",
};

/// As [`COST`], where spans are the smaller part.
const COST_OF_THREADS: Spec = Spec {
    suggestion: "most of this is the recorder's own, and not the program's: times of threads that record little include it; keep threads in a pool, or give Builder::ring_records more",
    ..COST
};

/// `ended_cleanly`, `nothing_dropped`, `all_rows_read`.
pub fn ending(facts: &Facts) -> [Check; 3] {
    let ended = match (facts.clean_end, facts.state.as_deref()) {
        (Some(true), state) => ENDED.pass(state.unwrap_or("finished"), "the recorder closed every file"),
        (Some(false), state) => ENDED.fail(
            state.unwrap_or("an unknown state"),
            1,
            "the recorder did not close the run: it is still recording, was killed, or could not write",
        ),
        (None, _) => ENDED.not_measurable("the run does not record how it ended"),
    };
    let dropped = match facts.dropped {
        Some(count) => DROPPED
            .counted(
                count,
                "events dropped because the ring of their thread was full",
            )
            .evidence("SELECT thread, name, dropped FROM threads WHERE dropped > 0"),
        None => DROPPED.not_measurable("the run does not record how many events were dropped"),
    };
    let read = match facts.rows_lost {
        Some(0) if facts.verified < facts.segments => READ.not_measurable(format!(
            "{} of {} could not be verified",
            facts.segments - facts.verified,
            counted(facts.segments, "segment", "segments")
        )),
        Some(lost) => READ.counted(
            lost,
            format!(
                "{} read from {}",
                counted(facts.rows_read, "row", "rows"),
                counted(facts.segments, "segment", "segments")
            ),
        ),
        None => READ.not_measurable("the number of rows is not known"),
    };
    let damaged = "SELECT \"table\", segment, rows_lost, problem FROM segments WHERE rows_lost > 0 OR verified = FALSE";
    [ended, dropped, read.evidence(damaged)]
}

/// Share of the wall time in which at least one brick, function or task row,
/// kernel, tile, call or transfer was running on any lane (union), of several ranks
/// their mean. Bound and invalid rows do not tell when anything ran.
pub fn coverage(facts: &Facts, tallies: &Tallies) -> Check {
    let Some(wall_ns) = facts.wall_ns.filter(|wall_ns| *wall_ns > 0) else {
        return COVERAGE.not_measurable("the length of the run is not known");
    };
    if !tallies.work.is_told {
        return COVERAGE.not_measurable("nothing was recorded that shows when work ran");
    }
    let ranks = facts.ranks.unwrap_or(1).max(1);
    let share = tallies.work.covered_ns as f64 / (wall_ns as f64 * ranks as f64);
    let found = share_text(share);
    if share > 0.0 && share <= 1.0 {
        let mean = if ranks > 1 { ", mean of the ranks" } else { "" };
        COVERAGE.pass(
            found,
            format!("share of the wall with recorded work running on any lane{mean}"),
        )
    } else {
        COVERAGE.fail(
            found,
            1,
            "recorded work covers none of the wall time, or more than all of it",
        )
    }
}

/// Four decimals, or as many as two digits of a smaller share need: only a share of 0 is shown as 0.
fn share_text(share: f64) -> String {
    let decimals = if share > 0.0 && share < 0.001 {
        (1.0 - share.log10()).ceil() as usize
    } else {
        4
    };
    format!("{share:.decimals$}")
}

/// The check fails if holes between groups of times make up at least this share of the wall time.
const HOLES_SHARE: f64 = 0.99;

/// Checks for groups of times so far apart that they cannot belong to one run of a program.
pub fn one_timeline(facts: &Facts, tallies: &Tallies) -> Check {
    let Some(wall_ns) = facts.wall_ns.filter(|_| tallies.work.is_told) else {
        return TOGETHER.not_measurable("nothing was recorded that shows when work ran");
    };
    let holes = tallies.work.holes(wall_ns);
    let Some(longest) = holes.iter().max_by_key(|(from, to)| to - from) else {
        return TOGETHER.pass("0", "holes of at least 10 minutes without recorded work");
    };
    let holes_ns: i64 = holes
        .iter()
        .map(|(from, to)| i64::saturating_sub(*to, *from))
        .fold(0, i64::saturating_add);
    let share = holes_ns as f64 / wall_ns as f64;
    let seconds = |ns: i64| ns as f64 / 1e9;
    let count = counted(holes.len() as u64, "hole", "holes");
    let found = format!("{count}, {:.2} % of wall", 100.0 * share);
    let (from_ns, to_ns) = *longest;
    let detail = format!(
        "{:.0} s without recorded work; the longest from {:.3} s to {:.3} s",
        seconds(holes_ns),
        seconds(from_ns),
        seconds(to_ns)
    );
    if share < HOLES_SHARE {
        return TOGETHER.pass(found, detail);
    }
    let check = TOGETHER.fail(found, holes.len() as u64, detail);
    check.evidence(format!(
        "SELECT 'bricks' AS \"table\", id, start_ns, dur_ns FROM bricks WHERE start_ns >= {to_ns} \
         UNION ALL SELECT 'kernels', id, start_ns, dur_ns FROM kernels WHERE start_ns >= {to_ns}"
    ))
}

/// Share of the wall time that recording took: the cost of a span, measured at the start, times rows recorded through
/// guards, and what the recorder measured of its own time beside them; over the wall of each rank. Threads share it, so
/// it is an upper bound.
pub fn cost(facts: &Facts, tallies: &Tallies) -> Check {
    let (Some(cost_ns), Some(wall_ns)) = (
        facts.cost_ns_per_span,
        facts.wall_ns.filter(|wall_ns| *wall_ns > 0),
    ) else {
        return COST.not_measurable("the cost of a span or the length of the run is not known");
    };
    let spans = tallies.rows();
    let walls_ns = wall_ns as f64 * facts.ranks.unwrap_or(1) as f64;
    let own_ns = facts.recorder_ns.unwrap_or(0) as f64;
    let spans_ns = cost_ns * spans as f64;
    let share = (spans_ns + own_ns) / walls_ns;
    let found = format!("{:.2} % of wall", 100.0 * share);
    let mut detail = format!(
        "{cost_ns:.1} ns a span, measured at the start, times {spans} rows with a duration"
    );
    let ms = |ns: f64| ns / 1e6;
    match facts.recorder_ns {
        Some(_) => {
            detail += &format!(
                ", and {:.3} ms measured for the begin and end of threads, longer rings and waits for the writer",
                ms(own_ns)
            )
        }
        None => detail += "; what threads and rings cost was not measured",
    }
    if let Some(cpu_ns) = facts.recorder_cpu_ns {
        detail += &format!(
            "; its own thread took {:.3} ms of CPU time beside the program",
            ms(cpu_ns as f64)
        );
    }
    if spans_ns / walls_ns > COST_SHARE {
        COST.fail(found, 1, detail)
    } else if share > COST_SHARE && own_ns >= MIN_OWN_NS {
        COST_OF_THREADS.fail(found, 1, detail)
    } else {
        COST.pass(found, detail)
    }
}
