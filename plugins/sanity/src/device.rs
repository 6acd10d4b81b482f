//! Checks of kernels, the clock and tensors.

use trueno_analysis::quantiles::middle_pair;
use trueno_plugin::{Result, Run, Severity};

use crate::check::{Check, Spec};
use crate::scan::Scan;

/// Shorter intervals between two readings of the clocks say more of the reading than of the clocks.
const MIN_INTERVAL_NS: i64 = 10_000_000;
/// Distance at which a rate may lie from the median one.
const MAX_DEVIATION: f64 = 500e-6;

const LAUNCH: Spec = Spec {
    name: "kernels_after_launch",
    expected: "0 kernels before their launch",
    severity: Severity::Error,
    suggestion: "host and device clocks do not agree: launch delays and the critical path across them are wrong",
};
const VALID: Spec = Spec {
    name: "valid_kernels",
    expected: "0 invalid kernels",
    severity: Severity::Warning,
    suggestion: "their times are left out everywhere; the reasons stand in column reason",
};
const BOUND: Spec = Spec {
    name: "bound_rows",
    expected: "0 rows that only bound their work",
    severity: Severity::Warning,
    suggestion: "record with a device clock, or synchronise around the work; bound rows are counted, never added up",
};
const GRAPH: Spec = Spec {
    name: "graph_replay",
    expected: "every replayed kernel under a brick",
    severity: Severity::Warning,
    suggestion: "a replayed graph hides the bricks it was captured from; profile with eager launches to see them",
};
const CLOCK: Spec = Spec {
    name: "clock_rate",
    expected: "within 500 ppm of the median",
    severity: Severity::Error,
    suggestion: "the clock stepped or changed its rate (suspended machine, live migration): durations across it are wrong",
};
const TENSORS: Spec = Spec {
    name: "tensors_without_nan",
    expected: "0 tensors with NaN",
    severity: Severity::Warning,
    suggestion: "the first of them in time is where to look",
};

/// All checks of this file.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn checks(run: &mut Run, scan: &Scan) -> Result<[Check; 6]> {
    Ok([
        launches(run)?,
        valid(run, scan)?,
        bound(scan),
        graph(run)?,
        clock(run)?,
        tensors(run)?,
    ])
}

fn launches(run: &mut Run) -> Result<Check> {
    let table = run.table("launches")?;
    let (call, start) = (table.i64("call_start_ns")?, table.i64("start_ns")?);
    if table.is_empty() {
        return Ok(
            LAUNCH.not_measurable("no kernel of a device is linked to the call that launched it")
        );
    }
    let early = call
        .values()
        .iter()
        .zip(start.values())
        .filter(|(call, start)| start < call)
        .count();
    let sql = "SELECT k.id, c.start_ns AS call_start_ns, k.start_ns FROM calls AS c JOIN kernels AS k \
               ON c.correlation = k.correlation WHERE k.start_ns < c.start_ns";
    Ok(LAUNCH
        .counted(early as u64, format!("of {} linked kernels", table.rows()))
        .evidence(sql))
}

fn valid(run: &mut Run, scan: &Scan) -> Result<Check> {
    let table = run.table("invalid_kernels")?;
    let (reason, kernels) = (table.text("reason")?, table.i64("kernels")?);
    let all = scan.tables[1].rows;
    if all == 0 {
        return Ok(VALID.not_measurable("no kernel was recorded"));
    }
    let reasons: Vec<String> = (0..table.rows())
        .filter_map(|row| {
            let reason = reason.get(row).unwrap_or("no reason given");
            Some(format!("{} × {reason}", kernels.get(row)?))
        })
        .collect();
    let bad = sum(kernels.values()) as u64;
    let detail = if reasons.is_empty() {
        format!("of {all} kernels")
    } else {
        reasons.join("; ")
    };
    Ok(VALID
        .counted(bad, detail)
        .evidence("SELECT id, name, reason FROM kernels WHERE valid = FALSE"))
}

fn bound(scan: &Scan) -> Check {
    let rows = scan.rows();
    if rows == 0 {
        return BOUND.not_measurable("no row with a duration was recorded");
    }
    let bad = scan.tables.iter().map(|table| table.bound).sum();
    BOUND.counted(bad, format!("of {rows} rows"))
}

fn graph(run: &mut Run) -> Result<Check> {
    let table = run.table("graph_kernels")?;
    let count = |name| -> Result<i64> { Ok(sum(table.i64(name)?.values())) };
    let (kernels, with_brick) = (count("kernels")?, count("with_brick")?);
    if kernels == 0 {
        return Ok(GRAPH.not_measurable("no replayed graph was recorded"));
    }
    Ok(GRAPH.counted(
        (kernels - with_brick) as u64,
        format!("of {kernels} kernels of replayed graphs"),
    ))
}

fn clock(run: &mut Run) -> Result<Check> {
    let ranked = run.table("rank_clocks")?;
    let table = run.table("clock_pairs")?;
    let table = if ranked.is_missing() { &table } else { &ranked };
    let ranks = match ranked.is_missing() {
        true => vec![None; table.rows()],
        false => ranked.u64("rank")?.iter().collect(),
    };
    let readings = table.u64("ticks")?.iter().zip(table.i64("host_ns")?.iter());
    let pairs: Vec<(Option<u64>, (u64, i64))> = ranks
        .into_iter()
        .zip(readings)
        .filter_map(|(rank, (ticks, ns))| Some((rank, (ticks?, ns?))))
        .collect();
    // A rank's clock is compared with itself only; the worst of them counts.
    let clock = |pairs: &[(Option<u64>, (u64, i64))]| {
        let pairs: Vec<(u64, i64)> = pairs.iter().map(|(_, pair)| *pair).collect();
        deviation(&pairs)
    };
    let clocks = pairs.chunk_by(|a, b| a.0 == b.0).filter_map(clock);
    let worst = clocks.max_by(f64::total_cmp);
    Ok(match worst {
        None => CLOCK.not_measurable(format!(
            "{} readings of the clocks; three, at least 10 ms apart, are needed",
            pairs.len()
        )),
        Some(deviation) => {
            let found = format!("{:.1} ppm", 1e6 * deviation);
            let detail = format!(
                "largest deviation between {} readings of both clocks",
                pairs.len()
            );
            if deviation <= MAX_DEVIATION {
                CLOCK.pass(found, detail)
            } else {
                CLOCK
                    .fail(found, 1, detail)
                    .evidence("SELECT ticks, host_ns FROM clock_pairs ORDER BY host_ns")
            }
        }
    })
}

/// Largest relative distance of a rate (ticks by ns between two readings) from the median
/// rate (the upper one of two). Readings less than [`MIN_INTERVAL_NS`] after the last are skipped.
fn deviation(pairs: &[(u64, i64)]) -> Option<f64> {
    let mut rates = Vec::new();
    let mut last = *pairs.first()?;
    for &pair in &pairs[1..] {
        let ns = pair.1.saturating_sub(last.1);
        if ns >= MIN_INTERVAL_NS {
            rates.push((pair.0 as f64 - last.0 as f64) / ns as f64);
            last = pair;
        }
    }
    if rates.len() < 2 {
        return None;
    }
    let (_, median) = middle_pair(&mut rates, f64::total_cmp)?;
    Some(
        rates
            .iter()
            .map(|rate| (rate / median - 1.0).abs())
            .fold(0.0, f64::max),
    )
}

/// Ends at the largest number there is.
fn sum(counts: &[i64]) -> i64 {
    counts.iter().copied().fold(0, i64::saturating_add)
}

fn tensors(run: &mut Run) -> Result<Check> {
    let table = run.table("checksums")?;
    let counted = sum(table.i64("counted")?.values());
    let bad = sum(run.table("nan_checksums")?.i64("checksums")?.values());
    if counted == 0 {
        return Ok(TENSORS.not_measurable("no checksum of floating-point elements was recorded"));
    }
    let sql = "SELECT name, layer, iteration, nan_count, time_ns FROM checksums WHERE nan_count > 0 ORDER BY time_ns";
    Ok(TENSORS
        .counted(bad as u64, format!("of {counted} checksums"))
        .evidence(sql))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    #[test]
    fn a_steady_clock_does_not_deviate_and_a_step_does() {
        let steady: Vec<(u64, i64)> = (0..5).map(|n| (3 * n as u64 * S as u64, n * S)).collect();
        assert_eq!(deviation(&steady), Some(0.0));
        let mut stepped = steady.clone();
        stepped[3].0 += 6_000_000;
        let found = deviation(&stepped).unwrap();
        assert!((found - 2e-3).abs() < 1e-6, "{found}");
    }

    #[test]
    fn too_few_or_too_close_readings_tell_nothing() {
        assert_eq!(deviation(&[]), None);
        assert_eq!(deviation(&[(0, 0), (3, 20_000_000)]), None);
        assert_eq!(deviation(&[(0, 0), (3, 20_000_000), (9, 20_000_900)]), None);
    }
}
