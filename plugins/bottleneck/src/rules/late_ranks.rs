//! Load imbalance of ranks, by collectives: who comes first waits in it for the last.
//!
//! Evidence: kernels of collectives, the n-th of a name on each device being one collective; where it runs on all ranks at
//! once, and some rank began it before the last one did. Gain: Σ (last − mean begin): as if all came when they came on average. Ranks
//! whose collectives do not overlap have clocks that disagree, or other collectives: then it cannot be told.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::intervals::SaturatingSum;

use super::draft::Draft;
use super::gaps::SHOWN;
use super::{Options, Rule, imbalance, sync};
use crate::facts::{Facts, Work};
use crate::options::thresholds;
use crate::scheduling::one_after_another;
use crate::verdict::{Confidence, Verdicts};
use crate::wording::{count, many, percent, time};

/// One collective: its kernel on each device of each rank.
struct Collective<'a>(BTreeMap<i64, &'a Work>);

impl Collective<'_> {
    fn last(&self) -> Option<(i64, i64)> {
        let starts = self.0.iter();
        starts
            .map(|(device, work)| (work.start_ns, device >> 16))
            .max()
    }

    /// Returns whether all ranks are in it at one moment.
    fn is_one(&self) -> bool {
        let first_end = self.0.values().map(|work| work.end_ns).min();
        self.last().map(|last| last.0) < first_end
    }

    /// From when the first began to when the last did.
    fn late(&self) -> (i64, i64) {
        let first_ns = self.0.values().map(|work| work.start_ns).min();
        (first_ns.unwrap_or(0), self.last().map_or(0, |last| last.0))
    }

    /// Time that ranks waited for the last, together.
    fn waited_ns(&self) -> i64 {
        let last_ns = self.last().map_or(0, |last| last.0);
        let waits = self
            .0
            .values()
            .map(|work| last_ns.saturating_sub(work.start_ns));
        waits.saturating_sum()
    }
}

/// Collectives of all ranks, of those names that each device has as often.
fn collectives(facts: &Facts) -> Vec<Collective<'_>> {
    let mut of_names: BTreeMap<u32, BTreeMap<i64, Vec<&Work>>> = BTreeMap::new();
    for work in facts.device.work.iter().filter(|work| work.is_kernel()) {
        let is_collective = sync::is_collective(facts.device.name(work));
        if let Some(device) = work.device.filter(|_| is_collective) {
            let of_ranks = of_names.entry(work.name).or_default();
            of_ranks.entry(device).or_default().push(work);
        }
    }
    let mut out = Vec::new();
    for of_ranks in of_names.into_values() {
        let most = of_ranks.values().map(Vec::len).max().unwrap_or(0);
        let ranks: BTreeSet<i64> = of_ranks.keys().map(|device| device >> 16).collect();
        if ranks.len() != facts.window.ranks || of_ranks.values().any(|all| all.len() != most) {
            continue;
        }
        let nth =
            |n: usize| Collective(of_ranks.iter().map(|(rank, all)| (*rank, all[n])).collect());
        out.extend((0..most).map(nth));
    }
    out
}

thresholds! {
    /// The rule; it has no thresholds of its own.
    pub struct LateRanks {
    }
}

impl Rule for LateRanks {
    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        if facts.window.ranks < 2 {
            return;
        }
        let all = collectives(facts);
        let n = all.len() as u64;
        let names = &facts.device.names;
        if n == 0 && names.iter().any(|name| sync::is_collective(name)) {
            verdicts.not_measurable(
                imbalance::CLASS,
                "ranks",
                "which rank comes late: no collective is on record equally often on all ranks",
                "record all ranks over the same steps",
            );
        }
        let mut one: Vec<Collective<'_>> = all.into_iter().filter(Collective::is_one).collect();
        if n > 0 && (one.len() as u64) * 10 < n * 9 {
            verdicts.not_measurable(
                imbalance::CLASS,
                "ranks",
                format!(
                    "which rank comes late: {} of {} do not run on all ranks at once",
                    count(n - one.len() as u64),
                    many(n, "collective")
                ),
                "record all ranks over the same steps, with clocks that agree",
            );
            return;
        }
        one.sort_by_key(|collective| Reverse(collective.waited_ns()));
        let waited_ns = one.iter().map(Collective::waited_ns).saturating_sum();
        // Who was last, by how long the others waited for it, and how often.
        let mut late: BTreeMap<i64, (i64, u64)> = BTreeMap::new();
        for collective in &one {
            if let Some((_, rank)) = collective.last() {
                let of = late.entry(rank).or_default();
                *of = (of.0.saturating_add(collective.waited_ns()), of.1 + 1);
            }
        }
        let worst = late.iter().max_by_key(|(rank, of)| (of.0, Reverse(**rank)));
        let (Some((who, (for_it_ns, times))), Some(longest)) = (worst, one.first()) else {
            return;
        };
        let mean =
            |collective: &Collective<'_>| collective.waited_ns() / collective.0.len().max(1) as i64;
        // Collectives of several streams that ranks wait for at once hold them up once.
        let saved = one
            .iter()
            .map(|collective| (collective.late(), mean(collective)));
        let gain_ns = one_after_another(saved.collect());
        let rows = one
            .iter()
            .flat_map(|collective| collective.0.values())
            .take(SHOWN);
        let ids: Vec<String> = rows.map(|work| work.id.to_string()).collect();
        let during = one.iter().flat_map(|collective| collective.0.values());
        let during = during.map(|work| (work.start_ns, work.end_ns)).collect();
        // The longest alone may be how the recording began.
        let is_single = longest.waited_ns().saturating_mul(2) > waited_ns;
        Draft {
        class: imbalance::CLASS,
        code: "late_ranks",
        scope_kind: "ranks",
        scope: format!("rank {who}"),
        place: "ranks".into(),
        confidence: if is_single {
            (Confidence::Low, "one collective has most of it: that may be when the recording of a rank began".into())
        } else {
            (Confidence::Medium, "the n-th of a name on each rank is taken for one collective; they run at once".into())
        },
        lead: format!(
            "ranks wait {} for the last in {}, {} of it for rank {who}",
            time(waited_ns),
            many(n, "collective"),
            percent(*for_it_ns as f64 / waited_ns.max(1) as f64)
        ),
        fix: "coming at once".into(),
        evidence: format!(
            "SELECT id, rank, name, device, stream, start_ns, dur_ns FROM kernels WHERE id IN ({}) ORDER BY start_ns",
            ids.join(", ")
        ),
        assumption: "all ranks come when they come on average: what the last has more is spread over them".into(),
        considered: format!(
            "rank {who} is the last in {} of {}; the longest wait of all is {} in one collective; time in it after the last has come is the network's",
            count(*times),
            count(one.len() as u64),
            time(longest.waited_ns())
        ),
        suggestion: "see what that rank does before it comes: more work, a slower device, input of its own; or that its recording began later".into(),
    }
    .during(facts, &during)
    .with_gain(facts, options, gain_ns, verdicts);
    }
}
