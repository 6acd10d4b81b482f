//! Every public name of axonml-profile 0.6.2, with its type: it compiles, or a program that changes its import does not.

use std::collections::HashMap;
use std::fmt::{Debug, Display};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use serde::Serialize;
use serde::de::DeserializeOwned;
use trueno_axonml_profile::bottleneck::{self, AnalyzerConfig, Severity};
use trueno_axonml_profile::compute::{self, TimingGuard};
use trueno_axonml_profile::report::{self, ComputeSummary, MemorySummary, OperationSummary};
use trueno_axonml_profile::{
    AllocationRecord, Bottleneck, BottleneckAnalyzer, BottleneckType, ComputeProfiler, Event,
    EventType, MemoryProfiler, MemoryStats, OperationStats, ProfileError, ProfileGuard,
    ProfileReport, ProfileResult, ProfiledOp, Profiler, ReportFormat, TimelineProfiler, error,
    global_profiler, memory, profile_scope, record_alloc, record_free, start, stop, timeline,
};

fn is_data<T: Clone + Debug + Serialize + DeserializeOwned>() {}
fn is_copied<T: Copy + Debug + Eq>() {}
fn is_shared<T: Send + Sync>() {}

#[test]
fn types_have_their_traits_and_stand_in_their_modules() {
    is_data::<timeline::Event>();
    is_data::<timeline::EventType>();
    is_data::<compute::OperationStats>();
    is_data::<memory::AllocationRecord>();
    is_data::<memory::MemoryStats>();
    is_data::<bottleneck::Bottleneck>();
    is_data::<bottleneck::BottleneckType>();
    is_data::<Severity>();
    is_data::<report::ProfileReport>();
    is_data::<MemorySummary>();
    is_data::<ComputeSummary>();
    is_data::<OperationSummary>();
    is_copied::<EventType>();
    is_copied::<BottleneckType>();
    is_copied::<Severity>();
    is_copied::<report::ReportFormat>();
    is_shared::<Profiler>();
    is_shared::<error::ProfileError>();
    assert!(Severity::Low < Severity::Medium && Severity::High < Severity::Critical);
    let _: (OperationStats, MemoryStats) = Default::default();
    let _: fn(&ProfileReport) -> &dyn Display = |report| report;
    let _: fn(&BottleneckAnalyzer, &ProfiledOp) -> [String; 2] =
        |a, b| [format!("{a:?}"), format!("{:?}", b.clone())];
}

#[test]
fn functions_have_their_signatures() {
    let _: fn() -> &'static Profiler = global_profiler;
    let _: [fn(&str); 2] = [start, stop];
    let _: [fn(&str, usize); 2] = [record_alloc, record_free];

    let _: [fn() -> Profiler; 2] = [Profiler::new, Profiler::default];
    let _: fn(&Profiler, bool) = Profiler::set_enabled;
    let _: fn(&Profiler) -> bool = Profiler::is_enabled;
    let _: [fn(&Profiler, &str); 2] = [Profiler::start, Profiler::stop];
    let _: [fn(&Profiler, &str, usize); 2] = [Profiler::record_alloc, Profiler::record_free];
    let _: [fn(&Profiler) -> usize; 2] = [Profiler::peak_memory, Profiler::current_memory];
    let _: [fn(&Profiler, &str) -> Duration; 2] = [Profiler::total_time, Profiler::avg_time];
    let _: [fn(&Profiler); 2] = [Profiler::reset, Profiler::print_summary];
    let _: fn(&Profiler) -> ProfileReport = Profiler::summary;
    let _: fn(&Profiler) -> Vec<Bottleneck> = Profiler::analyze_bottlenecks;
    let _: for<'a> fn(&'a Profiler, &str) -> ProfileGuard<'a> =
        |profiler, name| ProfileGuard::new(profiler, name);
    let _: fn(&Profiler) = |profiler| {
        profile_scope!(profiler, "scope");
        let _: &Arc<RwLock<MemoryProfiler>> = &profiler.memory;
        let _: &Arc<RwLock<ComputeProfiler>> = &profiler.compute;
        let _: &Arc<RwLock<TimelineProfiler>> = &profiler.timeline;
    };

    type Compute = ComputeProfiler;
    let _: [fn() -> Compute; 2] = [Compute::new, Compute::default];
    let _: [fn(&mut Compute, &str); 2] = [Compute::start, Compute::stop];
    let _: fn(&mut Compute, &str, f64) = Compute::start_with_flops;
    let _: fn(&mut Compute, &str, usize) = Compute::start_with_bytes;
    let _: for<'a> fn(&'a Compute, &str) -> Option<&'a OperationStats> = Compute::get_stats;
    let _: fn(&Compute) -> HashMap<String, OperationStats> = Compute::all_stats;
    let _: [fn(&Compute, &str) -> Duration; 2] = [Compute::total_time, Compute::avg_time];
    let _: [fn(&Compute, usize) -> Vec<&OperationStats>; 2] =
        [Compute::top_by_time, Compute::top_by_calls];
    let _: fn(&mut Compute) = Compute::reset;
    let _: fn(Duration) -> String = Compute::format_duration;
    let _: for<'a> fn(&'a mut Compute, &str) -> TimingGuard<'a> =
        |profiler, name| TimingGuard::new(profiler, name);
    type Stats = OperationStats;
    let _: [fn(&Stats) -> Duration; 4] = [
        Stats::avg_time,
        Stats::total_time,
        Stats::min_time,
        Stats::max_time,
    ];
    let _: [fn(&Stats) -> Option<f64>; 3] =
        [Stats::gflops, Stats::gflops_per_sec, Stats::bandwidth_gbps];

    type Memory = MemoryProfiler;
    let _: [fn() -> Memory; 2] = [Memory::new, Memory::default];
    let _: [fn(&mut Memory, &str, usize); 2] = [Memory::record_alloc, Memory::record_free];
    let _: [fn(&Memory) -> usize; 4] = [
        Memory::current_usage,
        Memory::peak_usage,
        Memory::total_allocated,
        Memory::total_freed,
    ];
    let _: fn(&Memory) -> MemoryStats = Memory::stats;
    let _: fn(&Memory) -> Vec<AllocationRecord> = Memory::leaks;
    let _: fn(&mut Memory) = Memory::reset;
    let _: fn(usize) -> String = Memory::format_bytes;

    type Timeline = TimelineProfiler;
    let _: [fn() -> Timeline; 2] = [Timeline::new, Timeline::default];
    let _: fn(usize) -> Timeline = Timeline::with_capacity;
    let _: fn(&mut Timeline, &str, EventType) = Timeline::record;
    let _: fn(&mut Timeline, &str, EventType, &str) = Timeline::record_with_metadata;
    let _: [fn(&mut Timeline, &str); 3] = [Timeline::start, Timeline::end, Timeline::instant];
    let _: fn(&Timeline) -> &[Event] = Timeline::events;
    let _: for<'a> fn(&'a Timeline, &str) -> Vec<&'a Event> = Timeline::events_by_name;
    let _: fn(&Timeline, EventType) -> Vec<&Event> = Timeline::events_by_type;
    let _: fn(&Timeline, &str) -> Option<Duration> = Timeline::duration;
    let _: fn(&Timeline) -> Duration = Timeline::total_duration;
    let _: fn(&Timeline) -> usize = Timeline::event_count;
    let _: fn(&Timeline) -> String = Timeline::to_chrome_trace;
    let _: fn(&Timeline) -> Result<String, serde_json::Error> = Timeline::to_json;
    let _: fn(&mut Timeline) = Timeline::reset;

    type Analyzer = BottleneckAnalyzer;
    let _: [fn() -> Analyzer; 2] = [Analyzer::new, Analyzer::default];
    let _: fn(AnalyzerConfig) -> Analyzer = Analyzer::with_config;
    let _: fn(&Analyzer, &HashMap<String, Stats>, &MemoryStats) -> Vec<Bottleneck> =
        Analyzer::analyze;
    let _: fn(&[Bottleneck]) -> String = Analyzer::summary;

    type Report = ProfileReport;
    let _: fn(&Profiler) -> Report = Report::generate;
    let _: fn(&Report, &Path, ReportFormat) -> ProfileResult<()> = Report::export;
    let _: [fn(&Report) -> String; 3] = [Report::to_text, Report::to_markdown, Report::to_html];
    let _: fn(&Report) -> ProfileResult<String> = Report::to_json;
}

/// Structs that programs construct or destructure by field, and enums that they match without a wildcard.
#[test]
fn fields_and_variants_are_all_there_and_no_more() {
    let name = String::new;
    let stats = OperationStats {
        name: name(),
        call_count: 1usize,
        total_time_ns: 2u64,
        min_time_ns: 3u64,
        max_time_ns: 4u64,
        flops: None::<f64>,
        bytes_processed: None::<usize>,
    };
    assert_eq!(stats.avg_time(), Duration::from_nanos(2));
    let _ = ProfiledOp {
        name: name(),
        start: Instant::now(),
        flops: None::<f64>,
        bytes: None::<usize>,
    };
    let _ = AllocationRecord {
        name: name(),
        size: 1usize,
        timestamp: 2u64,
        freed: false,
    };
    let _ = MemoryStats {
        current_usage: 1usize,
        peak_usage: 1usize,
        total_allocated: 1usize,
        total_freed: 1usize,
        allocation_count: 1usize,
        deallocation_count: 1usize,
        per_name_usage: HashMap::<String, usize>::new(),
    };
    let _ = Event {
        name: name(),
        event_type: EventType::Custom,
        timestamp_ns: 1u64,
        thread_id: None::<u64>,
        metadata: None::<String>,
    };
    let found = Bottleneck {
        bottleneck_type: BottleneckType::LowThroughput,
        severity: Severity::Medium,
        name: name(),
        description: name(),
        suggestion: name(),
        metrics: HashMap::<String, f64>::new(),
    };
    let _ = AnalyzerConfig {
        slow_op_threshold_pct: 20.0f64,
        high_call_threshold: 10_000usize,
        memory_hotspot_threshold_pct: 30.0f64,
        min_gflops_threshold: 1.0f64,
        check_memory_leaks: true,
    };
    let _ = ProfileReport {
        title: name(),
        total_duration_secs: 0.0f64,
        memory: MemorySummary {
            current_usage: 1usize,
            peak_usage: 1usize,
            total_allocated: 1usize,
            total_freed: 1usize,
            allocation_count: 1usize,
        },
        compute: ComputeSummary {
            operation_count: 1usize,
            total_time_ns: 1u64,
            top_operations: vec![OperationSummary {
                name: name(),
                total_time_ns: 1u64,
                call_count: 1usize,
                avg_time_ns: 1u64,
                time_percentage: 1.0f64,
            }],
        },
        bottlenecks: vec![found],
    };
    let _: fn(EventType) = |of| match of {
        EventType::Start | EventType::End | EventType::Instant => {}
        EventType::Alloc | EventType::Free | EventType::Custom => {}
    };
    let _: fn(BottleneckType) = |of| match of {
        BottleneckType::SlowOperation | BottleneckType::HighCallCount => {}
        BottleneckType::MemoryHotspot | BottleneckType::MemoryLeak => {}
        BottleneckType::LowThroughput | BottleneckType::MemoryBound => {}
        BottleneckType::LoadImbalance => {}
    };
    let _: fn(Severity) = |of| match of {
        Severity::Low | Severity::Medium | Severity::High | Severity::Critical => {}
    };
    let _: fn(ReportFormat) = |of| match of {
        ReportFormat::Text | ReportFormat::Json | ReportFormat::Markdown | ReportFormat::Html => {}
    };
    let _: fn(ProfileError) -> Option<std::io::Error> = |of| match of {
        ProfileError::OperationNotFound(_) | ProfileError::InvalidState(_) => None,
        ProfileError::SerializationError(_) | ProfileError::TimerError(_) => None,
        ProfileError::IoError(error) => Some(error),
    };
    let _: fn(std::io::Error) -> ProfileError = ProfileError::from;
}
