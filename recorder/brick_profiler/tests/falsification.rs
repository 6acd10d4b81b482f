//! F101 to F110: what the documentation of `BrickProfiler` claims, each stated so that it can
//! fail. Where the claim was wrong, the test holds what is true.

use std::mem::size_of;
use std::sync::atomic::{AtomicU64, Ordering};

use trueno_brick_profiler::{
    BrickCategory, BrickId, BrickIdTimer, BrickProfiler, BrickStats, BrickTimer, ExecutionNode,
    SyncMode, TileLevel, TileTimer,
};
use trueno_recorder::{Name, Recorder, SpanId, Status};
use trueno_testing::{Cell, folder, run_json, table};

/// Every brick: number, name, category, other spellings that programs use.
const BRICKS: [(&str, BrickCategory, &[&str]); 23] = {
    use BrickCategory::{Attention, Ffn, Fft, Norm, Other, Solver, Sparse};
    [
        ("RmsNorm", Norm, &[]),
        ("LayerNorm", Norm, &[]),
        ("QkvProjection", Attention, &["Qkv"]),
        ("RopeEmbedding", Attention, &["Rope", "RoPE"]),
        ("AttentionScore", Attention, &[]),
        ("AttentionSoftmax", Attention, &["Softmax"]),
        ("AttentionOutput", Attention, &[]),
        ("OutputProjection", Attention, &["OutProj"]),
        ("GateProjection", Ffn, &["Gate"]),
        ("UpProjection", Ffn, &["Up"]),
        ("Activation", Ffn, &["SiLU", "GELU", "ReLU"]),
        ("DownProjection", Ffn, &["Down"]),
        ("Embedding", Other, &["Embed"]),
        ("LmHead", Other, &["Head"]),
        ("Sampling", Other, &["Sample"]),
        ("SpMV", Sparse, &["spmv"]),
        ("SpMM", Sparse, &["spmm"]),
        ("FormatConvert", Sparse, &[]),
        ("FFT1D", Fft, &["fft1d", "FFT"]),
        ("FFT2D", Fft, &["fft2d"]),
        ("LUFactorize", Solver, &["LU"]),
        ("QRFactorize", Solver, &["QR"]),
        ("SVDCompute", Solver, &["SVD"]),
    ]
};

/// Claim: 15 bricks. Since 0.17 there are 23, in 7 categories, and the first fifteen kept their
/// numbers: recordings of both kinds mean the same. Fails when a brick is added, lost or moved.
#[test]
fn f101_23_bricks_in_7_categories_and_no_number_moved() {
    assert_eq!((BrickId::COUNT, BrickCategory::COUNT), (23, 7));
    for (number, brick) in BrickId::all().enumerate() {
        assert_eq!((brick as usize, brick.name()), (number, BRICKS[number].0));
    }
    for (number, category) in BrickCategory::ALL.into_iter().enumerate() {
        assert_eq!(category as usize, number);
    }
    assert_eq!(
        [
            BrickId::SpMV as u8,
            BrickId::FFT2D as u8,
            BrickId::SVDCompute as u8
        ],
        [15, 19, 22]
    );
}

/// Claim: the categories of all bricks are right. Added: spellings are recognised in any case, and other names get
/// *no* category in the run; the original filed them under Other with the head of the model. Fails with any wrong
/// category, spelling or guess.
#[test]
fn f102_categories_and_spellings() {
    for (name, category, spellings) in BRICKS {
        let brick = BrickId::from_str(name).unwrap();
        assert_eq!((brick.name(), brick.category()), (name, category));
        for spelling in spellings {
            for spelling in [(*spelling).to_owned(), spelling.to_lowercase()] {
                assert_eq!(BrickId::from_str(&spelling), Some(brick), "{spelling}");
            }
        }
    }
    let (_folder, path) = folder();
    let mut profiler = BrickProfiler::create(&path).unwrap();
    profiler.enable();
    for name in ["softmax", "Residual", "LmHead"] {
        let timer = profiler.start(name);
        profiler.stop(timer, 1);
    }
    profiler.finish().unwrap();
    let bricks = table(&path, "bricks");
    assert_eq!(
        bricks.texts("category"),
        [Some("Attention"), None, Some("Other")]
    );
    assert_eq!(bricks.numbers("brick_id"), [Some(5), None, Some(13)]);
    assert_eq!(profiler.brick_stats(BrickId::AttentionSoftmax).count, 1);
}

/// Claim: deferred work accumulates until `finalize`. Fails when a launch is counted early, lost,
/// or taken while the profiler is disabled.
#[test]
fn f103_deferred_work_accumulates() {
    let mut profiler = BrickProfiler::with_recorder(Recorder::disabled());
    profiler.set_sync_mode(SyncMode::Deferred);
    profiler.record_deferred(BrickId::LmHead, 0, 1);
    assert!(!profiler.has_pending(), "it is not enabled");
    profiler.enable();
    for launched in 1..=3 {
        profiler.record_deferred(BrickId::LmHead, profiler.elapsed_ns(), 10);
        profiler.record_deferred_dynamic("Residual", profiler.elapsed_ns(), 1);
        assert_eq!(profiler.pending_count(), 2 * launched);
    }
    assert_eq!(profiler.all_brick_stats().count(), 0);
    assert_eq!((profiler.total_ns(), profiler.total_tokens()), (0, 0));
}

/// Claim: `finalize` clears what is pending. Added: it books no time that did not pass. Launches
/// at 0, 100 and 300 µs and a wait that ends at 1000 µs were booked as 2600 µs; here they count,
/// are bound, and add nothing. Fails when a bound is summed up, is not marked, or stays pending.
#[test]
fn f104_finalize_clears_and_books_no_impossible_sum() {
    let (_folder, path) = folder();
    let mut profiler = BrickProfiler::create(&path).unwrap();
    profiler.enable();
    std::thread::sleep(std::time::Duration::from_millis(2));
    for start_us in [0, 100, 300] {
        profiler.record_deferred(BrickId::AttentionScore, start_us * 1000, 64);
    }
    profiler.finalize(1_000_000);
    assert!(!profiler.has_pending());
    let stats = profiler.brick_stats(BrickId::AttentionScore).clone();
    assert_eq!(
        (stats.count, stats.bound, stats.total_elements),
        (3, 3, 192)
    );
    assert_eq!(
        (profiler.total_ns(), stats.avg_us(), stats.throughput()),
        (0, 0.0, 0.0)
    );
    profiler.finalize(2_000_000);
    assert_eq!(profiler.brick_stats(BrickId::AttentionScore), &stats);

    profiler.finish().unwrap();
    let kernels = table(&path, "kernels");
    assert_eq!(kernels.texts("timing"), vec![Some("bound"); 3]);
    let bounds = kernels.numbers("dur_ns");
    for (bound, us) in bounds.iter().flatten().zip([1000, 900, 700]) {
        let off_ns = bound - us * 1000;
        assert!(off_ns.abs() < 10_000, "{bounds:?}");
    }
    assert_eq!(
        table(&path, "bricks").texts("timing"),
        vec![Some("host"); 3]
    );
    assert_eq!(
        kernels.numbers("brick"),
        table(&path, "bricks").numbers("id")
    );
}

/// Claim: no overhead when disabled (the original read the clock). A timing cannot show that, so this checks the
/// effects: no thread is registered, no row named, no file created; `clock` tests that no clock is read. Fails when
/// a disabled recorder or profiler does any of it.
#[test]
fn f105_disabled_does_nothing() {
    let (_folder, path) = folder();
    let rec = Recorder::disabled();
    {
        let brick = rec.brick(BrickId::LmHead);
        assert_eq!(brick.id(), SpanId::NONE);
        let kernel = rec.kernel("gemv");
        let tile = rec.tile(TileLevel::Micro, 0, 0);
        assert_eq!((kernel.id(), tile.id()), (SpanId::NONE, SpanId::NONE));
        rec.checksum("out", None, &[1.0f32], &[1]);
    }
    let Status {
        threads,
        rows,
        late,
        ..
    } = rec.status();
    assert_eq!((threads, rows, late), (0, 0, 0));

    let mut profiler = BrickProfiler::create(&path).unwrap();
    let timer = profiler.start_brick(BrickId::LmHead);
    profiler.enable();
    profiler.stop_brick(timer, 1);
    profiler.disable();
    let timer = profiler.start("Residual");
    profiler.stop(timer, 1);
    profiler.record_elapsed("Residual", std::time::Duration::from_micros(5), 1);
    assert_eq!(profiler.all_brick_stats().count(), 0);
    assert_eq!(profiler.recorder().status().threads, 0);
    profiler.finish().unwrap();
    assert!(!path.join("bricks").exists());
    assert_eq!(
        run_json(&path).tables.keys().collect::<Vec<_>>(),
        ["clock_pairs"]
    );
}

/// Claim: a known brick is found in constant time. So its sums lie in one array, at its number.
/// Fails with any other container.
#[test]
fn f106_known_bricks_are_indexed() {
    let profiler = BrickProfiler::with_recorder(Recorder::disabled());
    let address = |brick| std::ptr::from_ref(profiler.brick_stats(brick)) as usize;
    for brick in BrickId::all() {
        let offset = brick as usize * size_of::<BrickStats>();
        assert_eq!(address(brick) - address(BrickId::RmsNorm), offset);
        assert_eq!(profiler.brick_stats(brick).name, brick.name());
    }
}

/// Claim: it can be shared by threads (the original's test put it behind a lock). Fails to
/// compile when a type cannot, and at run time when an event of a thread is lost or mixed up.
#[test]
fn f107_threads_share_it() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<BrickProfiler>();
    shared::<Recorder>();
    shared::<BrickIdTimer>();
    shared::<TileTimer>();

    let (_folder, path) = folder();
    let profiler = BrickProfiler::create(&path).unwrap();
    std::thread::scope(|scope| {
        for number in 0..4u64 {
            let rec = profiler.recorder();
            scope.spawn(move || {
                for _ in 0..1000 {
                    rec.brick(BrickId::UpProjection).elements(number);
                }
            });
        }
    });
    profiler.finish().unwrap();
    let bricks = table(&path, "bricks");
    let mut of_thread = std::collections::BTreeMap::new();
    for (thread, elements) in bricks
        .numbers("thread")
        .into_iter()
        .zip(bricks.numbers("elements"))
    {
        let (count, seen) = of_thread.entry(thread).or_insert((0, elements));
        *count += 1;
        assert_eq!(*seen, elements, "rows of one thread come from one thread");
    }
    assert_eq!(
        of_thread
            .values()
            .map(|(count, _)| *count)
            .collect::<Vec<_>>(),
        [1000; 4]
    );
}

/// Claim: the timer fits in 32 bytes. Fails when a handle grows, or a record no longer is one
/// cache line's worth of ring.
#[test]
fn f108_handles_are_small() {
    assert!(size_of::<BrickIdTimer>() <= 32);
    assert!(size_of::<BrickTimer>() <= 32);
    assert!(size_of::<TileTimer>() <= 32);
    assert_eq!(size_of::<Name>(), 4);
    assert!(size_of::<Recorder>() <= size_of::<usize>());
}

/// Claim: `elapsed_ns` never goes back. Added: not between threads either. Fails with a clock that differs between
/// cores, or one that can be set.
#[test]
fn f109_elapsed_never_goes_back_on_any_thread() {
    let profiler = BrickProfiler::with_recorder(Recorder::disabled());
    let latest = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20_000 {
                    let before = latest.load(Ordering::SeqCst);
                    let now = profiler.elapsed_ns();
                    assert!(now >= before, "{now} after {before}");
                    latest.fetch_max(now, Ordering::SeqCst);
                }
            });
        }
    });
    assert!(latest.into_inner() > 0, "it stands still");
}

/// Claim: category sums are right. Added: exactly, against the samples, with deferred ones and
/// unknown names, and the run's own rows add up to the same. Fails when a brick is left out,
/// counted twice, or a bound gets a duration.
#[test]
fn f110_categories_sum_to_bricks_and_total() {
    let (_folder, path) = folder();
    let mut profiler = BrickProfiler::create(&path).unwrap();
    profiler.enable();
    profiler.enable_graph();
    profiler.graph_push_scope(ExecutionNode::Layer { index: 4 });
    let (mut ns, mut elements) = ([0; 7], [0; 7]);
    for (number, (name, category, _)) in BRICKS.into_iter().enumerate() {
        let took = 1_000 + 17 * number as u64;
        profiler.record_elapsed(name, std::time::Duration::from_nanos(took), 1 << number);
        ns[category as usize] += took;
        elements[category as usize] += 1 << number;
    }
    profiler.record_elapsed("Residual", std::time::Duration::from_nanos(5), 7);
    profiler.record_deferred(BrickId::LmHead, 0, 9);
    profiler.finalize(profiler.elapsed_ns());
    ns[BrickCategory::Other as usize] += 5;
    elements[BrickCategory::Other as usize] += 7 + 9;
    profiler.graph_pop_scope();

    let sums = profiler.category_stats();
    assert_eq!(sums.map(|category| category.total_ns), ns);
    assert_eq!(sums.map(|category| category.total_elements), elements);
    let total_ns: u64 = ns.iter().sum();
    assert_eq!(profiler.total_ns(), total_ns);
    assert_eq!(profiler.total_tokens(), elements.iter().sum::<u64>());
    let count: u64 = sums.iter().map(|category| category.count).sum();
    assert_eq!(count, 25);
    let percent: f64 = sums
        .iter()
        .map(|category| category.percentage(total_ns))
        .sum();
    assert!((percent - 100.0).abs() < 1e-9, "{percent}");
    assert_eq!(sums[0].percentage(0), 0.0, "of nothing");

    profiler.finish().unwrap();
    let bricks = table(&path, "bricks");
    let layer = bricks.number("id", bricks.named("layer"));
    let recorded: i128 = (0..bricks.rows)
        .filter(|row| bricks.cell("kind", *row) == &Cell::T("brick".into()))
        .inspect(|row| {
            assert_eq!(bricks.number("parent", *row), layer);
            assert_eq!(bricks.number("layer", *row), Some(4));
        })
        .map(|row| bricks.number("elements", row).unwrap())
        .sum();
    assert_eq!(recorded, i128::from(profiler.total_tokens()));
}
