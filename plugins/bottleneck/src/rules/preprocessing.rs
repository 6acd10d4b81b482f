//! Preprocessing: the host works on the input of an iteration before a device first works.
//!
//! Evidence: work of the host that the critical path has from the start of the first iteration to the first work of a device, at
//! least `preprocessing_share` of the window. It lies in an iteration, so it comes again and is no set-up; one call that is most
//! of it may be the first allocation or the load of a library, and proves nothing. Gain: no more than what of the window is left
//! to prepare the next input in.

use std::collections::BTreeMap;

use trueno_analysis::evidence::Evidence;

use super::draft::Draft;
use super::{Options, Rule};
use crate::class::Class;
use crate::facts::{Facts, Without};
use crate::options::thresholds;
use crate::verdict::{Confidence, Verdicts};
use crate::wording::{percent, short, time};

pub const CLASS: Class = Class::new("cpu_preprocessing", 6);

thresholds! {
    pub struct Preprocessing {
        preprocessing_share: f64 = 0.10,
    }
}

impl Rule for Preprocessing {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        let first_work = facts.device.work.iter().map(|work| work.start_ns).min();
        let (Some(step_ns), Some(first_ns)) = (facts.bricks.first_step_ns, first_work) else {
            return;
        };
        let step_ns = step_ns.max(facts.window.from_ns);
        let mut names: BTreeMap<&str, i64> = BTreeMap::new();
        let (mut pieces, mut work_ns, mut longest_ns) = (0_u64, 0_i64, 0_i64);
        for piece in facts
            .path
            .pieces
            .iter()
            .filter(|piece| piece.kind == "work")
        {
            let end_ns = piece.start_ns.saturating_add(piece.dur_ns).min(first_ns);
            let own_ns = end_ns.saturating_sub(piece.start_ns.max(step_ns)).max(0);
            pieces += u64::from(own_ns > 0);
            work_ns = work_ns.saturating_add(own_ns);
            longest_ns = longest_ns.max(own_ns);
            let of_name = names
                .entry(piece.name.as_deref().unwrap_or(""))
                .or_default();
            *of_name = of_name.saturating_add(own_ns);
        }
        let is_one_call = longest_ns.saturating_mul(2) >= work_ns;
        if facts.share(work_ns) < options.preprocessing.preprocessing_share || is_one_call {
            return;
        }
        // That the time is within the step is known.
        let is_named = |row: &(&&str, &i64)| *row.1 > 0 && !facts.bricks.is_frame(row.0);
        let most = names.iter().filter(is_named);
        let most = most.max_by_key(|(name, ns)| (**ns, std::cmp::Reverse(**name)));
        let (name, name_ns) = most.map_or(("", 0), |(name, ns)| (*name, *ns));
        let mostly = match name {
            "" => String::new(),
            name => format!(", mostly in {} ({})", short(name), time(name_ns)),
        };
        let rest_ns = facts.window.until_ns.saturating_sub(first_ns).max(0);
        Draft {
            class: CLASS,
            code: "cpu_preprocessing",
            scope_kind: "brick",
            scope: name.to_owned(),
            place: "host".into(),
            confidence: (
                Confidence::Medium,
                "the work is on the critical path; assumes that the next input can be prepared meanwhile".into(),
            ),
            lead: format!(
                "the host works for {} of an iteration before the device starts{mostly}",
                percent(facts.share(work_ns))
            ),
            fix: "preparing the next input ahead".into(),
            evidence: format!(
                "SELECT name, SUM(dur_ns) AS dur_ns FROM critical_path.path WHERE kind = 'work' AND start_ns >= {step_ns} \
                 AND start_ns < {first_ns} GROUP BY name ORDER BY dur_ns DESC"
            ),
            assumption: "the host prepares the next input while a device works on this one".into(),
            considered: format!(
                "{} of host work from the start of the iteration to the first work of a device, {} of the wall after it",
                time(work_ns),
                time(rest_ns)
            ),
            suggestion: facts.producer.advice(
                "prepare inputs in `DataLoader(num_workers=…)`, or on the device",
                "prepare inputs on other threads, or on the device",
            ),
        }
        .with_gain(facts, options, Evidence::new(pieces, work_ns), (work_ns.min(rest_ns), Without::HostBeforeDevices), verdicts);
    }
}
