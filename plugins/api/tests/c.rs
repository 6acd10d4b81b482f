//! The headers and the plugins in C, built and run. Without a C compiler
//! these tests say so and check nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

use trueno_plugin::testing::{Output, run_descriptor};
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

/// Builds a plugin and keeps it loaded, as every host does.
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
    let expected: String = abi::LAYOUT_64
        .iter()
        .map(|(what, value, _)| format!("{what} {value}\n"))
        .collect();
    for headers in [include(), root().join("tests/abi/1.0")] {
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
        Error::bad_input("column `i` has Arrow type `L`, asked for as `l`")
    );
}

#[test]
fn a_plugin_of_version_1_0_still_runs() {
    if !have("cc") {
        return;
    }
    let folder = root().join("tests/abi/1.0");
    let plugin = load(&folder, &folder.join("frozen.c"));
    let output = run(plugin, [Table::build("bricks").u64("id", 0..2500)]).unwrap();
    assert_eq!(output.table("seen").to_string(), "rows\n2500\n");
    assert_eq!((output.findings.len(), output.charts.len()), (1, 1));
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
