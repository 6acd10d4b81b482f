//! Runs by hand, with edges.

use trueno_analysis::testing::{Row, RunFixture};
use trueno_plugin::testing::{Output, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_causality::Causality;

pub type Edge = (u64, u64, &'static str);

#[derive(Clone, Debug, Default)]
pub struct Fixture {
    pub run: RunFixture,
    pub edges: Vec<Edge>,
    pub tasks: Vec<(u64, u64)>,
    pub launches: Vec<(u64, u64)>,
    pub processes: Vec<(i64, u64)>,
    pub ranks: Vec<u64>,
    pub window: Option<(i64, i64)>,
}

impl Fixture {
    pub fn analyse(&self) -> Output {
        self.analyse_with(r#"{"events": true}"#)
    }

    pub fn analyse_with(&self, options: &str) -> Output {
        run::<Causality>(self.inputs(), options).unwrap()
    }

    pub fn inputs(&self) -> Vec<TableBuilder> {
        let mut inputs = self.run.inputs();
        let pairs = |name: &str, pairs: &[(u64, u64)]| {
            Table::build(name)
                .u64("from_id", pairs.iter().map(|pair| pair.0))
                .u64("to_id", pairs.iter().map(|pair| pair.1))
        };
        let edges = self.edges.iter();
        inputs.extend([
            Table::build("edges")
                .u64("from_id", edges.clone().map(|edge| edge.0))
                .u64("to_id", edges.clone().map(|edge| edge.1))
                .text("kind", edges.map(|edge| edge.2)),
            texts("edge_kinds", self.edges.iter().map(|edge| edge.2)),
            texts(
                "kinds_of_bricks",
                self.run.bricks.iter().map(|row| row.kind),
            ),
            texts("names_of_calls", self.run.calls.iter().map(|row| row.name)),
            pairs("tasks", &self.tasks),
            pairs("kernel_launches", &self.launches),
            pairs("transfer_launches", &[]),
            Table::build("processes")
                .i64("thread", self.processes.iter().map(|of| of.0))
                .u64("process", self.processes.iter().map(|of| of.1)),
        ]);
        if !self.ranks.is_empty() {
            let ranks = |name: &str| Table::build(name).u64("rank", self.ranks.iter().copied());
            inputs.extend([ranks("ranks"), ranks("job")]);
        }
        if let Some((from_ns, until_ns)) = self.window {
            let window = Table::build("report_window");
            inputs.push(window.i64("from_ns", [from_ns]).i64("until_ns", [until_ns]));
        }
        inputs
    }
}

fn texts(name: &str, texts: impl Iterator<Item = &'static str>) -> TableBuilder {
    Table::build(name).text("text", texts)
}

pub fn brick(id: u64, name: &'static str, thread: i64, start_ns: i64, end_ns: i64) -> Row {
    row(id, name, start_ns, end_ns).thread(thread)
}

/// A row with neither thread nor stream.
pub fn row(id: u64, name: &'static str, start_ns: i64, end_ns: i64) -> Row {
    Row {
        id,
        kind: "brick",
        name,
        start_ns,
        dur_ns: end_ns - start_ns,
        ..Row::default()
    }
}

pub fn clocks(output: &Output, id: u64) -> (Option<u64>, Option<u64>) {
    let table = output.table("events");
    let row = table
        .u64("id")
        .unwrap()
        .iter()
        .position(|of| of == Some(id));
    let row = row.expect("a row of that id");
    let clock = |column| table.u64(column).unwrap().get(row);
    (clock("lamport_begin"), clock("lamport_end"))
}
