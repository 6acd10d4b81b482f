//! The plugin as a whole: made rows in, tables and findings out.

use trueno_plugin::testing::{self, Output};
use trueno_plugin::{Severity, Table, TableBuilder};
use trueno_plugin_memory::Memory;

/// Time, span, device, bytes, tag, address.
type Row = (
    i64,
    Option<u64>,
    Option<i64>,
    i64,
    Option<&'static str>,
    Option<u64>,
);

fn host(time_ns: i64, bytes: i64, tag: &'static str, address: impl Into<Option<u64>>) -> Row {
    (time_ns, Some(1), None, bytes, Some(tag), address.into())
}

fn inputs(rows: &[Row], ends: &[i64]) -> Vec<TableBuilder> {
    vec![
        Table::build("allocations")
            .i64("time_ns", rows.iter().map(|row| row.0))
            .i64("thread", rows.iter().map(|_| 0))
            .u64("span", rows.iter().map(|row| row.1))
            .i64("device", rows.iter().map(|row| row.2))
            .i64("bytes", rows.iter().map(|row| row.3))
            .text("tag", rows.iter().map(|row| row.4))
            .u64("address", rows.iter().map(|row| row.5))
            .f64("weight", rows.iter().map(|_| None::<f64>))
            .u64("sample_bytes", rows.iter().map(|_| None::<u64>)),
        Table::build("owners")
            .u64("id", [1_u64, 2])
            .text("kind", ["brick", "layer"])
            .text("name", ["Attention", "layer"])
            .u64("iteration", [Some(3_u64), None])
            .i64("layer", [Some(1_i64), Some(0)]),
        Table::build("calls")
            .text("kind", ["brick", "brick"])
            .text("name", ["Attention", "LmHead"])
            .i64("thread", [0, 0])
            .i64("calls", [8, 8]),
        Table::build("iterations")
            .i64("thread", ends.iter().map(|_| 0))
            .i64("start_ns", ends.iter().map(|end| end.saturating_sub(90)))
            .i64("end_ns", ends),
        Table::build("run")
            .i64("wall_ns", [1_000_000_000])
            .u64("dropped", [0_u64]),
    ]
}

fn run(rows: &[Row], ends: &[i64]) -> Output {
    testing::run::<Memory>(inputs(rows, ends), "{}").unwrap()
}

fn verdict(output: &Output, table: &str, key: &str, row: &str) -> String {
    let table = output.table(table);
    let keys = table.text(key).unwrap();
    let at = keys.iter().position(|key| key == Some(row)).unwrap();
    table.text("verdict").unwrap().value(at).to_owned()
}

#[test]
fn nothing_recorded_says_what_to_record_and_shows_no_zero() {
    let output = run(&[], &[]);
    assert_eq!(output.tables.len(), 1, "{:?}", output.tables);
    assert!(
        output
            .table("measures")
            .to_string()
            .contains("not measurable")
    );
    let finding = output.finding("not_recorded").unwrap();
    assert!(
        finding
            .suggestion
            .as_ref()
            .unwrap()
            .contains("Recorder::allocation")
    );
    assert!(output.charts.is_empty());
}

#[test]
fn host_and_devices_are_apart_and_the_peak_names_its_holders() {
    let output = run(
        &[
            host(10, 100, "cache", 4096),
            host(20, 50, "scratch", 8192),
            (25, Some(2), Some(0), 700, Some("cache"), Some(4096)),
            host(30, -50, "scratch", 8192),
            (40, None, None, 20, None, None),
        ],
        &[],
    );
    assert_eq!(
        output.table("places").to_string(),
        "place  peak_bytes  peak_ns  before_bytes  end_bytes  end_blocks  allocations  allocated_bytes  releases  released_bytes  allocations_per_s  allocated_bytes_per_s\n\
         host          150       20          null        120           1            3              170         1              50                  3                    170\n\
         gpu0          700       25          null        700           1            1              700         0               0                  1                    700\n"
    );
    assert_eq!(
        output.table("peak_owners").to_string(),
        "place  tag      kind   name       layer  iteration  blocks  bytes          peak_share\n\
         host   cache    brick  Attention      1          3       1    100  0.6666666666666666\n\
         host   scratch  brick  Attention      1          3       1     50  0.3333333333333333\n\
         gpu0   cache    layer  layer          0       null       1    700                   1\n"
    );
    assert_eq!(
        output.table("lifetimes").to_string(),
        "place  tag      from_ns  to_ns  blocks  bytes  block_share\n\
         host   scratch        0   1000       1     50            1\n"
    );
    assert_eq!(
        output.table("by_brick").to_string(),
        "place  kind   name            calls  allocations  allocated_bytes  releases  released_bytes  allocations_per_call  allocated_bytes_per_call\n\
         host   brick  Attention           8            2              150         1              50                  0.25                     18.75\n\
         host   null   outside bricks   null            1               20         0               0                  null                      null\n\
         gpu0   layer  layer            null            1              700         0               0                  null                      null\n"
    );
}

#[test]
fn the_frame_that_allocates_most_has_its_full_name_in_the_table_alone() {
    const FRAME: &str = "torch::autograd::make_buffer(std::vector<at::Tensor, std::allocator<at::Tensor> > const&, bool) (engine.cpp:12)";
    let output = run(&[host(10, 100, FRAME, 4096)], &[]);
    let titles: Vec<&str> = output
        .findings
        .iter()
        .map(|finding| finding.title.as_str())
        .collect();
    assert!(
        titles.contains(&"host: 100 B live at the peak since the recording began, 100 B of it torch::autograd::make_buffer (engine.cpp:12)"),
        "{titles:?}"
    );
    let owners = output.table("peak_owners");
    assert_eq!(owners.text("tag").unwrap().get(0), Some(FRAME));
}

#[test]
fn a_release_and_an_allocation_of_one_tick_keep_their_order() {
    let output = run(
        &[
            host(10, 64, "a", 1),
            host(20, -64, "a", 1),
            host(20, 64, "a", 1),
        ],
        &[],
    );
    assert!(
        output.table("problems").is_empty(),
        "{}",
        output.table("problems")
    );
    assert_eq!(
        output.table("places").i64("peak_bytes").unwrap().value(0),
        64
    );
}

#[test]
fn what_does_not_add_up_is_counted_and_said() {
    let output = run(
        &[
            host(10, 64, "a", 1),
            host(20, 32, "a", 1),
            host(30, -5, "a", 999),
            host(40, -8, "loose", None),
            host(50, -32, "b", 1),
            host(60, 16, "a", 5),
            host(70, -4, "a", 5),
            host(80, 0, "a", 5),
        ],
        &[],
    );
    assert_eq!(
        output.table("problems").to_string(),
        "place  reason                      rows\n\
         host   release without allocation     1\n\
         host   doubled address                1\n\
         host   other tag                      1\n\
         host   other size                     1\n\
         host   negative live bytes            1\n"
    );
    for code in [
        "release_without_allocation",
        "doubled_address",
        "negative_live",
        "left_out",
    ] {
        assert!(output.finding(code).is_some(), "{code}");
    }
    assert_eq!(output.table("suspects").rows(), 5);
    assert_eq!(
        output.table("places").i64("end_bytes").unwrap().value(0),
        -8
    );
}

#[test]
fn only_releases_have_no_peak() {
    let output = run(&[host(10, -64, "a", None)], &[]);
    assert_eq!(
        output.table("places").i64("peak_bytes").unwrap().get(0),
        None
    );
    assert_eq!(
        verdict(&output, "measures", "measure", "live bytes"),
        "not measurable"
    );
    assert!(output.table("peak_owners").is_empty());
}

#[test]
fn a_leak_is_found_and_a_cache_that_is_full_is_not() {
    let ends: Vec<i64> = (1..=20).map(|i| i * 100).collect();
    let mut rows = vec![host(1, 1_000_000, "weights", 1)];
    for i in 0..20 {
        rows.push(host(
            i * 100 + 50,
            10_000,
            "leak",
            10_000_000 + i as u64 * 10_000,
        ));
        if i < 2 {
            rows.push(host(i * 100 + 60, 500_000, "cache", None));
        }
        rows.push(host(i * 100 + 70, 4_000, "scratch", 77));
        rows.push(host(i * 100 + 80, -4_000, "scratch", 77));
    }
    let output = run(&rows, &ends);
    assert_eq!(verdict(&output, "growth", "tag", "leak"), "grows");
    for tag in ["weights", "cache", "scratch"] {
        assert_eq!(verdict(&output, "growth", "tag", tag), "no trend", "{tag}");
    }
    let found: Vec<_> = output
        .findings
        .iter()
        .filter(|finding| finding.code == "growth")
        .collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Warning);
    assert!(
        found[0]
            .title
            .contains("leak grows by 10.00 kB per iteration"),
        "{}",
        found[0].title
    );
    assert!(
        output
            .finding("churn")
            .unwrap()
            .title
            .contains("Attention allocates")
    );
}

#[test]
fn a_cache_that_takes_long_to_fill_has_levelled_off() {
    let ends: Vec<i64> = (1..=40).map(|i| i * 100).collect();
    let mut rows = Vec::new();
    for i in 0..40 {
        let kept = if i < 15 { 1000 } else { 0 };
        rows.push(host(
            i * 100 + 10,
            kept + 1,
            "cache",
            10_000 * (i as u64 + 1),
        ));
        if i > 15 {
            rows.push(host(i * 100 + 20, -1, "cache", 10_000 * (i as u64 + 1)));
        }
    }
    let output = run(&rows, &ends);
    assert_eq!(verdict(&output, "growth", "tag", "cache"), "levelled off");
    assert!(output.finding("growth").is_none());
    // The same, still rising in its second half.
    let rows: Vec<Row> = (0..40)
        .map(|i| host(i * 100 + 10, 1000, "cache", 10_000 * (i as u64 + 1)))
        .collect();
    let output = run(&rows, &ends);
    assert_eq!(verdict(&output, "growth", "tag", "cache"), "grows");
}

#[test]
fn under_eight_iterations_growth_cannot_be_told() {
    let ends: Vec<i64> = (1..=7).map(|i| i * 100).collect();
    let rows: Vec<Row> = (0..7)
        .map(|i| host(i * 100 + 50, 10_000, "leak", 1 + i as u64))
        .collect();
    let output = run(&rows, &ends);
    assert_eq!(verdict(&output, "growth", "tag", "leak"), "cannot tell");
    assert_eq!(output.table("growth").f64("p").unwrap().get(0), None);
    assert!(output.finding("growth").is_none());
}

#[test]
fn without_addresses_lifetimes_and_fragmentation_are_not_measurable() {
    let output = run(&[host(10, 64, "a", None), host(20, -64, "a", None)], &[]);
    for measure in ["lifetimes", "fragmentation"] {
        assert_eq!(
            verdict(&output, "measures", "measure", measure),
            "not measurable"
        );
        assert!(output.table(measure).is_empty(), "{measure}");
    }
    assert_eq!(
        output.table("places").u64("end_blocks").unwrap().get(0),
        None
    );
}

#[test]
fn holes_at_the_peak_are_fragmentation() {
    let mut rows: Vec<Row> = (0..10)
        .map(|i| host(i, 100, "a", 1000 + 100 * i as u64))
        .collect();
    rows.extend(
        (0..10)
            .step_by(2)
            .map(|i| host(100 + i, -100, "a", 1000 + 100 * i as u64)),
    );
    rows.push(host(200, 2000, "a", 50_000));
    let output = run(&rows, &[]);
    assert_eq!(
        output.table("fragmentation").to_string(),
        "place  moment  footprint_bytes  live_bytes  free_segments_bytes  free_bytes  largest_free_bytes  fragmentation_share           free_share  twice_bytes\n\
         host   peak               3000        2500                 null         500                 100                  0.8  0.16666666666666666            0\n\
         host   end                3000        2500                 null         500                 100                  0.8  0.16666666666666666            0\n"
    );
    let finding = output.finding("fragmentation").unwrap();
    assert_eq!(
        finding.title,
        "host: at the peak, 500 B of the 3.00 kB of addresses used so far were free, in pieces of at most 100 B"
    );
    // The allocator may have returned it, so the advice is for the case that it did not.
    let suggestion = finding.suggestion.as_deref().unwrap();
    assert!(suggestion.starts_with("if it kept"), "{suggestion}");
}

#[test]
fn the_host_memory_of_each_rank_is_its_own() {
    let mut inputs = inputs(&[host(10, 64, "a", 1), host(20, 32, "a", 1)], &[]);
    let wide = |rank: i64| (rank << 16) + 1;
    inputs[0] = Table::build("allocations")
        .i64("time_ns", [10, 20, 30])
        .i64("thread", [wide(0), wide(1), wide(1)])
        .u64("span", [None::<u64>; 3])
        .i64("device", [None, None, Some(1_i64 << 16)])
        .i64("bytes", [64, 32, 8])
        .text("tag", ["a"; 3])
        .u64("address", [1_u64; 3])
        .f64("weight", [None::<f64>; 3])
        .u64("sample_bytes", [None::<u64>; 3]);
    inputs.push(Table::build("ranks").u64("rank", [0_u64, 1]));
    let output = testing::run::<Memory>(inputs, "{}").unwrap();
    let places: Vec<_> = output
        .table("places")
        .text("place")
        .unwrap()
        .iter()
        .flatten()
        .map(str::to_owned)
        .collect();
    assert_eq!(places, ["rank 0 host", "rank 1 host", "rank 1 gpu0"]);
    assert!(output.table("problems").is_empty());
}

#[test]
fn extreme_rows_do_no_harm() {
    let output = run(
        &[
            host(i64::MIN, i64::MAX, "a", u64::MAX),
            host(0, i64::MAX, "a", u64::MAX - 1),
            host(0, i64::MAX, "b", None),
            host(i64::MAX, i64::MIN, "a", u64::MAX),
            host(i64::MAX, i64::MIN, "c", None),
        ],
        &[i64::MIN, 0, i64::MAX],
    );
    assert_eq!(
        output.table("places").i64("peak_bytes").unwrap().value(0),
        i64::MAX
    );
    let broken = testing::run::<Memory>(inputs(&[], &[]).into_iter().skip(1), "{}");
    assert!(broken.unwrap_err().to_string().contains("allocations"));
}

#[test]
fn a_stop_is_obeyed_and_an_unknown_option_refused() {
    let rows = [host(10, 64, "a", 1)];
    assert!(testing::run_cancelled::<Memory>(inputs(&rows, &[]), "{}").is_err());
    let refused = testing::run::<Memory>(inputs(&rows, &[]), r#"{"point": 3}"#);
    assert!(refused.unwrap_err().to_string().contains("points"));
}

#[test]
fn a_late_peak_after_many_rows_has_its_owners_and_its_footprint() {
    // Blocks of 16 bytes, each released when the next one is allocated, then ten large ones at once.
    let address = |block: u64| 64 * (block + 1);
    let blocks = 300_000_u64;
    let mut rows: Vec<Row> = Vec::new();
    for block in 0..blocks {
        let now = 10 * block as i64;
        rows.push(host(now, 16, "small", address(block)));
        if let Some(gone) = block.checked_sub(1) {
            rows.push(host(now + 1, -16, "small", address(gone)));
        }
    }
    let peak_ns = 10 * blocks as i64;
    let large = |nth: u64| address(blocks + 100 * nth);
    rows.extend((0..10).map(|nth| host(peak_ns, 1000, "large", large(nth))));
    rows.extend((0..10).map(|nth| host(peak_ns + 1, -1000, "large", large(nth))));
    let output = run(&rows, &[]);
    let places = output.table("places");
    assert_eq!(places.i64("peak_bytes").unwrap().value(0), 10_016);
    assert_eq!(places.i64("peak_ns").unwrap().value(0), peak_ns);
    assert_eq!(places.i64("end_bytes").unwrap().value(0), 16);
    let owners = output.table("peak_owners");
    assert_eq!(owners.i64("bytes").unwrap().values(), [10_000, 16]);
    assert_eq!(owners.u64("blocks").unwrap().values(), [10, 1]);
    let fragments = output.table("fragmentation");
    let footprint = 16 * blocks as i64 + 10_000;
    assert_eq!(
        fragments.i64("footprint_bytes").unwrap().values(),
        [footprint, footprint]
    );
    assert_eq!(fragments.i64("live_bytes").unwrap().values(), [10_016, 16]);
    assert_eq!(
        fragments.i64("largest_free_bytes").unwrap().values(),
        [16, 1000]
    );
}
