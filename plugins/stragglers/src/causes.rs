//! What slows the job down, what costs most first.

use trueno_analysis::wording::{count, figures, time};
use trueno_plugin::percent;

use crate::Options;
use crate::effects::{Effects, Pattern, Slow};
use crate::job::{Incomplete, Job};
use crate::what_if::{Row, Scope, StageWork, WhatIf};

/// Stages are out of balance from this factor on.
const MIN_STAGE_FACTOR: f64 = 1.03;
/// Delays of all ranks are a cause of their own from this share of a step on.
const MIN_DELAYS: f64 = 0.05;
/// If one rank has at least this share of the delays, they are that rank's.
const OF_ONE: f64 = 0.5;
/// A host is named in place of its rank or link only if it gains more than this factor times as much.
const SAME_GAIN: f64 = 1.1;

#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    /// `recording`, `stage`, `rank`, `host`, `link`, `sequence lengths` or `delays`.
    pub kind: &'static str,
    pub name: String,
    /// `persistent`, `periodic` or `transient`.
    pub pattern: &'static str,
    pub steps: u64,
    pub gain_ns: f64,
    pub gain_share: f64,
    /// The observation, without the gain.
    pub detail: String,
    /// The change that would bring the gain.
    pub fix: String,
    pub suggestion: &'static str,
}

impl Cause {
    pub fn sentence(&self, steps: usize) -> String {
        if self.fix.is_empty() {
            return self.detail.clone();
        }
        let gain_ns = (self.gain_ns / steps.max(1) as f64).round() as i64;
        let of = if steps > 1 { " of a step" } else { "" };
        format!(
            "{}: {} saves up to {} ({}){of}",
            self.detail,
            self.fix,
            time(gain_ns),
            percent(self.gain_share)
        )
    }
}

/// Finds the causes that cost at least `min_gain_share` of a step.
pub fn causes(job: &Job, effects: &Effects, what_if: &WhatIf, options: Options) -> Vec<Cause> {
    let worth = what_if
        .rows
        .iter()
        .filter(|row| row.stands_out && row.gain_share >= options.min_gain_share);
    let hosts: Vec<&Row> = worth
        .clone()
        .filter(|row| matches!(row.scope, Scope::Host(_) | Scope::HostLinks(_)))
        .collect();
    let mut out: Vec<Cause> = worth
        .filter(|row| !is_of_host(job, row, &hosts))
        .filter_map(|row| cause(job, effects, row))
        .collect();
    // Delays of one rank are its own.
    let of_ranks = out
        .iter()
        .filter(|cause| cause.kind == "rank")
        .map(|cause| cause.gain_ns);
    let most_ns = of_ranks.fold(0.0, f64::max);
    out.retain(|cause| cause.kind != "delays" || most_ns < cause.gain_ns * OF_ONE);
    // Delays have no place: what has one comes first.
    let is_delays = |cause: &Cause| cause.kind == "delays";
    out.sort_by(|a, b| {
        let by_gain = b.gain_ns.total_cmp(&a.gain_ns);
        let order = is_delays(a).cmp(&is_delays(b)).then(by_gain);
        order.then_with(|| a.name.cmp(&b.name))
    });
    // What was not recorded qualifies all other causes, so it comes first.
    let mut all: Vec<Cause> = job.incomplete.iter().map(|of| recording(job, of)).collect();
    all.extend(out);
    all
}

fn recording(job: &Job, of: &Incomplete) -> Cause {
    let ends = match (of.begins_late_ns, of.ends_early_ns) {
        (0, 0) => format!("lacks {} steps of", count(of.steps as u64)),
        (late_ns, early_ns) if late_ns > early_ns => {
            format!("begins {} after those of", time(late_ns))
        }
        (_, early_ns) => format!("ends {} before those of", time(early_ns)),
    };
    let left = match (of.steps, job.steps.len()) {
        (0, _) if of.begins_late_ns > of.ends_early_ns => {
            "the time before it is left out".to_owned()
        }
        (0, _) => "the time after it is left out".to_owned(),
        (_, kept) => format!("only the {kept} steps that all ranks recorded are compared"),
    };
    Cause {
        kind: "recording",
        name: format!("rank {}", of.rank),
        pattern: "persistent",
        steps: of.steps as u64,
        gain_ns: 0.0,
        gain_share: 0.0,
        detail: format!(
            "the recording of rank {} {ends} the others: {left}",
            of.rank
        ),
        fix: String::new(),
        suggestion: match of.steps {
            0 if of.begins_late_ns > of.ends_early_ns => {
                "begin the recordings of all ranks right after a barrier"
            }
            0 => {
                "end the recordings of all ranks right after a barrier; if that rank should have recorded for longer, look for a crash or a full disk"
            }
            _ => {
                "find out why that rank recorded less: a crash, a profiler that was stopped, a full disk"
            }
        },
    }
}

/// True for a rank or link that is slow because its whole host is.
fn is_of_host(job: &Job, row: &Row, hosts: &[&Row]) -> bool {
    hosts.iter().any(|host| {
        let is_its = match (&row.scope, &host.scope) {
            (Scope::Rank(rank), Scope::Host(name)) => job.ranks[*rank].host.as_ref() == Some(name),
            (Scope::Link(link), Scope::HostLinks(name)) => {
                job.host_of(&job.links[*link]) == Some(name)
            }
            _ => false,
        };
        is_its && host.gain_ns > row.gain_ns * SAME_GAIN
    })
}

fn pattern(slow: &Slow, steps: usize) -> (&'static str, String) {
    match slow.pattern {
        Pattern::Persistent => ("persistent", String::new()),
        Pattern::Periodic(apart) => ("periodic", format!(", every {apart} steps")),
        Pattern::Transient => (
            "transient",
            format!(
                " in {} of {} steps",
                count(slow.steps.len() as u64),
                count(steps as u64)
            ),
        ),
    }
}

fn cause(job: &Job, effects: &Effects, row: &Row) -> Option<Cause> {
    let steps = job.steps.len();
    let made = |kind, name: String, detail, fix: String, suggestion| Cause {
        kind,
        name,
        pattern: "persistent",
        steps: steps as u64,
        gain_ns: row.gain_ns,
        gain_share: row.gain_share,
        detail,
        fix,
        suggestion,
    };
    match &row.scope {
        Scope::Stages => {
            let stages = StageWork::new(job, effects);
            let stage = job.stage_name(stages.longest());
            (stages.factor >= MIN_STAGE_FACTOR).then(|| {
                let detail = format!(
                    "{stage} computes {} × as long as the mean of the other stages",
                    figures(stages.factor)
                );
                made(
                    "stage",
                    stage.clone(),
                    detail,
                    "balancing the layers over the stages".to_owned(),
                    "give that stage fewer layers, or split what only it does, such as the loss",
                )
            })
        }
        Scope::Rank(rank) => {
            let of = &effects.ranks[*rank];
            let number = job.ranks[*rank].number;
            let peers = if job.stages() > 1 {
                "the other ranks of its stage"
            } else {
                "the other ranks"
            };
            let (slow, what, suggestion) = match (&of.slow, &of.held) {
                (Some(slow), _) => (
                    slow,
                    format!(
                        "rank {number} computes {} × as long as {peers}",
                        figures(slow.factor)
                    ),
                    "compare its device with another: clock frequency, temperature, other programs on it",
                ),
                (None, Some(held)) => (
                    held,
                    format!("rank {number} starts its operations later than {peers}"),
                    "see what its threads do then: garbage collection, input, other programs",
                ),
                (None, None) => return None,
            };
            let (pattern, when) = pattern(slow, steps);
            let mut out = made(
                "rank",
                format!("rank {number}"),
                format!("{what}{when}"),
                "a rank like its peers".to_owned(),
                suggestion,
            );
            (out.pattern, out.steps) = (pattern, slow.steps.len() as u64);
            Some(out)
        }
        Scope::Host(host) => {
            let ranks = job.ranks.iter().zip(&effects.ranks);
            let computes_longer = ranks
                .filter(|(rank, _)| rank.host.as_ref() == Some(host))
                .any(|(_, of)| of.slow.is_some());
            let what = match row.factor.filter(|_| computes_longer) {
                Some(factor) => format!("compute {} × as long as", figures(factor)),
                None => "start their operations later than".to_owned(),
            };
            Some(made(
                "host",
                format!("host {host}"),
                format!("the ranks of host {host} {what} their peers"),
                "a host like the others".to_owned(),
                "compare the host with another: power limit, temperature, other programs on it",
            ))
        }
        Scope::Link(link) => {
            let link = &job.links[*link];
            let name = job.link_name(link);
            let within = job.host_of(link).filter(|_| job.hosts() > 1);
            let within = within.map_or(String::new(), |host| format!(", within host {host},"));
            let factor = figures(row.factor.unwrap_or(1.0));
            let detail = format!(
                "transfers of {name}{within} take {factor} × as long as those of its peers"
            );
            Some(made(
                "link",
                name,
                detail,
                "a link like its peers".to_owned(),
                if within.is_empty() {
                    "check the network between these ranks"
                } else {
                    "check NVLink between the GPUs of that host"
                },
            ))
        }
        Scope::HostLinks(host) => {
            let factor = figures(row.factor.unwrap_or(1.0));
            Some(made(
                "link",
                format!("links within host {host}"),
                format!(
                    "transfers within host {host} take {factor} × as long as within the others"
                ),
                "a host with links like the others".to_owned(),
                "check NVLink between the GPUs of that host",
            ))
        }
        Scope::Lengths => {
            let lengths = effects.lengths.as_ref()?;
            let detail = format!(
                "micro batches of a step differ by {} (standard deviation) on all stages, forward and backward alike: \
                 their sequences differ in length",
                percent(lengths.spread_share)
            );
            Some(made(
                "sequence lengths",
                "sequence lengths".to_owned(),
                detail,
                "giving micro batches equal work".to_owned(),
                "spread sequences over micro batches and data-parallel ranks by their work",
            ))
        }
        // Of ranks side by side, `bottleneck` knows better what holds operations up.
        Scope::Delays if job.stages() > 1 && row.gain_share >= MIN_DELAYS => Some(made(
            "delays",
            "delays before operations".to_owned(),
            "operations begin later than what they depend on allows, on all ranks".to_owned(),
            "starting each operation as soon as it can".to_owned(),
            "see what the hosts do between operations: launches, input, synchronisation",
        )),
        Scope::Delays
        | Scope::Stage(_)
        | Scope::Data(_)
        | Scope::Kind(_)
        | Scope::Transfers
        | Scope::Alike => None,
    }
}
