//! Which findings explain one another, and the order of all.

use std::cmp::Reverse;

use crate::Options;
use crate::verdict::{Bottleneck, Verdicts};

/// Numbers groups and puts findings in the order of ranks: groups by their leaders, the leader first in each.
///
/// Two findings are of one group when one class [explains](crate::class::Class::explains) the other and both are
/// found at one place, or when both are the same class of rooflines or loops (what is nested says the same). The
/// leader has the highest severity, then the most to gain. Of one device a brick's finding on the host explains
/// what the device waits for.
pub fn grouped(mut verdicts: Verdicts, _options: &Options) -> Verdicts {
    let mut findings = std::mem::take(&mut verdicts.findings);
    findings.sort_by(|a, b| key(a).cmp(&key(b)));
    let mut group: Vec<usize> = (0..findings.len()).collect();
    for a in 0..findings.len() {
        for b in 0..a {
            if related(&findings[a], &findings[b]) {
                let (from, to) = (group[a].max(group[b]), group[a].min(group[b]));
                group.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
            }
        }
    }
    // Numbers from 1 in the order of leaders, which come first in the sorted list.
    let mut numbers: Vec<usize> = Vec::new();
    for (at, finding) in findings.iter_mut().enumerate() {
        let number = numbers.iter().position(|first| *first == group[at]).unwrap_or_else(|| {
            numbers.push(group[at]);
            numbers.len() - 1
        });
        finding.group = number as u64 + 1;
    }
    findings.sort_by_key(|finding| finding.group);
    verdicts.findings = findings;
    verdicts.cannot.sort_by(|a, b| (a.class, &a.scope, &a.missing).cmp(&(b.class, &b.scope, &b.missing)));
    verdicts.cannot.dedup();
    verdicts
}

fn key(finding: &Bottleneck) -> impl Ord + '_ {
    (
        Reverse((finding.severity, finding.gain_ns.is_some())),
        Reverse(finding.gain_ns),
        finding.class,
        &finding.scope,
        finding.code,
    )
}

fn related(a: &Bottleneck, b: &Bottleneck) -> bool {
    let same_kind = a.class == b.class && a.code == b.code && matches!(a.scope_kind, "brick" | "kernel");
    let explains = a.class.explains(b.class) || b.class.explains(a.class);
    same_kind || (explains && (a.place == b.place || touches(a, b) || touches(b, a)))
}

/// Whether one is about the host side of what the other one says of a device.
fn touches(host: &Bottleneck, device: &Bottleneck) -> bool {
    host.place == "host" && device.scope_kind == "device"
}
