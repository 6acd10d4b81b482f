//! Predictions with known answers.

use trueno_analysis::testing::{RunFixture, interval, lines};
use trueno_plugin::testing::Output;

use crate::linked::{Linked, Waiting};

/// ```text
/// thread 0   ├──────────────── layer ─────────────────┤
///            ├─ qkv ─┤├────── heads ──────┤├── ffn ───┤
///                       ├── join ────────┤
/// thread 1             ├── head (task) ─┤
/// ```
fn threaded() -> Linked {
    Linked {
        fixture: RunFixture {
            wall_ns: Some(100),
            bricks: vec![
                interval(1, "layer", "layer", 0, 100),
                interval(2, "brick", "qkv", 0, 20).category("Attention"),
                interval(3, "brick", "heads", 20, 70).category("Attention"),
                interval(4, "brick", "ffn", 70, 100).category("FFN"),
                interval(5, "task", "head", 25, 65)
                    .thread(1)
                    .category("Attention"),
            ],
            kernels: vec![interval(6, "", "gemv", 75, 95)],
            syncs: vec![interval(7, "", "join", 24, 66)],
            ..RunFixture::default()
        },
        tasks: vec![(3, 5)],
        edges: vec![(5, 7, "joins")],
        ..Linked::default()
    }
}

/// The rows of `what_if` as `assumption | matched | predicted`.
fn what_if(run: &Linked, rules: &[&str]) -> (Vec<String>, Output) {
    let options = serde_json::json!({ "what_if": rules }).to_string();
    let out = run.analyse_with(&options);
    let table = out.table("what_if");
    (
        lines(table, &["assumption", "matched", "predicted_ns"]),
        out,
    )
}

fn predicted(run: &Linked, rule: &str) -> String {
    let (rows, _) = what_if(run, &[rule]);
    rows[0].rsplit(" | ").next().unwrap().to_owned()
}

#[test]
fn a_brick_takes_what_is_nested_in_it_and_what_it_spawned_along() {
    let run = threaded();
    assert_eq!(predicted(&run, "qkv=0.5"), "90");
    // 10 ns of its own, 20 of its kernel.
    assert_eq!(predicted(&run, "ffn=0.5"), "85");
    assert_eq!(predicted(&run, "gemv=0.5"), "90");
    // 5 + 1 + 4 of its own by half, and the 40 of the task it spawned.
    assert_eq!(predicted(&run, "head=0.5"), "80");
    assert_eq!(predicted(&run, "category:Attention=0"), "32");
    assert_eq!(predicted(&run, "layer=2"), "198");
    assert_eq!(predicted(&run, "id:4=0"), "70");
}

/// Reports show the function of a C++ kernel, so a rule may name it so.
#[test]
fn a_rule_names_a_kernel_by_its_function() {
    let mut run = threaded();
    let name = "void mm::ffn<4, float>(float*, int)";
    run.fixture.bricks[3] = interval(4, "brick", name, 70, 100).category("FFN");
    for rule in ["ffn=0.5", "void mm::ffn<4, float>(float*, int)=0.5"] {
        assert_eq!(predicted(&run, rule), "85", "{rule}");
    }
}

/// Other plugins cap their gains with this, so it must equal what a what-if rule predicts.
#[test]
fn a_run_without_a_category_is_the_run_that_a_rule_predicts() {
    assert!(
        threaded()
            .analyse()
            .tables
            .iter()
            .all(|table| table.name() != "without")
    );
    for (category, gain_ns) in [("communication", 68), ("data loading", 68)] {
        let mut run = threaded();
        for row in &mut run.fixture.bricks {
            if row.category == Some("Attention") {
                row.category = Some(category);
            }
        }
        let out = run.analyse();
        let rows = lines(out.table("without"), &["target", "gain_ns"]);
        assert_eq!(rows, [format!("category:{category} | {gain_ns}")]);
        let rule = format!("category:{category}=0");
        assert_eq!(predicted(&run, &rule), (100 - gain_ns).to_string());
    }
}

#[test]
fn a_queue_is_no_opportunity_before_others() {
    let out = threaded().analyse();
    let rows = lines(out.table("opportunity"), &["name", "gain_100pct_ns"]);
    assert_eq!(rows.last().unwrap(), "kind:queue | 1", "{rows:?}");
    // As much is to be had from a wait, which a program can do something about.
    assert!(rows.contains(&"kind:sync_wait | 1".to_owned()), "{rows:?}");
}

#[test]
fn absolute_times_are_for_each_row() {
    let run = threaded();
    assert_eq!(predicted(&run, "qkv=5ns"), "85");
    assert_eq!(predicted(&run, "ffn=60ns"), "130");
    assert_eq!(predicted(&run, "id:2=0ns"), "80");
}

#[test]
fn several_rules_are_shown_alone_and_together() {
    let (rows, out) = what_if(&threaded(), &["qkv=0.5", "ffn=0", "gemv=1"]);
    assert_eq!(
        rows,
        [
            "qkv=0.5 | 1 | 90",
            "ffn=0 | 1 | 70",
            "gemv=1 | 1 | 100",
            // The kernel has a rule of its own, which is nearer than that of its brick.
            "all of them | 3 | 80"
        ]
    );
    let sum = |table: &str| -> i64 {
        let table = out.table(table);
        table.i64("dur_ns").unwrap().values().iter().sum()
    };
    assert_eq!(sum("what_if_by_kind"), 80);
    assert_eq!(sum("what_if_by_name"), 80);
}

#[test]
fn the_path_changes_with_what_is_assumed() {
    let (_, out) = what_if(&threaded(), &["head=0"]);
    let rows = lines(out.table("what_if_by_name"), &["name", "kind", "dur_ns"]);
    // It still has to begin, and the wait to end.
    assert!(rows.contains(&"head | queue | 1".to_owned()), "{rows:?}");
    assert!(
        !rows.iter().any(|row| row.starts_with("head | work")),
        "{rows:?}"
    );
}

#[test]
fn kinds_of_lag_can_be_assumed_away() {
    let run = Linked {
        fixture: RunFixture {
            wall_ns: Some(100),
            calls: vec![
                interval(1, "", "launch", 0, 10),
                interval(2, "", "launch", 10, 20),
            ],
            kernels: vec![
                interval(3, "", "a", 30, 50).stream(0, 7),
                interval(4, "", "b", 60, 100).stream(0, 7),
            ],
            ..RunFixture::default()
        },
        launches: vec![(1, 3), (2, 4)],
        ..Linked::default()
    };
    assert_eq!(predicted(&run, "kind:launch_delay=0"), "80");
    assert_eq!(predicted(&run, "kind:launch_delay=5ns"), "85");
    assert_eq!(predicted(&run, "kind:queue=0"), "90");
    assert_eq!(predicted(&run, "kind:kernel=0.5"), "70");
    // A call is no part of what it launched, which runs after it has returned.
    assert_eq!(predicted(&run, "id:1=0"), "90");
    // With nothing to do for the device, the host is what is left.
    assert_eq!(predicted(&run, "kind:work=0"), "30");
}

#[test]
fn what_is_about_nothing_predicts_nothing_and_says_what_there_is() {
    let (rows, out) = what_if(&threaded(), &["QKV=0.5"]);
    assert_eq!(rows, ["QKV=0.5 | 0 | -"]);
    let finding = out.finding("what_if_about_nothing").unwrap();
    assert_eq!(
        finding.title,
        "`--what-if QKV=0.5` matches nothing in this run"
    );
    assert_eq!(finding.suggestion.as_deref(), Some("there are: qkv"));
    for (rule, instead) in [
        ("hraeds=0.5", "there are: heads"),
        ("Attention=0.5", "it is a category: `category:Attention=…`"),
        ("launch_delay=0", "it is a kind: `kind:launch_delay=…`"),
        ("category:atention=0", "there are: Attention"),
        ("category:GEMM=0", "look at the categories in `by_category`"),
        ("kind:trasfer=0", "there are: transfer"),
        (
            "kind:nonsense=0",
            "kinds are brick, gap, kernel, launch_delay, layer, queue, sync, sync_wait, task, transfer, work",
        ),
        (
            "id:77=0",
            "no interval has this id; the tables `path` and `slack` have ids",
        ),
    ] {
        let (_, out) = what_if(&threaded(), &[rule]);
        let finding = out.finding("what_if_about_nothing").unwrap();
        assert_eq!(finding.suggestion.as_deref(), Some(instead), "{rule}");
    }
}

#[test]
fn an_unexplained_wait_is_no_work_that_a_brick_could_do_faster() {
    let mut run = threaded();
    run.edges.clear();
    // The wait stays; the rest of the brick, and its task beside it, go.
    assert_eq!(predicted(&run, "heads=0"), "92");
    // Then the task ends last.
    assert_eq!(predicted(&run, "kind:sync_wait=0"), "65");
}

/// A lane that no dependency connects with the path limits predictions only by its own work.
#[test]
fn background_neither_hides_a_gain_nor_promises_one() {
    let run = |busy_ns: i64| Linked {
        fixture: RunFixture {
            wall_ns: Some(100),
            bricks: vec![
                interval(1, "brick", "a", 0, 40),
                interval(2, "brick", "b", 40, 98),
                interval(3, "brick", "watch", 99 - busy_ns, 99).thread(1),
            ],
            ..RunFixture::default()
        },
        ..Linked::default()
    };
    assert_eq!(predicted(&run(1), "b=0"), "42");
    assert_eq!(predicted(&run(90), "b=0"), "90");
}

#[test]
fn opportunities_are_ranked_and_add_nothing_up() {
    let out = threaded().analyse();
    assert_eq!(
        lines(
            out.table("opportunity"),
            &[
                "name",
                "path_ns",
                "gain_10pct_ns",
                "gain_50pct_ns",
                "gain_100pct_ns"
            ]
        ),
        [
            "heads | 48 | 4 | 24 | 48",
            "head | 40 | 4 | 20 | 40",
            "ffn | 30 | 3 | 15 | 30",
            "gemv | 20 | 2 | 10 | 20",
            "qkv | 20 | 2 | 10 | 20",
            // Half a nanosecond goes up or down with where it lies.
            "kind:sync_wait | 1 | 1 | 1 | 1",
            "kind:queue | 1 | 0 | 0 | 1"
        ]
    );
    let finding = out.finding("largest_opportunity").unwrap();
    assert_eq!(
        finding.title,
        "if `heads` took half the time, the run would be 24.0 % shorter; if it took none, 48.0 %"
    );
    // Of 48 on the path the 40 of the task are not its own.
    let detail = finding.detail.as_deref().unwrap();
    assert!(
        detail.contains("it accounts for 48.0 % of the path: 8.0 % its own, 40.0 % nested"),
        "{detail}"
    );
    let out = threaded().analyse_with(r#"{"opportunity_names": 1}"#);
    let rows = lines(out.table("opportunity"), &["name", "gain_50pct_ns"]);
    assert!(
        rows.contains(&"heads | 24".to_owned()) && rows.contains(&"ffn | -".to_owned()),
        "{rows:?}"
    );
    assert!(out.finding("opportunity_cut").is_some());
}

#[test]
fn a_gain_ends_where_another_path_is_the_longest() {
    let run = Linked {
        fixture: RunFixture {
            wall_ns: Some(100),
            bricks: vec![
                interval(1, "brick", "main", 0, 100),
                interval(2, "task", "slow", 10, 90).thread(1),
                interval(3, "task", "fast", 10, 70).thread(2),
            ],
            syncs: vec![interval(4, "", "join", 10, 90)],
            ..RunFixture::default()
        },
        tasks: vec![(1, 2), (1, 3)],
        edges: vec![(2, 4, "joins"), (3, 4, "joins")],
        ..Linked::default()
    };
    assert_eq!(predicted(&run, "slow=0.5"), "80");
    assert_eq!(predicted(&run, "slow=0"), "80");
    assert_eq!(predicted(&run, "fast=0"), "100");
    assert_eq!(predicted(&run, "fast=2"), "140");
}

#[test]
fn a_wrong_rule_is_refused() {
    let inputs = threaded().inputs();
    let error = trueno_plugin::testing::run::<trueno_plugin_critical_path::CriticalPath>(
        inputs,
        r#"{"what_if": ["qkv"]}"#,
    )
    .unwrap_err();
    assert!(
        error.to_string().contains("expected TARGET=VALUE"),
        "{error}"
    );
}

#[test]
fn host_waits_shrink_with_the_device() {
    let run = Linked {
        fixture: RunFixture {
            wall_ns: Some(100),
            calls: vec![interval(1, "", "launch", 0, 10)],
            kernels: vec![interval(2, "", "k", 10, 90).stream(0, 7)],
            syncs: vec![interval(3, "", "device", 10, 95)],
            ..RunFixture::default()
        },
        launches: vec![(1, 2)],
        waits: vec![Waiting {
            id: 3,
            kind: "device",
            start_ns: 10,
            ..Waiting::default()
        }],
        ..Linked::default()
    };
    assert_eq!(predicted(&run, "k=0.25"), "40");
}

/// ```text
/// thread 0   ├ main ┬─────────────── join ───────────────┬ main ┤
/// thread 1          ├ early ┤
/// thread 2                                     ├─ late ──┤
/// ```
///
/// The join waited for nothing but its tasks: no time in it is its own because another task began then.
#[test]
fn a_join_lasts_as_long_as_its_tasks_whenever_they_begin() {
    let run = |late_from: i64| Linked {
        fixture: RunFixture {
            wall_ns: Some(100),
            bricks: vec![
                interval(1, "brick", "main", 0, 100),
                interval(2, "task", "early", 2, 10).thread(1),
                interval(3, "task", "late", late_from, 95).thread(2),
            ],
            syncs: vec![interval(4, "", "join", 2, 96)],
            ..RunFixture::default()
        },
        tasks: vec![(1, 2), (1, 3)],
        edges: vec![(2, 4, "joins"), (3, 4, "joins")],
        ..Linked::default()
    };
    // 2 before the tasks, 8 of the longer, and 5 after them.
    assert_eq!(predicted(&run(90), "kind:queue=0"), "15");
    // It begins while the other still runs: 2, 87 and 5.
    assert_eq!(predicted(&run(8), "kind:queue=0"), "94");
    let out = run(90).analyse();
    let rows = lines(out.table("opportunity"), &["name", "gain_100pct_ns"]);
    assert!(rows.contains(&"kind:queue | 85".to_owned()), "{rows:?}");
}

/// ```text
/// thread 0   ├─ work ─┼─ work ─┼─ work ─┼─ work ──────┤
/// thread 1   ├ _bootstrap ┬─────── wait ──────────────┤
/// ```
fn with_a_monitor(innermost: &'static str) -> Linked {
    Linked {
        fixture: RunFixture {
            wall_ns: Some(100),
            bricks: vec![
                interval(1, "brick", "work", 0, 25),
                interval(5, "brick", "work", 25, 50),
                interval(6, "brick", "work", 50, 75),
                interval(7, "brick", "work", 75, 100),
                interval(2, "function", "threading.py(1032): _bootstrap", 0, 100).thread(1),
                interval(3, "function", "tqdm/_monitor.py(60): run", 1, 100).thread(1),
                interval(4, "function", innermost, 2, 100).thread(1),
            ],
            ..RunFixture::default()
        },
        ..Linked::default()
    }
}

/// A thread that sleeps all the time looks like one that works: its frames are rows like any others.
#[test]
fn a_frame_that_only_waits_holds_no_prediction_up() {
    let run = with_a_monitor("threading.py(359): wait");
    // What is left are the two frames around it.
    assert_eq!(predicted(&run, "work=0"), "2");
    let out = run.analyse();
    let rows = lines(out.table("opportunity"), &["name", "gain_100pct_ns"]);
    assert_eq!(rows, ["work | 98"]);
    assert!(out.finding("prediction_bounded").is_none());
}

/// A wait on the path is as long as what it waits for: it comes last, and is not proposed to be made shorter.
#[test]
fn a_wait_is_no_lever() {
    let wait = interval(1, "function", "select.epoll.poll", 0, 800).category("waiting");
    let run = Linked {
        fixture: RunFixture {
            wall_ns: Some(1_000),
            bricks: vec![wait, interval(2, "function", "handle", 800, 1_000)],
            ..RunFixture::default()
        },
        ..Linked::default()
    };
    let out = run.analyse();
    let rows = lines(out.table("opportunity"), &["name", "path_ns"]);
    assert_eq!(rows, ["handle | 200", "select.epoll.poll | 800"]);
    let lever = out.finding("largest_opportunity").unwrap();
    assert!(
        lever.title.starts_with("if `handle` took half"),
        "{}",
        lever.title
    );
}

#[test]
fn a_lane_that_leaves_no_telling_is_named() {
    let run = with_a_monitor("pump.py(3): turn");
    let out = run.analyse();
    let rows = lines(
        out.table("opportunity"),
        &["name", "path_ns", "gain_10pct_ns", "gain_100pct_ns"],
    );
    assert_eq!(rows, ["work | 100 | - | -"]);
    let finding = out.finding("prediction_bounded").unwrap();
    assert_eq!(
        finding.title,
        "no gain can be predicted for 1 name or kind: `thread 1` is busy for \
         100.0 % of the run, and no recorded dependency connects it with the path"
    );
    let detail = finding.detail.as_deref().unwrap();
    assert!(
        detail.contains("98.0 % of the run, is `pump.py(3): turn` itself (id 4)"),
        "{detail}"
    );
    assert!(out.finding("opportunity_cut").is_none());
    assert!(out.finding("largest_opportunity").is_none());
}

/// ```text
/// thread 0   ├ step                             ┤
///             ├ call ┤              ├ sync ────┤
/// stream                 ├──────── kernel ────┤
/// ```
#[test]
fn a_call_is_no_part_of_what_it_launched_but_of_what_it_blocked_for() {
    let launched = Linked {
        fixture: RunFixture {
            wall_ns: Some(1_000),
            bricks: vec![interval(1, "brick", "step", 0, 1_000)],
            calls: vec![interval(2, "", "cudaLaunchKernel", 2, 6)],
            kernels: vec![interval(3, "", "gemm", 100, 900).stream(0, 7)],
            syncs: vec![interval(4, "", "stream", 500, 900)],
            ..RunFixture::default()
        },
        launches: vec![(2, 3)],
        waits: vec![Waiting {
            id: 4,
            kind: "stream",
            device: Some(0),
            stream: Some(7),
            start_ns: 500,
            ..Waiting::default()
        }],
        ..Linked::default()
    };
    assert_eq!(predicted(&launched, "cudaLaunchKernel=0"), "996");
    // The kernel is waited for from 500 on, and began 94 after the call had returned.
    assert_eq!(predicted(&launched, "gemm=0"), "600");
    let out = launched.analyse();
    let finding = out.finding("largest_opportunity").unwrap();
    assert!(
        finding.title.starts_with("if `gemm` took half the time"),
        "{}",
        finding.title
    );

    let blocked = Linked {
        fixture: RunFixture {
            wall_ns: Some(100),
            calls: vec![interval(1, "", "cudaMemcpy", 0, 100)],
            transfers: vec![interval(2, "", "h2d", 10, 90).stream(0, 7)],
            ..RunFixture::default()
        },
        copies: vec![(1, 2)],
        blocking: vec![(2, 1)],
        ..Linked::default()
    };
    assert_eq!(predicted(&blocked, "cudaMemcpy=0.5"), "50");
}

/// A gain that rounds to zero is not reported.
#[test]
fn a_lever_of_nothing_is_not_told() {
    let run = Linked {
        fixture: RunFixture {
            wall_ns: Some(10_000),
            bricks: vec![interval(1, "brick", "small", 0, 90)],
            ..RunFixture::default()
        },
        ..Linked::default()
    };
    assert!(run.analyse().finding("largest_opportunity").is_none());
}
