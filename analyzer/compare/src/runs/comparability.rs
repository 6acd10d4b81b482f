//! Comparability of two sides: what differs besides what was to be compared.

use std::collections::BTreeSet;

use serde::Serialize;
use trueno_format::device_property;
use trueno_model::{RunFacts, units};
use trueno_plugin::counted;

use super::devices;
use super::side::Member;
use super::vendors::differ;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Aspect {
    pub aspect: String,
    pub standing: Standing,
    pub base: String,
    pub run: String,
    /// Whether another aspect summarizes it.
    #[serde(skip)]
    pub is_detail: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The same on both sides, and no reason for doubt.
    Same,
    Unknown,
    /// Different, or a reason for doubt on one side.
    Differs,
}

impl Standing {
    pub fn word(self) -> &'static str {
        match self {
            Standing::Same => "same",
            Standing::Unknown => "not known",
            Standing::Differs => "differs",
        }
    }
}

pub fn comparability(base: &[Member], run: &[Member]) -> Vec<Aspect> {
    let fact = |aspect: &str, of: &dyn Fn(&RunFacts) -> Option<String>| {
        aspect_of(aspect, base, run, &|member| of(&member.facts))
    };
    let number = |value: Option<u64>| value.map(|value| value.to_string());
    let mut all = vec![
        fact("machine", &|f| f.host.name.clone()),
        fact("processor", &|f| f.host.cpu_model.clone()),
        fact("logical processors", &|f| number(f.host.logical_cpus)),
        fact("instruction sets", &|f| {
            f.host.cpu_features.as_ref().map(|all| all.join(" "))
        }),
        fact("memory", &|f| {
            f.host.memory_bytes.map(|b| units::scaled(b as f64, "B"))
        }),
        fact("operating system", &|f| {
            Some(format!(
                "{} {}",
                f.host.os.as_deref()?,
                f.host.kernel.as_deref()?
            ))
        }),
        fact("clock", &|f| f.clock.source.clone()),
        fact("recorder", &|f| f.producer.clone()),
        aspect_of("backend", base, run, &|member| {
            let all: Vec<&str> = member.backends.iter().map(String::as_str).collect();
            (!all.is_empty()).then(|| all.join(" "))
        }),
        fact("program", &|f| f.program.argv.first().cloned()),
        fact("arguments", &|f| {
            Some(match f.program.argv.get(1..)? {
                [] => "none".to_owned(),
                rest => without_output(rest),
            })
        }),
    ];
    all.extend(devices::aspect(base, run));
    all.extend(vendors(base, run));
    if base
        .iter()
        .chain(run)
        .any(|member| !member.facts.ranks.is_empty())
    {
        all.push(aspect_of("ranks", base, run, &|member| {
            Some(member.facts.ranks.len().max(1).to_string())
        }));
    }
    // Values that both sides agree on are not worth a line each.
    let keys: BTreeSet<&String> = base
        .iter()
        .chain(run)
        .flat_map(|member| member.facts.values.keys())
        // How ceilings were measured is no value of the program.
        .filter(|key| !key.starts_with("peaks."))
        .collect();
    for key in keys {
        let aspect = aspect_of(&format!("value {key}"), base, run, &|member| {
            Some(
                member
                    .facts
                    .values
                    .get(key)
                    .cloned()
                    .unwrap_or_else(|| "not given".to_owned()),
            )
        });
        all.extend((aspect.standing != Standing::Same).then_some(Aspect {
            is_detail: device_property(key).is_some(),
            ..aspect
        }));
    }
    all.push(doubt("completeness", base, run, &|member| {
        completeness(member)
    }));
    all.push(doubt("recorder overhead", base, run, &overhead));
    all.push(runs(base, run));
    all
}

/// Only present if vendors decide how kernels are compared.
fn vendors(base: &[Member], run: &[Member]) -> Option<Aspect> {
    let of = |side: &[Member]| side.iter().map(|member| member.vendor).collect::<Vec<_>>();
    let aspect = "vendor of devices: kernels are compared by operator and shapes";
    differ(&of(base), &of(run)).then(|| {
        aspect_of(aspect, base, run, &|member| {
            member.vendor.map(str::to_owned)
        })
    })
}

fn without_output(arguments: &[String]) -> String {
    let mut kept = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--out" || argument == "-o" {
            arguments.next();
        } else {
            kept.push(argument.as_str());
        }
    }
    kept.join(" ")
}

fn aspect_of(
    aspect: &str,
    base: &[Member],
    run: &[Member],
    of: &dyn Fn(&Member) -> Option<String>,
) -> Aspect {
    let side = |members: &[Member]| members.iter().map(of).collect::<BTreeSet<_>>();
    let (a, b) = (side(base), side(run));
    let standing = if a.contains(&None) || b.contains(&None) {
        Standing::Unknown
    } else if a == b && a.len() == 1 {
        Standing::Same
    } else {
        Standing::Differs
    };
    let words = |side: &BTreeSet<Option<String>>| {
        let all: Vec<&str> = side
            .iter()
            .map(|v| v.as_deref().unwrap_or("not recorded"))
            .collect();
        all.join(", ")
    };
    Aspect {
        aspect: aspect.to_owned(),
        standing,
        base: words(&a),
        run: words(&b),
        is_detail: false,
    }
}

/// An aspect that is doubtful if one side alone is, whatever the other one is like.
fn doubt(
    aspect: &str,
    base: &[Member],
    run: &[Member],
    of: &dyn Fn(&Member) -> (Standing, String),
) -> Aspect {
    let side = |members: &[Member]| {
        let all: Vec<_> = members.iter().map(of).collect();
        let worst = all.iter().map(|(standing, _)| *standing).max();
        let words: BTreeSet<String> = all.into_iter().map(|(_, words)| words).collect();
        let words: Vec<String> = words.into_iter().collect();
        (worst.unwrap_or(Standing::Unknown), words.join(", "))
    };
    let ((a, base), (b, run)) = (side(base), side(run));
    Aspect {
        aspect: aspect.to_owned(),
        standing: a.max(b),
        base,
        run,
        is_detail: false,
    }
}

fn completeness(member: &Member) -> (Standing, String) {
    let facts = &member.facts;
    match facts.complete {
        // What was recovered has all rows, and no end.
        Some(true) if facts.clean_end => return (Standing::Same, "complete".to_owned()),
        None => return (Standing::Unknown, "not known".to_owned()),
        Some(_) => {}
    }
    let mut words = member.doubts.clone();
    if let Some(dropped) = facts.dropped.filter(|rows| *rows > 0) {
        words.push(format!("{} dropped", counted(dropped, "row", "rows")));
    }
    if facts.open > 0 {
        words.push(format!(
            "{} open at the end",
            counted(facts.open, "row", "rows")
        ));
    }
    if facts.rows_lost > 0 {
        words.push(format!("{} lost", counted(facts.rows_lost, "row", "rows")));
    }
    if !facts.clean_end {
        words.push(format!("no clean end ({})", facts.state.as_str()));
    }
    if words.is_empty() {
        words.push("not complete".to_owned());
    }
    (Standing::Differs, words.join("; "))
}

/// Recording that takes more than this share of wall time may explain a difference.
const MUCH: f64 = 0.02;

/// Share of wall time spent on recording, from the cost of a span and the number of spans.
fn overhead(member: &Member) -> (Standing, String) {
    let cost = member.facts.cost_ns_per_span;
    let wall = member.facts.wall_ns.filter(|wall| *wall > 0);
    let (Some(cost), Some(wall)) = (cost, wall) else {
        return (Standing::Unknown, "not recorded".to_owned());
    };
    let share = cost * member.spans as f64 / wall as f64;
    let standing = if share > MUCH {
        Standing::Differs
    } else {
        Standing::Same
    };
    (standing, format!("{} of wall", units::percent(share)))
}

/// Differences between runs of the same program are only visible with several runs.
fn runs(base: &[Member], run: &[Member]) -> Aspect {
    let words = |members: &[Member]| match members.len() {
        1 => "one: variation between runs not known".to_owned(),
        n => n.to_string(),
    };
    let one = base.len() == 1 || run.len() == 1;
    Aspect {
        aspect: "runs".to_owned(),
        standing: if one {
            Standing::Unknown
        } else {
            Standing::Same
        },
        base: words(base),
        run: words(run),
        is_detail: false,
    }
}
