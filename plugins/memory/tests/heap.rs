//! Blocks that a recording allocator saw: all of them, or samples; and parts of a run.

use trueno_plugin::testing::{self, Output};
use trueno_plugin::{Severity, Table, TableBuilder};
use trueno_plugin_memory::Memory;

/// Time, bytes, tag, address, weight, mean bytes between samples.
type Row = (
    i64,
    i64,
    &'static str,
    Option<u64>,
    Option<f64>,
    Option<u64>,
);

fn exact(time_ns: i64, bytes: i64, address: u64) -> Row {
    (time_ns, bytes, "heap", Some(address), Some(1.0), None)
}

const MEAN: u64 = 1000;

fn sample(time_ns: i64, bytes: i64, address: u64) -> Row {
    let p = 1.0 - (-(bytes.abs() as f64) / MEAN as f64).exp();
    (
        time_ns,
        bytes,
        "heap",
        Some(address),
        Some(1.0 / p),
        Some(MEAN),
    )
}

fn stated(time_ns: i64, bytes: i64) -> Row {
    (time_ns, bytes, "weights", None, None, None)
}

struct Made<'a> {
    rows: &'a [Row],
    ends: &'a [i64],
    window: Option<(i64, i64)>,
    dropped: u64,
}

impl<'a> Made<'a> {
    fn new(rows: &'a [Row]) -> Self {
        Self {
            rows,
            ends: &[],
            window: None,
            dropped: 0,
        }
    }

    fn output(&self) -> Output {
        let (rows, ends) = (self.rows, self.ends);
        let calls = |name, calls: i64| {
            Table::build(name)
                .text("kind", ["brick"])
                .text("name", ["Attention"])
                .i64("thread", [0])
                .i64("calls", [calls])
        };
        let mut inputs: Vec<TableBuilder> = vec![
            Table::build("allocations")
                .i64("time_ns", rows.iter().map(|row| row.0))
                .i64("thread", rows.iter().map(|_| 0))
                .u64("span", rows.iter().map(|_| Some(1_u64)))
                .i64("device", rows.iter().map(|_| None::<i64>))
                .i64("bytes", rows.iter().map(|row| row.1))
                .text("tag", rows.iter().map(|row| row.2))
                .u64("address", rows.iter().map(|row| row.3))
                .f64("weight", rows.iter().map(|row| row.4))
                .u64("sample_bytes", rows.iter().map(|row| row.5)),
            Table::build("owners")
                .u64("id", [1_u64])
                .text("kind", ["brick"])
                .text("name", ["Attention"])
                .u64("iteration", [Some(3_u64)])
                .i64("layer", [Some(1_i64)]),
            calls("calls", 8),
            Table::build("iterations")
                .i64("thread", ends.iter().map(|_| 0))
                .i64("start_ns", ends.iter().map(|end| end - 90))
                .i64("end_ns", ends),
            Table::build("run")
                .i64("wall_ns", [1_000_000_000])
                .u64("dropped", [self.dropped]),
        ];
        if let Some((from_ns, until_ns)) = self.window {
            inputs.push(
                Table::build("report_window")
                    .i64("from_ns", [from_ns])
                    .i64("until_ns", [until_ns]),
            );
            inputs.push(calls("calls_of_window", 2));
        }
        testing::run::<Memory>(inputs, "{}").unwrap()
    }
}

fn verdict(output: &Output, place: &str, measure: &str) -> (String, String) {
    let table = output.table("measures");
    let (places, measures) = (table.text("place").unwrap(), table.text("measure").unwrap());
    let found = (0..table.rows())
        .find(|row| places.get(*row) == Some(place) && measures.get(*row) == Some(measure))
        .unwrap();
    let text = |column: &str| table.text(column).unwrap().value(found).to_owned();
    (text("verdict"), text("detail"))
}

#[test]
fn the_heap_is_a_place_of_its_own_and_counted_once() {
    let rows = [
        stated(5, 4000),
        exact(10, 4000, 64),
        exact(20, 100, 8192),
        exact(30, -100, 8192),
        exact(40, -77, 999),
    ];
    let output = Made::new(&rows).output();
    assert_eq!(
        output.table("places").to_string(),
        "place  peak_bytes  peak_ns  before_bytes  end_bytes  end_blocks  allocations  allocated_bytes  releases  released_bytes  allocations_per_s  allocated_bytes_per_s\n\
         host         4000        5          null       4000        null            1             4000         0               0                  1                   4000\n\
         heap         4100       20          null       4000           1            2             4100         2             177                  2                   4100\n"
    );
    assert_eq!(verdict(&output, "heap", "live bytes").0, "measured");
    let before = output.finding("allocated_before").unwrap();
    assert_eq!(before.severity, Severity::Info);
    assert!(output.finding("release_without_allocation").is_none());
    assert!(output.finding("rows_missing").is_none());
}

#[test]
fn samples_are_scaled_and_every_figure_says_that_it_is_an_estimate() {
    let mut rows = Vec::new();
    for at in 0..40 {
        rows.push(sample(10 * at, 10, 4096 + 64 * at as u64));
    }
    for at in 0..40 {
        rows.push(sample(1000 + 10 * at, -10, 4096 + 64 * at as u64));
    }
    rows.push(sample(2000, 1_000_000, 1 << 20));
    let output = Made::new(&rows).output();
    let place = "heap (estimated, 1 sample in 1000 B)";
    for table in [
        "places",
        "live",
        "peak_owners",
        "growth",
        "lifetimes",
        "by_brick",
        "measures",
    ] {
        let places = output.table(table).text("place").unwrap();
        assert!(places.iter().all(|found| found == Some(place)), "{table}");
    }
    for finding in output
        .findings
        .iter()
        .filter(|finding| finding.code != "left_out")
    {
        assert!(finding.title.contains("estimated"), "{}", finding.title);
    }
    let places = output.table("places");
    let weight = 1.0 / (1.0 - f64::exp(-0.01));
    let small = places.u64("allocations").unwrap().value(0);
    assert_eq!(small, (40.0 * weight + 1.0).round() as u64);
    // Each is rounded to whole bytes; what is given back leaves nothing.
    let each = (10.0 * weight).round() as i64;
    assert_eq!(
        places.i64("allocated_bytes").unwrap().value(0),
        40 * each + 1_000_000
    );
    assert_eq!(places.i64("end_bytes").unwrap().value(0), 1_000_000);
    assert_eq!(places.u64("end_blocks").unwrap().get(0), Some(1));
    let lived = output.table("lifetimes").u64("blocks").unwrap().value(0);
    assert_eq!(lived, (40.0 * weight).round() as u64);

    let (said, detail) = verdict(&output, place, "rates");
    assert_eq!(said, "estimated from samples");
    let error =
        100.0 * (40.0 * weight * (weight - 1.0) * 100.0).sqrt() / (40.0 * each as f64 + 1e6);
    let expected = format!("standard error {error:.1} %");
    assert!(
        detail.contains(&expected) && detail.contains("one in 1000 bytes"),
        "{detail}"
    );
    assert_eq!(verdict(&output, place, "fragmentation").0, "not measurable");
    assert!(output.table("fragmentation").is_empty());
    assert!(output.table("problems").is_empty());
}

#[test]
fn one_sample_of_all_sizes_is_still_an_estimate() {
    // Certain to be taken: its weight is 1, and others may have been missed all the same.
    let output = Made::new(&[sample(10, 1 << 40, 64)]).output();
    let places = output.table("places").text("place").unwrap();
    assert!(places.value(0).contains("estimated"));
    assert_eq!(
        output.table("places").i64("peak_bytes").unwrap().value(0),
        1 << 40
    );
}

#[test]
fn a_broken_weight_is_left_out_and_said() {
    let mut row = sample(10, 64, 64);
    row.4 = Some(0.2);
    let output = Made::new(&[row, exact(20, 8, 8)]).output();
    assert_eq!(output.table("places").rows(), 1);
    assert!(output.finding("left_out").is_some());
}

#[test]
fn dropped_rows_are_a_warning() {
    let rows = [exact(10, 64, 64)];
    let made = Made {
        dropped: 3,
        ..Made::new(&rows)
    };
    let output = made.output();
    let found = output.finding("rows_missing").unwrap();
    assert_eq!(found.severity, Severity::Warning);
    assert!(found.title.contains("dropped 3 rows"), "{}", found.title);
}

#[test]
fn a_window_begins_with_what_is_live_and_counts_only_its_own() {
    let rows = [
        exact(10, 1000, 0x1000),
        exact(20, 500, 0x2000),
        exact(30, -500, 0x2000),
        exact(110, 300, 0x3000),
        exact(150, -300, 0x3000),
        exact(160, -1000, 0x1000),
        exact(200, 9000, 0x9000),
    ];
    let made = Made {
        window: Some((100, 200)),
        ends: &[95, 190, 290],
        ..Made::new(&rows)
    };
    let output = made.output();
    assert_eq!(
        output.table("places").to_string(),
        "place  peak_bytes  peak_ns  before_bytes  end_bytes  end_blocks  allocations  allocated_bytes  releases  released_bytes  allocations_per_s  allocated_bytes_per_s\n\
         heap         1300      110          null          0           0            1              300         2            1300           10000000             3000000000\n"
    );
    let live = output.table("live");
    let (time, most) = (
        live.i64("time_ns").unwrap(),
        live.i64("live_bytes").unwrap(),
    );
    assert_eq!((time.value(0), most.value(0)), (100, 1000));
    assert!(
        time.iter()
            .flatten()
            .all(|time| (100..=200).contains(&time))
    );
    let peak_owners = output.table("peak_owners").i64("bytes").unwrap();
    assert_eq!(peak_owners.iter().flatten().sum::<i64>(), 1300);
    assert_eq!(
        output.table("by_brick").u64("calls").unwrap().get(0),
        Some(2)
    );
    // Blocks that were given back in it, by their whole lives.
    let lifetimes = output.table("lifetimes").u64("blocks").unwrap();
    assert_eq!(lifetimes.iter().flatten().sum::<u64>(), 2);
    // Of three iterations one lies in it.
    assert_eq!(
        output.table("growth").u64("iterations").unwrap().value(0),
        1
    );
    assert!(output.table("problems").is_empty());
}

#[test]
fn where_nothing_happens_in_a_window_it_shows_what_was_live() {
    let rows = [exact(10, 1000, 0x1000), exact(500, -1000, 0x1000)];
    let made = Made {
        window: Some((100, 200)),
        ..Made::new(&rows)
    };
    let output = made.output();
    let places = output.table("places");
    assert_eq!(places.i64("peak_bytes").unwrap().get(0), Some(1000));
    assert_eq!(places.i64("peak_ns").unwrap().get(0), Some(100));
    assert_eq!(places.i64("end_bytes").unwrap().get(0), Some(1000));
    assert_eq!(places.u64("allocations").unwrap().get(0), Some(0));
}

#[test]
fn a_window_over_everything_changes_nothing() {
    let rows = [
        stated(1, 50),
        exact(10, 1000, 0x1000),
        exact(20, -1000, 0x1000),
    ];
    let ends: Vec<i64> = (1..20).map(|at| at * 100).collect();
    let all = Made {
        ends: &ends,
        ..Made::new(&rows)
    };
    let part = Made {
        window: Some((-1, 999_999_999)),
        ends: &ends,
        ..Made::new(&rows)
    };
    let (all, part) = (all.output(), part.output());
    for table in [
        "places",
        "peak_owners",
        "lifetimes",
        "growth",
        "fragmentation",
        "problems",
    ] {
        assert_eq!(
            all.table(table).to_string(),
            part.table(table).to_string(),
            "{table}"
        );
    }
}
