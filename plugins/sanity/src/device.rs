//! Checks of kernels, the clock and tensors.

use trueno_analysis::wording::time;
use trueno_plugin::Severity;

use crate::check::{Check, Spec};
use crate::facts::Facts;
use crate::tallies::{Marked, Tallies};

/// Largest relative deviation of a clock rate from the median.
const MAX_DEVIATION: f64 = 500e-6;

const LAUNCH: Spec = Spec {
    name: "kernels_after_launch",
    fault: "kernels that begin before their launch",
    expected: "0 kernels before their launch",
    severity: Severity::Error,
    suggestion: "launch delays are wrong by up to that difference of the clocks of host and device",
};
const VALID: Spec = Spec {
    name: "valid_kernels",
    fault: "kernels without valid times",
    expected: "0 invalid kernels",
    severity: Severity::Warning,
    suggestion: "their times are left out everywhere; column reason says why",
};
const BOUND: Spec = Spec {
    name: "bound_rows",
    fault: "rows that only bound their work",
    expected: "0 rows that only bound their work",
    severity: Severity::Warning,
    suggestion: "record with a device clock, or synchronise around the work; bound rows are counted, never added up",
};
const GRAPH: Spec = Spec {
    name: "graph_replay",
    fault: "replayed kernels under no brick",
    expected: "every replayed kernel under a brick",
    severity: Severity::Warning,
    suggestion: "a replayed graph hides the bricks it was captured from; profile with eager launches to see them",
};
const GRAPHS: Spec = Spec {
    name: "graphs_with_work",
    fault: "graph launches without any kernel",
    expected: "kernels of every launched graph",
    severity: Severity::Error,
    suggestion: "idle time is not known where launched work is missing: record kernels of graphs one by one (nsys \
                 --cuda-graph-trace=node), and end the recording after the device",
};
const CLOCK: Spec = Spec {
    name: "clock_rate",
    fault: "deviation of the clock rate",
    expected: "within 500 ppm of the median",
    severity: Severity::Error,
    suggestion: "the clock stepped or changed its rate (suspended machine, live migration): durations across it are wrong",
};
const TENSORS: Spec = Spec {
    name: "tensors_without_nan",
    fault: "checksums with NaN",
    expected: "0 tensors with NaN",
    severity: Severity::Warning,
    suggestion: "start with the earliest of them",
};

pub fn checks(facts: &Facts, tallies: &Tallies) -> [Check; 7] {
    [
        launches(facts, &tallies.launches, tallies.early_ns),
        valid(tallies),
        bound(tallies),
        graph(tallies.tables[0].rows, &tallies.graph_kernels),
        graphs(&tallies.graph_launches),
        clock(tallies),
        tensors(&tallies.checksums),
    ]
}

/// Clocks that differ by less than this share of the wall time change little.
const LITTLE: f64 = 0.001;
const MUCH: f64 = 0.01;

fn launches(facts: &Facts, launches: &Marked, early_ns: u64) -> Check {
    if launches.all == 0 {
        return LAUNCH
            .not_measurable("no kernel of a device is linked to the call that launched it");
    }
    let sql = "SELECT k.id, c.start_ns AS call_start_ns, k.start_ns FROM calls AS c JOIN kernels AS k \
               ON c.correlation = k.correlation WHERE k.start_ns < c.start_ns";
    let wall_ns = facts.wall_ns.filter(|wall_ns| *wall_ns > 0);
    let severity = match wall_ns.map(|wall_ns| early_ns as f64 / wall_ns as f64) {
        Some(share) if share < LITTLE => Severity::Info,
        Some(share) if share < MUCH => Severity::Warning,
        _ => LAUNCH.severity,
    };
    let mut detail = format!("of {} linked kernels", launches.all);
    if launches.marked > 0 {
        let at_most = time(i64::try_from(early_ns).unwrap_or(i64::MAX));
        detail.push_str(&format!("; the clocks differ by {at_most} or more"));
    }
    let spec = Spec { severity, ..LAUNCH };
    spec.counted(launches.marked, detail).evidence(sql)
}

fn valid(tallies: &Tallies) -> Check {
    let all = tallies.tables[1].rows;
    if all == 0 {
        return VALID.not_measurable("no kernel was recorded");
    }
    let invalid = &tallies.invalid_kernels;
    // By reason; those without one come last.
    let given = invalid.iter().filter(|(reason, _)| reason.is_some());
    let none = invalid.iter().filter(|(reason, _)| reason.is_none());
    let reasons: Vec<String> = given
        .chain(none)
        .map(|(reason, kernels)| {
            let reason = reason.as_deref().unwrap_or("no reason given");
            format!("{kernels} × {reason}")
        })
        .collect();
    let bad = invalid.values().copied().fold(0, u64::saturating_add);
    let detail = if reasons.is_empty() {
        format!("of {all} kernels")
    } else {
        reasons.join("; ")
    };
    VALID
        .counted(bad, detail)
        .evidence("SELECT id, name, reason FROM kernels WHERE valid = FALSE")
}

fn bound(tallies: &Tallies) -> Check {
    let rows = tallies.rows();
    if rows == 0 {
        return BOUND.not_measurable("no row with a duration was recorded");
    }
    let bad = tallies.sum(|counts| counts.bound);
    BOUND.counted(bad, format!("of {rows} rows"))
}

fn graph(bricks: u64, kernels: &Marked) -> Check {
    if kernels.all == 0 {
        return GRAPH.not_measurable("no replayed graph was recorded");
    }
    if bricks == 0 {
        return GRAPH.not_measurable("no brick was recorded");
    }
    GRAPH.counted(
        kernels.all.saturating_sub(kernels.marked),
        format!("of {} kernels of replayed graphs", kernels.all),
    )
}

/// A graph launched last may run after the end of the recording.
const MAX_EMPTY_GRAPHS: u64 = 1;

fn graphs(launches: &Marked) -> Check {
    if launches.all == 0 || launches.marked == 0 {
        return GRAPHS.not_measurable("no launch of a graph is linked to any of its kernels");
    }
    let empty = launches.all.saturating_sub(launches.marked);
    let found = format!("{empty} of {}", launches.all);
    let detail = "launches of graphs without any kernel";
    if empty <= MAX_EMPTY_GRAPHS {
        return GRAPHS.pass(found, detail);
    }
    GRAPHS.fail(found, empty, detail).evidence(
        "SELECT c.id, c.name, c.start_ns FROM calls AS c LEFT JOIN kernels AS k ON c.correlation = k.correlation \
         WHERE c.name LIKE '%GraphLaunch%' AND k.id IS NULL ORDER BY c.start_ns",
    )
}

fn clock(tallies: &Tallies) -> Check {
    let readings = tallies.clock.readings;
    let Some(deviation) = tallies.clock.deviation else {
        return CLOCK.not_measurable(format!(
            "{readings} readings of the clocks; three, at least 10 ms apart, are needed"
        ));
    };
    let found = format!("{:.1} ppm", 1e6 * deviation);
    let detail = format!("largest deviation between {readings} readings of both clocks");
    if deviation <= MAX_DEVIATION {
        CLOCK.pass(found, detail)
    } else {
        CLOCK
            .fail(found, 1, detail)
            .evidence("SELECT ticks, host_ns FROM clock_pairs ORDER BY host_ns")
    }
}

fn tensors(checksums: &Marked) -> Check {
    if checksums.all == 0 {
        return TENSORS.not_measurable("no checksum of floating-point elements was recorded");
    }
    let sql = "SELECT name, layer, iteration, nan_count, time_ns FROM checksums WHERE nan_count > 0 ORDER BY time_ns";
    TENSORS
        .counted(checksums.marked, format!("of {} checksums", checksums.all))
        .evidence(sql)
}
