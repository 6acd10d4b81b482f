use super::*;
use crate::read_back::{Imported, detected, of_bytes};
use crate::{Error, Options};

/// Written by aprender-compute 0.32.
const ORIGINAL: &str = include_str!("samples/original_bricks.json");
const ORIGINAL_TILES: &str = include_str!("samples/original_tiles.json");
const ORIGINAL_QUOTE: &str = include_str!("samples/original_quote.json");
/// Written by `trueno-brick-profiler`.
const OURS: &str = include_str!("samples/bricks.json");
const OUR_TILES: &str = include_str!("samples/tiles.json");

const COLUMNS: &str = "time_ns name value unit source";

fn read_with(json: &str, partial: bool) -> Result<Imported, Error> {
    let options = Options {
        partial,
        ..Options::default()
    };
    of_bytes(&IMPORTER, json, &options)
}

fn read(json: &str) -> Imported {
    read_with(json, false).unwrap()
}

fn refusal(json: &str) -> String {
    read_with(json, false).err().unwrap().to_string()
}

fn of(run: &Imported, name: &str) -> Vec<String> {
    let rows = run.rows("counters", COLUMNS);
    let begin = format!("0 sum: {name} ");
    let rows = rows.iter().filter_map(|row| row.strip_prefix(&begin));
    rows.map(str::to_owned).collect()
}

#[test]
fn sums_of_the_original_become_counters_without_a_timeline() {
    for json in [ORIGINAL, ORIGINAL_TILES, ORIGINAL_QUOTE, OURS, OUR_TILES] {
        assert_eq!(detected(json), "brick-profiler");
    }
    let run = read(ORIGINAL);
    assert_eq!(
        of(&run, "GateProjection"),
        [
            "calls 4 calls measured",
            "total_time 212106 ns computed",
            "avg_time 53026.5 ns computed",
            "min_time 53000 ns measured",
            "max_time 53050 ns measured",
            "throughput 207594316 elements/s computed",
            "bytes 90177536 byte declared",
            "throughput_bytes 425.1531592694219 GB/s computed",
            "compression_ratio 2 ratio computed",
        ]
    );
    assert_eq!(
        of(&run, "all bricks"),
        [
            "total_time 684584 ns computed",
            "elements 93184 elements declared"
        ]
    );
    assert_eq!(run.wall_ns, None);
    assert!(run.rows("bricks", "id").is_empty());
    assert_eq!(run.notes.read["brick"], 4);
    assert!(run.warns("sums of BrickProfiler") && run.warns("deferred"));
    assert_eq!(run.run.problems.len(), 2, "{:?}", run.run.problems);
}

#[test]
fn what_the_original_writes_for_nothing_is_absent() {
    let run = read(ORIGINAL);
    let softmax = of(&run, "residual");
    assert_eq!(softmax.len(), 6, "no bytes, no ratio of 1: {softmax:?}");
    let left_out = &run.notes.left_out;
    let reasons: Vec<_> = left_out.iter().map(|(why, n)| (&why[..4], *n)).collect();
    assert_eq!(reasons, [("pct:", 4), ("tota", 1)]);
}

#[test]
fn a_label_of_the_program_is_an_instant() {
    let labels = read(ORIGINAL).rows("annotations", "name thread arguments");
    let expected =
        r#"bottleneck - {"bottleneck":"memory","brick":"GateProjection","source":"declared"}"#;
    assert_eq!(labels, [expected]);
}

#[test]
fn sums_of_ours_keep_what_they_know_more() {
    let run = read(OURS);
    assert_eq!(
        of(&run, "LmHead"),
        [
            "calls 1 calls measured",
            "calls_without_duration 1 calls measured"
        ]
    );
    assert_eq!(
        of(&run, "attn \"flash\"\n")[1],
        "total_time 12806 ns computed"
    );
    assert_eq!(of(&run, "RmsNorm")[4], "max_time 26193 ns measured");
    assert!(!run.warns("deferred"));
    let told = OURS.replace("\"compression_ratio\":2.0", "\"compression_ratio\":1.0");
    let ratio = "compression_ratio 1 ratio computed".to_owned();
    assert!(of(&read(&told), "GateProjection").contains(&ratio));
}

#[test]
fn tiles_have_declared_work_and_no_assumed_bytes() {
    let run = read(ORIGINAL_TILES);
    assert_eq!(
        of(&run, "macro tiles"),
        [
            "calls 1 calls measured",
            "total_time 1234567 ns computed",
            "avg_time 1234567 ns computed",
            "min_time 1234570 ns measured",
            "max_time 1234570 ns measured",
            "elements 1048576 elements declared",
            "flops 2147483648 flop declared",
            "rate 1739.463024688008 GFLOP/s computed",
        ]
    );
    assert_eq!(of(&run, "midi tiles")[0], "calls 2 calls measured");
    assert_eq!(run.notes.left_out.values().sum::<u64>(), 2);
    assert_eq!(of(&read(OUR_TILES), "midi tiles").len(), 8);
}

#[test]
fn empty_profiles_say_so() {
    for json in [
        r#"{"total_tokens":0,"total_ns":0,"total_throughput":0.0,"bricks":[]}"#,
        r#"{"bricks":[],"total_ns":0,"total_throughput":null,"total_tokens":0}"#,
        r#"{"tile_profiling_enabled":false,"tiles":[]}"#,
    ] {
        let run = read(json);
        assert!(run.rows("counters", "name").is_empty());
        assert!(run.warns("neither bricks nor"));
    }
}

#[test]
fn a_quote_in_a_name_of_the_original_is_read_as_it_stands() {
    let quote = read(ORIGINAL_QUOTE);
    assert!(quote.warns("1 text has unescaped backslashes, quotes or control characters"));
    let names = quote.rows("counters", "name");
    assert!(names.iter().any(|name| name.contains("attn \"flash\"")));
    let control = read(&ORIGINAL.replace("residual", "resi\ndual"));
    assert!(control.warns("1 text has"));
}

#[test]
fn a_cut_file_is_refused_or_keeps_its_first_bricks() {
    let cut = &ORIGINAL[..ORIGINAL.find("RmsNorm").unwrap()];
    assert!(refusal(cut).contains("line 1"));
    let run = read_with(cut, true).unwrap();
    assert!(run.warns("its first 2 bricks"));
    assert_eq!(run.notes.read["brick"], 2);
    assert!(run.warns("571392 ns by their sums, 684584 ns by its total"));
    assert!(read_with(&ORIGINAL[..90], true).is_err(), "neither bricks");
}

#[test]
fn members_of_a_wrong_type_or_there_twice_are_refused() {
    for (from, to, word) in [
        ("\"count\":4", "\"count\":-4", "-4"),
        ("\"count\":4", "\"count\":\"4\"", "string"),
        ("\"count\":4", "\"count\":4,\"count\":5", "duplicate field"),
        ("359286", "1e999", "out of range"),
        ("359286", "99999999999999999999", "u64"),
        (
            "\"total_tokens\":93184",
            "\"total_tokens\":1,\"total_tokens\":2",
            "duplicate",
        ),
        ("\"bricks\":[", "\"bricks\":7,\"b\":[", "integer `7`"),
        ("\"bricks\"", "\"tricks\"", "bricks"),
    ] {
        let run = read_with(&ORIGINAL.replace(from, to), false);
        let error = run.err().unwrap().to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn doubtful_sums_are_left_out_and_counted() {
    let json = ORIGINAL
        .replace("\"name\":\"residual\"", "\"name\":\"RmsNorm\"")
        .replace("\"min_us\":88.32", "\"min_us\":-88.32")
        .replacen("\"max_us\":", "\"max_us\":1e308,\"old_max_us\":", 1)
        .replace("\"bricks\"", "\"schema\":{\"x\":1},\"bricks\"");
    let run = read(&json);
    assert_eq!(of(&run, "RmsNorm").len(), 6);
    let left_out = &run.notes.left_out;
    assert_eq!(left_out["second brick of the same name"], 1);
    assert_eq!(left_out["duration below 0, or out of range"], 2);
    let rows = run.rows("counters", "value");
    assert!(!rows.iter().any(|value| value == "inf"), "{rows:?}");
    assert_eq!(run.notes.arguments_left_out["schema"], 1);
}
