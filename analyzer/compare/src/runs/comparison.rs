//! The whole comparison, as data.

use std::collections::BTreeSet;

use serde::Serialize;
use trueno_model::name_groups::NameGroups;

use super::comparability::{Aspect, Standing, comparability};
use super::counts::{CountRow, counts};
use super::functions::{self, Functions};
use super::jobs::{self, Jobs};
use super::operators::{self, Operators};
use super::side::Member;
use super::signatures::{self, SignatureRow};
use super::totals::{self, TotalRow};
use trueno_analysis::vendors;
use trueno_statistics::{
    Common, Compared, Kind, Name, Options, Pair, Sampled, Verdict, Verdicts, verdicts,
};

#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub options: Options,
    pub base: Vec<String>,
    pub run: Vec<String>,
    /// Incomplete runs and what they lack. Missing rows could change any verdict.
    pub incomplete: Vec<String>,
    pub comparability: Vec<Aspect>,
    /// Change common to all names, by place. Names are judged relative to it.
    pub common: Vec<Common>,
    /// Names on both sides, slower ones first, by what the change costs.
    pub names: Vec<Compared>,
    /// Device time by operator. Null if no run has operators or device work, or if operators are not compared.
    pub operators: Option<Operators>,
    /// Operators by name and shapes, the largest change first. Null if a side has no shapes.
    pub signatures: Option<Vec<SignatureRow>>,
    /// What functions took of the processor, by samples. Null if the runs have no samples of the same event.
    pub functions: Option<Functions>,
    /// Ranks and their collectives. Null if a run is not a job whose ranks met in collectives.
    pub jobs: Option<Jobs>,
    pub totals: Vec<TotalRow>,
    /// Changed parts of the critical path, the largest change first.
    pub path: Vec<PathRow>,
    pub counts: Vec<CountRow>,
    /// Number of names of which only part of the rows was examined.
    pub capped: usize,
    /// Distinct names of the devices of each side.
    #[serde(skip)]
    pub devices: [BTreeSet<String>; 2],
    /// Whether each run tells of exactly one device.
    #[serde(skip)]
    pub has_one_device: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct PathRow {
    /// `work`, `sync_wait`, …
    pub kind: String,
    pub name: String,
    /// Mean over the runs of the base.
    pub base_ns: f64,
    pub run_ns: f64,
    /// Of the side with more time, one call of a device's API took nearly all.
    #[serde(skip)]
    pub is_one_call: bool,
}

impl PathRow {
    pub fn change_ns(&self) -> f64 {
        self.run_ns - self.base_ns
    }
}

impl Comparison {
    /// Aspects that may matter, without those that another one summarizes.
    pub fn doubts(&self) -> impl Iterator<Item = &Aspect> {
        self.all_doubts().filter(|aspect| !aspect.is_detail)
    }

    pub fn all_doubts(&self) -> impl Iterator<Item = &Aspect> {
        let aspects = self.comparability.iter();
        aspects.filter(|aspect| aspect.standing != Standing::Same)
    }

    pub fn with(&self, verdict: Verdict) -> usize {
        let of = |name: &&Compared| name.verdict == verdict;
        self.names.iter().filter(of).count()
    }

    /// Names with enough rows to be judged.
    pub fn judged(&self) -> usize {
        self.names.iter().filter(|name| name.is_tested()).count()
    }

    pub fn is_slower(&self) -> bool {
        self.with(Verdict::Slower) > 0 || self.wholes().any(|verdict| verdict == Verdict::Slower)
    }

    pub fn is_faster(&self) -> bool {
        self.with(Verdict::Faster) > 0 || self.wholes().any(|verdict| verdict == Verdict::Faster)
    }

    fn wholes(&self) -> impl Iterator<Item = Verdict> {
        let common = self.common.iter().map(|common| common.verdict);
        common.chain(self.totals.iter().filter_map(|total| total.verdict))
    }

    pub fn is_beyond(&self, ratio: f64) -> bool {
        let most = 1.0 + self.options.threshold;
        ratio >= most || ratio <= 1.0 / most
    }

    /// Runs on the side with fewer runs.
    pub fn runs_a_side(&self) -> usize {
        self.base.len().min(self.run.len())
    }

    pub fn is_measurable(&self) -> bool {
        let decided = |total: &TotalRow| {
            total
                .verdict
                .is_some_and(|verdict| verdict != Verdict::CannotTell)
        };
        self.names.iter().any(Compared::is_tested)
            || self.totals.iter().any(decided)
            || self.functions.is_some()
    }
}

/// Compares two sides of at least one run each. Both were read with these groups of names.
pub fn compare(
    base: &[Member],
    run: &[Member],
    groups: &NameGroups,
    options: &Options,
) -> Comparison {
    let named = |members: &[Member]| -> BTreeSet<Name> {
        members
            .iter()
            .flat_map(|member| member.names.keys().cloned())
            .collect()
    };
    let common: Vec<Name> = named(base).intersection(&named(run)).cloned().collect();
    let steps = base.iter().chain(run);
    let step_ns = steps
        .filter_map(|member| member.facts.clock.resolution_ns)
        .reduce(f64::max);
    let pairs: Vec<Pair<'_>> = common
        .iter()
        .map(|name| Pair {
            name,
            base: base.iter().map(|member| member.names.get(name)).collect(),
            run: run.iter().map(|member| member.names.get(name)).collect(),
            step_ns,
        })
        .collect();
    let is_capped = |s: &&Sampled| s.timed() > s.durations.len() as u64;
    let capped = pairs
        .iter()
        .filter(|pair| pair.base.iter().chain(&pair.run).flatten().any(is_capped))
        .count();
    let Verdicts { mut names, common } = verdicts(&pairs, options);
    names.iter_mut().for_each(judge_copies_by_their_sum);
    // What costs most in all comes first.
    let cost = |c: &Compared| -(c.run_total_ns - c.base_total_ns).abs();
    names.sort_by(|a, b| {
        (a.verdict.cmp(&b.verdict))
            .then(cost(a).total_cmp(&cost(b)))
            .then(a.name.cmp(&b.name))
    });
    let shown = |members: &[Member]| members.iter().map(|member| member.shown.clone()).collect();
    Comparison {
        options: *options,
        base: shown(base),
        run: shown(run),
        incomplete: incomplete(base.iter().chain(run)),
        comparability: comparability(base, run),
        common,
        names,
        operators: operators(base, run, groups),
        signatures: signatures::compare(base, run),
        functions: functions::compare(base, run, options),
        jobs: jobs::compare(base, run),
        totals: totals::compare(base, run, options),
        path: paths(base, run),
        counts: counts(base, run),
        capped,
        devices: [base, run].map(super::devices::names),
        has_one_device: base.iter().chain(run).all(super::devices::is_one),
    }
}

/// A copy takes as long as its bytes need. Where their sum changed the other way, copies are larger or smaller, not slower
/// or faster.
fn judge_copies_by_their_sum(name: &mut Compared) {
    let is_longer = name.run_total_ns > name.base_total_ns;
    let is_contradicted = match name.verdict {
        Verdict::Slower => !is_longer,
        Verdict::Faster => is_longer,
        Verdict::Same | Verdict::CannotTell => false,
    };
    if name.name.kind == Kind::Transfer && is_contradicted {
        name.verdict = Verdict::CannotTell;
        name.why = Some("all copies together changed the other way: their sizes differ".to_owned());
    }
}

fn incomplete<'a>(members: impl Iterator<Item = &'a Member>) -> Vec<String> {
    let words = |member: &Member| {
        let missing = member.missing.as_ref()?;
        Some(format!("{}: {missing}", member.shown))
    };
    members.filter_map(words).collect()
}

/// Compares operators of the first run of each side, of the second, and so on.
fn operators(base: &[Member], run: &[Member], groups: &NameGroups) -> Option<Operators> {
    let pairs = base.iter().zip(run);
    let pairs = pairs.map(|(base, run)| Some((base.operators.as_ref()?, run.operators.as_ref()?)));
    let pairs: Vec<_> = pairs.collect::<Option<_>>()?;
    Some(operators::compare(&pairs, groups)).filter(|operators| !operators.is_empty())
}

/// Share of a call's time that one call of it takes if the others hardly matter.
const ONE_CALL: f64 = 0.9;

/// Whether in each run of a side one call of this name took nearly all of its time.
fn is_one_call(side: &[Member], name: &str) -> bool {
    let call = Name {
        kind: Kind::Call,
        name: name.to_owned(),
    };
    vendors::call(name).is_some()
        && side.iter().all(|member| {
            let sampled = member.names.get(&call);
            sampled.is_some_and(|of| {
                let longest = of.durations.iter().copied().fold(0.0, f64::max);
                longest > 0.0 && longest >= ONE_CALL * of.total_ns
            })
        })
}

/// Empty if any run has no path.
fn paths(base: &[Member], run: &[Member]) -> Vec<PathRow> {
    if base.iter().chain(run).any(|member| member.path.is_none()) {
        return Vec::new();
    }
    let paths = base
        .iter()
        .chain(run)
        .filter_map(|member| member.path.as_ref());
    let keys: BTreeSet<&(String, String)> = paths.flat_map(|path| path.keys()).collect();
    let mean = |members: &[Member], key: &(String, String)| {
        let paths = members.iter().filter_map(|member| member.path.as_ref());
        let times = paths.map(|path| path.get(key).copied().unwrap_or(0));
        let sum = times.fold(0, i64::saturating_add);
        sum as f64 / members.len() as f64
    };
    let mut rows: Vec<PathRow> = keys
        .into_iter()
        .map(|key| PathRow {
            kind: key.0.clone(),
            name: key.1.clone(),
            base_ns: mean(base, key),
            run_ns: mean(run, key),
            is_one_call: false,
        })
        .collect();
    for row in rows.iter_mut().filter(|row| row.kind == "work") {
        let side = if row.base_ns > row.run_ns { base } else { run };
        row.is_one_call = is_one_call(side, &row.name);
    }
    rows.sort_by(|a, b| {
        let change = b.change_ns().abs().total_cmp(&a.change_ns().abs());
        change.then_with(|| (&a.kind, &a.name).cmp(&(&b.kind, &b.name)))
    });
    rows
}
