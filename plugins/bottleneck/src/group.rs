//! Which findings explain one another, and the order of all.

use std::cmp::Reverse;

use crate::Options;
use crate::rules::PART;
use crate::verdict::{Bottleneck, Verdicts};

/// Numbers groups and puts findings in the order of ranks: groups by their leaders, the leader first in each.
///
/// Two findings are of one group when one class [explains](crate::class::Class::explains) the other and both are
/// found at one place, or when both are the same class of rooflines or loops (what is nested says the same, and a category
/// says what its names say; a part of a finding is that of its device or host). The
/// leader has the highest severity, then the most to gain. Of one device a brick's finding on the host explains
/// what the device waits for.
pub fn grouped(mut verdicts: Verdicts, _options: &Options) -> Verdicts {
    let mut findings = std::mem::take(&mut verdicts.findings);
    findings.sort_by(|a, b| key(a).cmp(&key(b)));
    // The first that it is related to among those that lead; else it leads a group of its own.
    let mut leaders: Vec<usize> = Vec::new();
    for at in 0..findings.len() {
        let known = leaders
            .iter()
            .position(|leader| related(&findings[*leader], &findings[at]));
        let group = known.unwrap_or_else(|| {
            leaders.push(at);
            leaders.len() - 1
        });
        findings[at].group = group as u64 + 1;
    }
    findings.sort_by_key(|finding| finding.group);
    verdicts.findings = findings;
    verdicts
        .cannot
        .sort_by(|a, b| (a.class, &a.scope, &a.missing).cmp(&(b.class, &b.scope, &b.missing)));
    verdicts.cannot.dedup();
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
    let explains = a.class.explains(b.class) || b.class.explains(a.class);
    same_kind || (explains && (a.place == b.place || of_ranks || touches(a, b) || touches(b, a)))
}

/// Whether one is about the host side of what the other one says of a device.
fn touches(host: &Bottleneck, device: &Bottleneck) -> bool {
    host.place == "host" && device.scope_kind == "device"
}
