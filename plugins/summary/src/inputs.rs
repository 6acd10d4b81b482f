//! Queries over the tables of other plugins. All are optional: what is not there is not said.

use trueno_analysis::window::Window;
use trueno_plugin::Input;

use crate::parts;

const fn may(name: &'static str, sql: &'static str) -> Input {
    Input::sql(name, sql).optional()
}

/// Inputs of the plugin. Only the last two are computed from rows of events.
pub const INPUTS: [Input; 47] = all(
    may(
        "iteration_names",
        "SELECT DISTINCT name FROM bricks WHERE kind = 'iteration'",
    ),
    // Read only where the kernels are few enough, see `kernels`.
    may(
        "owners",
        "SELECT kernel, operator, SUM(dur_ns) AS dur_ns FROM ( \
         SELECT k.name AS kernel, b.name AS operator, k.dur_ns AS dur_ns \
         FROM kernels AS k JOIN bricks AS b ON k.brick = b.id WHERE k.device IS NOT NULL \
         ) AS launched GROUP BY kernel, operator",
    ),
);

/// Inputs of a merge. The last two are then tables of the parts.
pub const MERGE_INPUTS: [Input; 47] = all(parts::ITERATION_NAMES, parts::OWNERS);

const fn all(iteration_names: Input, owners: Input) -> [Input; 47] {
    [
        may("run", "SELECT wall_ns, rows, clock_source FROM run"),
        Window::INPUT,
        may(
            "pauses",
            "SELECT time_ns, dur_ns FROM annotations WHERE kind = 'paused'",
        ),
        may("ranks", "SELECT rank FROM ranks"),
        may(
            "incomplete_ranks",
            "SELECT detail FROM stragglers.causes WHERE kind = 'recording'",
        ),
        may(
            "retimed_job",
            "SELECT stages, bubble_share, micro_batches, slowdown FROM stragglers.job",
        ),
        may("devices", "SELECT * FROM devices"),
        may(
            "unclear_devices",
            "SELECT code FROM diagnostics WHERE code = 'device_unclear'",
        ),
        may(
            "exposure",
            "SELECT scope, kind, split_ns FROM device.exposure",
        ),
        may(
            "idle",
            "SELECT place, span_ns, idle_ns, busy_ns, not_queued_ns, launching_ns, not_started_ns, not_known_ns, gaps, \
         longest_ns, operations, dur_ns FROM device.idle WHERE stream IS NULL",
        ),
        may(
            "copies",
            "SELECT place, operations, dur_ns, bytes, stated FROM device.copies",
        ),
        may(
            "launches",
            "SELECT name, operations, dur_ns FROM device.launches WHERE kind = 'kernel'",
        ),
        may(
            "occupancy",
            "SELECT name, dur_ns, occupancy FROM device.kernels",
        ),
        may(
            "series",
            "SELECT series, iterations, steady, median_ns, tokens_per_s, samples_per_s FROM throughput.summary",
        ),
        may(
            "iterations",
            "SELECT series, wall_ns, iteration, phase, start_ns FROM throughput.iterations",
        ),
        may(
            "bottlenecks",
            "SELECT class, code, severity, gain_ns, gain_share, sentence FROM bottleneck.top WHERE class <> 'out_of_memory' ORDER BY rank",
        ),
        // Also those that another finding leads. A part of a finding for one category gains no more than the whole.
        may(
            "all_bottlenecks",
            "SELECT class, code, severity, gain_ns, gain_share, sentence FROM bottleneck.bottlenecks \
             WHERE gain_ns IS NOT NULL AND class <> 'out_of_memory' AND code <> 'category_part' ORDER BY rank",
        ),
        may("part", "SELECT name, from_ns, until_ns FROM report_part"),
        may(
            "path_kinds",
            "SELECT kind, wall_share FROM critical_path.by_kind",
        ),
        may(
            "path_names",
            "SELECT name, category, wall_share FROM critical_path.by_name WHERE kind = 'work' ORDER BY dur_ns DESC, name",
        ),
        may(
            "beside_waits",
            "SELECT name, wall_share FROM critical_path.beside_waits",
        ),
        may(
            "opportunity",
            "SELECT name, gain_50pct_ns FROM critical_path.opportunity WHERE gain_50pct_ns > 0",
        ),
        may(
            "at_roof",
            "SELECT name, gain_ns FROM critical_path.at_roof WHERE source IS NOT NULL AND gain_ns > 0 \
         ORDER BY gain_ns DESC, name",
        ),
        may(
            "by_category",
            "SELECT lane_kind, category, calls, self_ns FROM category.by_category",
        ),
        may(
            "device_copies",
            "SELECT category, SUM(self_ns) AS self_ns FROM category.by_brick \
         WHERE lane_kind = 'device' AND kind = 'transfer' GROUP BY category ORDER BY category",
        ),
        may(
            "by_brick",
            "SELECT lane_kind, name, category, self_ns, calls, inclusive_ns, max_ns FROM category.by_brick WHERE calls > 0",
        ),
        may(
            "by_lane",
            "SELECT lane, lane_kind, busy_ns, waiting_ns, most_name, most_ns, wall_ns FROM category.by_lane",
        ),
        may(
            "graph_launches",
            "SELECT found, count FROM sanity.checks WHERE check = 'graphs_with_work' AND verdict = 'fail'",
        ),
        // Without these checks no time means anything.
        may(
            "meaningless",
            "SELECT check, found FROM sanity.checks WHERE verdict = 'fail' \
             AND (check = 'one_timeline' OR check = 'durations_differ')",
        ),
        may(
            "open_intervals",
            "SELECT bound_calls FROM category.by_brick WHERE bound_calls > 0",
        ),
        may(
            "coverage",
            "SELECT found FROM sanity.checks WHERE check = 'coverage' AND verdict = 'pass'",
        ),
        may(
            "out_of_memory",
            "SELECT sentence FROM memory.out_of_memory ORDER BY time_ns, place",
        ),
        may("memory", "SELECT place, peak_bytes FROM memory.places"),
        may(
            "memory_owners",
            "SELECT place, tag, name, peak_share FROM memory.peak_owners ORDER BY bytes DESC, place, tag, name",
        ),
        may(
            "counters",
            "SELECT name, COUNT(*) AS readings, MIN(value) AS least, MAX(value) AS most FROM counters GROUP BY name",
        ),
        // Times by name of files without events.
        may(
            "sums",
            "SELECT name, value FROM counters WHERE name LIKE 'sum: % total [ns]' OR name LIKE 'sum: % time (ns)' \
         OR (name LIKE 'sum: % total' AND unit = 'ns') ORDER BY value DESC, name",
        ),
        may(
            "incomplete_collectives",
            "SELECT sentence FROM collectives.incomplete",
        ),
        may(
            "flight_dumps",
            "SELECT ranks, operations FROM collectives.dumps",
        ),
        may("operators", "SELECT name FROM operators.by_name"),
        may(
            "points",
            "SELECT source, dur_ns, efficiency_share FROM roofline.points \
         WHERE device = 'cpu' AND is_valid AND efficiency_share IS NOT NULL",
        ),
        may(
            "sampled_functions",
            "SELECT event, function, module, self_share, low_share, high_share FROM samples.functions",
        ),
        may(
            "sampled_threads",
            "SELECT event, samples, estimated_ns FROM samples.threads",
        ),
        may(
            "sampled_waits",
            "SELECT event, name, function, thread_share FROM samples.sampled_waits WHERE is_longest",
        ),
        may(
            "sampled_scheduling",
            "SELECT on_cpu_ns FROM samples.scheduling",
        ),
        may(
            "untimed_calls",
            "SELECT CAST(SUM(untimed_calls) AS BIGINT) AS calls FROM syscalls.calls",
        ),
        iteration_names,
        owners,
    ]
}
