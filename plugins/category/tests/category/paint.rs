//! All sums against an oracle that paints every nanosecond of every lane.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use proptest::prelude::*;
use trueno_analysis::testing::{Row, RunFixture, interval};
use trueno_plugin::testing::run;
use trueno_plugin_category::Category;

const WALL_NS: i64 = 60;
const KINDS: [&str; 3] = ["layer", "brick", "task"];
const NAMES: [&str; 3] = ["a", "b", "c"];
const CATEGORIES: [Option<&str>; 3] = [None, Some("FFN"), Some("Norm")];

/// Intervals in any position, nested or not, some outside the window, on three threads and two streams.
fn runs() -> impl Strategy<Value = RunFixture> {
    let row = (
        0..3_usize,
        0..3_usize,
        0..3_usize,
        0..3_i64,
        -5..62_i64,
        0..30_i64,
        prop::option::of(1..9_u64),
    );
    let bricks = prop::collection::vec(row.clone(), 0..12);
    let kernels = prop::collection::vec((row, 0..3_i64, prop::option::of(1..14_u64)), 0..8);
    (bricks, kernels, any::<u64>()).prop_map(|(bricks, kernels, shuffle)| {
        let make = |id: usize,
                    (kind, name, category, thread, start, dur, elements): (
            _,
            _,
            _,
            _,
            _,
            _,
            Option<u64>,
        )| Row {
            category: CATEGORIES[category],
            elements,
            // Ids in no relation to the order of rows.
            ..interval(
                (id as u64 * 5 + shuffle % 13) % 13 + 1,
                KINDS[kind],
                NAMES[name],
                start,
                start + dur,
            )
            .thread(thread)
        };
        let bricks = bricks
            .into_iter()
            .enumerate()
            .map(|(id, (k, n, c, t, s, d, e))| make(id, (k, n, c, t, s, d, e)));
        let kernels =
            kernels
                .into_iter()
                .enumerate()
                .map(|(id, ((k, n, c, t, s, d, e), stream, brick))| {
                    let row = Row {
                        id: 100 + id as u64,
                        brick,
                        ..make(0, (k, n, c, t, s, d, e))
                    };
                    let row = Row {
                        id: 100 + id as u64,
                        ..row
                    };
                    if stream < 2 {
                        row.stream(0, stream)
                    } else {
                        row
                    }
                });
        RunFixture {
            wall_ns: Some(WALL_NS),
            bricks: bricks.collect(),
            kernels: kernels.collect(),
            ..RunFixture::default()
        }
    })
}

type Label = (&'static str, &'static str, String);

#[derive(Default, Debug, PartialEq)]
struct Sums {
    self_ns: i64,
    inclusive_ns: i64,
    calls: u64,
    with_elements_ns: i64,
}

struct Painted {
    by_label: BTreeMap<(&'static str, Label), Sums>,
    /// Self and inclusive time by category.
    by_category: BTreeMap<(&'static str, String), (i64, i64)>,
    /// By lane: busy time, and idle time between its first row and its last.
    by_lane: BTreeMap<String, (i64, i64)>,
    /// Self time of labels by lane.
    of_lanes: BTreeMap<(String, Label), i64>,
    /// By kind of lane: idle time within the lanes' lives, and time outside them.
    by_kind: BTreeMap<&'static str, (i64, i64)>,
}

fn lane(row: &Row, kernel: bool) -> (&'static str, String) {
    match row.device {
        Some(device) if kernel => (
            "device",
            format!("gpu{device}/stream {}", row.stream.unwrap()),
        ),
        _ => ("host", format!("thread {}", row.thread.unwrap())),
    }
}

fn brick_category(row: &Row) -> String {
    match (row.kind, row.category) {
        ("layer", _) => "outside bricks".to_owned(),
        (_, category) => category.unwrap_or("uncategorised").to_owned(),
    }
}

/// The definition, nanosecond by nanosecond.
fn paint(fixture: &RunFixture) -> Painted {
    let all: Vec<(&Row, bool)> = fixture
        .bricks
        .iter()
        .map(|row| (row, false))
        .chain(fixture.kernels.iter().map(|row| (row, true)))
        .collect();
    // Of those that cover an instant the innermost is the largest by this.
    let order = |row: &Row| (row.start_ns, Reverse(row.start_ns + row.dur_ns), row.id);
    let category = |at: usize| -> String {
        let mut at = at;
        loop {
            let (row, kernel) = all[at];
            if !kernel {
                return brick_category(row);
            }
            if let Some(brick) = fixture
                .bricks
                .iter()
                .rev()
                .find(|brick| Some(brick.id) == row.brick)
            {
                return brick_category(brick);
            }
            // The one that was running when it began.
            let open = |other: &Row| {
                order(other) < order(row) && other.start_ns + other.dur_ns > row.start_ns
            };
            let outer = (0..all.len())
                .filter(|o| lane(all[*o].0, all[*o].1) == lane(row, kernel) && open(all[*o].0))
                .max_by_key(|o| order(all[*o].0));
            match outer {
                Some(outer) => at = outer,
                None => return "outside bricks".to_owned(),
            }
        }
    };
    let labels: Vec<Label> = (0..all.len())
        .map(|at| {
            (
                if all[at].1 { "kernel" } else { all[at].0.kind },
                all[at].0.name,
                category(at),
            )
        })
        .collect();
    let mut out = Painted {
        by_label: BTreeMap::new(),
        by_category: BTreeMap::new(),
        by_lane: BTreeMap::new(),
        of_lanes: BTreeMap::new(),
        by_kind: BTreeMap::new(),
    };
    for (at, (row, kernel)) in all.iter().enumerate() {
        let (kind, lane) = lane(row, *kernel);
        out.by_label
            .entry((kind, labels[at].clone()))
            .or_default()
            .calls += 1;
        out.by_category
            .entry((kind, labels[at].2.clone()))
            .or_default();
        out.by_lane.entry(lane).or_default();
    }
    let lanes: Vec<String> = out.by_lane.keys().cloned().collect();
    for now in 0..WALL_NS {
        for name in &lanes {
            let open: Vec<usize> = (0..all.len())
                .filter(|at| {
                    let (row, kernel) = all[*at];
                    lane(row, kernel).1 == *name
                        && row.start_ns <= now
                        && now < row.start_ns + row.dur_ns
                })
                .collect();
            let Some(&innermost) = open.iter().max_by_key(|at| order(all[**at].0)) else {
                let of_lane = || {
                    all.iter()
                        .filter(|(row, kernel)| lane(row, *kernel).1 == *name)
                };
                let begun = of_lane().any(|(row, _)| row.start_ns <= now);
                let ended = of_lane().all(|(row, _)| row.start_ns + row.dur_ns <= now);
                let kind = of_lane().map(|(row, kernel)| lane(row, *kernel).0).next();
                let of_kind = out.by_kind.entry(kind.unwrap()).or_default();
                if begun && !ended {
                    out.by_lane.get_mut(name).unwrap().1 += 1;
                    of_kind.0 += 1;
                } else {
                    of_kind.1 += 1;
                }
                continue;
            };
            out.by_lane.get_mut(name).unwrap().0 += 1;
            let of_label = (name.clone(), labels[innermost].clone());
            *out.of_lanes.entry(of_label).or_default() += 1;
            let kind = lane(all[innermost].0, all[innermost].1).0;
            out.by_label
                .get_mut(&(kind, labels[innermost].clone()))
                .unwrap()
                .self_ns += 1;
            out.by_category
                .get_mut(&(kind, labels[innermost].2.clone()))
                .unwrap()
                .0 += 1;
            let mut seen: Vec<&Label> = open.iter().map(|at| &labels[*at]).collect();
            seen.sort();
            seen.dedup();
            seen.iter().for_each(|label| {
                out.by_label
                    .get_mut(&(kind, (*label).clone()))
                    .unwrap()
                    .inclusive_ns += 1
            });
            let mut seen: Vec<&Label> = open
                .iter()
                .filter(|at| all[**at].0.elements.is_some())
                .map(|at| &labels[*at])
                .collect();
            seen.sort();
            seen.dedup();
            seen.iter().for_each(|label| {
                out.by_label
                    .get_mut(&(kind, (*label).clone()))
                    .unwrap()
                    .with_elements_ns += 1
            });
            let mut seen: Vec<&String> = open.iter().map(|at| &labels[*at].2).collect();
            seen.sort();
            seen.dedup();
            seen.iter().for_each(|category| {
                out.by_category
                    .get_mut(&(kind, (*category).clone()))
                    .unwrap()
                    .1 += 1
            });
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn sums_are_those_of_the_painted_lanes(fixture in runs()) {
        let out = run::<Category>(fixture.inputs(), "{}").unwrap();
        let painted = paint(&fixture);

        let lanes = out.table("by_lane");
        prop_assert_eq!(lanes.rows(), painted.by_lane.len());
        for row in 0..lanes.rows() {
            let (busy, idle) = painted.by_lane[lanes.text("lane").unwrap().value(row)];
            prop_assert_eq!(lanes.i64("busy_ns").unwrap().value(row), busy);
            prop_assert_eq!(lanes.i64("self_ns").unwrap().value(row), busy);
            prop_assert_eq!(lanes.i64("unaccounted_ns").unwrap().value(row), idle);
            prop_assert_eq!(lanes.i64("not_alive_ns").unwrap().value(row), WALL_NS - busy - idle);
            let of_lane = || {
                let name = lanes.text("lane").unwrap().value(row);
                painted.of_lanes.iter().filter(move |((lane, _), _)| lane == name)
            };
            let waiting = of_lane().filter(|((_, label), _)| label.2 == "waiting");
            let waiting_ns: i64 = waiting.map(|(_, ns)| ns).sum();
            prop_assert_eq!(lanes.i64("waiting_ns").unwrap().value(row), waiting_ns);
            let works = |label: &Label| {
                label.2 != "waiting" && !["run", "iteration", "layer"].contains(&label.0)
            };
            let working = of_lane().filter(|((_, label), _)| works(label));
            let most = working.map(|((_, label), ns)| (*ns, std::cmp::Reverse(label.1))).max();
            prop_assert_eq!(lanes.i64("most_ns").unwrap().get(row), most.map(|most| most.0));
            prop_assert_eq!(lanes.text("most_name").unwrap().get(row), most.map(|most| most.1.0));
        }

        let bricks = out.table("by_brick");
        let text = |column, row| bricks.text(column).unwrap().value(row);
        prop_assert_eq!(bricks.rows(), painted.by_label.len());
        for ((lane_kind, (kind, name, category)), sums) in &painted.by_label {
            let row = (0..bricks.rows()).find(|row| {
                text("lane_kind", *row) == *lane_kind && text("kind", *row) == *kind
                    && text("name", *row) == *name && text("category", *row) == category
            });
            let row = row.expect("a row for each label");
            prop_assert_eq!(bricks.u64("calls").unwrap().value(row), sums.calls);
            prop_assert_eq!(bricks.i64("self_ns").unwrap().value(row), sums.self_ns);
            prop_assert_eq!(bricks.i64("inclusive_ns").unwrap().value(row), sums.inclusive_ns);
            let elements = bricks.u64("elements").unwrap().get(row);
            let per_s = bricks.f64("elements_per_s").unwrap().get(row);
            prop_assert_eq!(per_s.is_some(), elements.is_some() && sums.with_elements_ns > 0);
            if let Some(per_s) = per_s {
                let expected = elements.unwrap() as f64 * 1e9 / sums.with_elements_ns as f64;
                prop_assert!((per_s / expected - 1.0).abs() < 1e-12);
            }
        }

        let categories = out.table("by_category");
        let mut rest: BTreeMap<(&str, &str), i64> = BTreeMap::new();
        for row in 0..categories.rows() {
            let lane_kind = categories.text("lane_kind").unwrap().value(row);
            let name = categories.text("category").unwrap().value(row);
            if ["unaccounted", "not alive"].contains(&name) {
                rest.insert((lane_kind, name), categories.i64("self_ns").unwrap().value(row));
                continue;
            }
            let kind = if lane_kind == "host" { "host" } else { "device" };
            let (self_ns, inclusive_ns) = painted.by_category[&(kind, name.to_owned())];
            prop_assert_eq!(categories.i64("self_ns").unwrap().value(row), self_ns);
            prop_assert_eq!(categories.i64("inclusive_ns").unwrap().value(row), inclusive_ns);
        }
        for (kind, (idle, outside)) in painted.by_kind {
            prop_assert_eq!(rest[&(kind, "unaccounted")], idle);
            prop_assert_eq!(rest.get(&(kind, "not alive")).copied().unwrap_or(0), outside);
        }
    }

    #[test]
    fn the_order_of_rows_does_not_matter(fixture in runs(), swap in 0..12_usize) {
        let out = run::<Category>(fixture.inputs(), "{}").unwrap();
        let mut turned = fixture.clone();
        turned.bricks.rotate_left(swap.min(fixture.bricks.len()));
        turned.kernels.reverse();
        prop_assert_eq!(run::<Category>(turned.inputs(), "{}").unwrap(), out);
    }
}
