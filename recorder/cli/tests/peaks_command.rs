//! The command `trueno-record peaks`, and ceilings in a run.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use trueno_ceilings::{CeilingRequest, CpuCeilings, Effort, Machine, measure};
use trueno_recorder::{CeilingKind, Recorder};
use trueno_testing::{Cell, folder, table};

/// With a separate cache and as little measuring as possible.
fn record(cache: &Path, words: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trueno-record"))
        .args(words.split_whitespace())
        .env("XDG_CACHE_HOME", cache)
        .output()
        .unwrap()
}

const QUICK: &str = "peaks --repetitions 1 --repetition-ms 0.2 --seconds 0";

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Passes on a machine with a GPU, which is then measured, and on one without.
#[test]
fn without_a_gpu_one_line_and_exit_code_three() {
    let cache = tempfile::tempdir().unwrap();
    let found = record(
        cache.path(),
        "peaks --gpu --repetitions 1 --repetition-ms 1",
    );
    if found.status.success() {
        assert!(text(&found.stdout).starts_with("gpu:0 "));
        return;
    }
    assert_eq!(found.status.code(), Some(3));
    assert_eq!(found.stdout, b"");
    let said = text(&found.stderr);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(
        said.starts_with("error: no GPU can be measured: "),
        "{said}"
    );
    let both = record(cache.path(), "peaks --gpu --kept");
    assert_eq!(
        both.status.code(),
        Some(2),
        "the kept ones are the processor's"
    );
}

#[test]
fn json_is_whole_and_kept_ceilings_are_shown_again() {
    let cache = tempfile::tempdir().unwrap();
    let file = cache.path().join("my.json");
    let words = format!("{QUICK} --format json -o {}", file.display());
    let first = record(cache.path(), &words);
    assert!(first.status.success(), "{}", text(&first.stderr));
    assert_eq!(text(&first.stderr), "", "no bar outside a terminal");
    let peaks: CpuCeilings = serde_json::from_slice(&first.stdout).unwrap();
    assert_eq!(peaks.machine, Machine::here());
    assert!(peaks.ceilings.len() > 8, "{:?}", peaks.notes);
    assert!(peaks.ceilings.iter().all(|c| c.value > 0.0));
    assert!(fs::read(&file).unwrap() == first.stdout);

    let again = record(cache.path(), "peaks --kept --json");
    assert!(again.stdout == first.stdout, "not measured again");
    let shown = record(cache.path(), "peaks --kept");
    let lines = text(&shown.stdout).lines();
    // Measured at one moment: that settles nothing, and each row says so.
    let rows = lines.filter(|line| line.ends_with("%  unsettled")).count();
    assert_eq!(rows, peaks.ceilings.len());
    assert!(peaks.ceilings.iter().all(|c| c.settled == Some(false)));
    assert!(
        text(&shown.stdout)
            .contains("note: not settled, because measured at fewer than 3 moments: ")
    );

    // Another machine's file in this one's place.
    let kept = fs::read_dir(cache.path().join("trueno-record")).unwrap();
    let kept = kept.map(|entry| entry.unwrap().path()).next().unwrap();
    let old = fs::read_to_string(&kept).unwrap();
    let stale = old.replace("\"arch\": \"", "\"arch\": \"old_");
    fs::write(&kept, stale).unwrap();
    let anew = record(cache.path(), &format!("{QUICK} --kept --json"));
    let problem = text(&anew.stderr);
    assert!(
        problem.contains("stale: the architecture changed"),
        "{problem}"
    );
    let peaks: CpuCeilings = serde_json::from_slice(&anew.stdout).unwrap();
    assert_eq!(peaks.machine, Machine::here());
}

#[test]
fn kept_ceilings_that_others_could_write_are_neither_used_nor_replaced() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let cache = tempfile::tempdir().unwrap();
    assert!(record(cache.path(), QUICK).status.success());
    let folder = cache.path().join("trueno-record");
    let kept = fs::read_dir(&folder).unwrap().next().unwrap();
    let kept = kept.unwrap().path();
    let before = fs::read(&kept).unwrap();
    let refused = |why: &str| {
        let done = record(cache.path(), &format!("{QUICK} --kept"));
        assert!(done.status.success(), "they are measured anew");
        let said = text(&done.stderr);
        assert!(said.contains(why), "{said}");
    };
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    refused("the saved ceilings are not used: ");
    refused("the ceilings are not saved: ");
    assert_eq!(fs::read(&kept).unwrap(), before);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    if chown(&kept, Some(65_534), None).is_ok() {
        refused("belongs to another user (uid 65534)");
    } else {
        println!("left out: only root can make files of other users");
    }
}

#[test]
fn what_is_not_to_be_kept_is_not() {
    let cache = tempfile::tempdir().unwrap();
    let done = record(cache.path(), &format!("{QUICK} --no-keep"));
    assert!(done.status.success());
    assert!(text(&done.stdout).contains("DRAM"));
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0);
}

#[test]
fn what_cannot_be_written_is_said() {
    let cache = tempfile::tempdir().unwrap();
    let file = cache.path().join("file");
    fs::write(&file, "").unwrap();
    let done = record(&file, QUICK);
    assert!(done.status.success(), "the ceilings are there all the same");
    assert!(text(&done.stderr).contains("warning: the ceilings are not saved: "));
    let words = format!("{QUICK} -o {}/peaks.json", file.display());
    let done = record(cache.path(), &words);
    assert_eq!(done.status.code(), Some(2));
    let error = text(&done.stderr);
    assert!(
        error.contains("error: ") && error.contains("peaks.json"),
        "{error}"
    );
}

#[test]
fn wrong_words_are_refused() {
    let cache = tempfile::tempdir().unwrap();
    for words in [
        "",
        "summits",
        "peaks --repetitions 0",
        "peaks --repetition-ms 0",
        "peaks --repetition-ms x",
        "peaks --seconds -1",
        "peaks --kept --no-keep",
        "peaks x",
    ] {
        let done = record(cache.path(), words);
        assert_eq!(done.status.code(), Some(2), "{words}");
        assert_eq!(text(&done.stdout), "", "{words}");
        assert_ne!(text(&done.stderr), "", "{words}");
    }
}

#[test]
fn a_run_holds_what_was_measured() {
    let (_folder, path) = folder();
    let effort = Effort {
        repetitions: 1,
        repetition: std::time::Duration::from_micros(100),
        longest: std::time::Duration::ZERO,
    };
    let peaks = measure(&effort, |_| {});
    let rec = Recorder::create(&path).unwrap();
    rec.ceilings(&peaks);
    rec.finish().unwrap();
    let rows = table(&path, "ceilings");
    assert_eq!(rows.rows, peaks.ceilings.len());
    for (at, ceiling) in peaks.ceilings.iter().enumerate() {
        let cell = |name: &str| rows.cell(name, at).clone();
        let word = |text: &str| Cell::T(text.to_owned());
        assert_eq!(cell("device"), word("cpu"));
        assert_eq!(cell("level"), word(ceiling.level.as_deref().unwrap()));
        assert_eq!(
            cell("operation"),
            word(ceiling.operation.as_deref().unwrap())
        );
        assert_eq!(cell("value"), Cell::F(ceiling.value));
        assert_eq!(cell("median"), Cell::F(ceiling.median.unwrap()));
        assert_eq!(cell("spread"), Cell::F(ceiling.spread.unwrap()));
        assert_eq!(cell("repetitions"), Cell::U(1));
        assert_eq!(cell("settled"), Cell::B(false));
        let unit = match (ceiling.kind, ceiling.precision.as_deref()) {
            (CeilingKind::Bandwidth, None) => "bytes/s",
            (CeilingKind::Compute, Some("i8")) => "op/s",
            (CeilingKind::Compute, Some("f32" | "f64")) => "flop/s",
            other => panic!("{other:?}"),
        };
        assert_eq!(cell("unit"), word(unit));
    }
}

/// Runs in its own process, because the cache folder comes from the environment.
#[test]
fn a_run_that_finds_no_ceilings_says_so_and_is_recorded() {
    const RUN: &str = "TRUENO_PEAKS_RUN";
    if let Some(path) = std::env::var_os(RUN) {
        let rec = Recorder::builder(path)
            .ceilings(CeilingRequest::Cached)
            .create()
            .unwrap();
        drop(rec.brick("work"));
        rec.finish().unwrap();
        return;
    }
    let (folder, path) = folder();
    let run = || {
        let name = "a_run_that_finds_no_ceilings_says_so_and_is_recorded";
        let _ = fs::remove_dir_all(&path);
        let done = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(RUN, &path)
            .env("XDG_CACHE_HOME", folder.path())
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", text(&done.stdout));
        let run = fs::read_to_string(path.join("run.json")).unwrap();
        let run: serde_json::Value = serde_json::from_str(&run).unwrap();
        run["values"]["peaks"].as_str().unwrap().to_owned()
    };
    let said = run();
    assert!(
        said.starts_with("not available: ") && said.contains("trueno-record peaks"),
        "{said}"
    );
    assert!(!path.join("ceilings").exists());
    assert!(record(folder.path(), QUICK).status.success());
    let said = run();
    assert!(said.contains(" ceilings, measured "), "{said}");
    assert!(table(&path, "ceilings").rows > 8);
}
