//! Queries over the run and the other plugins. All of them are optional: what is not there is a
//! measurement that is missing, and table `not_measurable` says so.

use trueno_analysis::name_groups::NameGroups;
use trueno_analysis::window::Window;
use trueno_plugin::Input;

const fn may(name: &'static str, sql: &'static str) -> Input {
    Input::sql(name, sql).optional()
}

pub const INPUTS: [Input; 50] = [
    may(
        "run",
        "SELECT wall_ns, dropped, cost_ns_per_span, logical_cpus, clock_source FROM run",
    ),
    Window::INPUT,
    NameGroups::INPUT,
    may("ranks", "SELECT rank FROM ranks"),
    may(
        "unrecorded_devices",
        "SELECT count FROM diagnostics WHERE code = 'device_not_recorded'",
    ),
    may(
        "kernels_one_by_one",
        "SELECT count FROM diagnostics WHERE code = 'kernels_one_by_one'",
    ),
    // What other plugins say.
    may(
        "path_kinds",
        "SELECT kind, dur_ns FROM critical_path.by_kind",
    ),
    may(
        "path_names",
        "SELECT name, kind, category, dur_ns FROM critical_path.by_name",
    ),
    may(
        "path_pieces",
        "SELECT seq, kind, name, lane, start_ns, dur_ns, id FROM critical_path.path ORDER BY seq",
    ),
    may(
        "opportunity",
        "SELECT name, path_ns, gain_50pct_ns, gain_100pct_ns FROM critical_path.opportunity",
    ),
    may(
        "path_without",
        "SELECT target, gain_ns FROM critical_path.without",
    ),
    may(
        "path_alone",
        "SELECT name, category, alone_ns, shared_ns, longest_ns FROM critical_path.serial_work",
    ),
    may(
        "at_roof",
        "SELECT source, name, path_ns, gain_ns FROM critical_path.at_roof",
    ),
    may(
        "points",
        "SELECT source, name, device, provenance, assumed, memory, threads, calls, dur_ns, flops_per_byte, flops_per_s, \
         bytes_per_s, bound_by, efficiency_share, is_valid, calls_above, doubt FROM roofline.points WHERE source <> 'operator'",
    ),
    // Of operators the efficiency alone: what they took on the host is no part of it.
    may(
        "operator_points",
        "SELECT name, dur_ns, efficiency_share FROM roofline.points \
         WHERE source = 'operator' AND is_valid AND efficiency_share IS NOT NULL ORDER BY name",
    ),
    may(
        "misses",
        "SELECT brick AS name, SUM(value) AS misses, SUM(dur_ns) AS dur_ns FROM ( \
         SELECT b.name AS brick, c.value AS value, b.dur_ns AS dur_ns FROM counters AS c JOIN bricks AS b ON c.span = b.id \
         WHERE c.name = 'l3_misses' AND c.source = 'measured' AND b.timing <> 'bound' \
         ) AS counted GROUP BY brick ORDER BY name",
    ),
    may(
        "by_brick",
        "SELECT lane_kind, kind, name, category, calls, inclusive_ns, min_ns, median_ns, max_ns FROM category.by_brick",
    ),
    // When the first of a name began, and when the first ended: mostly one and the same.
    may(
        "first_rows",
        "SELECT name, MIN(start_ns) AS start_ns, MIN(start_ns + dur_ns) AS end_ns FROM bricks WHERE timing <> 'bound' \
         AND kind <> 'run' AND kind <> 'iteration' AND kind <> 'layer' GROUP BY name ORDER BY name",
    ),
    may(
        "by_lane",
        "SELECT lane, lane_kind, busy_ns FROM category.by_lane",
    ),
    may(
        "growth",
        "SELECT place, tag, iterations, first_bytes, last_bytes, bytes_per_iteration, growth_share, p, verdict FROM memory.growth",
    ),
    may(
        "fragmentation",
        "SELECT place, moment, footprint_bytes, free_bytes, free_segments_bytes, largest_free_bytes, fragmentation_share, \
         free_share FROM memory.fragmentation",
    ),
    may(
        "out_of_memory",
        "SELECT place, requested_bytes, live_bytes, reserved_bytes, largest_free_bytes, sentence FROM memory.out_of_memory \
         ORDER BY time_ns",
    ),
    // Devices with memory in use when the recording began.
    may(
        "live_before",
        "SELECT place FROM memory.places WHERE before_bytes > 0 AND place LIKE '%gpu%' ORDER BY place",
    ),
    may(
        "iterations",
        "SELECT series, iteration, wall_ns, phase, outlier, slow_name, slow_excess_ns, start_ns FROM throughput.iterations \
         ORDER BY start_ns, id",
    ),
    // Ranks in collectives, on one clock.
    may(
        "arrivals",
        "SELECT a.instance AS instance, a.rank AS rank, a.id AS id, a.arrive_ns AS arrive_ns, a.dur_ns AS dur_ns, \
         a.waited_ns AS waited_ns, i.last_rank AS last_rank, i.inferred AS inferred FROM collectives.arrivals AS a \
         JOIN collectives.instances AS i ON a.instance = i.instance ORDER BY instance, rank",
    ),
    // Of collectives whose tasks were recorded.
    may(
        "collective_waits",
        "SELECT span AS id, integer AS wait_ns FROM attributes WHERE name = 'collective_wait_ns' \
         AND integer > 0 AND span IN (SELECT id FROM kernels) ORDER BY id",
    ),
    may(
        "late_causes",
        "SELECT rank, cause, name FROM lateness.causes ORDER BY caused_ns DESC, rank, cause",
    ),
    may(
        "job_causes",
        "SELECT name, gain_ns, detail, fix, suggestion FROM stragglers.causes WHERE gain_ns > 0",
    ),
    may(
        "retimed_job",
        "SELECT stages, step_ns, retimed_ns FROM stragglers.job",
    ),
    may(
        "retimed_without",
        "SELECT scope, gain_ns FROM stragglers.what_if WHERE (scope = 'transfers' AND name = 'none') \
         OR (scope = 'ranks' AND name = 'alike')",
    ),
    // Only there where the run has a baseline.
    may(
        "diverged",
        "SELECT brick, COUNT(*) AS tensors FROM divergence.pairs WHERE verdict = 'diverged' GROUP BY brick ORDER BY brick",
    ),
    may(
        "device_sizes",
        "SELECT device, name, multiprocessors, compute_capability FROM devices",
    ),
    // The share of the wall with any row.
    may(
        "coverage",
        "SELECT found FROM sanity.checks WHERE check = 'coverage' AND verdict = 'pass'",
    ),
    // What devices did, and who asked for it.
    may(
        "kernels",
        "SELECT k.id AS id, k.name AS name, k.device AS device, k.stream AS stream, k.start_ns AS start_ns, k.dur_ns AS dur_ns, \
         k.valid AS valid, k.timing = 'bound' AS is_bound, \
         CAST(k.grid_x AS BIGINT) * CAST(k.grid_y AS BIGINT) * CAST(k.grid_z AS BIGINT) AS blocks, \
         CAST(k.block_x AS BIGINT) * CAST(k.block_y AS BIGINT) * CAST(k.block_z AS BIGINT) AS threads, \
         c.start_ns AS called_ns, c.start_ns + c.dur_ns AS returned_ns, b.start_ns AS brick_ns, \
         b.start_ns + b.dur_ns AS brick_end_ns, b.name AS brick_name \
         FROM kernels AS k LEFT JOIN calls AS c ON k.correlation = c.correlation LEFT JOIN bricks AS b ON k.brick = b.id \
         WHERE k.device IS NOT NULL ORDER BY start_ns, id, called_ns",
    ),
    may(
        "transfers",
        "SELECT t.id AS id, t.direction AS direction, t.bytes AS bytes, t.device AS device, t.stream AS stream, \
         t.start_ns AS start_ns, t.dur_ns AS dur_ns, t.timing = 'bound' AS is_bound, t.is_async AS is_async, \
         t.src_kind AS src_kind, t.dst_kind AS dst_kind, t.brick AS brick, \
         c.start_ns AS called_ns, c.start_ns + c.dur_ns AS returned_ns, b.start_ns AS brick_ns, \
         b.start_ns + b.dur_ns AS brick_end_ns, b.name AS brick_name \
         FROM transfers AS t LEFT JOIN calls AS c ON t.correlation = c.correlation LEFT JOIN bricks AS b ON t.brick = b.id \
         ORDER BY start_ns, id, called_ns",
    ),
    may(
        "waits",
        "SELECT id, kind, thread, start_ns, dur_ns FROM syncs WHERE kind <> 'stream_wait' ORDER BY start_ns, id",
    ),
    may(
        "call_names",
        "SELECT name, COUNT(*) AS calls, SUM(dur_ns) AS dur_ns, MAX(dur_ns) AS longest_ns, MIN(start_ns) AS first_ns, \
         MIN(start_ns + dur_ns) AS first_end_ns FROM calls \
         GROUP BY name ORDER BY name",
    ),
    may(
        "captures",
        "SELECT name, thread, start_ns, dur_ns FROM calls WHERE name LIKE '%StreamBeginCapture%' \
         OR name LIKE '%StreamEndCapture%' OR name LIKE '%GraphLaunch%' ORDER BY start_ns",
    ),
    // Calls that may take or return memory of devices, which no graph can hold.
    may(
        "memory_calls",
        "SELECT name, thread, start_ns, dur_ns FROM calls WHERE name LIKE '%lloc%' OR name LIKE '%Free%' ORDER BY start_ns",
    ),
    // What was over, for good, before the first iteration began.
    may(
        "first_step",
        "SELECT MIN(start_ns) AS first_ns FROM bricks WHERE kind = 'iteration'",
    ),
    // Names of bricks, to find those that load and those that do not come back; by groups, for DISTINCT takes ten times the
    // memory. Rows of loaders follow by the number of the name.
    may(
        "brick_names",
        "SELECT MIN(name_id) AS name_id, name, category, kind, SUM(dur_ns) AS dur_ns, MAX(start_ns + dur_ns) AS end_ns \
         FROM bricks WHERE timing <> 'bound' GROUP BY name, category, kind ORDER BY name, category, kind",
    ),
    may(
        "category_rules",
        "SELECT name, category FROM category_rules WHERE category IN ('data loading', 'communication') ORDER BY name",
    ),
    // Only rows whose names can be those of loaders: a run may have millions of others.
    may(
        "loader_rows",
        "SELECT b.name_id AS name_id, b.thread AS thread, b.start_ns AS start_ns, b.dur_ns AS dur_ns FROM bricks AS b \
         WHERE b.timing <> 'bound' AND (b.category = 'data loading' \
         OR b.name IN (SELECT name FROM category_rules WHERE category = 'data loading') \
         OR LOWER(b.name) LIKE '%load%' OR LOWER(b.name) LIKE '%fetch%' OR LOWER(b.name) LIKE '%dataset%' \
         OR LOWER(b.name) LIKE '%input%' OR LOWER(b.name) LIKE '%ingest%' OR LOWER(b.name) LIKE '%read%') \
         ORDER BY start_ns",
    ),
    // When bricks began on threads that copy.
    may(
        "copying_rows",
        "SELECT start_ns FROM bricks WHERE timing <> 'bound' AND kind <> 'run' AND kind <> 'iteration' AND kind <> 'layer' \
         AND thread IN (SELECT DISTINCT thread FROM transfers WHERE thread IS NOT NULL) ORDER BY start_ns",
    ),
    // Time of ranks; only there where the run holds ranks.
    may(
        "rank_rows",
        "SELECT b.thread AS thread, b.start_ns AS start_ns, b.dur_ns AS dur_ns FROM bricks AS b \
         CROSS JOIN (SELECT MAX(rank) AS most FROM ranks) AS r WHERE r.most > 0 AND b.timing <> 'bound' \
         AND b.kind <> 'run' AND b.kind <> 'iteration' AND b.kind <> 'layer' ORDER BY start_ns",
    ),
    may(
        "tasks",
        "SELECT t.id AS id, t.parent AS parent, t.name AS name, t.thread AS thread, t.start_ns AS start_ns, t.dur_ns AS dur_ns \
         FROM bricks AS t WHERE t.kind = 'task' AND t.timing <> 'bound' ORDER BY start_ns, id",
    ),
    may("any_edge", "SELECT DISTINCT kind FROM edges"),
    may(
        "joins",
        "SELECT e.\"from\" AS task, s.id AS wait, s.start_ns AS start_ns, s.dur_ns AS dur_ns \
         FROM edges AS e JOIN syncs AS s ON e.\"to\" = s.id WHERE e.kind = 'joins' AND s.kind = 'join' ORDER BY start_ns, wait, task",
    ),
    may(
        "sizes",
        "SELECT name, elements, flops, bytes, COUNT(*) AS calls, MEDIAN(dur_ns) AS median_ns, SUM(dur_ns) AS dur_ns FROM ( \
         SELECT name, elements, flops, COALESCE(bytes_read, 0) + COALESCE(bytes_written, 0) AS bytes, dur_ns FROM bricks \
         WHERE elements IS NOT NULL AND timing <> 'bound' \
         ) AS sized GROUP BY name, elements, flops, bytes ORDER BY name, elements, flops, bytes",
    ),
    may(
        "checksums",
        "SELECT c.name AS tensor, c.hash AS hash, c.elements AS elements, c.zero_count AS zeros, c.time_ns AS time_ns, \
         b.id AS span, b.name AS brick, b.dur_ns AS dur_ns, b.start_ns AS start_ns \
         FROM checksums AS c JOIN bricks AS b ON c.span = b.id \
         WHERE b.kind <> 'run' AND b.kind <> 'iteration' AND b.kind <> 'layer' ORDER BY time_ns, span, tensor",
    ),
];
