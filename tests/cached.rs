//! Files of other profilers where a run is asked for: imported on the way, and kept in the user's cache.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::json;

use crate::harness::{Dir, copy};

/// A step with one operator and one kernel. Traces with different names differ in content.
fn trace(dir: &Dir, file: &str, name: &str) {
    let event = |cat: &str, name: &str, ts: f64, dur: f64, args: serde_json::Value| json!({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args});
    let trace = json!({
        "schemaVersion": 1,
        "traceEvents": [
            event("user_annotation", "ProfilerStep#4", 100.0, 900.0, json!({})),
            event("cpu_op", name, 200.0, 300.5, json!({"External id": 5})),
            event("cuda_runtime", "cudaLaunchKernel", 250.0, 10.0, json!({"correlation": 7})),
            event("kernel", "sgemm", 400.25, 80.125, json!({"correlation": 7, "device": 0, "stream": 7})),
        ],
    });
    fs::write(dir.join(file), trace.to_string()).unwrap();
}

fn cached(dir: &Dir) -> Vec<PathBuf> {
    entries(&dir.join("cache/trueno-analyze/imported"), ".run")
}

fn entries(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.to_str().unwrap().ends_with(ending))
        .collect();
    paths.sort();
    paths
}

const KERNELS: &str = "SELECT name, dur_ns FROM kernels";

#[test]
fn a_trace_gives_what_its_imported_run_gives() {
    let dir = Dir::new();
    trace(&dir, "trace.json", "aten::mm");
    dir.command(&["import", "trace.json", "-o", "trace.run"])
        .exits(0);
    let both = |args: &dyn Fn(&str) -> Vec<String>| {
        let [run, trace] = ["trace.run", "trace.json"].map(|path| {
            let args = args(path);
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let done = dir.command(&args).exits(0);
            (done.stdout.replace("trace.run", "trace.json"), done.stderr)
        });
        assert_eq!(run.0, trace.0, "{:?}", args("trace.run"));
        assert!(trace.1.contains("trace.json: "), "{}", trace.1);
    };
    let own = |path: &[&str]| path.iter().map(|arg| (*arg).to_owned()).collect();
    both(&|path| own(&["info", path]));
    both(&|path| own(&["tables", path]));
    both(&|path| own(&["query", path, KERNELS]));
    both(&|path| own(&["tree", path, "--no-path"]));
    both(&|path| own(&["export", "dot", path, "--no-path"]));
    both(&|path| own(&["export", "folded", path, "-o", "-"]));
    both(&|path| own(&["golden", "save", path, "-o", "-"]));
    for args in [&["--json", "-"][..], &["--html", "-"], &[]] {
        let [run, trace] = ["trace.run", "trace.json"]
            .map(|path| dir.report(&dir.join(path), args).exits(0).stdout)
            // Commands on the page name it.
            .map(|page| page.replace("trace.run", "trace.json"));
        assert_eq!(run, trace, "{args:?}");
    }
    dir.command(&["compare", "trace.run", "trace.json", "--no-path"])
        .exits(3)
        .stdout_has("base trace.run; run trace.json");
    // One import was enough for all of them, and left nothing beside the file.
    assert_eq!(cached(&dir).len(), 1);
    let names = entries(dir.path(), "");
    // The trace, its run, the cache, and the folder of plugins.
    assert_eq!(names.len(), 4, "{names:?}");
}

#[test]
fn a_run_is_imported_once_for_each_content_and_said() {
    let dir = Dir::new();
    trace(&dir, "trace.json", "aten::mm");
    let info = |file: &str| dir.command(&["info", file]).exits(0);
    info("trace.json").stderr_has("trace.json: imported into ");
    info("trace.json").stderr_has("trace.json: taken from ");
    let quiet = dir.command(&["info", "trace.json", "-q"]).exits(0);
    assert_eq!(quiet.stderr, "");
    // Wherever it lies.
    let folder = dir.folder("elsewhere");
    fs::copy(dir.join("trace.json"), folder.join("trace.json")).unwrap();
    info("elsewhere/trace.json").stderr_has("taken from ");
    trace(&dir, "trace.json", "aten::addmm");
    info("trace.json").stderr_has("imported into ");
    assert_eq!(cached(&dir).len(), 2);
    // A folder with one trace is that trace.
    info("elsewhere").stderr_has("taken from ");
}

#[test]
fn a_damaged_run_of_the_cache_is_made_anew() {
    let dir = Dir::new();
    trace(&dir, "trace.json", "aten::mm");
    let query = || {
        let args = ["query", "trace.json", KERNELS, "--format", "csv"];
        dir.command(&args).exits(0)
    };
    let whole = query().stdout;
    let run = cached(&dir).remove(0);
    let segment = entries(&run.join("kernels"), "").remove(0);
    let damages: [&dyn Fn(); 4] = [
        &|| fs::write(run.join("run.json"), "{").unwrap(),
        &|| fs::remove_file(run.join("run.json")).unwrap(),
        &|| fs::remove_dir_all(run.join("kernels")).unwrap(),
        &|| {
            let mut bytes = fs::read(&segment).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(&segment, bytes).unwrap();
        },
    ];
    for damage in damages {
        damage();
        let again = query();
        assert_eq!(again.stdout, whole);
        again
            .stderr_has("damaged, so it is imported again")
            .stderr_has("imported into ");
        query().stderr_has("taken from ");
    }
}

#[test]
fn without_the_cache_nothing_stays() {
    let dir = Dir::new();
    trace(&dir, "trace.json", "aten::mm");
    let temporary = dir.folder("tmp");
    let info = || {
        let info = dir.command(&["info", "trace.json", "--no-cache"]);
        let done = info.env("TMPDIR", &temporary).exits(0);
        done.stderr_has("trace.json: imported, but not cached");
        assert_eq!(cached(&dir).len(), 0);
        let base = entries(&temporary, "").remove(0);
        assert_eq!(entries(&base, "").len(), 1, "the lock alone");
        base
    };
    let base = info();
    // Left behind by a process that was killed.
    fs::create_dir_all(base.join("once-1-2/some.run")).unwrap();
    info();
    // A folder of others may hold anything.
    fs::remove_dir_all(&base).unwrap();
    std::os::unix::fs::symlink(dir.path(), &base).unwrap();
    let refused = dir.command(&["info", "trace.json", "--no-cache"]);
    let refused = refused.env("TMPDIR", &temporary).exits(2);
    refused.stderr_has("this user alone");
    // No cache can be made below a file.
    fs::remove_file(&base).unwrap();
    let info = dir.command(&["info", "trace.json"]);
    let info = info.env("XDG_CACHE_HOME", dir.join("trace.json"));
    let done = info.env("TMPDIR", &temporary).exits(0);
    done.stderr_has("the imported run is not cached")
        .stderr_has("imported, but not cached");
}

#[test]
fn several_at_once_do_not_disturb_each_other() {
    let dir = Dir::new();
    trace(&dir, "trace.json", "aten::mm");
    let all_find_the_kernel = || {
        let all: Vec<_> = (0..12)
            .map(|_| {
                let mut command = dir.command(&["query", "trace.json", KERNELS]).command;
                let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
                command.spawn().unwrap()
            })
            .collect();
        for child in all {
            let output = child.wait_with_output().unwrap();
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.success(), "{stderr}");
            let stdout = String::from_utf8(output.stdout).unwrap();
            assert!(stdout.contains("sgemm"), "{stdout}");
        }
    };
    all_find_the_kernel();
    // All of them find it damaged, and one of them may be done before another looks again.
    for _ in 0..3 {
        fs::remove_dir_all(cached(&dir)[0].join("kernels")).unwrap();
        all_find_the_kernel();
    }
    assert_eq!(cached(&dir).len(), 1);
    // What a process that was killed left goes with the next.
    let cache = dir.join("cache/trueno-analyze/imported");
    copy(&cached(&dir)[0], &cache.join("0123-4-5"));
    // What others put there stays.
    fs::create_dir(cache.join("my-own-things")).unwrap();
    dir.command(&["info", "trace.json"]).exits(0);
    let left = entries(&cache, "");
    assert_eq!(
        left.len(),
        4,
        "a run, two locks and a folder of others: {left:?}"
    );
}

#[test]
fn runs_that_were_not_used_for_longest_go_when_all_are_too_long() {
    let dir = Dir::new();
    trace(&dir, "trace.json", "aten::mm");
    let info = || dir.command(&["info", "trace.json"]).exits(0);
    info();
    let of_trace = cached(&dir);
    // Files of holes alone.
    let cache = dir.join("cache/trueno-analyze/imported");
    for (name, age_s) in [("old.run", 2_000_000), ("older.run", 3_000_000)] {
        let folder = cache.join(name);
        fs::create_dir(&folder).unwrap();
        let file = File::create(folder.join("long")).unwrap();
        file.set_len(6 << 30).unwrap();
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(age_s);
        File::open(&folder).unwrap().set_modified(then).unwrap();
    }
    info().stderr_has("taken from ");
    let mut left = of_trace;
    left.push(cache.join("old.run"));
    assert_eq!(cached(&dir), left);
}

#[test]
fn what_cannot_be_imported_is_said_with_what_can() {
    let dir = Dir::new();
    fs::write(dir.join("notes.txt"), "dear diary").unwrap();
    fs::write(dir.join("report.nsys-rep"), "\0\0NSYS").unwrap();
    fs::write(dir.join("other.json"), "{\"rows\": []}").unwrap();
    let refused = |file: &str| dir.command(&["info", file]).exits(2);
    refused("notes.txt")
        .stderr_has("begins with \"dear diary\"")
        .stderr_has("nsys-sqlite");
    refused("report.nsys-rep").stderr_has("nsys export --type sqlite");
    refused("other.json").stderr_has("traceEvents");
    refused("nothing.json").stderr_has("no such run (hint: give a run directory");
    refused("s3://bucket/job").stderr_has("trueno-store report s3://");
    assert_eq!(
        entries(&dir.join("cache/trueno-analyze/imported"), "").len(),
        1,
        "the lock alone"
    );
}
