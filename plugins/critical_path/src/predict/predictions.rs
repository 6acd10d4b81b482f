//! Predictions of what a user assumes, as tables.

use trueno_plugin::{Finding, Result, Run, Severity};

use crate::graph::dependency_graph::Graph;
use crate::graph::ownership::Ownership;
use crate::graph::walk::Path;
use crate::path::path_sums::PathSums;
use crate::predict::at_roof::Roofs;
use crate::predict::schedule::{retime, wall_ns, walls_ns};
use crate::predict::suggestions;
use crate::predict::what_if::{Assumption, Predicted};
use crate::predict::what_if_rule::{Change, Rule};
use crate::tables::{self, Prediction};

/// Emits what each rule predicts alone, what all predict together, and the path that results.
pub fn predict(
    run: &mut Run,
    graph: &Graph<'_>,
    ownership: &Ownership,
    roofs: &Roofs,
    rules: &[Rule],
) -> Result<()> {
    let mut rows = Vec::new();
    if rules.len() > 1 {
        for rule in rules {
            let rules = std::slice::from_ref(rule);
            let assumption = Assumption::new(graph, ownership, roofs, rules);
            rows.push(Prediction {
                assumption: rule.text.clone(),
                matched: assumption.matched[0],
                predicted_ns: (!assumption.is_idle(0)).then(|| predicted_ns(graph, &assumption)),
            });
        }
    }
    let all = Assumption::new(graph, ownership, roofs, rules);
    for (at, rule) in rules.iter().enumerate() {
        if all.is_idle(at)
            && Assumption::new(graph, ownership, roofs, std::slice::from_ref(rule)).is_idle(0)
        {
            run.finding(nothing_there(graph, rule))?;
        }
    }
    let is_idle = (0..rules.len()).all(|at| all.is_idle(at));
    let free_ns = retime(graph, &all);
    let [wall_ns] = wall_ns(graph, &all, &free_ns);
    rows.push(Prediction {
        assumption: match rules {
            [rule] => rule.text.clone(),
            _ => "all of them".to_owned(),
        },
        matched: all.matched.iter().sum(),
        predicted_ns: (!is_idle).then_some(wall_ns),
    });
    run.emit(tables::what_if(&rows, graph.run.wall_ns))?;
    if !is_idle {
        let timing = Predicted {
            graph,
            scenario: &all,
            free_ns: &free_ns,
        };
        let mut path = PathSums::new(graph);
        Path::new(graph, &timing, wall_ns, timing.last()).each(|piece| path.add(&piece));
        run.emit(tables::by_kind("what_if_by_kind", &path, wall_ns))?;
        run.emit(tables::by_name("what_if_by_name", graph, &path, wall_ns))?;
    }
    Ok(())
}

fn predicted_ns(graph: &Graph<'_>, assumption: &Assumption<'_>) -> i64 {
    let [[connected_ns], [background_ns]] = walls_ns(graph, assumption, &mut Vec::new());
    connected_ns.max(background_ns)
}

fn nothing_there(graph: &Graph<'_>, rule: &Rule) -> Finding {
    if let Change::Roof(_) = rule.change {
        return Finding::new(
            "what_if_without_roof",
            Severity::Warning,
            format!("`--what-if {}`: no time at the roof is known for anything it matches", rule.text),
        )
        .suggestion("roofline and operators compute it for work with FLOPs or shapes, when ceilings are recorded");
    }
    Finding::new(
        "what_if_about_nothing",
        Severity::Warning,
        format!("`--what-if {}` matches nothing in this run", rule.text),
    )
    .suggestion(suggestions::suggestion(graph, &rule.target))
}
