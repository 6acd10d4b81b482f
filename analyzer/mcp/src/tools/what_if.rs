//! `what_if`: a run re-timed with other durations.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answer, Call, Digested, Object, Tool, list, parse, report, section};
use crate::fit::cut;
use crate::program::Request;

const ANALYSIS: &str = "critical_path";
const MAX_NAMES: usize = 15;
/// Findings about what the re-timed graph leaves out, or about its assumptions.
const ABOUT_OPPORTUNITIES: [&str; 2] = ["largest_opportunity", "opportunity_cut"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    #[serde(default)]
    assumptions: Vec<String>,
    window: Option<String>,
}

pub(super) struct WhatIf;

impl Tool for WhatIf {
    fn name(&self) -> &'static str {
        "what_if"
    }

    fn title(&self) -> &'static str {
        "Predict a change"
    }

    fn description(&self) -> &'static str {
        "Predict how long the run would take if something took less or more time: its recorded dependencies are re-timed \
         with the assumed durations. Assumptions are TARGET=VALUE: TARGET a name, category:NAME, kind:KIND (work, \
         transfer, launch_delay, queue, sync_wait, gap, kernel) or id:N; VALUE a factor (0.5), a time (10us) or a share \
         of the roof (0.8roof). Without assumptions: what less time of each name on the critical path would buy. \
         Predictions are computed upper bounds, never measurements."
    }

    fn arguments(&self) -> (Value, &'static [&'static str]) {
        let arguments = json!({
            "path": {"type": "string", "description": "As for open."},
            "assumptions": {"type": "array", "items": {"type": "string"}, "description": "Such as [\"QkvProjection=0.5\", \"kind:sync_wait=0\"]; several are also taken together."},
            "window": {"type": "string", "description": "A part of the run: iteration=N, iteration=N..M, or id=N."},
        });
        (arguments, &["path"])
    }

    fn answers(&self) -> Value {
        json!({
            "run": {"type": "object"},
            "predictions": {"type": "array", "description": "One entry per assumption, and one for all; matched: rows that it applies to; null: not predictable."},
            "opportunities": {"type": "object", "description": "Gain with 10, 50 and 100 % less time of each name."},
            "path": {"type": "object", "description": "The critical path by kind, as predicted or as it is."},
            "provenance": {"type": "string"},
            "findings": {"type": "array", "description": "What limits the prediction."},
        })
    }

    fn more(&self) -> &'static str {
        "SELECT * FROM critical_path.opportunity by `query` has all names as recorded"
    }

    fn call<'a>(&'a self, arguments: Object, call: &'a Call) -> Answer<'a> {
        Box::pin(async move {
            let arguments: Arguments = parse(arguments, self)?;
            let run = call.roots.resolve(&arguments.path)?;
            let request = Request::Report {
                run,
                analyses: vec![ANALYSIS.to_owned()],
                window: arguments.window,
                baseline: None,
                what_if: arguments.assumptions.clone(),
                rows: 40.max(arguments.assumptions.len() + 1),
            };
            let mut answer = Object::new();
            let (digest, _) = call.ask_json(request, &mut answer).await?;
            answer.insert("run".to_owned(), report::header(&digest, &arguments.path));
            let provenance = "computed by re-timing recorded (and, where findings say so, inferred) dependencies with the \
                              assumed durations: an upper bound of the gain, not a measurement";
            answer.insert("provenance".to_owned(), provenance.into());
            let path = section(&digest, ANALYSIS).unwrap_or(&Value::Null);
            let by_kind = if arguments.assumptions.is_empty() {
                let table = Digested::find(path, "opportunity");
                let table = table.map(|table| table.compact(MAX_NAMES));
                answer.insert("opportunities".to_owned(), table.unwrap_or_default().into());
                "by_kind"
            } else {
                let table = Digested::find(path, "what_if");
                let rows = table.map(|table| table.rows()).unwrap_or_default();
                answer.insert("predictions".to_owned(), rows.into());
                "what_if_by_kind"
            };
            if let Some(table) = Digested::find(path, by_kind) {
                answer.insert("path".to_owned(), table.compact(MAX_NAMES).into());
            }
            if let Some(why) = path["message"].as_str() {
                let warnings = answer.entry("warnings").or_insert_with(|| json!([]));
                let mut all = list(warnings).to_vec();
                all.push(why.into());
                *warnings = all.into();
            }
            let mut findings = report::findings(&digest, 0, |plugin| plugin == ANALYSIS);
            findings.retain(|finding| {
                !ABOUT_OPPORTUNITIES
                    .iter()
                    .any(|code| finding["code"] == *code)
            });
            answer.insert("findings".to_owned(), findings.into());
            cut(&mut answer, "findings", MAX_NAMES);
            Ok(answer)
        })
    }
}
