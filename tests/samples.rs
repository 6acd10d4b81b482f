//! Samples of a program beside what it recorded itself.

use std::fs;

use trueno_format::run_json::{Clock, Program, RunJson};
use trueno_testing::Made;

use crate::harness::{Dir, copy, section};

const MS: i64 = 1_000_000;

fn facts(origin_ns: i64) -> RunJson {
    let mut run = RunJson {
        program: Program {
            pid: Some(70),
            ..Program::default()
        },
        clock: Clock {
            origin_realtime_ns: origin_ns,
            ..Clock::default()
        },
        ..RunJson::default()
    };
    run.host.name = Some("machine".to_owned());
    run
}

/// The program's own recording: a brick on thread 0 from 10 to 20 ms.
fn recorded(dir: &Dir) -> String {
    let path = dir.join("own.run");
    let mut made = Made::with_facts(&path, facts(1_000 * MS));
    let brick = [
        ("id", 1.into()),
        ("kind", "brick".into()),
        ("name", "attention".into()),
        ("start_ns", (10 * MS).into()),
        ("dur_ns", (10 * MS).into()),
    ];
    made.row("bricks", &brick);
    let thread = [
        ("thread", 0.into()),
        ("os_id", 70.into()),
        ("name", "main".into()),
    ];
    made.row("threads", &thread);
    let wait = [
        ("id", 9.into()),
        ("kind", "join".into()),
        ("thread", 0.into()),
        ("start_ns", MS.into()),
        ("dur_ns", MS.into()),
    ];
    made.row("syncs", &wait);
    made.finish(30 * MS);
    path.to_str().unwrap().to_owned()
}

/// Samples every millisecond, from 5 ms before that recording on: of its first thread, of a thread that recorded
/// nothing, and of a child process.
fn sampled(dir: &Dir) -> String {
    let path = dir.join("sampled.run");
    let mut made = Made::with_facts(&path, facts(995 * MS));
    for (id, caller, function) in [
        (1, None, "main"),
        (2, Some(1), "matmul"),
        (3, Some(1), "log"),
    ] {
        let mut row = vec![
            ("id", id.into()),
            ("function", function.into()),
            ("module", "/a".into()),
        ];
        row.extend(caller.map(|caller: i64| ("caller", caller.into())));
        made.row("stacks", &row);
    }
    for (thread, os_id, process, name) in [
        (0, 70, 70, "main"),
        (1, 71, 70, "helper"),
        (2, 72, 72, "child"),
    ] {
        let row = [
            ("thread", thread.into()),
            ("os_id", os_id.into()),
            ("process", process.into()),
            ("name", name.into()),
        ];
        made.row("threads", &row);
        for ms in 0..40_i64 {
            // In the brick, which is from 15 to 25 ms here, three of four in `matmul`.
            let stack = if (15..25).contains(&ms) && ms % 4 != 0 {
                2
            } else {
                3
            };
            let row = [
                ("time_ns", (ms * MS + MS / 2).into()),
                ("thread", thread.into()),
                ("stack", stack.into()),
                ("event", "cpu-clock".into()),
                ("period", MS.into()),
            ];
            made.row("samples", &row);
        }
        // Before the recording, across its beginning, in the brick, and across its end.
        for (id, kind, at_ms) in [
            (1, "off_cpu", 1),
            (2, "off_cpu", 4),
            (3, "runnable", 17),
            (4, "off_cpu", 34),
        ] {
            let row = [
                ("id", (10 * thread + id).into()),
                ("kind", kind.into()),
                ("name", "futex".into()),
                ("thread", thread.into()),
                ("start_ns", (at_ms * MS).into()),
                ("dur_ns", (2 * MS).into()),
                ("stack", 3.into()),
            ];
            made.row("syncs", &row);
        }
    }
    made.finish(40 * MS);
    path.to_str().unwrap().to_owned()
}

#[test]
fn samples_join_the_run_of_their_program_by_thread_and_time() {
    let dir = Dir::new();
    let (own, sampled) = (recorded(&dir), sampled(&dir));
    dir.command(&["import", &sampled, "--into", &own, "-o", "both.run"])
        .exits(0)
        .stdout_has("60 samples and 2 waits")
        .stdout_has("1 threads that recorded nothing")
        .stdout_has("40 × sample of another process")
        .stdout_has("20 × sample before the recording began, or after it ended")
        .stdout_has("6 × wait before the recording began, or after it ended")
        .stdout_has("4 × wait of another process");
    let sql = "SELECT s.thread, t.name, COUNT(*) AS n, MIN(s.time_ns) AS first_ns FROM samples s \
               JOIN threads t ON t.thread = s.thread GROUP BY s.thread, t.name ORDER BY s.thread";
    let rows = dir
        .command(&["query", "both.run", sql, "--format", "csv"])
        .exits(0)
        .stdout;
    assert_eq!(
        rows.replace('\r', ""),
        "thread,name,n,first_ns\n0,main,30,500000\n1,helper,30,500000\n"
    );
    let sql = "SELECT id, kind, name, thread, start_ns, dur_ns, stack FROM syncs ORDER BY id";
    let rows = dir
        .command(&["query", "both.run", sql, "--format", "csv"])
        .exits(0)
        .stdout;
    assert_eq!(
        rows.replace('\r', ""),
        "id,kind,name,thread,start_ns,dur_ns,stack\n9,join,,0,1000000,1000000,\n\
         10,runnable,futex,0,12000000,2000000,3\n11,runnable,futex,1,12000000,2000000,3\n"
    );
    // Its own run is as it was.
    let info = dir.command(&["info", &own]).exits(0).stdout;
    assert!(!info.contains("\nsamples "), "{info}");
    let report = dir
        .command_with_plugins(&[
            "report",
            "both.run",
            "--plugin-id",
            "samples",
            "--json",
            "-",
        ])
        .exits(0)
        .json();
    let tables = section(&report, "samples")["tables"].as_array().unwrap();
    let bricks = tables
        .iter()
        .find(|table| table["name"] == "bricks")
        .unwrap()
        .to_string();
    assert!(
        bricks.contains("attention") && bricks.contains("matmul"),
        "{bricks}"
    );
    let sql = "SELECT function, samples, brick_samples FROM samples.bricks ORDER BY samples DESC";
    let rows = dir.command_with_plugins(&["query", "both.run", sql, "--format", "csv"]);
    let rows = rows.exits(0).stdout.replace('\r', "");
    assert_eq!(
        rows,
        "function,samples,brick_samples\nmatmul,7,10\nlog,3,10\n"
    );
}

#[test]
fn samples_that_do_not_belong_to_a_run_are_refused_with_the_reason() {
    let dir = Dir::new();
    let (own, sampled) = (recorded(&dir), sampled(&dir));
    let join = |file: &str, into: &str| {
        dir.command(&[
            "import",
            file,
            "--into",
            into,
            "-o",
            "both.run",
            "--overwrite",
        ])
    };
    join(&own, &sampled).exits(2).stderr_has("holds no samples");
    join(&sampled, &sampled)
        .exits(2)
        .stderr_has("holds samples or stacks already");
    let elsewhere = dir.join("elsewhere.run");
    let mut made = Made::with_facts(&elsewhere, RunJson::default());
    let brick = [
        ("id", 1.into()),
        ("kind", "brick".into()),
        ("name", "x".into()),
    ];
    made.row("bricks", &brick);
    made.finish(MS);
    let elsewhere = elsewhere.to_str().unwrap();
    join(&sampled, elsewhere)
        .exits(2)
        .stderr_has("they do not share a clock");
    // Of the same machine, but of another process: none is of it.
    let other = dir.join("other.run");
    let mut run = facts(1_000 * MS);
    run.program.pid = Some(99);
    let mut made = Made::with_facts(&other, run);
    made.row("bricks", &brick);
    made.finish(MS);
    join(&sampled, other.to_str().unwrap())
        .exits(3)
        .stderr_has("no sample matches this run's program and time");
    assert!(!dir.join("both.run").exists());
    // A copy is joined as its original is.
    let copied = dir.join("copied.run");
    copy(dir.join("own.run").as_path(), &copied);
    join(&sampled, copied.to_str().unwrap()).exits(0);
}

#[test]
fn stacks_of_samples_are_written_for_flame_graphs() {
    let dir = Dir::new();
    let (own, sampled) = (recorded(&dir), sampled(&dir));
    let lines = dir
        .command(&["export", "folded", &sampled, "-o", "-"])
        .exits(0)
        .stdout;
    assert_eq!(
        lines,
        "child (thread 2);main;log 33000000\nchild (thread 2);main;matmul 7000000\n\
         helper (thread 1);main;log 33000000\nhelper (thread 1);main;matmul 7000000\n\
         main (thread 0);main;log 33000000\nmain (thread 0);main;matmul 7000000\n"
    );
    dir.command(&["import", &sampled, "--into", &own, "-o", "both.run"])
        .exits(0);
    // Of a run with both, each by its name; of the brick's 10 ms, 2 ms are a wait that came with the samples.
    dir.command(&["export", "folded", "both.run", "-o", "-"])
        .exits(0)
        .stdout_has("attention 8000000\n")
        .stdout_has("attention;futex 2000000\n");
    let lines = dir
        .command(&["export", "folded-samples", "both.run", "-o", "-"])
        .exits(0)
        .stdout;
    assert!(
        lines.contains("main (thread 0);main;matmul 7000000\n"),
        "{lines}"
    );
    let svg = dir
        .command(&["export", "flamegraph-samples", "both.run", "-o", "-"])
        .exits(0)
        .stdout;
    assert!(svg.contains("estimated from samples") && svg.contains("matmul"));
    dir.command(&["export", "flamegraph-samples", &own, "-o", "-"])
        .exits(2)
        .stderr_has("no samples");
}

#[test]
fn waits_are_written_for_flame_graphs_apart_from_cpu_time() {
    let dir = Dir::new();
    let (own, sampled) = (recorded(&dir), sampled(&dir));
    let lines = dir
        .command(&["export", "folded-waits", &sampled, "-o", "-"])
        .exits(0)
        .stdout;
    let of = |thread: &str| {
        format!("{thread};[no processor was free] 2000000\n{thread};[waited];main;log 6000000\n")
    };
    let threads = ["child (thread 2)", "helper (thread 1)", "main (thread 0)"];
    assert_eq!(lines, threads.map(of).concat());
    let svg = dir
        .command(&["export", "flamegraph-waits", &sampled, "-o", "-"])
        .exits(0)
        .stdout;
    assert!(svg.contains("time waited by stack, measured") && !svg.contains("estimated"));
    dir.command(&["export", "flamegraph-waits", &own, "-o", "-"])
        .exits(2)
        .stderr_has("no waits");
}

#[test]
fn a_page_has_flame_graphs_of_samples_and_of_waits_side_by_side() {
    let dir = Dir::new();
    let (own, sampled) = (recorded(&dir), sampled(&dir));
    let page = |run: &str| {
        let args = ["report", run, "--html", "it.html", "--charts", "charts"];
        fs::create_dir_all(dir.join("charts")).unwrap();
        dir.command(&args).exits(0);
        fs::read_to_string(dir.join("it.html")).unwrap()
    };
    let titles = [
        "CPU time by stack, estimated from samples: a root for each thread",
        "Time in which threads did not run, by stack, measured: a root for each thread; this is not work",
    ];
    let caption = |title: &str| format!("<figcaption>{title}</figcaption>");
    let own_time = "<figcaption>Self time by stack";
    let of_samples = page(&sampled);
    assert!(
        titles
            .iter()
            .all(|title| of_samples.contains(&caption(title)))
    );
    // That threads ran and waited is no work, whose stacks could be shown.
    assert!(!of_samples.contains(own_time));
    for file in ["stacks-samples.svg", "stacks-waits.svg"] {
        let svg = fs::read_to_string(dir.join("charts").join(file)).unwrap();
        assert!(svg.contains("matmul") || svg.contains("log"), "{file}");
    }
    let of_bricks = page(&own);
    assert!(
        titles
            .iter()
            .all(|title| !of_bricks.contains(&caption(title)))
    );
    assert!(of_bricks.contains(own_time));
}
