//! Runs by hand with dependencies.

use trueno_plugin::testing::{Output, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_critical_path::CriticalPath;

use crate::made::{Made, lines};

/// A run and what depends on what, by ids.
#[derive(Clone, Debug, Default)]
pub struct Linked {
    pub made: Made,
    pub edges: Vec<(u64, u64, &'static str)>,
    /// Parent and task.
    pub tasks: Vec<(u64, u64)>,
    /// Call and kernel.
    pub launches: Vec<(u64, u64)>,
    /// Call and transfer.
    pub copies: Vec<(u64, u64)>,
}

fn pairs(name: &str, pairs: &[(u64, u64)]) -> TableBuilder {
    Table::build(name)
        .u64("from_id", pairs.iter().map(|pair| pair.0))
        .u64("to_id", pairs.iter().map(|pair| pair.1))
}

impl Linked {
    pub fn analyse(&self) -> Output {
        self.analyse_with("{}")
    }

    pub fn analyse_with(&self, options: &str) -> Output {
        let mut inputs = self.made.inputs();
        inputs.push(
            Table::build("edges")
                .u64("from_id", self.edges.iter().map(|edge| edge.0))
                .u64("to_id", self.edges.iter().map(|edge| edge.1))
                .text("kind", self.edges.iter().map(|edge| edge.2)),
        );
        inputs.push(pairs("tasks", &self.tasks));
        inputs.push(pairs("kernel_launches", &self.launches));
        inputs.push(pairs("transfer_launches", &self.copies));
        let out = run::<CriticalPath>(inputs, options).unwrap();
        let path = out.table("path");
        let sum: i64 = path.i64("dur_ns").unwrap().values().iter().sum();
        assert_eq!(
            Some(sum),
            self.made.wall_ns,
            "the path adds up to the window:\n{path}"
        );
        out
    }
}

/// The path as `kind name from-to`, and the lane by its number where there are several.
pub fn path(out: &Output) -> Vec<String> {
    let path = out.table("path");
    let text = |column: &str, row| {
        path.text(column)
            .unwrap()
            .get(row)
            .unwrap_or("-")
            .to_owned()
    };
    (0..path.rows())
        .map(|row| {
            let start = path.i64("start_ns").unwrap().value(row);
            let end = start + path.i64("dur_ns").unwrap().value(row);
            format!("{} {} {start}-{end}", text("kind", row), text("name", row))
        })
        .collect()
}

/// Slack by id.
pub fn slack(out: &Output) -> Vec<String> {
    let mut rows = lines(out.table("slack"), &["id", "slack_ns"]);
    rows.sort();
    rows
}

/// Codes of the findings.
pub fn codes(out: &Output) -> Vec<&str> {
    out.findings
        .iter()
        .map(|finding| finding.code.as_str())
        .collect()
}
