//! Groups of findings that explain one another, and the order of all.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::rules::idle_stretch;
use crate::verdict::{Bottleneck, IN_SET_UP, PART, Verdicts};
use crate::wording::{percent, without_rank};

const SHOWN: usize = 4;

/// Numbers groups of findings and sorts the findings by group, the leader of each group first. The leader has the
/// highest severity, then the largest gain.
///
/// Two findings are in one group
/// - if one class [explains](crate::class::Class::explains) the other and both are at the same place, or one is about
///   the host and the other about a device;
/// - if both are of the same class at related scopes: a brick and what is nested in it, a category and its names, a
///   device and a category's part of its finding;
/// - if one is an idle gap that the one-time calls of the other fill;
/// - if they are the same finding on several ranks. The leader's sentence lists those ranks;
/// - if they are the same idle time on several devices of a rank, with the same remedy. The leader's sentence says on how many,
///   and of which shares of the wall.
pub fn grouped(mut verdicts: Verdicts, ranks: usize) -> Verdicts {
    let mut findings = std::mem::take(&mut verdicts.findings);
    findings.sort_by(|a, b| key(a).cmp(&key(b)));
    // The first that it is related to among those that lead; else it leads a group of its own.
    let mut leaders: Vec<usize> = Vec::new();
    for at in 0..findings.len() {
        let known = leaders.iter().position(|leader| {
            let lead = &findings[*leader];
            // What leads here, on another rank.
            let group = findings[*leader].group;
            let mut twins = findings[..at]
                .iter()
                .filter(|one| one.group == group && (is_twin(lead, one) || is_alike(lead, one)));
            related(lead, &findings[at])
                || is_twin(lead, &findings[at])
                || is_alike(lead, &findings[at])
                || twins.any(|twin| related(twin, &findings[at]))
        });
        let group = known.unwrap_or_else(|| {
            leaders.push(at);
            leaders.len() - 1
        });
        findings[at].group = group as u64 + 1;
    }
    for leader in leaders {
        name_ranks(&mut findings, leader, ranks);
        name_devices(&mut findings, leader);
    }
    findings.sort_by_key(|finding| finding.group);
    verdicts.findings = findings;
    verdicts
        .not_measurable
        .sort_by(|a, b| (a.class, &a.scope, &a.missing).cmp(&(b.class, &b.scope, &b.missing)));
    verdicts.not_measurable.dedup();
    verdicts
}

fn key(finding: &Bottleneck) -> impl Ord + '_ {
    (
        Reverse((finding.severity, finding.gain_ns.is_some())),
        Reverse(finding.gain_ns),
        finding.class,
        // What is all of it in one category is still first of all that of the device.
        finding.code == PART,
        &finding.scope,
        finding.code,
    )
}

fn rank(one: &Bottleneck) -> u64 {
    let of_scope = without_rank(&one.scope);
    let of_place = || without_rank(&one.place).0;
    if of_scope.1.len() < one.scope.len() {
        of_scope.0
    } else {
        of_place()
    }
}

fn is_twin(a: &Bottleneck, b: &Bottleneck) -> bool {
    let bare = |one: &Bottleneck| {
        let (scope, place) = (without_rank(&one.scope).1, without_rank(&one.place).1);
        // Each rank of a host has a device of its own.
        let bare = |text: &str| match text.strip_prefix("gpu") {
            Some(number) if number.bytes().all(|b| b.is_ascii_digit()) => "gpu".to_owned(),
            _ => text.to_owned(),
        };
        (
            one.class,
            one.code,
            one.scope_kind,
            bare(scope),
            bare(place),
        )
    };
    rank(a) != rank(b) && bare(a) == bare(b)
}

/// Devices of one process that are idle in the same way: the cause is one.
fn is_alike(a: &Bottleneck, b: &Bottleneck) -> bool {
    let is_idle = |one: &Bottleneck| one.scope_kind == "device" && one.class == idle_stretch::CLASS;
    is_idle(a)
        && is_idle(b)
        && rank(a) == rank(b)
        && a.scope != b.scope
        && (a.code, &a.fix) == (b.code, &b.fix)
}

/// Adds to the leader's sentence on how many devices the finding was made, with the range of their shares of the wall.
fn name_devices(findings: &mut [Bottleneck], leader: usize) {
    let lead = &findings[leader];
    let of_group = findings.iter().filter(|one| one.group == lead.group);
    let alike = of_group.filter(|one| is_alike(lead, one));
    let all: Vec<&Bottleneck> = alike.chain([lead]).collect();
    let devices: BTreeSet<&str> = all.iter().map(|one| one.scope.as_str()).collect();
    if devices.len() < 2 {
        return;
    }
    let shares = || all.iter().filter_map(|one| one.time_share);
    let least = percent(shares().fold(f64::MAX, f64::min));
    let most = percent(shares().fold(0.0, f64::max));
    let range = if least == most {
        least
    } else {
        format!("{least} to {most}")
    };
    let on = format!("on {} devices ({range} of the wall each)", devices.len());
    let scope = lead.scope.clone();
    let one = &mut findings[leader];
    one.sentence = format!("{on}: {}", one.sentence);
    one.considered += &format!("; the figures are those of {scope}");
}

/// Adds to the leader's sentence on which of `ranks` the finding was made.
fn name_ranks(findings: &mut [Bottleneck], leader: usize, ranks: usize) {
    let lead = &findings[leader];
    let of_group = findings.iter().filter(|one| one.group == lead.group);
    let twins = of_group.filter(|one| is_twin(lead, one));
    let mut all: Vec<u64> = twins.map(rank).collect();
    if all.is_empty() {
        return;
    }
    all.push(rank(lead));
    all.sort_unstable();
    all.dedup();
    let on = match (all.len(), ranks) {
        (2, 2) => "both ranks".to_owned(),
        (n, ranks) if n == ranks => format!("all {n} ranks"),
        (n, _) if n > SHOWN => format!("{n} ranks"),
        _ => {
            let all: Vec<String> = all.iter().map(u64::to_string).collect();
            format!("ranks {}", all.join(", "))
        }
    };
    let one = &mut findings[leader];
    one.sentence = format!("on {on}: {}", one.sentence);
    one.considered += &format!("; the figures are those of rank {}", rank(one));
}

fn related(a: &Bottleneck, b: &Bottleneck) -> bool {
    let is_name = |one: &Bottleneck| matches!(one.scope_kind, "brick" | "kernel");
    let is_part = |one: &Bottleneck| one.code == PART;
    let is_category = |one: &Bottleneck| one.scope_kind == "category";
    let same_kind = a.class == b.class
        && ((a.code == b.code && is_name(a))
            || (is_category(a) && is_name(b))
            || (is_name(a) && is_category(b))
            || (a.place == b.place && (is_part(a) || is_part(b) || a.place == "ranks")));
    // Ranks that come late are what hosts wait for in collectives.
    let one_of = |is: &dyn Fn(&Bottleneck) -> bool| is(a) || is(b);
    let of_ranks =
        one_of(&|one| one.place == "ranks") && one_of(&|one| one.code == "unexplained_wait");
    let in_set_up = one_of(&|one| one.code == "set_up") && one_of(&|one| one.code == IN_SET_UP);
    let explains = a.class.explains(b.class) || b.class.explains(a.class);
    same_kind
        || in_set_up
        || (explains && (a.place == b.place || of_ranks || touches(a, b) || touches(b, a)))
}

fn touches(host: &Bottleneck, device: &Bottleneck) -> bool {
    host.place == "host" && device.scope_kind == "device"
}
