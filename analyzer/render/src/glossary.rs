//! Meaning of columns whose headings are terms of art: tooltips of a page, legend of a full page on a terminal.

/// Explains what a column holds, by its name; `None`: its heading says it.
pub fn explain(column: &str) -> Option<&'static str> {
    Some(match column {
        "gain_10pct_ns" => "shorter end to end, at most, with 10 % less time of the name",
        "gain_50pct_ns" => "shorter end to end, at most, with half the time of the name",
        "gain_100pct_ns" => "shorter end to end, at most, with no time of the name",
        "gain_100pct_share" => "gain 100 as a share of the wall",
        "path_ns" => "time on the critical path, with all that belongs to the name",
        "wall_share" => "share of the wall, of all lanes of its kind together",
        "busy_share" => "share of the time in which any row of the lanes runs",
        "self_ns" => "time without what runs inside",
        "inclusive_ns" => "time with all that runs inside",
        "bound_calls" => "calls whose times only contain the work",
        "exposed_ns" => "time in which nothing else runs on the device",
        "overlapped_ns" => "time in which something else runs as well",
        "split_ns" => "each instant counted once: computation before communication before copies",
        "not_asked_ns" => "idle while the host had not asked for the next work",
        "launching_ns" => "idle while the host was in the call that asks for it",
        "asked_before_ns" => "idle although the work had been asked for",
        "latency_ns" => "from the host's call to the begin of the work",
        "queued_ns" => "of the latency, behind other work of its stream",
        "slack_ns" => "longer by so much, the run would take no more time",
        "efficiency_share" => "rate as a share of the roof",
        "on_cpu_ns" => "time in which the thread ran on a processor: its life less the other two",
        "runnable_ns" => "time in which the thread could have run, and no processor was free",
        "off_cpu_ns" => "time in which the thread waited",
        "life_ns" => "from the thread's first moment to its last",
        "woken_by" => "thread that ended most of this time, where the kernel told who wakes whom",
        "woken_waits" => "waits that some thread of the program is known to have ended",
        "launched_by" => "innermost brick around the calls that launch most of its time",
        _ => return None,
    })
}

/// Names that `critical_path` gives kinds of lag.
pub const KINDS: &str = "kind:queue waits behind its stream; kind:launch_delay from call to work; \
                         kind:sync_wait the host waits; kind:gap nothing recorded";
