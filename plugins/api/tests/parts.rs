//! A plugin over the ranks of a job: parts, merged, are what it makes of all rows at once.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr;
use std::slice::from_ref;

use proptest::prelude::*;
use serde::Deserialize;
use trueno_plugin::testing::{self, Output};
use trueno_plugin::{
    Chart, Error, Finding, Input, Parts, Plugin, Result, Run, Severity, Table, TableBuilder, export,
};
use trueno_plugin::{abi, arrow};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Options {
    /// Names with fewer calls are left out of the section.
    min_calls: i64,
    panic: bool,
}

struct Longest;

impl Plugin for Longest {
    const ID: &'static str = "longest";
    const SUMMARY: &'static str = "Calls of each name, and the longest.";
    const INPUTS: &'static [Input] = &[Input::sql("bricks", "SELECT name, dur_ns FROM bricks")];
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        let sums = Sums::of_rows(run, &options)?;
        sums.emit_section(run, &options)
    }
}

impl Parts for Longest {
    const MERGE_INPUTS: &'static [Input] = &[
        Input::sql("sums", "SELECT name, calls, longest_ns FROM longest.sums"),
        Input::sql("job", "SELECT wall_ns FROM run").optional(),
    ];

    fn part(run: &mut Run, options: Options) -> Result<()> {
        assert!(!run.is_final());
        Sums::of_rows(run, &options)?.emit_part(run)
    }

    fn merge(run: &mut Run, options: Options) -> Result<()> {
        let sums = Sums::of_parts(run, &options)?;
        if run.is_final() {
            sums.emit_section(run, &options)
        } else {
            sums.emit_part(run)
        }
    }
}

export!(Longest, parts);

unsafe extern "C" {
    safe fn trueno_plugin_v1() -> *const abi::Plugin;
}

#[derive(Default)]
struct Sums(BTreeMap<String, (i64, Option<i64>)>);

impl Sums {
    fn of_rows(run: &mut Run, options: &Options) -> Result<Self> {
        assert!(!options.panic, "lost among rows");
        let bricks = run.table("bricks")?;
        let (name, dur_ns) = (bricks.text("name")?, bricks.i64("dur_ns")?);
        let mut sums = Self::default();
        for row in 0..bricks.rows() {
            if let Some(name) = name.get(row) {
                sums.add(name, 1, dur_ns.get(row));
            }
        }
        Ok(sums)
    }

    fn of_parts(run: &mut Run, options: &Options) -> Result<Self> {
        assert!(!options.panic, "lost among parts");
        let parts = run.table("sums")?;
        let (name, calls) = (parts.text("name")?, parts.i64("calls")?);
        let longest_ns = parts.i64("longest_ns")?;
        let mut sums = Self::default();
        for row in 0..parts.rows() {
            if let (Some(name), Some(calls)) = (name.get(row), calls.get(row)) {
                sums.add(name, calls, longest_ns.get(row));
            }
        }
        Ok(sums)
    }

    fn add(&mut self, name: &str, calls: i64, longest_ns: Option<i64>) {
        let of_name = self.0.entry(name.to_owned()).or_default();
        of_name.0 = of_name.0.saturating_add(calls);
        of_name.1 = of_name.1.max(longest_ns);
    }

    fn table(&self, name: &str) -> TableBuilder {
        let sums = || self.0.values();
        Table::build(name)
            .text("name", self.0.keys())
            .i64("calls", sums().map(|(calls, _)| *calls))
            .i64("longest_ns", sums().map(|(_, longest_ns)| *longest_ns))
    }

    fn emit_part(&self, run: &mut Run) -> Result<()> {
        run.emit(self.table("sums"))
    }

    fn emit_section(mut self, run: &mut Run, options: &Options) -> Result<()> {
        self.0.retain(|_, (calls, _)| *calls >= options.min_calls);
        run.emit(self.table("by_name"))?;
        let title = format!("there are {} names", self.0.len());
        run.finding(Finding::new("names", Severity::Info, title))?;
        run.chart(Chart::bar("calls", "by_name", "name", "calls"))
    }
}

type Rows = Vec<(Option<u8>, Option<i64>)>;

fn bricks(rows: &[(Option<u8>, Option<i64>)]) -> [TableBuilder; 1] {
    let name = |name: &Option<u8>| name.map(|name| format!("name {name}"));
    [Table::build("bricks")
        .text("name", rows.iter().map(|row| name(&row.0)))
        .i64("dur_ns", rows.iter().map(|row| row.1))]
}

fn ranks() -> impl Strategy<Value = Vec<Rows>> {
    let row = (
        proptest::option::weighted(0.9, 0_u8..4),
        proptest::option::weighted(0.9, -5_i64..100),
    );
    prop::collection::vec(prop::collection::vec(row, 0..12), 1..=4)
}

proptest! {
    #[test]
    fn whole_and_merged_are_the_same(ranks in ranks(), min_calls in 0_i64..4, split in 0_usize..=4) {
        let options = format!("{{\"min_calls\": {min_calls}}}");
        let whole = testing::run::<Longest>(bricks(&ranks.concat()), &options).unwrap();
        let part = |rows: &Rows| testing::part::<Longest>(bricks(rows), &options).unwrap();
        let parts: Vec<Output> = ranks.iter().map(part).collect();
        let merge = |parts: &[Output], is_final| {
            testing::merge::<Longest>(parts, [], &options, is_final).unwrap()
        };
        prop_assert_eq!(&merge(&parts, true), &whole);
        let (first, rest) = parts.split_at(split.clamp(1, parts.len()));
        let mut grouped = vec![merge(first, false)];
        grouped.extend_from_slice(rest);
        prop_assert_eq!(&merge(&grouped, true), &whole);
        prop_assert_eq!(&merge(&[merge(&grouped, false)], true), &whole);
    }
}

#[test]
fn a_part_has_its_tables_alone_and_also_of_no_rows() {
    let part = testing::part::<Longest>(bricks(&[]), "{}").unwrap();
    assert_eq!(part.tables.len(), 1);
    assert_eq!(part.table("sums").rows(), 0);
    assert_eq!((part.findings.len(), part.charts.len()), (0, 0));
    let merged = testing::merge::<Longest>(from_ref(&part), [], "{}", false).unwrap();
    assert_eq!(merged, part);
}

#[test]
fn a_merging_says_what_it_lacks() {
    let merge = |parts: &[Output], others| testing::merge::<Longest>(parts, others, "{}", true);
    let lacking = Table::build("sums").text("name", ["a"]).i64("calls", [1]);
    let error = merge(&[], vec![lacking]).unwrap_err();
    assert!(
        error.to_string().contains("has no column `longest_ns`"),
        "{error}"
    );
    let error = merge(&[], vec![]).unwrap_err();
    assert!(
        error.to_string().contains("`sums` was not given"),
        "{error}"
    );
    let mut other = testing::part::<Longest>(bricks(&[]), "{}").unwrap();
    let table = Table::build("sums").text("name", ["a"]).u64("calls", [1]);
    let parts = [other.clone(), {
        other.tables = vec![table.finish().unwrap()];
        other
    }];
    let error = merge(&parts, vec![]).unwrap_err();
    assert!(
        error.to_string().contains("parts differ in the columns"),
        "{error}"
    );
}

#[test]
fn options_of_a_part_are_checked() {
    let error = testing::part::<Longest>(bricks(&[]), "{\"min\": 1}").unwrap_err();
    assert_eq!(error.status(), abi::BAD_OPTION);
}

#[test]
fn a_panic_in_a_part_or_a_merging_is_caught() {
    let panic = "{\"panic\": true}";
    let part = testing::part::<Longest>(bricks(&[]), "{}").unwrap();
    for (error, words) in [
        (
            testing::part::<Longest>(bricks(&[]), panic).unwrap_err(),
            "lost among rows",
        ),
        (
            testing::merge::<Longest>(from_ref(&part), [], panic, false).unwrap_err(),
            "lost among parts",
        ),
        (
            testing::merge::<Longest>(from_ref(&part), [], panic, true).unwrap_err(),
            "lost among parts",
        ),
    ] {
        assert_eq!(error.status(), abi::PANICKED);
        let Error::Panicked(message) = &error else {
            panic!("{error:?}");
        };
        assert!(
            message.contains(words) && message.contains("parts.rs:"),
            "{message}"
        );
    }
}

#[test]
fn the_exported_descriptor_has_part_and_merge() {
    let plugin = trueno_plugin_v1();
    // SAFETY: made of static texts and lists by `export!`.
    let (plugin, inputs) = unsafe {
        let plugin = &*plugin;
        let inputs = (0..plugin.merge_input_count).map(|i| **plugin.merge_inputs.add(i));
        (plugin, inputs.collect::<Vec<abi::Input>>())
    };
    assert_eq!(plugin.struct_size as usize, abi::PLUGIN_SIZE_1_1);
    assert_eq!(plugin.abi_minor, 1);
    assert_eq!(plugin.input_count, 1);
    assert!(plugin.run.is_some() && plugin.part.is_some() && plugin.merge.is_some());
    // SAFETY: static texts.
    let text = |text: abi::Str| unsafe { text.to_string_lossy() };
    let names: Vec<_> = inputs.iter().map(|input| text(input.name)).collect();
    assert_eq!(names, ["sums", "job"]);
    assert_eq!(text(inputs[0].sql), Longest::MERGE_INPUTS[0].query());
    assert_eq!([inputs[0].flags, inputs[1].flags], [0, 2]);

    let rows = [(Some(1), Some(4)), (None, None), (Some(1), Some(9))];
    // SAFETY: a descriptor as the header wants it.
    let (part, whole) = unsafe {
        let part = testing::part_descriptor(plugin, bricks(&rows), "{}").unwrap();
        let whole = testing::run_descriptor(plugin, bricks(&rows), "{}").unwrap();
        (part, whole)
    };
    // SAFETY: as above.
    let merged = unsafe { testing::merge_descriptor(plugin, &[part], [], "{}", true) };
    assert_eq!(merged.unwrap(), whole);
    assert_eq!(
        whole.table("by_name").to_string(),
        "name    calls  longest_ns\nname 1      2           9\n"
    );
}

struct Plain;

impl Plugin for Plain {
    const ID: &'static str = "plain";
    const SUMMARY: &'static str = "";
    const INPUTS: &'static [Input] = &[];
    type Options = ();

    fn run(_: &mut Run, (): ()) -> Result<()> {
        Ok(())
    }
}

static NO_INPUTS: trueno_plugin::export::Static<[*const abi::Input; 0]> =
    trueno_plugin::export::list(&NONE);
static NONE: trueno_plugin::export::Static<[abi::Input; 0]> = trueno_plugin::export::inputs(&[]);
static PLAIN: trueno_plugin::export::Static<abi::Plugin> =
    trueno_plugin::export::descriptor::<Plain, 0>("1.0.0", &NO_INPUTS);

#[test]
fn a_plugin_without_parts_has_neither() {
    // SAFETY: made of static texts and lists.
    let plugin = unsafe { &*PLAIN.get() };
    assert!(plugin.part.is_none() && plugin.merge.is_none());
    assert!(plugin.merge_inputs.is_null());
    assert_eq!(plugin.merge_input_count, 0);
    // SAFETY: a descriptor as the header wants it.
    let merged = unsafe { testing::merge_descriptor(plugin, &[], [], "{}", true) };
    assert_eq!(
        merged.unwrap_err(),
        Error::failed("the descriptor has no merge")
    );
}

#[derive(Default)]
struct OldHost {
    tables: Vec<String>,
    error: String,
}

unsafe extern "C" fn take_table(
    host: *mut c_void,
    name: abi::Str,
    stream: *mut arrow::ArrowArrayStream,
) -> abi::Status {
    // SAFETY: the host of `run_of_1_0`; name and stream are the plugin's for the length of the call.
    unsafe {
        let host = &mut *host.cast::<OldHost>();
        host.tables.push(name.to_string_lossy().into_owned());
        arrow::read_stream(stream).map_or(abi::FAILED, |_| abi::OK)
    }
}

unsafe extern "C" fn take_text(_: *mut c_void, _: abi::Str) -> abi::Status {
    abi::OK
}

unsafe extern "C" fn take_error(host: *mut c_void, text: abi::Str) {
    // SAFETY: as in take_table.
    unsafe { (*host.cast::<OldHost>()).error = text.to_string_lossy().into_owned() };
}

/// Calls a function as a host of version 1.0 does, with a struct that ends after `cancelled`. `behind` is the
/// memory after it.
fn run_of_1_0(function: abi::RunFn, input: TableBuilder, behind: &[u64]) -> (abi::Status, OldHost) {
    let mut host = OldHost::default();
    let mut stream = arrow::export_stream(input.finish().unwrap());
    let inputs = [&raw mut stream];
    let run = abi::Run {
        struct_size: abi::RUN_SIZE_1_0 as u32,
        reserved: 0,
        host: (&raw mut host).cast(),
        options: abi::Str::lend("{}"),
        inputs: inputs.as_ptr(),
        input_count: inputs.len(),
        emit_table: Some(take_table),
        emit_finding: Some(take_text),
        emit_chart: Some(take_text),
        set_error: Some(take_error),
        cancelled: None,
        is_final: 0,
        reserved_1: 0,
    };
    let words = abi::RUN_SIZE_1_0 / size_of::<u64>();
    // An allocation of just that length where nothing lies behind: reading more would leave it,
    // which valgrind and Miri see.
    let mut memory: Box<[std::mem::MaybeUninit<u64>]> = Box::new_uninit_slice(words + behind.len());
    // SAFETY: both are at least of size 1.0.
    unsafe {
        ptr::copy_nonoverlapping(
            ptr::from_ref(&run).cast::<u8>(),
            memory.as_mut_ptr().cast::<u8>(),
            abi::RUN_SIZE_1_0,
        );
    }
    for (place, word) in memory[words..].iter_mut().zip(behind) {
        place.write(*word);
    }
    // SAFETY: as long as its struct_size says, and everything it points to outlives the call.
    let status = unsafe { function(memory.as_ptr().cast()) };
    (status, host)
}

#[test]
fn a_host_of_1_0_runs_it_and_is_read_no_further() {
    for behind in [&[][..], &[u64::MAX]] {
        let [rows] = bricks(&[(Some(1), Some(4)), (Some(2), None)]);
        let plugin = trueno_plugin_v1();
        // SAFETY: a static descriptor of this size.
        let (run, part, merge) = unsafe { ((*plugin).run, (*plugin).part, (*plugin).merge) };
        let (status, host) = run_of_1_0(run.unwrap(), rows, behind);
        assert_eq!((status, &*host.error), (abi::OK, ""));
        assert_eq!(host.tables, ["by_name"]);
        // A host of 1.0 never calls these; they keep to its struct all the same.
        let [rows] = bricks(&[(Some(1), Some(4))]);
        let (status, host) = run_of_1_0(part.unwrap(), rows, behind);
        assert_eq!((status, host.tables), (abi::OK, vec!["sums".to_owned()]));
        let (status, host) = run_of_1_0(merge.unwrap(), Sums::default().table("sums"), behind);
        assert_eq!(status, abi::BAD_INPUT);
        assert!(host.error.contains("lent 1 inputs"), "{}", host.error);
    }
}

/// Merges without further inputs, so that a host with a single input can call it.
struct Final;

impl Plugin for Final {
    const ID: &'static str = "final_only";
    const SUMMARY: &'static str = "";
    const INPUTS: &'static [Input] = &[];
    type Options = ();

    fn run(_: &mut Run, (): ()) -> Result<()> {
        Ok(())
    }
}

impl Parts for Final {
    const MERGE_INPUTS: &'static [Input] = &[];

    fn part(_: &mut Run, (): ()) -> Result<()> {
        Ok(())
    }

    fn merge(run: &mut Run, (): ()) -> Result<()> {
        let name = if run.is_final() { "section" } else { "part" };
        run.emit(Table::build(name).i64("x", [1]))
    }
}

#[test]
fn a_merging_is_final_only_if_the_host_says_so() {
    for (is_final, name) in [(false, "part"), (true, "section")] {
        let merged = testing::merge::<Final>(&[], [], "{}", is_final).unwrap();
        assert_eq!(merged.tables[0].name(), name);
    }
    for behind in [&[][..], &[u64::MAX]] {
        let merge = trueno_plugin::export::merge::<Final>;
        let (status, host) = run_of_1_0(merge, Table::build("unread").i64("x", [1]), behind);
        assert_eq!((status, host.tables), (abi::OK, vec!["part".to_owned()]));
    }
}

/// The page must show the same example as the documentation of `Parts`, which is tested there.
#[test]
fn the_page_has_the_example_of_the_documentation() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("../README.md")).unwrap();
    let source = std::fs::read_to_string(root.join("src/plugin.rs")).unwrap();
    let (_, behind) = page
        .split_once("## A plugin over the ranks of a job")
        .unwrap();
    let (_, behind) = behind.split_once("```rust\n").unwrap();
    let (example, _) = behind.split_once("```").unwrap();
    for line in example.lines() {
        let documented = format!("/// {line}").trim_end().to_owned() + "\n";
        assert!(source.contains(&documented), "{line}");
    }
}
