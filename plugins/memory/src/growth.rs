//! Growth of live bytes from iteration to iteration.

use std::collections::BTreeMap;

use trueno_analysis::quantiles::median;
use trueno_analysis::window::Window;
use trueno_plugin::{Result, Run, Table, TableBuilder, rank};

use crate::Options;
use crate::events::Events;
use crate::live::peaks;
use crate::pools::{Pool, Step, cell};
use crate::trend::{MIN_VALUES, Trend, trend};

/// Largest number of iterations that are used; more are thinned evenly.
pub const MAX_ITERATIONS: usize = 1000;
const TAGS: usize = 50;

/// Ends of the iterations that lie entirely in the window, by rank: those of the thread with the most.
#[derive(Clone, Debug, Default)]
pub struct Ends(BTreeMap<Option<u64>, Vec<i64>>);

impl Ends {
    /// Reads input `iterations`.
    ///
    /// # Errors
    /// It lacks a column or has it in another type.
    pub fn load(run: &mut Run, has_ranks: bool, window: Option<Window>) -> Result<Self> {
        let table = run.table("iterations")?;
        let (thread, end) = (table.i64("thread")?, table.i64("end_ns")?);
        let start = table.i64("start_ns")?;
        let inside = |start_ns: i64, end_ns: i64| {
            window.is_none_or(|window| window.contains(start_ns, end_ns))
        };
        let mut threads: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for row in 0..table.rows() {
            if let (Some(thread), Some(start_ns), Some(end_ns)) =
                (thread.get(row), start.get(row), end.get(row))
                && inside(start_ns, end_ns)
            {
                threads.entry(thread).or_default().push(end_ns);
            }
        }
        Ok(Self::from_threads(threads, has_ranks))
    }

    pub fn from_threads(threads: BTreeMap<i64, Vec<i64>>, has_ranks: bool) -> Self {
        let mut out: BTreeMap<Option<u64>, Vec<i64>> = BTreeMap::new();
        for (thread, mut ends) in threads {
            let rank = has_ranks.then(|| u64::try_from(rank::of_place(thread).0).unwrap_or(0));
            ends.sort_unstable();
            let found = out.entry(rank).or_default();
            if ends.len() > found.len() {
                *found = ends;
            }
        }
        Self(out)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// Index into [`Events::tags`]; `None`: all tags together.
    pub tag: Option<usize>,
    pub iterations: usize,
    pub ends: Option<(i128, i128)>,
    pub median: f64,
    /// Trend per iteration; `None` for fewer than [`MIN_VALUES`] iterations.
    pub trend: Option<Trend>,
    /// Trend of the second half; `None` for fewer than [`MIN_VALUES`] iterations in it.
    pub later: Option<Trend>,
}

impl Growth {
    /// One of grows, levelled off, shrinks, no trend, cannot tell. Growth that stops in the second half is a
    /// cache that has filled up and counts as levelled off.
    pub fn verdict(&self, p: f64) -> &'static str {
        match self.trend {
            None => "cannot tell",
            Some(trend) if trend.p >= p || trend.slope == 0.0 => "no trend",
            Some(trend) if trend.slope > 0.0 => match self.later {
                Some(later) if later.p >= p || later.slope <= 0.0 => "levelled off",
                _ => "grows",
            },
            Some(_) => "shrinks",
        }
    }

    /// Growth over all iterations / median of live bytes.
    pub fn share(&self) -> Option<f64> {
        let rise = self.trend?.slope * (self.iterations - 1) as f64;
        (self.median > 0.0).then(|| rise / self.median)
    }
}

/// Live bytes at each end, including changes at that very time.
pub fn at_ends<'a>(steps: impl IntoIterator<Item = &'a Step>, ends: &[i64]) -> Vec<i128> {
    let mut steps = steps.into_iter().peekable();
    let mut live = 0;
    let mut out = Vec::with_capacity(ends.len());
    for end in ends {
        while let Some(step) = steps.next_if(|step| step.time_ns <= *end) {
            live += i128::from(step.delta);
        }
        out.push(live);
    }
    out
}

/// Growth of all tags together if there are several, then of each tag.
pub fn growth_by_tag(events: &Events, pool: &Pool, ends: &Ends) -> Vec<Growth> {
    let none = Vec::new();
    let ends = ends.0.get(&events.places[pool.place].rank).unwrap_or(&none);
    let stride = ends.len().div_ceil(MAX_ITERATIONS).max(1);
    let seen: Vec<i64> = ends.iter().copied().step_by(stride).collect();
    let one = |tag: Option<usize>| {
        let steps = pool
            .steps
            .iter()
            .filter(|step| tag.is_none_or(|tag| step.tag as usize == tag));
        let live = at_ends(steps, &seen);
        let mut values: Vec<f64> = live.iter().map(|bytes| *bytes as f64).collect();
        let per_iteration = |values: &[f64]| {
            let found = trend(values).filter(|_| ends.len() >= MIN_VALUES)?;
            let slope = found.slope / stride as f64;
            Some(Trend { slope, ..found })
        };
        let (found, later) = (
            per_iteration(&values),
            per_iteration(&values[values.len() / 2..]),
        );
        Growth {
            tag,
            iterations: ends.len(),
            ends: live.first().copied().zip(live.last().copied()),
            median: median(&mut values).unwrap_or(0.0),
            trend: found,
            later,
        }
    };
    let tags = peaks(pool);
    let of_tags = tags.iter().take(TAGS).map(|(tag, _)| one(Some(*tag)));
    match tags.len() {
        1 => of_tags.collect(),
        _ => std::iter::once(one(None)).chain(of_tags).collect(),
    }
}

/// Table `growth`: live bytes at the ends of iterations, of all tags together if there are several, then of the
/// largest tags. `bytes_per_iteration` is the Theil–Sen slope. `growth_share` = slope × (iterations − 1) / median.
/// `p` is that of the two-sided Mann–Kendall test. `verdict`: grows or shrinks if p is below option `p` and the
/// slope is not 0; levelled off if it grows but its second half does not; no trend; cannot tell for fewer than 8
/// iterations. More than 1,000 iterations are thinned evenly.
pub fn table(events: &Events, pools: &[Pool], options: &Options) -> TableBuilder {
    let rows: Vec<(usize, &Growth)> = pools
        .iter()
        .flat_map(|pool| pool.growth.iter().map(|growth| (pool.place, growth)))
        .collect();
    let tag = |growth: &Growth| match growth.tag {
        None => "all tags".to_owned(),
        Some(tag) => events.tag_name(tag).to_owned(),
    };
    Table::build("growth")
        .text("place", rows.iter().map(|row| events.places[row.0].name()))
        .text("tag", rows.iter().map(|row| tag(row.1)))
        .u64("iterations", rows.iter().map(|row| row.1.iterations as u64))
        .i64(
            "first_bytes",
            rows.iter().map(|row| row.1.ends.map(|ends| cell(ends.0))),
        )
        .i64(
            "last_bytes",
            rows.iter().map(|row| row.1.ends.map(|ends| cell(ends.1))),
        )
        .f64(
            "bytes_per_iteration",
            rows.iter().map(|row| row.1.trend.map(|trend| trend.slope)),
        )
        .f64("growth_share", rows.iter().map(|row| row.1.share()))
        .f64("p", rows.iter().map(|row| row.1.trend.map(|trend| trend.p)))
        .text("verdict", rows.iter().map(|row| row.1.verdict(options.p)))
}
