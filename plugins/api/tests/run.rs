//! Runs of a plugin through the function that a host would call.

use std::ptr;

use serde::Deserialize;
use trueno_plugin::{
    Chart, Error, Finding, Input, Plugin, Result, Run, Severity, Table, TableBuilder,
};
use trueno_plugin::{abi, export, testing};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Options {
    act: String,
    top: u64,
}

struct Actor;

impl Plugin for Actor {
    const ID: &'static str = "actor";
    const SUMMARY: &'static str = "Does what its option says.";
    const INPUTS: &'static [Input] = &[
        Input::sql("spans", "SELECT id, name FROM bricks"),
        Input::sql("extra", "SELECT x FROM other.extra").optional(),
        Input::sql("before", "SELECT id FROM bricks")
            .baseline()
            .optional(),
    ];
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        match options.act.as_str() {
            "panic" => panic!("lost at {}", options.top),
            "fail" => Err(Error::failed("not\0today")),
            "twice" => run
                .table("spans")
                .and_then(|_| run.table("spans"))
                .map(drop),
            "undeclared" => run.table("kernels").map(drop),
            "column" => run.table("spans")?.i64("start_ns").map(drop),
            "type" => run.table("spans")?.i64("id").map(drop),
            "unequal" => run.emit(Table::build("t").i64("a", [1, 2]).i64("b", [1])),
            "same name" => {
                run.emit(Table::build("t").i64("a", [1]))?;
                run.emit(Table::build("t").i64("a", [2]))
            }
            "ignore refusal" => {
                let _ = run.emit(Table::build("t").i64("a", [1]));
                let _ = run.emit(Table::build("t").i64("a", [2]));
                Ok(())
            }
            "chart" => run.chart(Chart {
                value: None,
                ..Chart::heatmap("h", "t", "x", "y", "v")
            }),
            "cancel" => run.check_cancelled(),
            "null" => {
                let extra = run.table("extra")?;
                extra.i64("x")?.value(0);
                Ok(())
            }
            _ => {
                let (spans, extra) = (run.table("spans")?, run.table("extra")?);
                run.emit(Table::build("names").text("name", spans.text("name")?.iter()))?;
                run.emit(
                    Table::build("extras")
                        .bool("missing", [extra.is_missing()])
                        .u64("rows", [extra.rows() as u64])
                        .i64("x", extra.i64("x")?.iter().chain([None]).take(1)),
                )?;
                run.finding(Finding::new("done", Severity::Info, "done").evidence([1, 2]))?;
                run.chart(Chart::bar("names", "names", "name", "name"))
            }
        }
    }
}

fn spans() -> TableBuilder {
    Table::build("spans")
        .u64("id", [1, 2])
        .text("name", [Some("a"), None])
}

fn act(act: &str) -> Result<testing::Output> {
    testing::run::<Actor>([spans()], &format!("{{\"act\": \"{act}\"}}"))
}

fn failure(what: &str) -> String {
    match act(what) {
        Err(Error::Failed(message)) => message,
        other => panic!("{other:?}"),
    }
}

fn bad_input(what: &str) -> String {
    match act(what) {
        Err(Error::BadInput(message)) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn tables_findings_and_charts_come_back() {
    let extra = Table::build("extra").i64("x", [Some(5)]);
    let output = testing::run::<Actor>([extra, spans()], "{}").unwrap();
    assert_eq!(output.table("names").to_string(), "name\na\nnull\n");
    assert_eq!(
        output.table("extras").to_string(),
        "missing  rows  x\n  false     1  5\n"
    );
    assert_eq!(
        output.finding("done"),
        Some(&Finding::new("done", Severity::Info, "done").evidence([1, 2]))
    );
    assert_eq!(
        output.charts,
        [Chart::bar("names", "names", "name", "name")]
    );
}

#[test]
fn an_optional_input_without_a_table_reads_as_one_without_rows() {
    let output = testing::run::<Actor>([spans()], "").unwrap();
    assert_eq!(
        output.table("extras").to_string(),
        "missing  rows     x\n   true     0  null\n"
    );
}

#[test]
fn a_panic_becomes_its_message_and_place() {
    let line = include_str!("run.rs")
        .lines()
        .position(|line| line.contains("lost at {}"))
        .unwrap()
        + 1;
    let Err(Error::Panicked(message)) =
        testing::run::<Actor>([spans()], r#"{"act": "panic", "top": 3}"#)
    else {
        panic!("no panic")
    };
    assert!(message.starts_with("lost at 3 ("), "{message}");
    assert!(message.contains(&format!("run.rs:{line}:")), "{message}");
}

#[test]
fn a_panic_of_the_sdk_points_at_the_plugin() {
    let extra = Table::build("extra").i64("x", [None::<i64>]);
    let Err(Error::Panicked(message)) =
        testing::run::<Actor>([spans(), extra], r#"{"act": "null"}"#)
    else {
        panic!("no panic")
    };
    assert!(
        message.starts_with("row 0 is null (hint: use get"),
        "{message}"
    );
    assert!(message.contains("run.rs:"), "{message}");
}

#[test]
fn errors_keep_their_text_and_kind() {
    assert_eq!(failure("fail"), "not\0today");
    assert_eq!(
        failure("twice"),
        "input `spans` was read before (hint: keep the table)"
    );
    assert_eq!(
        failure("undeclared"),
        "`kernels` is not an input of this plugin (its INPUTS are `spans`, `extra`, `before`)"
    );
    assert_eq!(
        bad_input("column"),
        "table `spans` has no column `start_ns` (it has `id`, `name`)"
    );
    assert_eq!(
        bad_input("type"),
        "table `spans`: column `id` is u64, but was read as i64 (hint: read it with .u64(), or cast it in the query)"
    );
    assert_eq!(
        failure("unequal"),
        "table `t`: column `a` has 2 rows, column `b` has 1"
    );
    assert_eq!(
        failure("chart"),
        "chart \"h\": a Heatmap chart needs `value`"
    );
    let wrong = testing::run::<Actor>([spans()], r#"{"acts": "x"}"#).unwrap_err();
    assert_eq!(
        wrong,
        Error::bad_option("unknown option `acts` (known options: `act`, `top`)")
    );
}

#[test]
fn a_refusal_is_told_even_when_the_plugin_does_not_care() {
    assert!(failure("same name").contains("table `t` was emitted twice"));
    assert_eq!(failure("ignore refusal"), "table `t` was emitted twice");
}

#[test]
fn cancelling_is_a_status_of_its_own() {
    assert!(act("cancel").is_ok());
    let cancelled = testing::run_cancelled::<Actor>([spans()], r#"{"act": "cancel"}"#);
    assert_eq!(cancelled, Err(Error::Cancelled));
}

#[test]
fn inputs_of_a_test_are_those_of_the_plugin() {
    let error =
        |inputs: Vec<TableBuilder>| testing::run::<Actor>(inputs, "{}").unwrap_err().to_string();
    assert!(error(vec![]).starts_with("input `spans` was not given"));
    assert!(
        error(vec![spans(), Table::build("typo").i64("x", [1])])
            .starts_with("`typo` is not an input")
    );
    assert!(error(vec![spans(), spans()]).contains("given twice"));
}

fn bare() -> abi::Run {
    abi::Run {
        struct_size: size_of::<abi::Run>() as u32,
        reserved: 0,
        host: ptr::null_mut(),
        options: abi::Str {
            ptr: ptr::null(),
            len: 0,
        },
        inputs: ptr::null(),
        input_count: 0,
        emit_table: None,
        emit_finding: None,
        emit_chart: None,
        set_error: None,
        cancelled: None,
        is_final: 0,
        reserved_1: 0,
    }
}

struct Alone;

impl Plugin for Alone {
    const ID: &'static str = "alone";
    const SUMMARY: &'static str = "";
    const INPUTS: &'static [Input] = &[];
    type Options = ();

    fn run(run: &mut Run, _: ()) -> Result<()> {
        run.check_cancelled()?;
        run.emit(Table::build("t").i64("x", [1]))
    }
}

fn status<P: Plugin>(run: &abi::Run) -> abi::Status {
    // SAFETY: what the run lacks is what is tested.
    unsafe { export::call::<P>(run) }
}

#[test]
fn a_run_from_an_older_host_is_refused_unread() {
    // SAFETY: null is what is tested.
    assert_eq!(unsafe { export::call::<Alone>(ptr::null()) }, abi::FAILED);
    // Only the size is there: reading more would leave the allocation, which valgrind and Miri see.
    let short = Box::new(4_u32);
    // SAFETY: struct_size says that nothing follows.
    assert_eq!(
        unsafe { export::call::<Alone>(ptr::from_ref(&*short).cast()) },
        abi::FAILED
    );
    assert_eq!(
        status::<Alone>(&abi::Run {
            struct_size: abi::RUN_SIZE_1_0 as u32 - 1,
            ..bare()
        }),
        abi::FAILED
    );
}

#[test]
fn a_run_without_callbacks_or_inputs_fails_without_a_crash() {
    assert_eq!(status::<Alone>(&bare()), abi::FAILED);
    assert_eq!(status::<Actor>(&bare()), abi::BAD_INPUT);
}

unsafe extern "C" fn accept(
    _: *mut std::ffi::c_void,
    _: abi::Str,
    _: *mut trueno_plugin::arrow::ArrowArrayStream,
) -> i32 {
    abi::OK // and leaves the stream, which the plugin then has to release
}

unsafe extern "C" fn refuse(
    _: *mut std::ffi::c_void,
    _: abi::Str,
    _: *mut trueno_plugin::arrow::ArrowArrayStream,
) -> i32 {
    abi::FAILED
}

#[test]
fn a_newer_host_and_its_padding_make_no_difference() {
    let newer = abi::Run {
        struct_size: 4096,
        reserved: u32::MAX,
        emit_table: Some(accept),
        ..bare()
    };
    assert_eq!(status::<Alone>(&newer), abi::OK);
    assert_eq!(
        status::<Alone>(&abi::Run {
            emit_table: Some(refuse),
            ..newer
        }),
        abi::FAILED
    );
}

static INPUTS: export::Static<[abi::Input; 3]> = export::inputs(Actor::INPUTS);
static LIST: export::Static<[*const abi::Input; 3]> = export::list(&INPUTS);
static ACTOR: export::Static<abi::Plugin> = export::descriptor::<Actor, 3>("1.2.3", &LIST);

#[test]
fn the_descriptor_says_what_the_plugin_is() {
    // SAFETY: made of static texts and lists.
    unsafe {
        let plugin = &*ACTOR.get();
        let text = |text: abi::Str| text.to_string_lossy().into_owned();
        assert_eq!(
            (plugin.struct_size as usize, plugin.abi_minor),
            (abi::PLUGIN_SIZE_1_1, abi::MINOR)
        );
        assert_eq!(text(plugin.id), "actor");
        assert_eq!(text(plugin.version), "1.2.3");
        assert_eq!(text(plugin.summary), Actor::SUMMARY);
        assert!(
            text(plugin.build).starts_with("rustc 1."),
            "{}",
            text(plugin.build)
        );
        let inputs: Vec<_> = (0..plugin.input_count)
            .map(|i| **plugin.inputs.add(i))
            .collect();
        assert!(
            inputs
                .iter()
                .all(|input| input.struct_size as usize == abi::INPUT_SIZE_1_0)
        );
        assert_eq!(
            inputs.iter().map(|input| input.flags).collect::<Vec<_>>(),
            [0, 2, 3]
        );
        assert_eq!(text(inputs[2].name), "before");
        assert_eq!(text(inputs[0].sql), "SELECT id, name FROM bricks");
        let output = testing::run_descriptor(plugin, [spans()], "{}").unwrap();
        assert_eq!(output.table("names").rows(), 2);
    }
}
