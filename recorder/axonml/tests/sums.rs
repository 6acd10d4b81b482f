//! Sums and reports of the front itself.

use std::collections::HashMap;
use std::time::Duration;

use trueno_axonml_profile::bottleneck::{AnalyzerConfig, Severity};
use trueno_axonml_profile::{
    Bottleneck, BottleneckAnalyzer, BottleneckType, ComputeProfiler, EventType, MemoryProfiler,
    MemoryStats, OperationStats, ProfileReport, Profiler, ReportFormat, TimelineProfiler,
};

fn stats(name: &str, calls: usize, ns: u64, flops: Option<f64>) -> (String, OperationStats) {
    let stats = OperationStats {
        name: name.to_owned(),
        call_count: calls,
        total_time_ns: ns,
        flops,
        ..OperationStats::default()
    };
    (name.to_owned(), stats)
}

fn found(of: &[Bottleneck]) -> Vec<(BottleneckType, Severity, &str)> {
    let key = |b: &'_ Bottleneck| (b.bottleneck_type, b.severity);
    of.iter()
        .map(|b| (key(b).0, key(b).1, b.name.as_str()))
        .collect()
}

#[test]
fn shares_are_of_the_time_that_passed_however_deep_operations_lie() {
    let profiler = Profiler::new();
    profiler.start("outer");
    profiler.start("inner");
    profiler.start("inner"); // in itself
    std::thread::sleep(Duration::from_millis(2));
    profiler.stop("inner");
    profiler.stop("inner");
    let while_open = profiler.summary().compute.top_operations[0].time_percentage;
    assert!(while_open > 0.0 && while_open <= 100.0, "{while_open}");
    profiler.stop("outer");
    let report = profiler.summary();
    let compute = &report.compute;
    let outer = profiler.total_time("outer").as_nanos() as u64;
    assert_eq!(
        compute.total_time_ns, outer,
        "one thread was busy for that long"
    );
    let share = |name: &str| {
        let of = compute.top_operations.iter().find(|of| of.name == name);
        of.unwrap().time_percentage
    };
    assert_eq!(share("outer"), 100.0);
    assert!(share("inner") > 0.0 && share("inner") <= 100.0);
    let twice = profiler.total_time("inner");
    assert_eq!(
        profiler.avg_time("inner"),
        twice / 2,
        "both calls have their times"
    );
    assert_eq!(
        found(&report.bottlenecks)[1],
        (BottleneckType::SlowOperation, Severity::Critical, "outer")
    );
    assert_eq!(
        found(&profiler.analyze_bottlenecks()),
        found(&report.bottlenecks)
    );
    profiler.start("cut off");
    profiler.start("inner");
    profiler.stop("inner");
    profiler.set_enabled(false);
    let rest = profiler.summary().compute.total_time_ns - outer;
    assert!(rest > 0, "what ran inside lies in time that passed");
    profiler.reset();
    assert_eq!(profiler.summary().compute.operation_count, 0);
    assert_eq!(profiler.timeline.read().event_count(), 0);
}

#[test]
fn memory_in_use_is_what_was_taken_less_what_was_given_back() {
    let mut memory = MemoryProfiler::new();
    for bytes in [100, 200, 50] {
        memory.record_alloc("a", bytes);
    }
    memory.record_alloc("b", 1000);
    memory.record_free("a", 200); // the second
    memory.record_free("a", 120); // the first, and a part of the third
    let left: Vec<_> = memory.leaks().into_iter().map(|of| of.size).collect();
    assert_eq!(left, [30, 1000]);
    memory.record_free("a", 31); // one more than there is
    memory.record_free("c", 7);
    let stats = memory.stats();
    assert_eq!(stats.per_name_usage, HashMap::from([("b".into(), 1000)]));
    assert_eq!((stats.current_usage, stats.peak_usage), (1000, 1350));
    assert_eq!((stats.total_allocated, stats.total_freed), (1350, 350));
    assert_eq!((stats.allocation_count, stats.deallocation_count), (4, 4));
    memory.reset();
    assert_eq!(memory.peak_usage(), 0);
    let texts = [0, 1023, 1024, 1 << 20, 3 << 29].map(MemoryProfiler::format_bytes);
    assert_eq!(texts, ["0 B", "1023 B", "1.00 KB", "1.00 MB", "1.50 GB"]);
}

#[test]
fn a_timeline_pairs_by_thread_and_keeps_the_latest() {
    let mut timeline = TimelineProfiler::with_capacity(3);
    timeline.start("op");
    timeline.start("op");
    timeline.end("op");
    let one = timeline.duration("op").unwrap();
    timeline.end("op"); // its start has just been dropped
    assert_eq!(timeline.event_count(), 3);
    assert_eq!(
        timeline.duration("op"),
        Some(one),
        "of the pair that is left"
    );
    for name in ["a", "b", "c", "d"] {
        timeline.instant(name);
    }
    let names: Vec<_> = timeline.events().iter().map(|event| &event.name).collect();
    assert_eq!(names, ["b", "c", "d"]);
    assert_eq!(timeline.duration("op"), None);
    timeline.record_with_metadata("e", EventType::Custom, "\"1\"");
    assert_eq!(timeline.events_by_type(EventType::Custom).len(), 1);
    let trace: serde_json::Value = serde_json::from_str(&timeline.to_chrome_trace()).unwrap();
    let last = &trace["traceEvents"][2];
    let ns = timeline.events()[2].timestamp_ns as f64;
    assert!((last["ts"].as_f64().unwrap() * 1e3 - ns).abs() < 0.5);
    assert_eq!(last["args"]["metadata"], "\"1\"");
    assert_eq!(last["tid"].as_u64(), timeline.events()[2].thread_id);
    let back: Vec<trueno_axonml_profile::Event> =
        serde_json::from_str(&timeline.to_json().unwrap()).unwrap();
    assert_eq!(back[2].timestamp_ns, timeline.events()[2].timestamp_ns);
    let mut none = TimelineProfiler::with_capacity(0);
    none.instant("a");
    assert_eq!(none.event_count(), 0);
}

#[test]
fn bottlenecks_have_the_thresholds_of_the_original_and_one_order() {
    let compute: HashMap<_, _> = [
        stats("half", 100_000, 5_000_000_000, Some(1e9)),
        stats("third", 50_000, 3_500_000_000, Some(7e9)),
        stats("b", 10_000, 750_000_000, None),
        stats("a", 10_000, 750_000_000, None),
    ]
    .into();
    let memory = MemoryStats {
        current_usage: 600,
        peak_usage: 1000,
        total_allocated: 6000,
        total_freed: 5400,
        per_name_usage: HashMap::from([("big".into(), 450), ("small".into(), 150)]),
        ..MemoryStats::default()
    };
    use BottleneckType::{HighCallCount, LowThroughput, MemoryHotspot, MemoryLeak, SlowOperation};
    use Severity::{Critical, High, Low, Medium};
    let all = BottleneckAnalyzer::new().analyze(&compute, &memory);
    assert_eq!(
        found(&all),
        [
            (SlowOperation, Critical, "half"),
            (SlowOperation, High, "third"),
            (HighCallCount, High, "half"),
            (HighCallCount, Medium, "third"),
            (MemoryHotspot, Medium, "big"),
            (MemoryLeak, Medium, "memory_leak"),
            (LowThroughput, Medium, "half"),
            (HighCallCount, Low, "a"),
            (HighCallCount, Low, "b"),
        ]
    );
    assert_eq!(all[0].metrics["time_percentage"], 50.0);
    assert_eq!(all[6].metrics["gflops_per_sec"], 0.2);
    let strict = AnalyzerConfig {
        slow_op_threshold_pct: 60.0,
        high_call_threshold: usize::MAX,
        memory_hotspot_threshold_pct: 50.0,
        min_gflops_threshold: 0.1,
        check_memory_leaks: false,
    };
    let none = BottleneckAnalyzer::with_config(strict).analyze(&compute, &memory);
    assert!(none.is_empty(), "{none:?}");
    assert!(BottleneckAnalyzer::summary(&all).contains("1. [CRITICAL] SlowOperation: half"));
    let nothing = BottleneckAnalyzer::new().analyze(&HashMap::new(), &MemoryStats::default());
    assert!(nothing.is_empty(), "{nothing:?}");
}

#[test]
fn reports_hold_any_name_and_come_back_from_json() {
    let odd = "größte|Operation <b>&amp; über\nalles hinaus, die es je gab";
    let profiler = Profiler::new();
    profiler.start(odd);
    profiler.stop(odd);
    let report = profiler.summary();
    let folder = tempfile::tempdir().unwrap();
    let export = |format| {
        let path = folder.path().join("report");
        report.export(&path, format).unwrap();
        std::fs::read_to_string(path).unwrap()
    };
    assert!(export(ReportFormat::Text).contains(odd));
    assert_eq!(export(ReportFormat::Text), report.to_string());
    let html = export(ReportFormat::Html);
    assert!(html.contains("größte|Operation &lt;b&gt;&amp;amp; über") && !html.contains("<b>&amp"));
    let markdown = export(ReportFormat::Markdown);
    assert!(markdown.contains("größte\\|Operation \\<b\\>\\&amp; über alles"));
    let back: ProfileReport = serde_json::from_str(&export(ReportFormat::Json)).unwrap();
    assert_eq!(back.compute.top_operations[0].name, odd);
    let nowhere = folder.path().join("no").join("where");
    assert!(report.export(&nowhere, ReportFormat::Text).is_err());
    let texts = [999, 1_000, 2_500_000, 61_000_000_000];
    let texts = texts.map(|ns| ComputeProfiler::format_duration(Duration::from_nanos(ns)));
    assert_eq!(texts, ["999 ns", "1.000 us", "2.500 ms", "61.000 s"]);
}
