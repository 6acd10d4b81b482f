//! Clusters that cannot do what they are asked for: an error with its cause by the deadline, exit code 2.

use std::time::Duration;

use crate::engine_processes::Processes;
use crate::workplace::{Workplace, cluster, ends, same};

#[test]
fn a_cluster_that_is_not_there_is_told() {
    let workplace = Workplace::new();
    let job = workplace.job(2);
    let url = "ballista://127.0.0.1:1";
    let failed = ends(&mut workplace.report_by(&job, url, "parts", &[]), 2);
    assert!(
        failed.stderr.contains("the scheduler at 127.0.0.1:1"),
        "{}",
        failed.stderr
    );
    assert_eq!(failed.stdout, "");
    let empty = Processes::start(&workplace.analyze, 0);
    let args = ["--cluster-deadline", "2s"];
    let failed = ends(
        &mut workplace.report_by(&job, &empty.url, "parts", &args),
        2,
    );
    assert!(
        failed.stderr.contains("has no executors (hint: "),
        "{}",
        failed.stderr
    );
    assert!(failed.took < Duration::from_secs(30), "{:?}", failed.took);
}

#[test]
fn what_is_asked_wrongly_is_told() {
    let workplace = Workplace::new();
    let job = workplace.job(2);
    let parts = ["--parts", "parts"];
    for (args, why) in [
        (
            &["--engine", "spark://h:1"][..],
            "expected local or ballista://HOST:PORT",
        ),
        (&["--engine", "ballista://h:1"], "hint: --parts DIR"),
        (
            &["--engine", "ballista://h", "--parts", "parts"],
            "it has no port",
        ),
        (
            &[
                "--engine",
                "ballista://127.0.0.1:1",
                "--cluster-deadline",
                "soon",
                "--parts",
                "parts",
            ],
            "soon: no time",
        ),
    ] {
        let failed = ends(&mut workplace.report(&job, args), 2);
        assert!(failed.stderr.contains(why), "{args:?}: {}", failed.stderr);
    }
    let one = job.join("rank=0");
    let args = [&["--engine", "ballista://127.0.0.1:1"], &parts[..]].concat();
    let failed = ends(&mut workplace.report(&one, &args), 2);
    assert!(
        failed.stderr.contains("parts are of ranks"),
        "{}",
        failed.stderr
    );
    let mut alone = workplace.report(&job, &args);
    let failed = ends(alone.env("PATH", "/nowhere"), 2);
    assert!(
        failed
            .stderr
            .contains("neither beside this command nor in PATH"),
        "{}",
        failed.stderr
    );
    let failed = ends(
        &mut cluster(&[
            "executor",
            "--scheduler",
            "127.0.0.1:1",
            "--analyze",
            "/none",
        ]),
        2,
    );
    assert!(
        failed.stderr.contains("/none: there is no such program"),
        "{}",
        failed.stderr
    );
    let run = [
        "run",
        "--engine",
        "127.0.0.1:1",
        "--job",
        "/none",
        "--parts",
        "/none",
    ];
    let failed = ends(&mut cluster(&run), 2);
    assert!(failed.stderr.contains("--job /none"), "{}", failed.stderr);
}

/// Scripts in place of the analyzer. Each fails in a different way.
#[test]
fn tasks_that_fail_are_told() {
    let workplace = Workplace::new();
    let job = workplace.job(2);
    let answer = r#"{"kept":0,"made":0,"missing":[1],"not_kept":[],"rounds":1}"#;
    let stuck = format!("cat >/dev/null; echo '{answer}'");
    for (script, why) in [
        (
            "echo 'error: no such thing' >&2; exit 2",
            "ended with exit code 2: error: no such thing",
        ),
        ("kill -11 $$", "killed by signal 11"),
        ("echo nonsense", "its answer is not valid"),
        (
            stuck.as_str(),
            "made no part, and those of rank 1 are not there",
        ),
    ] {
        let program = workplace.script("program", script);
        let cluster = Processes::start(&program, 1);
        let args = ["--ranks-per-task", "1", "--deadline", "60s"];
        let failed = ends(&mut workplace.run(&job, &cluster.url, "parts", &args), 2);
        assert!(failed.stderr.starts_with("error: "), "{}", failed.stderr);
        assert!(failed.stderr.contains(why), "{script}: {}", failed.stderr);
        assert_eq!(failed.stdout, "");
    }
}

#[test]
fn a_task_that_hangs_ends_with_the_deadline() {
    let workplace = Workplace::new();
    let job = workplace.job(2);
    let endless = workplace.script("endless", "exec sleep 1000");
    let cluster = Processes::start(&endless, 1);
    let args = ["--cluster-deadline", "4s"];
    let failed = ends(
        &mut workplace.report_by(&job, &cluster.url, "parts", &args),
        2,
    );
    assert!(failed.stderr.contains("deadline"), "{}", failed.stderr);
    assert!(failed.took < Duration::from_secs(40), "{:?}", failed.took);
    cluster.until_idle();
    // The executor is as good as before.
    let args = ["--deadline", "2s"];
    let again = ends(&mut workplace.run(&job, &cluster.url, "parts", &args), 2);
    assert!(again.stderr.contains("deadline"), "{}", again.stderr);
}

/// A part that could not be saved is computed locally.
#[test]
fn what_cannot_be_kept_is_made_here() {
    let workplace = Workplace::new();
    let job = workplace.job(2);
    let local = ends(&mut workplace.report(&job, &[]), 0).stdout;
    let answer = r#"{"kept":0,"made":1,"missing":[],"not_kept":[1],"rounds":1}"#;
    let program = workplace.script(
        "program",
        &format!("cat >/dev/null; echo '{answer}'; exit 2"),
    );
    let cluster = Processes::start(&program, 1);
    let made = ends(
        &mut workplace.report_by(&job, &cluster.url, "parts", &[]),
        0,
    );
    same(&made.stdout, &local, "the report");
    assert!(
        made.stderr.contains("could not keep the parts of rank 1"),
        "{}",
        made.stderr
    );
    // Executors that claim to have made what is not there.
    let answer = r#"{"kept":0,"made":2,"missing":[],"not_kept":[],"rounds":1}"#;
    let program = workplace.script("other", &format!("cat >/dev/null; echo '{answer}'"));
    let cluster = Processes::start(&program, 1);
    let made = ends(
        &mut workplace.report_by(&job, &cluster.url, "others", &[]),
        0,
    );
    same(&made.stdout, &local, "the report");
    assert!(made.stderr.contains("another build of"), "{}", made.stderr);
}
