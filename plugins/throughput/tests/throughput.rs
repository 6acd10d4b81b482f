//! The plugin as a whole: made iterations in, tables and findings out.

use trueno_plugin::Severity;
use trueno_plugin::testing::{self, Output};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_throughput::Throughput;

/// A run of one thread. Iterations follow each other without gaps, and `Attention` is half of each. `more` adds
/// time to single iterations.
#[derive(Default)]
struct Made {
    walls: Vec<i64>,
    /// Iteration, name, additional self time.
    more: Vec<(usize, &'static str, i64)>,
    /// An iteration, and time in it outside its bricks.
    outside: Option<(usize, i64)>,
    declared: Vec<(usize, &'static str, f64)>,
    elsewhere: i64,
    window: Option<(i64, i64)>,
}

impl Made {
    fn inputs(&self) -> Vec<TableBuilder> {
        let walls: Vec<i64> = (0..self.walls.len())
            .map(|at| {
                self.walls[at]
                    + self
                        .more
                        .iter()
                        .filter(|more| more.0 == at)
                        .map(|more| more.2)
                        .sum::<i64>()
                    + self
                        .outside
                        .filter(|outside| outside.0 == at)
                        .map_or(0, |outside| outside.1)
            })
            .collect();
        let starts = walls.iter().scan(0, |next, wall| {
            let start = *next;
            *next += wall + 10;
            Some(start)
        });
        // The iteration holds all its bricks, which are recorded before it; bricks hold nothing.
        let mut bricks: Vec<(usize, &str, i64)> = self
            .walls
            .iter()
            .enumerate()
            .map(|(at, wall)| (at, "Attention", wall / 2))
            .collect();
        bricks.extend(&self.more);
        let iterations = walls.iter().enumerate();
        let iterations =
            iterations.map(|(at, wall)| (100 + at as u64, None, at, "iteration", *wall));
        let bricks = bricks
            .iter()
            .zip(1000..)
            .map(|(&(at, name, dur_ns), id)| (id, Some(100 + at as u64), at, name, dur_ns));
        let rows: Vec<(u64, Option<u64>, usize, &str, i64)> = bricks.chain(iterations).collect();
        let mut names: Vec<&str> = rows.iter().map(|row| row.3).collect();
        names.sort_unstable();
        names.dedup();
        let name_id = |name: &str| {
            names
                .iter()
                .position(|other| *other == name)
                .map(|at| at as i64)
        };
        let readings = |name: &str| {
            let some = self.declared.iter().filter(|row| row.1 == name).count() as i64;
            some + if name == "tokens" { self.elsewhere } else { 0 }
        };
        vec![
            Table::build("iterations")
                .u64("id", (0..walls.len()).map(|at| 100 + at as u64))
                .i64("thread", walls.iter().map(|_| 0))
                .u64("iteration", (0..walls.len()).map(|at| at as u64))
                .i64("start_ns", starts)
                .i64("dur_ns", &walls)
                .bool("is_bound", walls.iter().map(|_| false)),
            Table::build("declared")
                .u64("span", self.declared.iter().map(|row| 100 + row.0 as u64))
                .text("name", self.declared.iter().map(|row| row.1))
                .f64("value", self.declared.iter().map(|row| row.2)),
            Table::build("declared_all")
                .text("name", ["samples", "tokens"])
                .i64("readings", [readings("samples"), readings("tokens")]),
            Table::build("bricks")
                .u64("id", rows.iter().map(|row| row.0))
                .u64("parent", rows.iter().map(|row| row.1))
                .i64("thread", rows.iter().map(|_| 0))
                .u64("iteration", rows.iter().map(|row| row.2 as u64))
                .i64("kind_id", rows.iter().map(|row| i64::from(row.1.is_some())))
                .i64("name_id", rows.iter().map(|row| name_id(row.3)))
                .i64("dur_ns", rows.iter().map(|row| row.4)),
            Table::build("brick_kinds")
                .i64("id", [0, 1])
                .text("text", ["iteration", "brick"]),
            Table::build("brick_names")
                .i64("id", names.iter().map(|name| name_id(name)))
                .text("text", names.iter().copied()),
        ]
    }

    fn output(&self) -> Output {
        let mut inputs = self.inputs();
        inputs.extend(self.window.map(|(from_ns, until_ns)| {
            Table::build("report_window")
                .i64("from_ns", [from_ns])
                .i64("until_ns", [until_ns])
        }));
        testing::run::<Throughput>(inputs, "{}").unwrap()
    }
}

/// Three slow iterations, then 20 of 1000 to 1008 ns.
fn warm() -> Made {
    let mut walls = vec![9_000, 4_000, 2_000];
    walls.extend((0..20).map(|at| 1_000 + 2 * (at * 7 % 5)));
    Made {
        walls,
        ..Made::default()
    }
}

#[test]
fn nothing_recorded_says_what_to_record() {
    let output = Made::default().output();
    assert!(output.tables.is_empty() && output.charts.is_empty());
    let finding = output.finding("not_recorded").unwrap();
    assert!(
        finding
            .suggestion
            .as_ref()
            .unwrap()
            .contains("Recorder::iteration")
    );
}

#[test]
fn a_window_holds_the_iterations_that_lie_whole_in_it() {
    // From the fourth on, without the last: 9,000 + 4,000 + 2,000 and three gaps of 10 before it.
    let mut made = warm();
    let end = 15_030 + made.walls[3..22].iter().map(|wall| wall + 10).sum::<i64>();
    made.window = Some((15_030, end + 500));
    let output = made.output();
    let table = output.table("iterations");
    let numbers: Vec<_> = table.u64("iteration").unwrap().iter().flatten().collect();
    assert_eq!(numbers, (3..22).collect::<Vec<u64>>());
    assert_eq!(table.i64("gap_ns").unwrap().get(0), None);
    let summary = output.table("summary");
    assert_eq!(summary.u64("warm_up").unwrap().get(0), Some(0));
    assert_eq!(summary.u64("steady").unwrap().get(0), Some(19));

    made.window = Some((100, 200));
    let output = made.output();
    assert!(output.tables.is_empty());
    let found = output.finding("not_recorded").unwrap();
    assert!(
        found.title.contains("23 of the run lie outside"),
        "{}",
        found.title
    );
}

#[test]
fn warm_up_ends_where_iterations_are_as_the_later_ones() {
    let output = warm().output();
    let summary = output.table("summary");
    assert_eq!(summary.u64("warm_up").unwrap().get(0), Some(3));
    assert_eq!(summary.i64("warm_up_ns").unwrap().get(0), Some(15_000));
    assert_eq!(summary.u64("steady").unwrap().get(0), Some(20));
    assert_eq!(summary.f64("median_ns").unwrap().get(0), Some(1_004.0));
    assert_eq!(summary.i64("p99_ns").unwrap().get(0), Some(1_008));
    assert_eq!(summary.u64("slow").unwrap().get(0), Some(0));
    let rate = summary.f64("iterations_per_s").unwrap().value(0);
    assert!((rate - 20.0 / 20_080e-9).abs() < 1e-3, "{rate}");
    assert!(
        output
            .finding("steady_state")
            .unwrap()
            .title
            .contains("after 3 iterations of warm-up")
    );
}

#[test]
fn a_slow_iteration_is_blamed_on_the_name_that_took_longer() {
    let mut made = warm();
    made.more = vec![
        (10, "RmsNorm", 5_000),
        (10, "LmHead", 300),
        (15, "LmHead", 400),
    ];
    let output = made.output();
    let table = output.table("iterations");
    let outliers: Vec<_> = (0..table.rows())
        .filter(|row| table.text("outlier").unwrap().get(*row) == Some("slow"))
        .map(|row| {
            let name = table.text("slow_name").unwrap().value(row).to_owned();
            (row, name, table.f64("slow_excess_ns").unwrap().value(row))
        })
        .collect();
    assert_eq!(
        outliers,
        [
            (10, "RmsNorm".to_owned(), 5_000.0),
            (15, "LmHead".to_owned(), 400.0)
        ]
    );
    assert!(
        output
            .finding("outliers")
            .unwrap()
            .title
            .contains("2 of 20")
    );
}

#[test]
fn time_outside_bricks_is_blamed_on_the_iteration() {
    let mut made = warm();
    made.walls[12] += 2;
    made.outside = Some((12, 6_000));
    let output = made.output();
    let table = output.table("iterations");
    assert_eq!(table.text("outlier").unwrap().get(12), Some("slow"));
    assert_eq!(table.text("slow_name").unwrap().get(12), Some("iteration"));
    let title = &output.finding("outliers").unwrap().title;
    assert!(
        title.contains("time in the iteration outside bricks"),
        "{title}"
    );
}

#[test]
fn few_or_restless_iterations_have_no_steady_state() {
    let few = Made {
        walls: vec![1_000; 7],
        ..Made::default()
    };
    let output = few.output();
    assert!(output.finding("too_few").is_some());
    for column in ["median_ns", "mean_ns", "iterations_per_s"] {
        assert_eq!(
            output.table("summary").f64(column).unwrap().get(0),
            None,
            "{column}"
        );
    }
    assert_eq!(
        output.table("iterations").text("phase").unwrap().get(0),
        None
    );
    // Ever faster: the first half never is as the second.
    let restless = Made {
        walls: (0..30).map(|at| 1_000_000 >> (at / 2)).collect(),
        ..Made::default()
    };
    assert!(restless.output().finding("no_steady_state").is_some());
}

#[test]
fn rates_come_only_from_what_iterations_declare() {
    let mut made = warm();
    let output = made.output();
    assert_eq!(
        output.table("summary").f64("tokens_per_s").unwrap().get(0),
        None
    );
    let finding = output.finding("not_declared").unwrap();
    assert!(
        finding
            .suggestion
            .as_ref()
            .unwrap()
            .contains("Recorder::counter")
    );

    made.declared = (0..23)
        .map(|at| (at, "tokens", if at == 0 { 512.0 } else { 4.0 }))
        .collect();
    let output = made.output();
    let rate = output
        .table("summary")
        .f64("tokens_per_s")
        .unwrap()
        .value(0);
    assert!(
        (rate - 80.0 / 20_080e-9).abs() < 1.0,
        "warm-up is not in it: {rate}"
    );
    assert_eq!(output.table("summary").f64("samples").unwrap().get(0), None);
    assert!(output.finding("not_declared").is_none());

    made.elsewhere = 5;
    let detail = made
        .output()
        .finding("not_declared")
        .unwrap()
        .detail
        .clone();
    assert_eq!(
        detail.as_deref(),
        Some("5 counters `tokens` are on other rows")
    );
}

#[test]
fn work_that_is_declared_twice_or_is_no_number_is_not_used() {
    let mut made = warm();
    made.declared = vec![
        (5, "tokens", 4.0),
        (5, "tokens", 4.0),
        (6, "tokens", f64::NAN),
        (7, "tokens", -1.0),
        (8, "tokens", 3.0),
    ];
    let output = made.output();
    let tokens: Vec<_> = output
        .table("iterations")
        .f64("tokens")
        .unwrap()
        .iter()
        .flatten()
        .collect();
    assert_eq!(tokens, [3.0]);
    assert!(
        output
            .finding("declared_twice")
            .unwrap()
            .title
            .starts_with("3 iterations")
    );
}

#[test]
fn bound_nested_and_broken_rows_are_in_no_series() {
    let mut inputs = warm().inputs();
    inputs[0] = Table::build("iterations")
        .u64("id", 1..=6_u64)
        .i64("thread", [0; 6])
        .u64("iteration", [None::<u64>; 6])
        .i64("start_ns", [0, 10, 100, 200, i64::MAX, 300])
        .i64("dur_ns", [90, 20, 50, -1, i64::MAX, 5])
        .bool("is_bound", [false, false, false, false, false, true]);
    let output = testing::run::<Throughput>(inputs, "{}").unwrap();
    let ids: Vec<_> = output
        .table("iterations")
        .u64("id")
        .unwrap()
        .iter()
        .flatten()
        .collect();
    assert_eq!(ids, [1, 3, 5]);
    let detail = output.finding("left_out").unwrap().detail.clone().unwrap();
    assert_eq!(
        detail,
        "1 only bounds its work, 1 overlaps an earlier one of its thread, 1 has an impossible time"
    );
}

#[test]
fn a_number_used_twice_blames_nobody() {
    let mut made = warm();
    made.more = vec![(10, "RmsNorm", 5_000)];
    let mut inputs = made.inputs();
    let walls = (0..23).map(|at| if at == 10 { 6_004 } else { made.walls[at] });
    inputs[0] = Table::build("iterations")
        .u64("id", (0..23).map(|at| 100 + at as u64))
        .i64("thread", [0; 23])
        .u64(
            "iteration",
            (0..23).map(|at| if at == 11 { 10 } else { at }),
        )
        .i64("start_ns", (0..23).map(|at| at * 10_000))
        .i64("dur_ns", walls)
        .bool("is_bound", [false; 23]);
    let output = testing::run::<Throughput>(inputs, "{}").unwrap();
    let table = output.table("iterations");
    assert_eq!(table.text("outlier").unwrap().get(10), Some("slow"));
    assert_eq!(table.text("slow_name").unwrap().get(10), None);
}

#[test]
fn becoming_faster_is_a_note_and_not_advice_against_becoming_slower() {
    let made = Made {
        walls: (0..40).map(|at| 1_000 - 8 * at).collect(),
        ..Made::default()
    };
    let output = testing::run::<Throughput>(made.inputs(), r#"{"tolerance": 0.12}"#).unwrap();
    let faster = output.finding("drift").unwrap();
    assert_eq!(faster.severity, Severity::Info);
    assert!(faster.title.contains("faster than the first"));
    assert!(faster.detail.as_ref().unwrap().contains("warm-up"));
    let advice = faster.suggestion.as_ref().unwrap();
    assert!(
        !advice.contains("grow") && !advice.contains("slows"),
        "{advice}"
    );
}

#[test]
fn a_drift_is_said_and_a_stop_obeyed() {
    let made = Made {
        walls: (0..40).map(|at| 1_000 + 8 * at).collect(),
        ..Made::default()
    };
    let output = testing::run::<Throughput>(made.inputs(), r#"{"tolerance": 0.12}"#).unwrap();
    let slower = output.finding("drift").unwrap();
    assert!(slower.title.contains("slower"));
    assert_eq!(slower.severity, Severity::Warning);
    assert!(testing::run_cancelled::<Throughput>(made.inputs(), "{}").is_err());
    let refused = testing::run::<Throughput>(made.inputs(), r#"{"windows": 3}"#);
    assert!(refused.unwrap_err().to_string().contains("window"));
}
