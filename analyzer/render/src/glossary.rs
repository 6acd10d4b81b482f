//! Meaning of columns whose headings are terms of art: tooltips of a page, legend of a full page on a terminal.

/// Explains a column by its name; `None` if its heading is clear.
pub fn explain(column: &str) -> Option<&'static str> {
    Some(match column {
        "gain_10pct_ns" => "time the whole run would save at most if this took 10 % less time",
        "gain_50pct_ns" => "time the whole run would save at most if this took half the time",
        "gain_100pct_ns" => "time the whole run would save at most if this took no time",
        "gain_100pct_share" => "the same as a share of the wall",
        "path_ns" => "time on the critical path, including what it launches or contains",
        "wall_share" => "share of the wall, summed over all lanes of its kind",
        "busy_share" => "share of the time in which any of the lanes is busy",
        "self_ns" => "time without nested rows",
        "inclusive_ns" => "time including nested rows",
        "bound_calls" => "calls whose times are only upper bounds of the work",
        "exposed_ns" => "time in which nothing else runs on the device",
        "overlapped_ns" => "time in which something else runs as well",
        "split_ns" => "each instant counts once: as computation, else communication, else copies",
        "not_queued_ns" => "idle with no work queued: the host had not launched the next work yet",
        "launching_ns" => "idle while the launching call was in progress",
        "not_started_ns" => "idle although the next work was already queued",
        "latency_ns" => "from the host's call to the start of the work",
        "queued_ns" => "part of the latency spent behind other work of its stream",
        "slack_ns" => "how much longer it could take without making the run longer",
        "efficiency_share" => "achieved rate as a share of the roof",
        "on_cpu_ns" => "time the thread ran on a processor",
        "runnable_ns" => "time the thread was ready to run but no processor was free",
        "off_cpu_ns" => "time the thread waited",
        "life_ns" => "from the thread's first moment to its last",
        "woken_by" => "thread that ended most of these waits, from the kernel's wakeup records",
        "woken_waits" => "waits known to be ended by a thread of the program",
        "occupancy" => {
            "warps that the launch allows on a multiprocessor, of those that it can hold"
        }
        "waves" => "blocks of the grid over the blocks that the device holds at once",
        "launched_by" => "innermost brick around most of its launches",
        _ => return None,
    })
}

pub const KINDS: &str = "kind:queue waits behind its stream; kind:launch_delay from call to work; \
                         kind:sync_wait the host waits; kind:gap nothing recorded";
