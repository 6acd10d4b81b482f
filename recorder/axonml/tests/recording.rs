//! The front with the names of axonml-profile: what it records, and where.

use std::sync::Barrier;

use trueno_axonml_profile::{
    ComputeProfiler, EventType, MemoryProfiler, ProfileGuard, Profiler, TimelineProfiler,
    global_profiler, profile_scope,
};
use trueno_recorder::run_json::State;
use trueno_testing::{Cell, Table, folder, in_own_process, run_json, table};

fn end(bricks: &Table, row: usize) -> i128 {
    bricks.number("start_ns", row).unwrap() + bricks.number("dur_ns", row).unwrap()
}

#[test]
fn operations_are_bricks_that_nest_as_they_ran() {
    let (_folder, path) = folder();
    let profiler = Profiler::create(&path).unwrap();
    let line = {
        profile_scope!(&profiler, "step");
        profiler.start("forward");
        let line = line!() + 1;
        let _inner = ProfileGuard::new(&profiler, "matmul");
        profiler.stop("forward"); // before what began in it
        line
    };
    let step_ns = profiler.total_time("step").as_nanos() as i128;
    profiler.finish().unwrap();

    let bricks = table(&path, "bricks");
    let [step, forward, matmul] = ["step", "forward", "matmul"].map(|name| bricks.named(name));
    assert_eq!(bricks.rows, 3);
    assert_eq!(bricks.cell("kind", step), &Cell::T("brick".into()));
    assert_eq!(bricks.number("parent", step), None);
    let id = bricks.number("id", step);
    assert_eq!(bricks.number("parent", forward), id);
    assert_eq!(
        bricks.number("parent", matmul),
        id,
        "what is still open encloses it"
    );
    assert!(end(&bricks, forward) <= end(&bricks, matmul));
    assert!(end(&bricks, matmul) <= end(&bricks, step));
    assert_eq!(bricks.number("line", matmul), Some(line.into()));
    let file = bricks.texts("file")[matmul].unwrap();
    assert!(file.ends_with("recording.rs"), "{file}");
    let apart = bricks.number("dur_ns", step).unwrap() - step_ns;
    assert!(
        apart.abs() <= 1 + step_ns / 50,
        "the sum is of the row: {apart} ns apart"
    );
}

#[test]
fn work_is_declared_and_what_is_no_count_is_left_out() {
    let (_folder, path) = folder();
    let profiler = Profiler::create(&path).unwrap();
    let mut compute = profiler.compute.write();
    compute.start_with_flops("matmul", 2e9);
    compute.stop("matmul");
    compute.start_with_bytes("copy", 4096);
    compute.stop("copy");
    for flops in [f64::NAN, f64::INFINITY, -1.0, 1e30] {
        compute.start_with_flops("odd", flops);
        compute.stop("odd");
    }
    assert_eq!(compute.get_stats("odd").unwrap().flops, None);
    assert_eq!(compute.get_stats("matmul").unwrap().gflops(), Some(2.0));
    compute.start("matmul");
    compute.stop("matmul");
    let mixed = compute.get_stats("matmul").unwrap();
    assert_eq!(
        (mixed.call_count, mixed.gflops_per_sec()),
        (2, None),
        "one call has not said"
    );
    drop(compute);
    profiler.finish().unwrap();

    let (bricks, attributes) = (table(&path, "bricks"), table(&path, "attributes"));
    let flops = bricks.numbers("flops");
    assert_eq!(flops[..2], [Some(2_000_000_000), None]);
    assert_eq!(flops[2..], [None; 5]);
    assert_eq!(attributes.rows, 1);
    assert_eq!(
        attributes.number("span", 0),
        bricks.number("id", bricks.named("copy"))
    );
    assert_eq!(
        attributes.cell("name", 0),
        &Cell::T("bytes_processed".into())
    );
    assert_eq!(attributes.number("integer", 0), Some(4096));
    let problems = run_json(&path).problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("odd: NaN FLOPs"), "{problems:?}");
}

#[test]
fn memory_and_instants_lie_in_the_operation_that_is_open() {
    let (_folder, path) = folder();
    let profiler = Profiler::create(&path).unwrap();
    profiler.record_alloc("weights", 1000);
    profiler.start("forward");
    profiler.record_alloc("activations", 64);
    profiler.record_free("activations", 64);
    {
        let mut timeline = profiler.timeline.write();
        timeline.record_with_metadata("batch", EventType::Start, "size 32");
        timeline.instant("flushed");
        timeline.record_with_metadata("cache", EventType::Free, "all");
        timeline.record_with_metadata("batch", EventType::End, "ok");
    }
    profiler.stop("forward");
    profiler.finish().unwrap();

    let bricks = table(&path, "bricks");
    let id = |name| bricks.number("id", bricks.named(name));
    assert_eq!(
        bricks.number("parent", bricks.named("batch")),
        id("forward")
    );
    let memory = table(&path, "allocations");
    assert_eq!(memory.numbers("bytes"), [Some(1000), Some(64), Some(-64)]);
    assert_eq!(memory.numbers("span"), [None, id("forward"), id("forward")]);
    assert_eq!(memory.texts("tag")[1], Some("activations"));
    let moments = table(&path, "annotations");
    assert_eq!(moments.texts("name"), [Some("flushed"), Some("cache")]);
    assert_eq!(moments.numbers("brick"), [id("batch"), id("batch")]);
    assert_eq!(
        moments.texts("arguments"),
        [None, Some("{\"event_type\":\"Free\",\"metadata\":\"all\"}")]
    );
    let attributes = table(&path, "attributes");
    assert_eq!(
        attributes.texts("name"),
        [Some("metadata"), Some("end_metadata")]
    );
    assert_eq!(attributes.texts("text"), [Some("size 32"), Some("ok")]);
    assert_eq!(attributes.numbers("span"), [id("batch"), id("batch")]);
    assert_eq!(run_json(&path).dropped, 0);
}

#[test]
fn two_threads_with_one_name_keep_their_own_times() {
    let (_folder, path) = folder();
    let profiler = Profiler::create(&path).unwrap();
    // The one that begins first ends first: by name alone it would end the other's.
    let turns: [Barrier; 3] = std::array::from_fn(|_| Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            profiler.start("forward");
            turns[0].wait();
            turns[1].wait();
            profiler.stop("forward");
            turns[2].wait();
        });
        turns[0].wait();
        profiler.start("forward");
        turns[1].wait();
        turns[2].wait();
        profiler.stop("forward");
    });
    profiler.start("handed over");
    std::thread::scope(|scope| {
        scope.spawn(|| profiler.stop("handed over"));
    });
    profiler.finish().unwrap();

    let bricks = table(&path, "bricks");
    assert_eq!(bricks.rows, 3);
    let (start, thread) = (bricks.numbers("start_ns"), bricks.numbers("thread"));
    let handed_over = bricks.named("handed over");
    let mut forward: Vec<usize> = (0..3).filter(|row| *row != handed_over).collect();
    forward.sort_by_key(|row| start[*row]);
    let [first, second] = forward[..] else {
        panic!("{bricks:?}");
    };
    assert!(
        end(&bricks, first) <= end(&bricks, second),
        "the first to begin was the first to end"
    );
    assert_ne!(thread[first], thread[second]);
    assert_eq!(thread[handed_over], thread[second], "where it began");
}

#[test]
fn what_does_not_match_is_told() {
    let (_folder, path) = folder();
    let profiler = Profiler::create(&path).unwrap();
    profiler.stop("never began");
    profiler.timeline.write().end("never began");
    profiler.record_alloc("a", 10);
    profiler.record_free("a", 15);
    profiler.record_free("b", 1);
    assert_eq!(profiler.current_memory(), 0);
    profiler.start("disabled inside");
    profiler.set_enabled(false);
    profiler.stop("disabled inside");
    profiler.start("while disabled");
    profiler.set_enabled(true);
    profiler.start("never stopped");
    profiler.finish().unwrap();

    let run = run_json(&path);
    assert_eq!(table(&path, "bricks").rows, 0);
    assert_eq!(run.values["compat.stops_without_start"], "2");
    assert_eq!(run.values["compat.unmatched_free_bytes"], "6");
    assert_eq!(run.problems.len(), 1, "{:?}", run.problems);
    assert!(run.problems[0].starts_with("never stopped: started, and not stopped"));
    assert_eq!(
        table(&path, "allocations").rows,
        3,
        "the run has what the program said"
    );
}

#[test]
fn profilers_of_a_process_share_a_run_that_ends_with_it() {
    const RECORDS: &str = "TRUENO_AXONML_RECORDS";
    if std::env::var_os(RECORDS).is_some() {
        global_profiler().start("global");
        let profiler = Profiler::new();
        profiler.start("own");
        profiler.stop("own");
        let mut compute = ComputeProfiler::new();
        compute.start("alone");
        compute.stop("alone");
        TimelineProfiler::with_capacity(0).instant("moment");
        MemoryProfiler::default().record_alloc("tensor", 8);
        drop((profiler, compute));
        trueno_axonml_profile::stop("global");
        return;
    }
    let (_folder, path) = folder();
    let test = "profilers_of_a_process_share_a_run_that_ends_with_it";
    in_own_process(test, |again| {
        again.env(RECORDS, "1").env("TRUENO_RUN", &path);
    });
    let bricks = table(&path, "bricks");
    let global = bricks.number("id", bricks.named("global"));
    for name in ["own", "alone"] {
        assert_eq!(bricks.number("parent", bricks.named(name)), global);
    }
    assert_eq!(table(&path, "annotations").numbers("brick"), [global]);
    assert_eq!(table(&path, "allocations").numbers("span"), [global]);
    let run = run_json(&path);
    assert_eq!(run.problems, Vec::<String>::new());
    assert_eq!(run.state, State::Finished);
}
