//! The headers and the plugins in C, built and run. Without a C compiler
//! these tests say so and check nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

use trueno_plugin::testing::{Output, merge_descriptor, part_descriptor, run_descriptor};
use trueno_plugin::{Error, Result, Table, TableBuilder, abi};

const STRICT: [&str; 5] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn have(compiler: &str) -> bool {
    let there = Command::new(compiler).arg("--version").output().is_ok();
    if !there {
        eprintln!("{compiler} is not there: nothing checked");
    }
    there
}

fn compile(compiler: &str, arguments: &[&str], include: &Path, source: &Path, output: &Path) {
    let mut command = Command::new(compiler);
    command
        .args(STRICT)
        .args(arguments)
        .arg("-I")
        .arg(include)
        .arg("-o")
        .arg(output)
        .arg(source);
    let done = command.output().unwrap();
    assert!(
        done.status.success(),
        "{}: {}",
        source.display(),
        String::from_utf8_lossy(&done.stderr)
    );
}

fn include() -> PathBuf {
    root().join("plugins/api/include")
}

fn sources(folder: &str) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = root()
        .join(folder)
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    all.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
    all.sort();
    assert!(!all.is_empty(), "no sources in {folder}");
    all
}

fn load(include: &Path, source: &Path) -> *const abi::Plugin {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("plugin.so");
    compile(
        "cc",
        &["-std=c11", "-shared", "-fPIC"],
        include,
        source,
        &library,
    );
    // SAFETY: a library of ours without initialisers; leaked, so the descriptor stays.
    unsafe {
        let library = std::mem::ManuallyDrop::new(libloading::Library::new(library).unwrap());
        let entry: libloading::Symbol<'_, abi::Entry> = library.get(abi::ENTRY.as_bytes()).unwrap();
        entry()
    }
}

fn run(
    plugin: *const abi::Plugin,
    inputs: impl IntoIterator<Item = TableBuilder>,
) -> Result<Output> {
    // SAFETY: a descriptor as the header wants it.
    unsafe { run_descriptor(plugin, inputs, "{}") }
}

#[test]
fn c_and_rust_agree_on_every_offset() {
    if !have("cc") || size_of::<usize>() != 8 {
        return;
    }
    let today: String = abi::LAYOUT_64
        .iter()
        .map(|(what, value, _)| format!("{what} {value}\n"))
        .collect();
    let kept = (0..=abi::MINOR).map(|minor| {
        let headers = root().join(format!("tests/abi/{}.{minor}", abi::MAJOR));
        let layout = std::fs::read_to_string(headers.join("layout.txt")).unwrap();
        (headers, layout)
    });
    let kept: Vec<(PathBuf, String)> = kept.collect();
    let is_same = kept.last().is_some_and(|(_, newest)| *newest == today);
    assert!(is_same, "abi::LAYOUT_64 is not that of the newest version");
    for (headers, expected) in kept.into_iter().chain([(include(), today)]) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("layout");
        compile(
            "cc",
            &["-std=c11"],
            &headers,
            &root().join("plugins/api/tests/c/layout.c"),
            &program,
        );
        let printed = Command::new(&program).output().unwrap().stdout;
        assert_eq!(
            String::from_utf8(printed).unwrap(),
            expected,
            "{}",
            headers.display()
        );
    }
}

#[test]
fn the_headers_are_clean_as_c_and_cpp() {
    for (compiler, language) in [
        ("cc", ["-std=c11", "-xc"]),
        ("g++", ["-std=c++17", "-xc++"]),
    ] {
        if !have(compiler) {
            continue;
        }
        for header in ["arrow_c_abi.h", "trueno_plugin.h", "trueno_table.h"] {
            let arguments = [
                language[0],
                language[1],
                "-fsyntax-only",
                "-Wno-pragma-once-outside-header",
            ];
            compile(
                compiler,
                &arguments,
                &include(),
                &include().join(header),
                Path::new("/dev/null"),
            );
        }
    }
}

#[test]
fn every_plugin_in_c_compiles_cleanly() {
    if !have("cc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for source in [sources("plugins/examples/c"), sources("tests/hostile/c")].concat() {
        let library = folder.path().join("plugin.so");
        compile(
            "cc",
            &["-std=c11", "-shared", "-fPIC"],
            &include(),
            &source,
            &library,
        );
    }
}

#[test]
fn the_example_is_short_and_finds_the_longest_gaps() {
    if !have("cc") {
        return;
    }
    let source = root().join("plugins/examples/c/idle_gaps.c");
    assert!(std::fs::read_to_string(&source).unwrap().lines().count() < 60);
    let plugin = load(&include(), &source);
    //  thread 1: [0 10) gap 5 [15 40) with [20 30) inside, gap 60 [100 110)
    //  thread 2: [50 60) [60 70) gap 1 [71 72)
    let bricks = Table::build("bricks")
        .i64("thread", [1, 1, 1, 1, 2, 2, 2])
        .i64("start_ns", [0, 15, 20, 100, 50, 60, 71])
        .i64("end_ns", [10, 40, 30, 110, 60, 70, 72]);
    assert_eq!(
        run(plugin, [bricks]).unwrap().table("gaps").to_string(),
        "thread  start_ns  dur_ns\n     1        40      60\n     1        10       5\n     2        70       1\n"
    );
    let many: Vec<i64> = (0..100).collect();
    let start = many.iter().map(|i| i * 1000 + i % 50);
    let bricks = Table::build("bricks")
        .i64("thread", many.iter().map(|_| 7))
        .i64("start_ns", start.clone())
        .i64("end_ns", start);
    let gaps = run(plugin, [bricks]).unwrap().table("gaps").clone();
    assert_eq!(gaps.rows(), 10);
    assert!(
        gaps.i64("dur_ns")
            .unwrap()
            .values()
            .is_sorted_by(|a, b| a >= b)
    );
    let none = Table::build("bricks")
        .i64("thread", [1; 0])
        .i64("start_ns", [1; 0])
        .i64("end_ns", [1; 0]);
    assert_eq!(run(plugin, [none]).unwrap().table("gaps").rows(), 0);
}

#[test]
fn every_type_goes_through_c_and_back() {
    if !have("cc") {
        return;
    }
    let plugin = load(&include(), &root().join("plugins/api/tests/c/every_type.c"));
    for rows in [0, 1, 9, 2500] {
        let null = |i: usize| i % 7 == 3;
        let cells = Table::build("cells")
            .i64("i", (0..rows).map(|i| (!null(i)).then_some(-(i as i64))))
            .u64(
                "u",
                (0..rows).map(|i| (!null(i + 1)).then_some(u64::MAX - i as u64)),
            )
            .f64(
                "f",
                (0..rows).map(|i| (!null(i + 2)).then_some(i as f64 / 3.0)),
            )
            .bool("b", (0..rows).map(|i| (!null(i + 3)).then_some(i % 3 == 0)))
            .text(
                "t",
                (0..rows).map(|i| (!null(i + 4)).then(|| "ß".repeat(i % 5))),
            );
        let output = run(plugin, [cells.clone()]).unwrap();
        assert_eq!(
            *output.table("same"),
            cells.finish().unwrap().with_name("same")
        );
        assert_eq!(
            output.finding("read").unwrap().title,
            format!("{rows} \"rows\" \\ \n read")
        );
    }
}

#[test]
fn a_reader_in_c_names_the_column_it_misses() {
    if !have("cc") {
        return;
    }
    let plugin = load(&include(), &root().join("plugins/api/tests/c/every_type.c"));
    let missing = run(plugin, [Table::build("cells").i64("i", [1])]).unwrap_err();
    assert_eq!(missing, Error::bad_input("there is no column `u`"));
    let other = run(plugin, [Table::build("cells").u64("i", [1])]).unwrap_err();
    assert_eq!(
        other,
        Error::bad_input("column `i` has Arrow type `L`, but was read as `l`")
    );
}

#[test]
fn a_plugin_of_version_1_0_still_runs() {
    if !have("cc") {
        return;
    }
    let folder = root().join("tests/abi/1.0");
    let plugin = load(&folder, &folder.join("frozen.c"));
    let bricks = || [Table::build("bricks").u64("id", 0..2500)];
    let output = run(plugin, bricks()).unwrap();
    assert_eq!(output.table("seen").to_string(), "rows\n2500\n");
    assert_eq!((output.findings.len(), output.charts.len()), (1, 1));
    // SAFETY: a descriptor as the header wants it; it ends before the fields of 1.1.
    let part = unsafe { part_descriptor(plugin, bricks(), "{}") };
    assert_eq!(
        part.unwrap_err(),
        Error::failed("the descriptor has no part")
    );
}

#[test]
fn a_plugin_of_version_1_1_makes_parts_and_merges_them() {
    if !have("cc") {
        return;
    }
    let folder = root().join("tests/abi/1.1");
    let plugin = load(&folder, &folder.join("frozen.c"));
    let bricks = |count: u64| [Table::build("bricks").u64("id", 0..count)];
    // SAFETY: a descriptor as the header wants it.
    let part = |count| unsafe { part_descriptor(plugin, bricks(count), "{}") }.unwrap();
    // SAFETY: as above.
    let merge = |parts: &[Output], is_final| unsafe {
        merge_descriptor(plugin, parts, [], "{}", is_final).unwrap()
    };
    let parts = [part(1200), part(0), part(1300)];
    assert_eq!(parts[0].table("counted").to_string(), "rows\n1200\n");
    assert_eq!((parts[0].tables.len(), parts[0].findings.len()), (1, 0));
    let first = merge(&parts[..2], false);
    assert_eq!(first, parts[0]);
    let whole = run(plugin, bricks(2500)).unwrap();
    assert_eq!(merge(&parts, true), whole);
    assert_eq!(merge(&[first, parts[2].clone()], true), whole);
    assert_eq!(whole.table("seen").to_string(), "rows\n2500\n");
    assert_eq!((whole.findings.len(), whole.charts.len()), (1, 1));
}

#[test]
fn an_optional_input_reads_as_no_rows_in_c() {
    if !have("cc") {
        return;
    }
    let plugin = load(&include(), &root().join("tests/hostile/c/optional_table.c"));
    assert_eq!(
        run(plugin, []).unwrap().table("seen").to_string(),
        "rows\n   0\n"
    );
}
