//! Live bytes before the first row.

use trueno_plugin::testing::{self, Output};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_memory::Memory;

/// Time, device, bytes, address.
type Row = (i64, Option<i64>, i64, Option<u64>);
type Total = (i64, &'static str, f64);

fn run(rows: &[Row], totals: &[Total], window: Option<(i64, i64)>) -> Output {
    testing::run::<Memory>(inputs(rows, totals, window), "{}").unwrap()
}

fn inputs(rows: &[Row], totals: &[Total], window: Option<(i64, i64)>) -> Vec<TableBuilder> {
    let none = || rows.iter().map(|_| None::<u64>);
    let empty = || (Vec::<i64>::new(), Vec::<&str>::new());
    let mut inputs: Vec<TableBuilder> = vec![
        Table::build("allocations")
            .i64("time_ns", rows.iter().map(|row| row.0))
            .i64("thread", rows.iter().map(|_| 0))
            .u64("span", none())
            .i64("device", rows.iter().map(|row| row.1))
            .i64("bytes", rows.iter().map(|row| row.2))
            .text("tag", rows.iter().map(|_| None::<&str>))
            .u64("address", rows.iter().map(|row| row.3))
            .f64("weight", rows.iter().map(|_| None::<f64>))
            .u64("sample_bytes", none()),
        Table::build("owners")
            .u64("id", Vec::<u64>::new())
            .text("kind", empty().1)
            .text("name", empty().1)
            .u64("iteration", Vec::<u64>::new())
            .i64("layer", empty().0),
        Table::build("calls")
            .text("kind", empty().1)
            .text("name", empty().1)
            .i64("thread", empty().0)
            .i64("calls", empty().0),
        Table::build("calls_of_window")
            .text("kind", empty().1)
            .text("name", empty().1)
            .i64("thread", empty().0)
            .i64("calls", empty().0),
        Table::build("iterations")
            .i64("thread", empty().0)
            .i64("start_ns", empty().0)
            .i64("end_ns", empty().0),
        Table::build("run")
            .i64("wall_ns", [1000])
            .u64("dropped", [0_u64]),
        Table::build("totals")
            .i64("time_ns", totals.iter().map(|row| row.0))
            .text("name", totals.iter().map(|row| row.1))
            .f64("value", totals.iter().map(|row| row.2)),
    ];
    if let Some((from_ns, until_ns)) = window {
        inputs.push(
            Table::build("report_window")
                .i64("from_ns", [from_ns])
                .i64("until_ns", [until_ns]),
        );
    }
    inputs
}

/// Peak, its time, live bytes before and at the end of the first place.
fn first_place(output: &Output) -> [Option<i64>; 4] {
    ["peak_bytes", "peak_ns", "before_bytes", "end_bytes"]
        .map(|column| output.table("places").i64(column).unwrap().get(0))
}

fn titles(output: &Output) -> Vec<&str> {
    let peaks = output.findings.iter().filter(|found| found.code == "peak");
    peaks.map(|found| found.title.as_str()).collect()
}

const ROWS: [Row; 3] = [
    (10, Some(0), 100, Some(1)),
    (20, Some(0), 50, Some(2)),
    (30, Some(0), -100, Some(1)),
];
const TOTALS: [Total; 3] = [
    (10, "gpu0 allocated", 1100.0),
    (20, "gpu0 allocated", 1150.0),
    (30, "gpu0 allocated", 1050.0),
];

#[test]
fn a_total_makes_live_bytes_absolute() {
    let output = run(&ROWS, &TOTALS, None);
    assert_eq!(
        first_place(&output),
        [Some(1150), Some(20), Some(1000), Some(1050)]
    );
    assert_eq!(
        titles(&output),
        ["gpu0: 1.15 kB live at the peak, 1.00 kB of it allocated before the recording began"]
    );
    let live = output.table("live");
    let (series, bytes) = (
        live.text("series").unwrap(),
        live.i64("live_bytes").unwrap(),
    );
    assert_eq!(
        (series.get(0), bytes.get(0)),
        (Some("gpu0 all tags"), Some(1000))
    );
    let held = output.table("peak_owners");
    let (tag, name) = (held.text("tag").unwrap(), held.text("name").unwrap());
    assert_eq!(
        (tag.get(0), name.get(0)),
        (
            Some("allocated before the recording began"),
            Some("not known whose")
        )
    );
    assert_eq!((tag.get(1), name.get(1)), (None, Some("outside bricks")));
    let measures = output.table("measures");
    let detail = measures.text("detail").unwrap().value(0);
    assert_eq!(
        detail,
        "3 rows; 1000 B were live before the first, confirmed by 3 totals of its allocator"
    );
    // They are no rows of the program.
    let places = output.table("places");
    assert_eq!(places.i64("allocated_bytes").unwrap().value(0), 150);
}

#[test]
fn without_a_total_the_peak_counts_from_when_the_recording_began() {
    // Of another device; of a moment with two rows, whose order is not known; less than was taken.
    let doubled = [
        (10, Some(0), 100, None),
        (10, Some(0), -20, None),
        (20, Some(0), 50, None),
    ];
    for (rows, totals) in [
        (&ROWS[..], &[][..]),
        (&ROWS, &[(10, "gpu1 allocated", 1100.0)]),
        (&ROWS, &[(10, "gpu0 allocated", f64::NAN)]),
        (&ROWS, &[(10, "gpu0 allocated", 40.0)]),
        (&doubled, &[(10, "gpu0 allocated", 1100.0)]),
    ] {
        let output = run(rows, totals, None);
        assert_eq!(first_place(&output)[2], None, "{totals:?}");
        let title = titles(&output)[0];
        assert!(
            title.contains("at the peak since the recording began,"),
            "{title}"
        );
        let measures = output.table("measures");
        let detail = measures.text("detail").unwrap().value(0);
        assert!(detail.contains("not known"), "{detail}");
    }
}

#[test]
fn what_was_there_before_can_be_given_back() {
    let rows = [(10, Some(0), 100, Some(1)), (20, Some(0), -300, Some(9))];
    let totals = [
        (10, "gpu0 allocated", 1100.0),
        (20, "gpu0 allocated", 800.0),
    ];
    let output = run(&rows, &totals, None);
    assert_eq!(
        first_place(&output),
        [Some(1100), Some(10), Some(1000), Some(800)]
    );
    assert!(output.table("problems").is_empty());
    // Not known: the release changes nothing, and is said.
    let output = run(&rows, &[], None);
    assert_eq!(first_place(&output), [Some(100), Some(10), None, Some(100)]);
    assert_eq!(output.table("problems").rows(), 1);
}

#[test]
fn totals_that_the_rows_do_not_come_to_are_said() {
    let totals = [TOTALS[0], (20, "gpu0 allocated", 1250.0), TOTALS[2]];
    let output = run(&ROWS, &totals, None);
    assert_eq!(first_place(&output)[2], Some(1000));
    let measures = output.table("measures");
    let detail = measures.text("detail").unwrap().value(0);
    assert!(detail.contains("1 of 3 totals"), "{detail}");
}

#[test]
fn a_window_begins_with_what_was_live() {
    let output = run(&ROWS, &TOTALS, Some((15, 40)));
    assert_eq!(
        first_place(&output),
        [Some(1150), Some(20), Some(1000), Some(1050)]
    );
    // Before all rows but those of the total.
    let output = run(&ROWS, &TOTALS, Some((5, 15)));
    assert_eq!(
        first_place(&output),
        [Some(1100), Some(10), Some(1000), Some(1100)]
    );
    let measures = output.table("measures");
    let detail = measures.text("detail").unwrap().value(0);
    assert!(
        detail.contains("confirmed by 1 totals of its allocator"),
        "{detail}"
    );
    // Only releases: the peak is what it begins with.
    let rows = [(10, Some(0), -100, Some(7))];
    let output = run(&rows, &[(10, "gpu0 allocated", 900.0)], None);
    assert_eq!(
        first_place(&output),
        [Some(1000), Some(0), Some(1000), Some(900)]
    );
}

/// Bytes of the footprint, live and free, and the largest free piece at the peak.
fn at_peak(output: &Output) -> [Option<i64>; 4] {
    let columns = [
        "footprint_bytes",
        "live_bytes",
        "free_bytes",
        "largest_free_bytes",
    ];
    columns.map(|column| output.table("fragmentation").i64(column).unwrap().get(0))
}

/// Two blocks of 100 at different addresses, of which the first is released before the second is taken.
const MOVED: [Row; 3] = [
    (10, Some(0), 100, Some(0)),
    (20, Some(0), -100, Some(0)),
    (30, Some(0), 120, Some(1000)),
];

#[test]
fn the_footprint_is_what_the_allocator_has_reserved() {
    // Not known: all addresses used so far.
    let output = run(&MOVED, &[], None);
    assert_eq!(
        at_peak(&output),
        [Some(220), Some(120), Some(100), Some(100)]
    );
    // Returned to the driver before the peak, and what was free before the recording.
    let reserved = |bytes: f64| {
        let totals = [
            (5, "gpu0 reserved", 100.0),
            (30, "gpu0 reserved", bytes),
            (40, "gpu0 reserved", 9e6),
        ];
        at_peak(&run(&MOVED, &totals, None))
    };
    assert_eq!(reserved(150.0), [Some(150), Some(120), Some(30), None]);
    // Addresses side by side may be of two segments, which do not join.
    assert_eq!(reserved(220.0), [Some(220), Some(120), Some(100), None]);
    // Less than lives: not believed.
    assert_eq!(reserved(50.0), [Some(220), Some(120), Some(100), Some(100)]);
    let before = [
        (10, "gpu0 allocated", 1100.0),
        (30, "gpu0 reserved", 1500.0),
    ];
    let output = run(&MOVED, &before, None);
    assert_eq!(at_peak(&output), [Some(1500), Some(1120), Some(380), None]);
}

#[test]
fn segments_without_a_block_are_not_fragmentation() {
    let totals = [
        (30, "gpu0 reserved", 500.0),
        (30, "gpu0 free segments", 180.0),
        (30, "gpu0 largest free piece", 40.0),
        // Of another moment.
        (35, "gpu0 free segments", 400.0),
        (35, "gpu0 largest free piece", 7.0),
    ];
    let output = run(&MOVED, &totals, None);
    assert_eq!(
        at_peak(&output),
        [Some(500), Some(120), Some(200), Some(40)]
    );
    let table = output.table("fragmentation");
    assert_eq!(table.i64("free_segments_bytes").unwrap().get(0), Some(180));
    assert_eq!(table.f64("fragmentation_share").unwrap().get(0), Some(0.8));
    assert!(output.finding("fragmentation").is_some());
    let cached = [totals[0], (30, "gpu0 free segments", 380.0), totals[2]];
    let output = run(&MOVED, &cached, None);
    assert_eq!(at_peak(&output)[2], Some(0));
    assert!(output.finding("fragmentation").is_none());
}

#[test]
fn a_request_that_failed_is_a_finding_with_what_was_live() {
    let totals = [
        (30, "gpu0 allocated", 120.0),
        (30, "gpu0 reserved", 150.0),
        (40, "gpu0 allocated", 0.0),
    ];
    let failed = || {
        Table::build("failed_requests")
            .i64("device", [0, 0, 0])
            .i64("time_ns", [35, 36, 37])
            .text(
                "arguments",
                [
                    "{\"bytes\":500,\"device_free\":20}",
                    "{\"bytes\":400}",
                    "{\"bytes\":\"many\"}",
                ],
            )
    };
    let mut tables = inputs(&MOVED, &totals, None);
    tables.push(failed());
    let output = testing::run::<Memory>(tables, "{}").unwrap();
    assert_eq!(
        output.finding("out_of_memory").unwrap().title,
        "gpu0 ran out of memory: 500 B requested, 20 B free on the device, 120 B live, 30 B reserved and not allocated, \
         first of 2 times"
    );
    let table = output.table("out_of_memory");
    let free = table.i64("device_free_bytes").unwrap();
    assert_eq!((free.get(0), free.get(1)), (Some(20), None));
    assert_eq!(table.i64("live_bytes").unwrap().values(), [120, 120]);
    // Nothing else was recorded.
    let mut tables = inputs(&[], &[], None);
    tables.push(failed());
    let output = testing::run::<Memory>(tables, "{}").unwrap();
    assert_eq!(output.table("out_of_memory").rows(), 2);
    assert_eq!(output.findings[0].code, "out_of_memory");
}

#[test]
fn what_an_allocator_holds_is_said_without_a_history() {
    let totals = [
        (0, "gpu0 allocated", 6e9),
        (0, "gpu0 reserved", 16e9),
        (0, "gpu0 free segments", 5e9),
    ];
    let output = run(&[], &totals, None);
    let found: Vec<_> = output
        .findings
        .iter()
        .map(|found| (found.code.as_str(), found.title.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            (
                "reserved_unused",
                "gpu0: when last read, 6.00 GB of the 16.00 GB that its allocator had reserved were allocated, \
                 10.00 GB (62 %) were not, 5.00 GB of it in segments without a block"
            ),
            (
                "not_recorded",
                "no allocation was recorded: who allocated the memory, and when, is not measurable"
            ),
        ]
    );
    let all_used = [(0, "gpu0 allocated", 6e9), (0, "gpu0 reserved", 6e9)];
    let output = run(&[], &all_used, None);
    assert_eq!(output.findings.len(), 1);
}

#[test]
fn the_place_with_the_most_bytes_leads() {
    let mut rows = ROWS.to_vec();
    rows.push((5, None, 16, None));
    let output = run(&rows, &TOTALS, None);
    let titles = titles(&output);
    assert!(
        titles[0].starts_with("gpu0") && titles[1].starts_with("host"),
        "{titles:?}"
    );
}

/// Ranks 0 and 1, which both call their device 0.
#[test]
fn each_rank_has_the_totals_of_its_own_device() {
    const TOTALS_OF_RANKS: [(u64, i64, f64); 3] =
        [(0, 10, 1100.0), (1, 10, 5100.0), (1, 20, 5150.0)];
    let of_rank = |rank: i64| ROWS.map(|row| (row.0, Some(rank << 16), row.2, row.3));
    let rows = [of_rank(0), of_rank(1)].concat();
    let mut inputs = inputs(&rows, &TOTALS, None);
    inputs.push(Table::build("ranks").u64("rank", [0, 1]));
    inputs.push(
        Table::build("totals_of_ranks")
            .u64("rank", TOTALS_OF_RANKS.map(|row| row.0))
            .i64("time_ns", TOTALS_OF_RANKS.map(|row| row.1))
            .text("name", ["gpu0 allocated"; 3])
            .f64("value", TOTALS_OF_RANKS.map(|row| row.2)),
    );
    let output = testing::run::<Memory>(inputs, "{}").unwrap();
    let peaks = output.table("places").i64("peak_bytes").unwrap();
    assert_eq!([peaks.get(0), peaks.get(1)], [Some(1150), Some(5150)]);
}
