//! Operators of two runs, by name and signature.

use std::collections::BTreeMap;

use trueno_plugin::{Finding, Severity, Table, TableBuilder};

use crate::groups::TimedOn;
use crate::judged::Judged;
use crate::rows::Row;

/// Name, dims, types, strides and arguments.
type Key<'a> = [Option<&'a str>; 5];

#[derive(Clone, Copy, Debug, Default)]
struct OfRun {
    calls: u64,
    counted_ns: i64,
    counted_calls: u64,
    /// Time at the roof and the measured time, if there is a place.
    at_roof: Option<(f64, f64)>,
}

impl OfRun {
    /// Adds a row. Devices with different names or ceilings have separate rows.
    fn add(&mut self, row: &Row, on: Option<TimedOn>) {
        self.calls = self.calls.saturating_add(row.sums.calls);
        self.counted_ns = self.counted_ns.saturating_add(row.sums.counted_ns);
        self.counted_calls = self.counted_calls.saturating_add(row.sums.counted_calls);
        if let (Some(place), Some(total)) = (row.placed(), on.and_then(|on| row.total(on))) {
            let (roof_ns, time_ns) = self.at_roof.get_or_insert((0.0, 0.0));
            *roof_ns += place.roof_ns;
            *time_ns += total.time_ns as f64;
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Compared<'a> {
    key: Key<'a>,
    run: Option<OfRun>,
    baseline: Option<OfRun>,
}

impl Compared<'_> {
    fn counted_ns(of: Option<OfRun>) -> i64 {
        of.map_or(0, |of| of.counted_ns)
    }

    /// Counted time in this run minus that in the baseline.
    pub fn change_ns(&self) -> i64 {
        Self::counted_ns(self.run).saturating_sub(Self::counted_ns(self.baseline))
    }

    fn standing(&self) -> &'static str {
        match (self.run, self.baseline) {
            (Some(_), Some(_)) => "both",
            (Some(_), None) => "run",
            _ => "baseline",
        }
    }
}

/// Operators of both runs with counted time in at least one, largest change first.
pub fn compared<'a>(run: &'a Judged, baseline: &'a Judged) -> Vec<Compared<'a>> {
    let mut all: BTreeMap<Key<'a>, Compared<'a>> = BTreeMap::new();
    for (side, is_run) in [(run, true), (baseline, false)] {
        for row in &side.rows {
            let key = [
                Some(row.name.as_str()),
                row.recorded.dims.as_deref(),
                row.recorded.types.as_deref(),
                row.recorded.strides.as_deref(),
                row.recorded.concrete.as_deref(),
            ];
            let of = all.entry(key).or_insert(Compared {
                key,
                run: None,
                baseline: None,
            });
            let of = if is_run {
                &mut of.run
            } else {
                &mut of.baseline
            };
            of.get_or_insert_default().add(row, side.on);
        }
    }
    let has_time = |of: &Compared<'_>| [of.run, of.baseline].map(Compared::counted_ns) != [0, 0];
    let mut out: Vec<Compared<'a>> = all.into_values().filter(has_time).collect();
    // By key where they are equal: the sort is stable.
    out.sort_by_key(|of| std::cmp::Reverse(of.change_ns().unsigned_abs()));
    out
}

/// Table `against_baseline`. `standing` is `both`, `run` or `baseline`. `change_ns` is this run minus the baseline.
/// `time_ratio` is the time per call in this run divided by that in the baseline.
pub fn table(rows: &[Compared<'_>]) -> TableBuilder {
    let texts = |at: usize| rows.iter().map(move |of| of.key[at]);
    let counted = |of: Option<OfRun>| of.map(|of| of.counted_ns);
    let calls = |of: Option<OfRun>| of.map(|of| of.calls);
    let share = |of: Option<OfRun>| {
        let (roof_ns, time_ns) = of?.at_roof?;
        Some(roof_ns / time_ns)
    };
    let a_call = |of: Option<OfRun>| {
        let of = of?;
        (of.counted_calls > 0).then(|| of.counted_ns as f64 / of.counted_calls as f64)
    };
    let ratio = |of: &Compared<'_>| {
        let ratio = a_call(of.run)? / a_call(of.baseline)?;
        ratio.is_finite().then_some(ratio)
    };
    Table::build("against_baseline")
        .text("name", texts(0))
        .text("input_dims", texts(1))
        .i64("change_ns", rows.iter().map(Compared::change_ns))
        .i64("counted_ns", rows.iter().map(|of| counted(of.run)))
        .i64(
            "baseline_counted_ns",
            rows.iter().map(|of| counted(of.baseline)),
        )
        .f64("time_ratio", rows.iter().map(ratio))
        .u64("calls", rows.iter().map(|of| calls(of.run)))
        .u64("baseline_calls", rows.iter().map(|of| calls(of.baseline)))
        .f64("efficiency_share", rows.iter().map(|of| share(of.run)))
        .f64(
            "baseline_efficiency_share",
            rows.iter().map(|of| share(of.baseline)),
        )
        .text("standing", rows.iter().map(Compared::standing))
        .text("input_types", texts(2))
        .text("input_strides", texts(3))
        .text("concrete_inputs", texts(4))
}

pub fn finding(rows: &[Compared<'_>]) -> Option<Finding> {
    let first = rows.first()?;
    let sum = |of: fn(&Compared<'_>) -> i64| rows.iter().map(of).fold(0_i64, i64::saturating_add);
    let here_ns = sum(|of| Compared::counted_ns(of.run));
    let there_ns = sum(|of| Compared::counted_ns(of.baseline));
    if there_ns <= 0 {
        return None;
    }
    let change = 100.0 * (here_ns as f64 / there_ns as f64 - 1.0);
    let title = format!(
        "operators took {:.3} ms, {:.1} % {} than in the baseline ({:.3} ms)",
        here_ns as f64 / 1e6,
        change.abs(),
        if change < 0.0 { "less" } else { "more" },
        there_ns as f64 / 1e6
    );
    let detail = format!(
        "the largest change is {} {}: {:+.3} ms (one run each, so this may be noise)",
        first.key[0].unwrap_or_default(),
        first.key[1].unwrap_or_default(),
        first.change_ns() as f64 / 1e6
    );
    Some(
        Finding::new("against_baseline", Severity::Info, title)
            .detail(detail)
            .evidence(
                "SELECT name, input_dims, change_ns, time_ratio FROM operators.against_baseline",
            ),
    )
}
