//! Sums in words and as JSON, and comparisons of checksums.

use std::time::Duration;

use trueno_brick_profiler::{
    BrickId, BrickProfiler, BrickStats, TileLevel, TileStats, fnv1a_f32_checksum,
};
use trueno_recorder::Recorder;

fn profiler() -> BrickProfiler {
    let mut profiler = BrickProfiler::with_recorder(Recorder::disabled());
    profiler.enable();
    profiler
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn json_has_what_was_measured_and_null_for_the_rest() {
    let mut profiler = profiler();
    profiler.record_elapsed("RmsNorm", Duration::from_micros(30), 3);
    profiler.record_elapsed_with_bytes("a \"b\"", Duration::from_micros(10), 1, 4096, 1024);
    profiler.record_deferred(BrickId::LmHead, 0, 5);
    profiler.finalize(profiler.elapsed_ns());
    let found = json(&profiler.to_json());
    assert_eq!(found["total_ns"], 40_000);
    assert_eq!(found["total_tokens"], 9);
    let names: Vec<_> = (0..3).map(|at| &found["bricks"][at]["name"]).collect();
    assert_eq!(names, ["RmsNorm", "a \"b\"", "LmHead"]);
    let (norm, packed, head) = (
        &found["bricks"][0],
        &found["bricks"][1],
        &found["bricks"][2],
    );
    assert_eq!(
        (norm["pct"].as_f64(), norm["avg_us"].as_f64()),
        (Some(75.0), Some(30.0))
    );
    assert!(norm["compression_ratio"].is_null() && norm["throughput_gbps"].is_null());
    assert_eq!(packed["compression_ratio"], 4.0);
    assert!((packed["throughput_gbps"].as_f64().unwrap() - 0.4096).abs() < 1e-9);
    for key in ["total_ns", "avg_us", "min_us", "throughput", "pct"] {
        assert!(head[key].is_null(), "{key}: {head}");
    }
    assert_eq!((&head["count"], &head["bound"]), (&1.into(), &1.into()));
}

#[test]
fn a_summary_has_shares_counts_and_dashes() {
    let mut profiler = profiler();
    profiler.record_elapsed("RmsNorm", Duration::from_micros(30), 3);
    profiler.record_elapsed("Head", Duration::from_micros(10), 1);
    profiler.record_deferred(BrickId::Embedding, 0, 1);
    profiler.finalize(profiler.elapsed_ns());
    let summary = profiler.summary();
    for line in [
        "Total: 5 elements, 40.00µs of bricks, 100000.0 elements/s",
        "  RmsNorm                 30.00µs avg ( 75.0%) [1 samples]",
        "  Embedding                   –µs avg (  0.0%) [1 samples, 1 of unknown duration]",
        "  Other           10.00µs avg ( 25.0%) [2 samples]",
    ] {
        assert!(
            summary.lines().any(|found| found == line),
            "{line}\n{summary}"
        );
    }
    assert!(profiler.report().starts_with(&summary));
    assert_eq!(profiler.stats_for(BrickId::LmHead).total_ns, 10_000);
    let nothing = BrickProfiler::with_recorder(Recorder::disabled()).summary();
    assert!(nothing.contains("– elements/s"), "{nothing}");
}

#[test]
fn tiles_have_rates_of_what_was_given() {
    let mut profiler = profiler();
    profiler.enable_tile_profiling();
    let tile = profiler.start_tile(TileLevel::Macro, 0, 0);
    profiler.stop_tile(tile, 256, 2048);
    let tile = profiler.start_tile(TileLevel::Micro, 0, 0);
    profiler.stop_tile(tile, 256, 0);
    let found = json(&profiler.tile_stats_to_json());
    let tiles = &found["tiles"];
    assert_eq!(tiles[0]["arithmetic_intensity"], 2.0);
    assert_eq!(tiles[0]["total_flops"], 2048);
    assert!(tiles[1]["gflops"].is_null() && tiles[1]["arithmetic_intensity"].is_null());
    let summary = profiler.tile_summary();
    let micro = summary.lines().find(|line| line.starts_with("micro"));
    assert_eq!(micro.unwrap().matches('–').count(), 2, "{summary}");

    let mut stats = TileStats::new(TileLevel::Macro);
    assert!(stats.cache_efficiency(100.0).is_nan() && stats.arithmetic_intensity().is_nan());
    stats.add_sample(1000, 1, 200_000);
    assert_eq!(
        stats.cache_efficiency(100.0),
        2.0,
        "above the peak, as it is"
    );
    assert!(stats.cache_efficiency(0.0).is_nan());
}

#[test]
fn cycles_are_those_that_were_counted() {
    let mut stats = BrickStats::new("mine");
    assert!(stats.cycles_per_element().is_nan() && stats.avg_cycles().is_nan());
    stats.add_sample(1000, 1000);
    stats.add_sample_with_cycles(1000, 10, 50);
    assert_eq!(
        (stats.cycles_per_element(), stats.avg_cycles()),
        (5.0, 50.0)
    );
    assert_eq!((stats.min_cycles, stats.max_cycles), (50, 50));
    assert!(
        stats.estimated_ipc().is_nan(),
        "instructions are not counted"
    );
}

/// Test vectors of FNV-1a from the original.
#[test]
fn checksums_are_the_original_s_over_the_first_64() {
    assert_eq!(fnv1a_f32_checksum(&[]), 0xcbf2_9ce4_8422_2325);
    assert_eq!(fnv1a_f32_checksum(&[1.0]), 0x4b72_477f_9c5c_2f98);
    assert_eq!(
        fnv1a_f32_checksum(&[0.5; 64]),
        fnv1a_f32_checksum(&[0.5; 65])
    );
}

#[test]
fn the_first_divergence_is_found_wherever_it_lies() {
    let (mut here, mut reference) = (profiler(), profiler());
    let mut far = vec![0.5; 100];
    for profiler in [&mut here, &mut reference] {
        profiler.record_checksum("norm", 0, 1, &[1.0]);
        // The same key again: of the next token, say.
        profiler.record_checksum("norm", 0, 1, &[2.0]);
    }
    reference.record_checksum("out", 0, 1, &far);
    reference.record_checksum("lost", 0, 1, &[1.0]);
    assert_eq!(here.find_divergence(&reference), None);
    far[99] = f32::NAN;
    here.record_checksum("out", 0, 1, &far);
    here.record_checksum("new", 0, 1, &far);
    let comparison = here.compare_checksums(&reference);
    assert_eq!(
        (
            comparison.compared,
            comparison.missing_in_reference,
            comparison.only_in_reference
        ),
        (3, 1, 1)
    );
    let found = here.find_divergence(&reference).unwrap();
    assert_eq!(found.kernel_name, "out");
    assert_ne!(found.expected_checksum, found.actual_checksum);
    assert!(
        found
            .to_string()
            .starts_with("DIVERGENCE at 'out' (layer 0, pos 1): expected 0x")
    );
    here.reset_checksums();
    assert_eq!(here.get_checksums(), []);
}
