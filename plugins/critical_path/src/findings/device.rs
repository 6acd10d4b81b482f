//! Open questions of the records of devices, and answers that were inferred instead.

use trueno_analysis::wording::count;
use trueno_plugin::{Finding, Severity, agreeing, counted};

use super::Facts;
use crate::load::device::Found;
use crate::load::inferred::Rule;

const MIN_OVER_DEVICE: f64 = 0.03;

pub fn device(found: &Found) -> Vec<Finding> {
    let mut out = Vec::new();
    if found.unclear_waits > 0 {
        let title = counted(
            found.unclear_waits,
            "wait does not record what it waits for, and is listed as sync_wait",
            "waits do not record what they wait for, and are listed as sync_wait",
        );
        out.push(
            Finding::new("wait_unexplained", Severity::Info, title).detail(
                "they name no stream or event, or the call that recorded the event is missing",
            ),
        );
    }
    let (unlaunched, all) = found.unlaunched;
    if unlaunched > 0 {
        let title = format!(
            "{} of {} on streams {} no recorded launch",
            count(unlaunched),
            counted(all, "row", "rows"),
            agreeing(unlaunched, "has", "have")
        );
        out.push(
            Finding::new("launch_not_recorded", Severity::Info, title)
                .detail("only their stream orders them; the call came before the recording, or was not recorded"),
        );
    }
    out
}

pub fn inferred(facts: &Facts<'_>) -> Option<Finding> {
    let inferred = &facts.device.inferred;
    let rules = Rule::ALL.into_iter().zip(facts.path);
    let rules: Vec<String> = rules
        .filter(|(rule, _)| inferred.count(*rule) > 0)
        .map(|(rule, path_ns)| {
            let share = match facts.wall_ns {
                0 => 0.0,
                wall_ns => 100.0 * *path_ns as f64 / wall_ns as f64,
            };
            format!(
                "{}: {} (rule `{}`, {share:.1} % of the {})",
                rule.evidence(),
                counted(inferred.count(rule), "time", "times"),
                rule.name(),
                facts.window()
            )
        })
        .collect();
    let count: usize = Rule::ALL.iter().map(|rule| inferred.count(*rule)).sum();
    (count > 0).then(|| {
        let title = format!(
            "{} inferred from times: no record states {}",
            counted(count, "dependency is", "dependencies are"),
            agreeing(count as u64, "it", "them")
        );
        Finding::new("dependencies_inferred", Severity::Info, title)
            .detail(rules.join("; "))
            .suggestion("column `inferred` of the path names the rule")
            .evidence("SELECT inferred, COUNT(*) AS pieces, SUM(dur_ns) AS dur_ns FROM critical_path.path GROUP BY inferred")
    })
}

pub fn over_device(facts: &Facts<'_>) -> Option<Finding> {
    let of = facts.over_device.as_ref()?;
    if (of.all_ns as f64) < MIN_OVER_DEVICE * facts.wall_ns as f64 {
        return None;
    }
    let percent = |ns: i64| 100.0 * ns as f64 / facts.wall_ns as f64;
    let title = format!(
        "the path is on the host for {:.1} % of the {} while a device is busy",
        percent(of.all_ns),
        facts.window()
    );
    let name = match &of.name {
        Some(name) => format!("in `{name}` itself"),
        None => "between rows".to_owned(),
    };
    let detail = format!(
        "the next device work started right after its launch on an empty stream, or no recorded dependency connects \
         it to other work, so shorter kernels would not start it sooner; most of it, {:.1} % of the {}, is {name} on `{}`",
        percent(of.most_ns),
        facts.window(),
        of.lane
    );
    Some(
        Finding::new("host_over_device", Severity::Info, title)
            .detail(detail)
            .suggestion("column `slack_ns` shows how close the device comes to being on the path")
            .evidence("SELECT * FROM critical_path.slack"),
    )
}
