//! Findings: who holds the others up, clocks that contradict, what could not be matched.

use trueno_analysis::share;
use trueno_analysis::wording::{count, time};
use trueno_plugin::{Finding, Severity, agreeing, counted, percent};

use crate::arrivals::Job;
use crate::parts::Loaded;
use crate::steps::OfSteps;
use crate::totals::Totals;

/// Below this mean share of the run spent waiting, there is no finding.
const MIN_WAITING: f64 = 0.02;
/// From this share on, the finding is a warning.
const MUCH_WAITING: f64 = 0.1;
/// A rank is named as the one that holds up the others if it causes at least this share of all waiting.
const MOST: f64 = 0.6;
/// Fewer collectives do not make a pattern.
const MIN_TIMES: u64 = 5;

pub fn findings(loaded: &Loaded, job: &Job, totals: &Totals, steps: &OfSteps) -> Vec<Finding> {
    let mut out = Vec::new();
    out.extend(late_rank(loaded, job, totals, steps));
    out.extend(clock_steps(loaded, job));
    out.extend(contradicted(job));
    out.extend(last_rank_unknown(job, totals));
    if loaded.recorded.ranks.len() > 1 {
        out.extend(unmatched(job));
    }
    if loaded.around.without_work > 0 {
        let title = counted(
            loaded.around.without_work,
            "collective has no recorded device work",
            "collectives have no recorded device work",
        );
        out.push(
            Finding::new("without_work", Severity::Info, title).detail(
                "only their calls are recorded, so the arrival of the rank is not measurable",
            ),
        );
    }
    out
}

fn late_rank(loaded: &Loaded, job: &Job, totals: &Totals, steps: &OfSteps) -> Option<Finding> {
    let ranks = totals.ranks.len() as i64;
    let all_ns = totals.caused_ns();
    // Each of the others waits so long on average.
    let waiting = share(all_ns / (ranks - 1).max(1), loaded.around.wall_ns)?;
    if waiting < MIN_WAITING {
        return None;
    }
    // Stages of a pipeline wait for each other by design: plugin `stragglers` tells what is lost.
    if job.is_pipeline() {
        return None;
    }
    let (worst, of) = totals.worst()?;
    let of_all = share(of.caused_ns, all_ns)?;
    let severity = match waiting {
        w if w >= MUCH_WAITING => Severity::Warning,
        _ => Severity::Info,
    };
    let is_one = of_all >= MOST && of.last >= MIN_TIMES;
    let mut finding = if is_one {
        let each = share(of.caused_ns / (ranks - 1).max(1), loaded.around.wall_ns)?;
        let title = format!(
            "rank {worst} arrives last: the others wait {} for it in total, {} of the wall each, {} of all waiting in collectives",
            time(of.caused_ns),
            percent(each),
            percent(of_all)
        );
        Finding::new("late_rank", severity, title)
    } else {
        let title = format!(
            "ranks wait {} in total for each other in collectives, {} of the wall on average; {} of it for rank {worst}, the most of any",
            time(all_ns),
            percent(waiting),
            percent(of_all)
        );
        Finding::new("late_ranks", severity, title)
    };
    let mut detail = format!(
        "rank {worst} arrived last in {} of {} whose last rank is known, {} later than all others in total",
        count(of.last),
        counted(of.with_last, "collective", "collectives"),
        time(of.alone_ns)
    );
    let (own, of) = steps.caused_most(worst);
    if of > 1 {
        detail += &format!(
            "; it caused the longest waits in {own} of {}",
            counted(of, "step", "steps")
        );
    }
    let evidence = "SELECT * FROM collectives.by_rank ORDER BY caused_ns DESC, rank";
    finding = finding.detail(detail).evidence(evidence);
    Some(finding.suggestion("see the section `lateness` for why it arrives late"))
}

/// A finding about clocks that were set. Ranks of one host share a clock.
fn clock_steps(loaded: &Loaded, job: &Job) -> Option<Finding> {
    let steps = job.clock_steps.all();
    let first = steps.first()?;
    let ranks: Vec<String> = steps
        .iter()
        .take(8)
        .map(|step| step.rank.to_string())
        .collect();
    let more = if steps.len() > 8 { ", …" } else { "" };
    let whose = match steps {
        [_] => format!("the clock of rank {}", first.rank),
        _ => format!("the clocks of ranks {}{more}", ranks.join(", ")),
    };
    let by = if first.by_ns > 0 { "forward" } else { "back" };
    let at_ns = first.at_ns.saturating_add(loaded.around.origin_ns);
    let title = format!(
        "{whose} {} set {by} by {} during the recording, {} after its start",
        agreeing(steps.len(), "was", "were"),
        time(first.by_ns.saturating_abs()),
        time(at_ns)
    );
    Some(
        Finding::new("clock_step", Severity::Warning, title)
            .detail("from then on, times of these ranks jump against those of the others; this report removes the jump")
            .suggestion("let clocks be slewed, not set, while a job runs (`chronyd` with `makestep` off)"),
    )
}

fn contradicted(job: &Job) -> Option<Finding> {
    let pairs = job.clocks.contradicted();
    let (a, b) = pairs.first()?;
    let title = format!(
        "the clocks of {} cannot be compared: their collectives contradict each other",
        counted(pairs.len(), "pair of ranks", "pairs of ranks")
    );
    Some(
        Finding::new("clocks", Severity::Warning, title)
            .detail(format!("ranks {a} and {b}: with clocks that run steadily, one rank would leave before the other arrives, so a clock was set or rows were matched wrongly"))
            .suggestion("record again without setting the clocks during the recording"),
    )
}

fn last_rank_unknown(job: &Job, totals: &Totals) -> Option<Finding> {
    let all = job.instances.len() as u64;
    if totals.without_last == 0 || all == 0 {
        return None;
    }
    let title = format!(
        "the rank that arrived last is not known for {} of {}",
        count(totals.without_last),
        counted(all, "collective", "collectives")
    );
    Some(
        Finding::new("last_rank_unknown", Severity::Info, title)
            .detail("ranks arrived closer together than their clocks are known, a rank is not recorded, or the operation does not make ranks wait")
            .evidence("SELECT * FROM collectives.instances WHERE last_rank IS NULL"),
    )
}

fn unmatched(job: &Job) -> Option<Finding> {
    let (_, first) = job.matched.unmatched.first()?;
    let count = job.matched.unmatched.len();
    let title = format!(
        "{} {} no counterpart on another recorded rank",
        counted(count, "collective call", "collective calls"),
        agreeing(count, "has", "have")
    );
    Some(
        Finding::new("unmatched", Severity::Info, title)
            .detail(format!("reason for the first: {}", first.name()))
            .evidence("SELECT * FROM collectives.unmatched ORDER BY parts DESC"),
    )
}
