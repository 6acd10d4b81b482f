//! Idle stretch: a device does nothing for long, once.
//!
//! Evidence: a gap longer than all shorter ones of its cause together (see [`gaps`](super::gaps)), at least `stretch_share` of the
//! window. One gap is no pattern, so no rule about patterns counts it. Gain: that gap, no more than the path spends on the host.

use super::draft::Draft;
use super::gaps::{gaps, gaps_sql, host_path_ns, times};
use super::{Options, Rule};
use crate::class::Class;
use crate::facts::{Cause, Facts, Gap, Idle};
use crate::options::thresholds;
use crate::verdict::{Confidence, Verdicts};
use crate::wording::{percent, short, time};

/// A device does nothing for long, once.
pub const CLASS: Class = Class::new("idle_stretch", 17);

thresholds! {
    /// Time that counts.
    pub struct IdleStretch {
        /// Share of the window from which on a single gap is a finding.
        stretch_share: f64 = 0.10,
    }
}

impl Rule for IdleStretch {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        for (device, ..) in &facts.idle.spans {
            for cause in [Cause::Host, Cause::Sync, Cause::Launch] {
                for gap in gaps(facts, *device, cause).1 {
                    if facts.share(gap.dur_ns()) >= options.idle_stretch.stretch_share {
                        stretch(facts, options, gap, verdicts);
                    }
                }
            }
        }
    }
}

fn stretch(facts: &Facts, options: &Options, gap: &Gap, verdicts: &mut Verdicts) {
    let name = Idle::device_name(gap.device);
    let work = facts.device.work.iter();
    let mut next = work.filter(|work| work.id == gap.next && work.is_kernel() != gap.next_is_copy);
    let next = next.next();
    let what = next.map_or("work", |next| facts.device.name(next));
    // Time of the gap in the call that launched what came next.
    let in_call_ns = next.and_then(|next| next.launch).map_or(0, |(from, to)| {
        let until_ns = to.min(gap.end_ns);
        until_ns.saturating_sub(from.max(gap.start_ns)).max(0)
    });
    let is_slow_call = in_call_ns.saturating_mul(2) >= gap.dur_ns();
    let (when, fix, suggestion) = match is_slow_call {
        true => (
            "in the one call that launches",
            "a warm start",
            "warm up before measuring: a first launch loads its code (CUDA_MODULE_LOADING=EAGER loads it at the start)",
        ),
        false => (
            "before",
            "having it ready",
            "see what the host does there: `trueno-analyze report RUN --from --to` looks at that part",
        ),
    };
    let confidence = match facts.path.is_known {
        true => (
            Confidence::Medium,
            "the gap is on record; that nothing else fills it is assumed".to_owned(),
        ),
        false => (Confidence::Low, super::gaps::NO_PATH.to_owned()),
    };
    Draft {
        class: CLASS,
        code: "idle_stretch",
        scope_kind: "device",
        scope: name.clone(),
        place: name.clone(),
        confidence,
        lead: format!(
            "{name} is idle once for {} ({} of the wall) {when} {}",
            time(gap.dur_ns()),
            percent(facts.share(gap.dur_ns())),
            short(what)
        ),
        fix: fix.into(),
        evidence: gaps_sql(vec![gap]),
        assumption: "what happens once in this run is not needed, or can happen earlier".into(),
        considered: format!(
            "{} of it in the call for what came next; one gap is no pattern, so it is part of no other finding",
            time(in_call_ns)
        ),
        suggestion: suggestion.into(),
    }
    .during(facts, &times(&[gap]))
    .with_gain(facts, options, gap.dur_ns().min(host_path_ns(facts, gap.device)), verdicts);
}
