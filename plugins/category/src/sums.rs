//! Totals by texts instead of numbers, which those of several ranks can be added to.

use std::collections::BTreeMap;

use trueno_analysis::lanes::{LaneKey, LaneKind, Lanes, LeftOut};
use trueno_analysis::quantiles::Quantiles;
use trueno_analysis::value_counts::ValueCounts;

use crate::totals::{LabelTotal, LaneTotal, Totals, for_each_label, totals};

/// A label on one kind of lane. The derived order breaks ties between rows of equal self time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LabelKey {
    pub lane_kind: LaneKind,
    pub name: String,
    pub kind: String,
    pub category: String,
    /// Number of the label's class. It tells a brick whose kind is `kernel` from a device kernel.
    pub class: u64,
}

/// Sums of a label. `D` is [`Quantiles`], or [`ValueCounts`] while other ranks can still be added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSum<D> {
    pub total: LabelTotal,
    pub durations: D,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneSum {
    pub key: LaneKey,
    /// Name in reports; for the first thread of a pool, the pool's heading.
    pub name: String,
    pub total: LaneTotal,
    /// The name with the most self time of those that neither wait nor frame other work, and that time.
    pub most: Option<(String, i64)>,
    /// First start and last end, as [`Lane::life`](trueno_analysis::lanes::Lane::life).
    pub life: Option<(i64, i64)>,
    pub pool: Option<i64>,
    /// How many lanes this one counts as: 1, or for the first thread of a pool the number of its threads alive
    /// at once. The pool's other threads count as 0.
    pub lanes: u64,
}

impl LaneSum {
    /// Part of the window between the lane's first row and its last, or the whole window if these are unknown.
    /// Computed on demand, because a run whose end was not recorded has a known length only once all ranks are
    /// read.
    pub fn alive_ns(&self, wall_ns: i64) -> i64 {
        let (first_ns, last_ns) = self.life.unwrap_or((0, wall_ns));
        last_ns.min(wall_ns).saturating_sub(first_ns.max(0)).max(0)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums<D> {
    pub wall_ns: i64,
    /// True if the report covers a window of the run, not all of it.
    pub is_part: bool,
    pub left_out: LeftOut,
    pub labels: BTreeMap<LabelKey, LabelSum<D>>,
    /// Union of the intervals of a category, summed over lanes.
    pub categories: BTreeMap<(LaneKind, String), i64>,
    pub lanes: Vec<LaneSum>,
}

impl<D> Sums<D> {
    pub fn new(run: &Lanes, mut durations: impl FnMut(&mut [i64]) -> D) -> Self {
        let totals = totals(run);
        let mut out = Self {
            wall_ns: run.wall_ns,
            is_part: run.is_part,
            left_out: run.left_out,
            labels: BTreeMap::new(),
            categories: BTreeMap::new(),
            lanes: lanes(run, &totals),
        };
        let text = |number| run.texts.text(number).to_owned();
        for kind in LaneKind::ALL {
            for_each_label(run, &totals, kind, |number, dur_ns| {
                let total = *totals.label(kind, number);
                if total.calls + total.bound_calls == 0 {
                    return;
                }
                let label = run.labels.get(number);
                let category_ns = totals.category_ns(kind, label.category);
                out.categories
                    .insert((kind, text(label.category)), category_ns);
                let key = LabelKey {
                    lane_kind: kind,
                    name: text(label.name),
                    kind: text(label.kind),
                    category: text(label.category),
                    class: label.class as u64,
                };
                let durations = durations(dur_ns);
                out.labels.insert(key, LabelSum { total, durations });
            });
        }
        out
    }

    pub fn category_ns(&self, kind: LaneKind, category: &str) -> i64 {
        let found = self.categories.get(&(kind, category.to_owned()));
        found.copied().unwrap_or(0)
    }
}

impl Sums<ValueCounts> {
    /// Replaces the value counts by quantiles; other ranks can no longer be added.
    pub fn into_quantiles(self) -> Sums<Option<Quantiles>> {
        let quantiles = |of: LabelSum<ValueCounts>| LabelSum {
            total: of.total,
            durations: of.durations.quantiles(),
        };
        let labels = self.labels.into_iter();
        Sums {
            wall_ns: self.wall_ns,
            is_part: self.is_part,
            left_out: self.left_out,
            labels: labels.map(|(key, of)| (key, quantiles(of))).collect(),
            categories: self.categories,
            lanes: self.lanes,
        }
    }
}

fn lanes(run: &Lanes, totals: &Totals) -> Vec<LaneSum> {
    let of_pool = |at: usize| {
        let pool = &totals.pools.pools[totals.pools.place(at)?.pool];
        match run.lanes[pool.threads[0]].key {
            LaneKey::Thread(first) => Some((pool, first?)),
            LaneKey::ThreadOfRank(_) | LaneKey::Stream(..) => None,
        }
    };
    let lanes = run.lanes.iter().zip(&totals.lanes).enumerate();
    let sums = lanes.map(|(at, (lane, &total))| {
        let pool = of_pool(at);
        let (name, lanes) = match pool {
            Some((pool, _)) if pool.threads[0] == at => (pool.heading(), pool.slots as u64),
            Some(_) => (lane.name.clone(), 0),
            None => (lane.name.clone(), 1),
        };
        LaneSum {
            key: lane.key,
            name,
            total,
            most: totals.most[at].map(|(label, ns)| {
                let name = run.labels.get(label).name;
                (run.texts.text(name).to_owned(), ns)
            }),
            life: lane.life,
            pool: pool.map(|(_, first)| first),
            lanes,
        }
    });
    sums.collect()
}
