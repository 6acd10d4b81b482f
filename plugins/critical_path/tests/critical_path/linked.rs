//! Runs by hand with dependencies.

use std::collections::BTreeMap;

use trueno_analysis::testing::{RunFixture, lines};
use trueno_plugin::testing::{Output, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_critical_path::CriticalPath;

#[derive(Clone, Debug, Default)]
pub struct Linked {
    pub fixture: RunFixture,
    pub edges: Vec<(u64, u64, &'static str)>,
    pub tasks: Vec<(u64, u64)>,
    pub launches: Vec<(u64, u64)>,
    pub copies: Vec<(u64, u64)>,
    /// Transfer, and the call that did not return before it ended.
    pub blocking: Vec<(u64, u64)>,
    /// The same for copies that are not recorded as blocking.
    pub maybe_blocking: Vec<(u64, u64)>,
    pub waits: Vec<Waiting>,
    /// Event, device, stream, time of the call. Ids count from 900.
    pub recorded: Vec<(u64, i64, i64, i64)>,
    pub streams: Vec<(i64, i64, &'static str)>,
    pub window: Option<(i64, i64)>,
    /// Id and correlation of work without a recorded launch.
    pub unlaunched: Vec<(u64, u64)>,
    /// Correlation and start of the first call of each thread.
    pub first_calls: Vec<(u64, i64)>,
    /// Source, name, measured time and time at the roof; `None`: `roofline` did not run.
    pub at_roof: Option<Vec<(&'static str, &'static str, i64, i64)>>,
}

#[derive(Clone, Debug, Default)]
pub struct Waiting {
    pub id: u64,
    pub kind: &'static str,
    pub device: Option<i64>,
    pub stream: Option<i64>,
    pub event: Option<u64>,
    pub start_ns: i64,
    pub correlation: Option<u64>,
}

fn pairs(name: &str, pairs: &[(u64, u64)]) -> TableBuilder {
    Table::build(name)
        .u64("from_id", pairs.iter().map(|pair| pair.0))
        .u64("to_id", pairs.iter().map(|pair| pair.1))
}

impl Linked {
    pub fn analyse(&self) -> Output {
        self.path_alone_is_the_same();
        self.analyse_with("{}")
    }

    /// Checks that `path_only` does not change the path and its sums.
    fn path_alone_is_the_same(&self) {
        let with = |options: &str| run::<CriticalPath>(self.inputs(), options).unwrap();
        let whole = with(r#"{"path_by_id": true}"#);
        let alone = with(r#"{"path_by_id": true, "path_only": true}"#);
        for table in ["by_kind", "by_name", "by_category", "path"] {
            let [whole, alone] = [&whole, &alone].map(|out| out.table(table).to_string());
            assert_eq!(whole, alone, "{table}");
        }
        let by_id = |out: &Output| {
            let table = out.table("path_by_id");
            let mut sums: BTreeMap<u64, i64> = BTreeMap::new();
            for row in 0..table.rows() {
                let id = table.u64("id").unwrap().value(row);
                *sums.entry(id).or_default() += table.i64("dur_ns").unwrap().value(row);
            }
            sums
        };
        assert_eq!(by_id(&whole), by_id(&alone));
        let rows = alone.table("path_by_id").rows();
        assert_eq!(rows, by_id(&alone).len(), "one row an id");
    }

    pub fn inputs(&self) -> Vec<TableBuilder> {
        let mut inputs = self.fixture.inputs();
        inputs.push(
            Table::build("edges")
                .u64("from_id", self.edges.iter().map(|edge| edge.0))
                .u64("to_id", self.edges.iter().map(|edge| edge.1))
                .text("kind", self.edges.iter().map(|edge| edge.2)),
        );
        inputs.push(pairs("tasks", &self.tasks));
        inputs.push(
            pairs(
                "blocking",
                &[&self.blocking[..], &self.maybe_blocking].concat(),
            )
            .bool(
                "is_stated",
                (self.blocking.iter().map(|_| true))
                    .chain(self.maybe_blocking.iter().map(|_| false)),
            )
            .bool(
                "is_to_host",
                self.blocking
                    .iter()
                    .chain(&self.maybe_blocking)
                    .map(|_| false),
            ),
        );
        let waits = &self.waits;
        inputs.push(
            Table::build("waits")
                .u64("id", waits.iter().map(|wait| wait.id))
                .text("kind", waits.iter().map(|wait| wait.kind))
                .i64("device", waits.iter().map(|wait| wait.device))
                .i64("stream", waits.iter().map(|wait| wait.stream))
                .u64("event", waits.iter().map(|wait| wait.event))
                .i64("start_ns", waits.iter().map(|wait| wait.start_ns))
                .u64("correlation", waits.iter().map(|wait| wait.correlation))
                .i64("called_ns", waits.iter().map(|wait| wait.start_ns))
                .i64("call_ns", waits.iter().map(|_| 0_i64)),
        );
        inputs.push(
            Table::build("recorded")
                .u64("id", (0..self.recorded.len() as u64).map(|at| 900 + at))
                .u64("event", self.recorded.iter().map(|row| row.0))
                .i64("device", self.recorded.iter().map(|row| row.1))
                .i64("stream", self.recorded.iter().map(|row| row.2))
                .u64("correlation", self.recorded.iter().map(|_| None::<u64>))
                .i64("called_ns", self.recorded.iter().map(|row| row.3)),
        );
        inputs.push(
            Table::build("stream_kinds")
                .i64("device", self.streams.iter().map(|row| row.0))
                .i64("stream", self.streams.iter().map(|row| row.1))
                .text("kind", self.streams.iter().map(|row| row.2)),
        );
        inputs.push(
            Table::build("unlaunched")
                .u64("id", self.unlaunched.iter().map(|row| row.0))
                .u64("correlation", self.unlaunched.iter().map(|row| row.1)),
        );
        inputs.push(
            Table::build("first_calls")
                .u64("correlation", self.first_calls.iter().map(|row| row.0))
                .i64("start_ns", self.first_calls.iter().map(|row| row.1)),
        );
        if let Some((from_ns, until_ns)) = self.window {
            inputs.push(
                Table::build("report_window")
                    .i64("from_ns", [from_ns])
                    .i64("until_ns", [until_ns]),
            );
        }
        if let Some(rows) = &self.at_roof {
            inputs.push(
                Table::build("at_roof")
                    .text("source", rows.iter().map(|row| row.0))
                    .text("name", rows.iter().map(|row| row.1))
                    .i64("dur_ns", rows.iter().map(|row| row.2))
                    .i64("at_roof_ns", rows.iter().map(|row| row.3)),
            );
        }
        inputs.push(pairs("kernel_launches", &self.launches));
        inputs.push(pairs("transfer_launches", &self.copies));
        inputs
    }

    pub fn analyse_with(&self, options: &str) -> Output {
        let out = run::<CriticalPath>(self.inputs(), options).unwrap();
        let path = out.table("path");
        let sum: i64 = path.i64("dur_ns").unwrap().values().iter().sum();
        let window_ns = self.window.map(|(from_ns, until_ns)| until_ns - from_ns);
        assert_eq!(
            Some(sum),
            window_ns.or(self.fixture.wall_ns),
            "the path adds up to the window:\n{path}"
        );
        out
    }
}

/// The path as `kind name from-to`, with the lane's number if there are several lanes.
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

/// Like [`path`], with the rule that inferred why a piece is on the path.
pub fn path_with_rules(out: &Output) -> Vec<String> {
    let rules = out.table("path").text("inferred").unwrap();
    let pieces = path(out).into_iter().enumerate();
    let ruled = pieces.map(|(row, piece)| format!("{piece} | {}", rules.get(row).unwrap_or("-")));
    ruled.collect()
}

pub fn slack(out: &Output) -> Vec<String> {
    let mut rows = lines(out.table("slack"), &["id", "slack_ns"]);
    rows.sort();
    rows
}

/// Codes of the findings without the largest opportunity, which almost every run has.
pub fn codes(out: &Output) -> Vec<&str> {
    out.findings
        .iter()
        .map(|finding| finding.code.as_str())
        .filter(|code| *code != "largest_opportunity")
        .collect()
}
