//! Self times against every pair of rows.

use proptest::prelude::*;
use trueno_plugin::{Input, Plugin, Result, Run, Table, testing};
use trueno_plugin_throughput::outlier_cause::Names;
use trueno_plugin_throughput::{inputs, self_times};

struct SelfTimes;

impl Plugin for SelfTimes {
    const ID: &'static str = "self_times";
    const SUMMARY: &'static str = "Self times as text.";
    const INPUTS: &'static [Input] = &inputs::INPUTS;
    type Options = ();

    fn run(run: &mut Run, _: ()) -> Result<()> {
        let names = self_times::load(run)?;
        run.emit(Table::build("out").text("names", [format!("{names:?}")]))
    }
}

#[derive(Clone, Debug)]
struct Row {
    parent: Option<u64>,
    thread: Option<i64>,
    iteration: Option<u64>,
    name: i64,
    dur_ns: i64,
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let parent = prop::option::weighted(0.8, 0..14_u64);
    let thread = prop::option::weighted(0.9, 0..2_i64);
    let row = (
        parent,
        thread,
        prop::option::weighted(0.8, 0..2_u64),
        0..3_i64,
        0..50_i64,
    );
    let row = row.prop_map(|(parent, thread, iteration, name, dur_ns)| Row {
        parent,
        thread,
        iteration,
        name,
        dur_ns,
    });
    prop::collection::vec(row, 0..12)
}

const NAMES: [&str; 3] = ["norm", "attention", "mlp"];

proptest! {
    #[test]
    fn rows_less_what_lies_right_below_them(rows in rows()) {
        let mut expected = Names::default();
        let mut add = |row: &Row, dur_ns: i64| {
            if let (Some(thread), Some(iteration)) = (row.thread, row.iteration) {
                let name = ("brick".to_owned(), NAMES[row.name as usize].to_owned());
                expected.add(thread, iteration, name, dur_ns);
            }
        };
        for (id, row) in (0..).zip(&rows) {
            add(row, row.dur_ns);
            for below in rows.iter().filter(|below| below.parent == Some(id) && below.thread == row.thread) {
                add(row, -below.dur_ns);
            }
        }
        let bricks = Table::build("bricks")
            .u64("id", 0..rows.len() as u64)
            .u64("parent", rows.iter().map(|row| row.parent))
            .i64("thread", rows.iter().map(|row| row.thread))
            .u64("iteration", rows.iter().map(|row| row.iteration))
            .i64("kind_id", rows.iter().map(|_| 7))
            .i64("name_id", rows.iter().map(|row| row.name))
            .i64("dur_ns", rows.iter().map(|row| row.dur_ns));
        let none = |name: &str, column: &str| Table::build(name).i64(column, Vec::<i64>::new());
        let inputs = [
            bricks,
            Table::build("brick_kinds").i64("id", [7]).text("text", ["brick"]),
            Table::build("brick_names").i64("id", 0..3).text("text", NAMES),
            none("iterations", "id"),
            none("declared", "span"),
            none("declared_all", "readings"),
        ];
        let output = testing::run::<SelfTimes>(inputs, "{}").unwrap();
        prop_assert_eq!(output.table("out").text("names").unwrap().value(0), format!("{expected:?}"));
    }
}
