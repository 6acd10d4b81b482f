//! The front with the original's names: what it records, and where.

use std::time::Duration;

use trueno_brick_profiler::{
    BrickBottleneck, BrickId, BrickProfiler, ExecutionNode, PtxRegistry, SyncMode, TileLevel,
};
use trueno_recorder::{PtxHash, Recorder};
use trueno_testing::{Cell, folder, run_json, table};

#[test]
fn a_stopped_timer_is_a_row_and_a_dropped_one_is_nothing() {
    let (_folder, path) = folder();
    let mut profiler = BrickProfiler::create(&path).unwrap();
    profiler.enable();
    let outer = profiler.start("outer");
    let dropped = profiler.start_brick(BrickId::LmHead);
    let inner = profiler.start_brick(BrickId::RmsNorm);
    drop(dropped);
    profiler.stop_brick(inner, 7);
    profiler.stop(outer, 0);
    assert_eq!(profiler.brick_names(), ["RmsNorm", "outer"]);
    profiler.finish().unwrap();

    let bricks = table(&path, "bricks");
    assert_eq!(bricks.texts("name"), [Some("RmsNorm"), Some("outer")]);
    assert_eq!(bricks.numbers("elements"), [Some(7), Some(0)]);
    let start = bricks.numbers("start_ns");
    let end = |row: usize| start[row].unwrap() + bricks.number("dur_ns", row).unwrap();
    assert!(
        start[1] <= start[0] && end(0) <= end(1),
        "times nest as the calls did"
    );
    assert_eq!(run_json(&path).dropped, 0);
}

#[test]
fn sums_and_rows_have_the_same_durations() {
    let (_folder, path) = folder();
    let mut profiler = BrickProfiler::create(&path).unwrap();
    profiler.enable();
    let timer = profiler.start_brick(BrickId::Embedding);
    std::thread::sleep(Duration::from_millis(20));
    profiler.stop_brick(timer, 1);
    profiler.record_elapsed_with_bytes("Zstd", Duration::from_millis(5), 1, 4096, 1024);
    let of = profiler.brick_stats(BrickId::Embedding).clone();
    let zstd = profiler.stats("Zstd").unwrap();
    assert_eq!((zstd.total_ns, zstd.compression_ratio()), (5_000_000, 4.0));
    assert_eq!((of.min_ns, of.max_ns), (of.total_ns, of.total_ns));
    profiler.finish().unwrap();

    let bricks = table(&path, "bricks");
    let near = |row, ns: u64| {
        let dur = bricks.number("dur_ns", row).unwrap();
        (dur - i128::from(ns)).abs() < i128::from(ns) / 50
    };
    assert!(near(0, of.total_ns) && near(1, 5_000_000), "{bricks:?}");
    assert_eq!(bricks.number("bytes_read", 1), Some(4096));
    assert_eq!(bricks.number("bytes_written", 1), Some(1024));
}

#[test]
fn scopes_enclose_what_is_recorded_in_them() {
    let (_folder, path) = folder();
    let mut profiler = BrickProfiler::create(&path).unwrap();
    profiler.enable();
    let layer = |index| ExecutionNode::Layer { index };
    assert_eq!(profiler.graph_push_scope(layer(0)), None, "not enabled");
    profiler.enable_graph();
    let ptx = ".entry gemv {}";
    let mut registry = PtxRegistry::new();
    registry.register("gemv", ptx, None);
    profiler.keep_ptx(&registry);
    profiler.graph_push_scope(layer(2));
    let timer = profiler.start_brick(BrickId::QkvProjection);
    profiler.stop_brick(timer, 64);
    profiler.graph_record_brick(BrickId::QkvProjection, 1, 64);
    let hash = PtxRegistry::hash_ptx(ptx);
    profiler.graph_record_kernel("gemv", hash, (1, 2, 3), (4, 5, 6), 1024);
    profiler.graph_record_kernel("other", 77, (1, 1, 1), (1, 1, 1), 0);
    profiler.record_checksum("qkv.out", 2, 9, &[1.0, 2.0]);
    profiler.enable_tile_profiling();
    let tile = profiler.start_tile(TileLevel::Micro, 1, 2);
    profiler.stop_tile(tile, 16, 32);
    assert!(!profiler.graph_is_scope_balanced());
    profiler.graph_pop_scope();
    assert!(profiler.graph_is_scope_balanced());
    profiler.finish().unwrap();

    let bricks = table(&path, "bricks");
    assert_eq!(
        bricks.rows, 2,
        "the brick taken into the graph is not there twice"
    );
    let (layer, brick) = (bricks.named("layer"), bricks.named("QkvProjection"));
    assert_eq!(bricks.cell("kind", layer), &Cell::T("layer".into()));
    assert_eq!(bricks.number("parent", brick), bricks.number("id", layer));
    assert_eq!(bricks.number("layer", brick), Some(2));

    let kernels = table(&path, "kernels");
    assert_eq!(
        kernels.numbers("brick"),
        vec![bricks.number("id", brick); 2]
    );
    let sizes = [
        "grid_x",
        "grid_y",
        "grid_z",
        "block_x",
        "block_y",
        "block_z",
        "smem_dynamic",
    ];
    let found = sizes.map(|size| kernels.number(size, 0).unwrap());
    assert_eq!(found, [1, 2, 3, 4, 5, 6, 1024]);
    assert_eq!(kernels.cell("valid", 0), &Cell::B(false));
    assert_eq!(
        kernels.texts("reason"),
        vec![Some("recorded without times"); 2]
    );
    let source = PtxHash::from_source(ptx).to_string();
    let own = format!("{:016x}", 77);
    assert_eq!(
        kernels.texts("ptx_hash"),
        [Some(source.as_str()), Some(own.as_str())],
        "the program's own where the source is not known"
    );
    assert!(path.join(format!("ptx/{source}.ptx")).is_file());

    let checksums = table(&path, "checksums");
    assert_eq!(
        (
            checksums.number("layer", 0),
            checksums.number("position", 0)
        ),
        (Some(2), Some(9))
    );
    let tiles = table(&path, "tiles");
    assert_eq!(
        (tiles.number("row", 0), tiles.number("col", 0)),
        (Some(1), Some(2))
    );
    assert_eq!(tiles.number("parent", 0), bricks.number("id", layer));
    assert_eq!(profiler.tile_stats(TileLevel::Micro).total_flops, 32);
}

#[test]
fn a_brick_only_the_graph_is_told_of_is_recorded() {
    let (_folder, path) = folder();
    let mut profiler = BrickProfiler::create(&path).unwrap();
    profiler.enable_graph();
    profiler.graph_record_brick(BrickId::LmHead, 1_000, 3);
    profiler.finish().unwrap();
    assert_eq!(table(&path, "bricks").texts("name"), [Some("LmHead")]);
    assert_eq!(
        profiler.brick_stats(BrickId::LmHead).count,
        0,
        "sums are of what was timed"
    );
}

#[test]
fn a_scope_popped_on_another_thread_is_one_row() {
    let (_folder, path) = folder();
    let mut profiler = BrickProfiler::create(&path).unwrap();
    profiler.enable_graph();
    let function = ExecutionNode::Function {
        name: "forward".into(),
        file: Some("model.rs".into()),
        line: Some(12),
    };
    profiler.graph_push_scope(function);
    std::thread::scope(|scope| {
        scope.spawn(|| profiler.graph_pop_scope());
    });
    profiler.finish().unwrap();
    let bricks = table(&path, "bricks");
    assert_eq!((bricks.rows, bricks.number("thread", 0)), (1, Some(0)));
    assert_eq!(bricks.cell("kind", 0), &Cell::T("function".into()));
    assert_eq!(bricks.texts("file"), [Some("model.rs")]);
    assert_eq!(bricks.number("line", 0), Some(12), "as the program says");
}

#[test]
fn guards_of_the_recorder_enclose_timers() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let mut profiler = BrickProfiler::with_recorder(rec.clone());
    profiler.enable();
    let line = line!() + 3;
    {
        let _layer = rec.layer(6);
        let timer = profiler.start_brick(BrickId::RmsNorm);
        profiler.stop_brick(timer, 1);
    }
    rec.finish().unwrap();
    let bricks = table(&path, "bricks");
    let row = bricks.named("RmsNorm");
    assert_eq!(
        bricks.number("parent", row),
        bricks.number("id", bricks.named("layer"))
    );
    assert_eq!(bricks.number("layer", row), Some(6));
    assert_eq!(bricks.texts("file")[row], Some(file!()));
    assert_eq!(
        bricks.number("line", row),
        Some(line.into()),
        "where it began"
    );
}

#[test]
fn resetting_the_epoch_leaves_pending_work_its_start() {
    let (_folder, path) = folder();
    let mut profiler = BrickProfiler::create(&path).unwrap();
    profiler.enable();
    profiler.record_deferred_dynamic("softmax", profiler.elapsed_ns(), 1);
    std::thread::sleep(Duration::from_millis(4));
    profiler.reset_epoch();
    profiler.finalize(profiler.elapsed_ns());
    profiler.record_deferred(BrickId::LmHead, profiler.elapsed_ns() + 1_000_000_000, 1);
    profiler.finalize(0);
    profiler.finish().unwrap();
    let kernels = table(&path, "kernels");
    assert!(
        kernels.number("dur_ns", 0).unwrap() >= 4_000_000,
        "{kernels:?}"
    );
    assert_eq!(
        (kernels.cell("valid", 0), kernels.cell("valid", 1)),
        (&Cell::B(true), &Cell::B(false))
    );
    let reason = "finalized with a time before its launch";
    assert_eq!(kernels.texts("reason"), [None, Some(reason)]);
}

#[test]
fn resetting_forgets_everything_that_was_summed_or_set() {
    let mut profiler = BrickProfiler::with_recorder(Recorder::disabled());
    profiler.enable();
    profiler.record_elapsed("Softmax", Duration::from_micros(3), 5);
    profiler.record_elapsed("mine", Duration::from_micros(3), 5);
    profiler.set_brick_bottleneck("softmax", BrickBottleneck::Memory);
    profiler.set_l2_cache_hit_rate(0.5);
    profiler.record_deferred(BrickId::LmHead, 0, 1);
    assert_eq!(
        profiler.brick_stats(BrickId::AttentionSoftmax).bottleneck,
        BrickBottleneck::Memory
    );
    profiler.reset();
    let new = BrickProfiler::with_recorder(Recorder::disabled());
    for brick in BrickId::all() {
        assert_eq!(profiler.brick_stats(brick), new.brick_stats(brick));
    }
    assert_eq!(profiler.brick_names(), Vec::<String>::new());
    assert_eq!(
        (profiler.has_pending(), profiler.l2_cache_hit_rate()),
        (false, None)
    );
    let nothing = profiler.brick_stats(BrickId::LmHead);
    let figures = [
        nothing.avg_us(),
        nothing.min_us(),
        nothing.throughput(),
        nothing.compression_ratio(),
    ];
    assert_eq!(figures, [0.0; 4], "of no samples");
}

#[test]
fn the_sync_mode_is_a_note() {
    let (_folder, path) = folder();
    let mut profiler = BrickProfiler::create(&path).unwrap();
    assert_eq!(profiler.sync_mode(), SyncMode::Deferred);
    profiler.set_sync_mode(SyncMode::Immediate);
    profiler.finish().unwrap();
    let run = run_json(&path);
    assert_eq!(
        (
            run.recorder.sync_mode.as_str(),
            run.values["compat.sync_mode"].as_str()
        ),
        ("none", "immediate")
    );
}

#[test]
fn a_registry_finds_what_was_registered() {
    assert_eq!(PtxRegistry::hash_ptx("a"), 0xaf63_dc4c_8601_ec8c);
    let mut registry = PtxRegistry::new();
    registry.register("first", "a", None);
    registry.register("second", "a", Some(std::path::Path::new("k.ptx")));
    let hash = PtxRegistry::hash_ptx("a");
    assert_eq!((registry.len(), registry.lookup(hash)), (1, Some("a")));
    assert_eq!(registry.lookup_name(hash), Some("second"));
    assert_eq!(
        registry.lookup_path(hash),
        Some(std::path::Path::new("k.ptx"))
    );
    assert_eq!(registry.lookup(hash + 1), None);
}

/// Runs itself again, because the environment of a process must be set before it starts.
#[test]
fn new_records_where_the_environment_says() {
    const CHILD: &str = "TRUENO_TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        let mut profiler = BrickProfiler::enabled();
        let timer = profiler.start_brick(BrickId::LmHead);
        profiler.stop_brick(timer, 1);
        return;
    }
    let (folder, path) = folder();
    let child = |run: Option<&std::path::Path>| {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args([
            "--exact",
            "new_records_where_the_environment_says",
            "--nocapture",
        ]);
        child
            .current_dir(folder.path())
            .env(CHILD, "1")
            .env_remove("TRUENO_RUN");
        if let Some(run) = run {
            child.env("TRUENO_RUN", run);
        }
        let output = child.output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    child(None);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    child(Some(&path));
    assert_eq!(table(&path, "bricks").texts("name"), [Some("LmHead")]);
    let told = child(Some(&path));
    assert!(
        told.contains("TRUENO_RUN") && told.contains("already"),
        "{told}"
    );
    assert_eq!(
        table(&path, "bricks").rows,
        1,
        "the run that was there is as it was"
    );
}
