//! Load imbalance of ranks, by collectives: who comes first waits in it for the last.
//!
//! Evidence: `collectives.arrivals`, where parts are matched by communicator and number and put on one clock, and
//! where the last rank is told only if it came later than clocks can be compared. Gain: Σ (last − mean arrival): as if all came when
//! they came on average; of a job that `stragglers` re-timed, no more than it saves with ranks alike.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_analysis::intervals::SaturatingSum;

use super::draft::Draft;
use super::gaps::SHOWN;
use super::{Options, Rule, imbalance, sync};
use crate::facts::{Arrival, Facts, Without};
use crate::options::thresholds;
use crate::scheduling::one_after_another;
use crate::verdict::{Confidence, Verdicts};
use crate::wording::{count, many, percent, time};

/// Share of all waiting that one rank must cause to be named with certainty.
const MOST: f64 = 0.6;

/// Arrivals in one collective whose last rank is known, sorted by rank.
struct Collective<'a>(&'a [Arrival]);

impl Collective<'_> {
    fn last(&self) -> Option<u64> {
        self.0.first()?.last
    }

    fn late(&self) -> (i64, i64) {
        let arrivals = || self.0.iter().map(|of| of.arrive_ns);
        (arrivals().min().unwrap_or(0), arrivals().max().unwrap_or(0))
    }

    fn waited_ns(&self) -> i64 {
        let waits = self.0.iter().filter_map(|of| of.waited_ns);
        waits.saturating_sum()
    }
}

thresholds! {
    pub struct LateRanks {
    }
}

impl Rule for LateRanks {
    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        let is_explained = facts.ranks.is_retimed && !facts.ranks.job_causes.is_empty();
        if facts.window.ranks < 2 || facts.ranks.is_pipeline || is_explained {
            return;
        }
        let all: Vec<Collective<'_>> = facts
            .ranks
            .arrivals
            .chunk_by(|a, b| a.instance == b.instance)
            .map(Collective)
            .collect();
        let n = all.len() as u64;
        let names = &facts.device.names;
        if n == 0 && names.iter().any(|name| sync::is_collective(name)) {
            verdicts.not_measurable(
                imbalance::CLASS,
                "ranks",
                "which rank arrives late: no collective of two ranks could be matched",
                "record all ranks over the same steps; `collectives.unmatched` says why",
            );
        }
        let mut told: Vec<Collective<'_>> =
            all.into_iter().filter(|of| of.last().is_some()).collect();
        if n > 0 && told.is_empty() {
            verdicts.not_measurable(
                imbalance::CLASS,
                "ranks",
                format!(
                    "which rank arrives late: not known for any of {}",
                    many(n, "collective")
                ),
                "record all ranks of the communicators; ranks that arrive closer together than clocks can be compared are \
                 not late",
            );
            return;
        }
        told.sort_by_key(|collective| Reverse(collective.waited_ns()));
        let waited_ns = told.iter().map(Collective::waited_ns).saturating_sum();
        // Who was last, by how long the others waited for it, and how often.
        let mut late: BTreeMap<u64, (i64, u64)> = BTreeMap::new();
        for collective in &told {
            if let Some(rank) = collective.last() {
                let of = late.entry(rank).or_default();
                *of = (of.0.saturating_add(collective.waited_ns()), of.1 + 1);
            }
        }
        let worst = late.iter().max_by_key(|(rank, of)| (of.0, Reverse(**rank)));
        let (Some((who, (for_it_ns, times))), Some(longest)) = (worst, told.first()) else {
            return;
        };
        let mean =
            |collective: &Collective<'_>| collective.waited_ns() / collective.0.len().max(1) as i64;
        // Collectives of several streams that ranks wait for at once hold them up once.
        let saved = told
            .iter()
            .map(|collective| (collective.late(), mean(collective)));
        let most_ns = facts.ranks.alike_ns.filter(|_| facts.ranks.is_retimed);
        let gain_ns = one_after_another(saved.collect()).min(most_ns.unwrap_or(i64::MAX));
        let rows = || told.iter().flat_map(|collective| collective.0);
        let ids: Vec<String> = rows().take(SHOWN).map(|of| of.id.to_string()).collect();
        let during = rows().map(|of| (of.arrive_ns, of.leave_ns)).collect();
        // The longest alone may be how the recording began.
        let is_single = longest.waited_ns().saturating_mul(2) > waited_ns;
        let share = *for_it_ns as f64 / waited_ns.max(1) as f64;
        let cause = facts.ranks.causes.iter().find(|(rank, ..)| rank == who);
        let cause = cause.filter(|(_, cause, _)| cause != "unknown");
        let confidence = match () {
            () if is_single => (
                Confidence::Low,
                "most of it is in one collective, possibly because the recording of a rank began then",
            ),
            () if rows().any(|of| of.is_inferred) => (
                Confidence::Medium,
                "no communicators are recorded: the n-th call of a name on each rank counts as one collective, because the ranks leave it together",
            ),
            () if share >= MOST && cause.is_some() => (
                Confidence::High,
                "collectives are matched by communicator and number, and the rank spent more time on something before them",
            ),
            () => (
                Confidence::Medium,
                "collectives are matched by communicator and number",
            ),
        };
        let why = cause.map_or(String::new(), |(_, cause, name)| {
            let name = name
                .as_deref()
                .map_or(String::new(), |name| format!(" ({name})"));
            format!("; before most of them it spent more than the others on {cause}{name}")
        });
        Draft {
            class: imbalance::CLASS,
            code: "late_ranks",
            scope_kind: "ranks",
            scope: format!("rank {who}"),
            place: "ranks".into(),
            confidence: (confidence.0, confidence.1.into()),
            lead: format!(
                "ranks wait {} in total for the last to arrive in {}, {} of it for rank {who}",
                time(waited_ns),
                many(told.len() as u64, "collective"),
                percent(share)
            ),
            fix: "arriving together".into(),
            evidence: format!(
                "SELECT * FROM collectives.arrivals WHERE id IN ({}) ORDER BY instance, rank",
                ids.join(", ")
            ),
            assumption: "all ranks arrive at their average time: the extra work of the last is spread over them".into(),
            considered: format!(
                "rank {who} is the last in {} of {}{why}; the longest wait of all is {} in one collective; the time in it after the last \
                 arrival is spent on the network",
                count(*times),
                count(told.len() as u64),
                time(longest.waited_ns())
            ),
            suggestion: "see what that rank does before it arrives (`lateness.causes`): more work, a slower device, its own input"
                .into(),
        }
        .during(facts, &during)
        .with_gain(facts, options, facts.evidence(told.len() as u64, &during), (gain_ns, Without::Unbounded), verdicts);
    }
}
