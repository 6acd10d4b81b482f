//! Findings about launches and idle devices.

use trueno_analysis::wording::count;
use trueno_plugin::{Finding, Severity, agreeing, counted, percent};

use crate::idle::PlaceTimes;
use crate::operations::device_name;
use crate::sums::Sums;

/// One finding for each device, and one for rows that were left out.
pub fn findings(sums: &Sums) -> Vec<Finding> {
    let devices = sums.places.values().filter(|place| place.stream.is_none());
    let mut out: Vec<Finding> = devices.filter_map(idle).collect();
    let counts = &sums.counts;
    if counts.not_linked > 0 {
        let title = format!(
            "for {} of {} on devices, the call that launched {} is not recorded",
            count(counts.not_linked),
            counted(counts.operations, "operation", "operations"),
            agreeing(counts.not_linked, "it", "them")
        );
        out.push(
            Finding::new("not_linked", Severity::Info, title)
                .detail("their launch latency and queueing are not measurable, and gaps before them have no known cause"),
        );
    }
    if counts.before_call > 0 {
        let title = counted(
            counts.before_call,
            "operation began before its launch call",
            "operations began before their launch calls",
        );
        out.push(
            Finding::new("before_call", Severity::Warning, title)
                .detail("host and device clocks disagree, or a correlation id is wrong; no launch latency is computed for them")
                .suggestion("see the findings of sanity"),
        );
    }
    if counts.left_out > 0 {
        let title = counted(
            counts.left_out,
            "row of device work is left out of all figures",
            "rows of device work are left out of all figures",
        );
        out.push(
            Finding::new("left_out", Severity::Info, title)
                .detail("their times are only upper bounds of the work, not valid, or impossible"),
        );
    }
    out
}

pub fn steps_left_out(shown: usize, all: u64) -> Finding {
    let title = format!("exposure_by_step has the first {shown} of {all} iterations");
    Finding::new("steps_left_out", Severity::Info, title)
        .suggestion("--set device.steps=N shows more; `exposure` has all of them")
}

fn idle(place: &PlaceTimes) -> Option<Finding> {
    let (span_ns, idle_ns) = (place.span_ns(), place.idle_ns());
    if span_ns <= 0 {
        return None;
    }
    let name = device_name(place.device);
    let share = |part_ns: i64, of_ns: i64| 100.0 * part_ns as f64 / of_ns as f64;
    let title = format!(
        "{name} was idle for {} of the time between its first and its last operation",
        percent(idle_ns as f64 / span_ns as f64)
    );
    let mut finding = Finding::new("idle", Severity::Info, title)
        .evidence("SELECT * FROM device.gaps ORDER BY dur_ns DESC");
    let parts = place.parts;
    let told = |of| parts.told(of).map(|ns| share(ns, idle_ns));
    match (
        told(|parts| parts.not_queued_ns),
        told(|parts| parts.launching_ns),
        told(|parts| parts.not_started_ns),
    ) {
        _ if idle_ns <= 0 => {}
        (Some(not_queued), Some(launching), Some(before)) => {
            let not_known = share(parts.not_known_ns, idle_ns);
            finding = finding.detail(format!(
                "of that: {not_queued:.0} % no work queued, {launching:.0} % being \
                 launched, {before:.0} % queued but not started, {not_known:.0} % not known"
            ));
        }
        _ => finding = finding.detail("the cause is not known: no launch calls are recorded"),
    }
    Some(finding)
}
