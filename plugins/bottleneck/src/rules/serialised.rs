//! Serialised launches: each lasts until its kernel has ended, so the run is not what the program does by itself.
//!
//! Evidence: nearly all kernels of a device, at least `least_gaps`, ran inside of the call that launched them. A launch returns
//! before its kernel has ended, unless CUDA_LAUNCH_BLOCKING=1 (or AMD_SERIALIZE_KERNEL) is set, or a profiler counts: it then runs one kernel after the
//! other, some of them again and again. Of kernels that a profiler counted without their times, none has valid ones. No gain: what the
//! program takes without it was not measured.

use trueno_analysis::evidence::Evidence;

use super::draft::Draft;
use super::{Options, Rule, sync};
use crate::facts::{Facts, Idle, name_of};
use crate::options::thresholds;
use crate::verdict::{Confidence, Severity, Verdicts};
use crate::wording::count;

/// Share of a device's launches that must last until their kernel has ended.
const MIN_SHARE: f64 = 0.9;

thresholds! {
    pub struct Serialised {
    }
}

pub fn is_serialised(facts: &Facts, options: &Options, device: i64) -> bool {
    let of_device = facts.device.inside_calls.get(&device);
    of_device.is_some_and(|(inside, all)| {
        *all >= options.gaps.least_gaps && *inside as f64 >= MIN_SHARE * *all as f64
    })
}

impl Rule for Serialised {
    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        for (device, _, _, busy_ns) in &facts.idle.spans {
            if !is_serialised(facts, options, *device) {
                continue;
            }
            let (inside, all) = facts.device.inside_calls[device];
            let name = Idle::device_name(*device);
            let idle_ns = facts.window.wall_ns.saturating_sub(*busy_ns);
            Draft {
                class: sync::CLASS,
                code: "serialised_launches",
                scope_kind: "device",
                scope: name.clone(),
                place: name.clone(),
                confidence: (Confidence::High, "calls and kernels are recorded".into()),
                lead: format!("{} of {} launches of {name} last until their kernel has ended", count(inside), count(all)),
                fix: "record again without CUDA_LAUNCH_BLOCKING=1 or a profiler that counts".into(),
                evidence: format!(
                    "SELECT k.id AS id, k.name AS name, k.start_ns AS start_ns, k.dur_ns AS dur_ns, c.start_ns AS called_ns, c.dur_ns AS call_ns \
                     FROM kernels AS k JOIN calls AS c ON k.correlation = c.correlation WHERE k.device = {device} ORDER BY call_ns DESC"
                ),
                assumption: "none: what the program takes without it was not measured".into(),
                considered: "a kernel that is shorter than its launch may end before it, but not nearly all of them".into(),
                suggestion: "unset CUDA_LAUNCH_BLOCKING and AMD_SERIALIZE_KERNEL, and do not collect counters while times are recorded".into(),
            }
            .without_gain(
                facts,
                Evidence::new(inside, facts.window.wall_ns),
                Severity::from_share(facts.share(idle_ns), &options.general),
                verdicts,
            );
        }
        let has_times = facts.device.work.iter().any(|work| work.is_kernel());
        let invalid = facts.device.invalid;
        if has_times || invalid < options.gaps.least_gaps {
            return;
        }
        Draft {
            class: sync::CLASS,
            code: "no_kernel_times",
            scope_kind: "device",
            scope: name_of(None),
            place: name_of(None),
            confidence: (Confidence::High, "no kernel has valid times".into()),
            lead: format!("none of {} kernels has valid times, as where a profiler counts", count(invalid)),
            fix: "record again without counters".into(),
            evidence: "SELECT id, name, device, start_ns, dur_ns, reason FROM kernels WHERE NOT valid".into(),
            assumption: "none: what the program takes without the profiler was not measured".into(),
            considered: "a profiler that counts runs kernels one by one, some of them several times, and the host waits for it".into(),
            suggestion: "collect counters and times in two recordings".into(),
        }
        .without_gain(
            facts,
            Evidence::new(invalid, facts.window.wall_ns),
            Severity::High,
            verdicts,
        );
    }
}
