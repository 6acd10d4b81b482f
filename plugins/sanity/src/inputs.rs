//! Queries over the run.

use trueno_plugin::Input;

pub const RUN: Input = Input::sql(
    "run",
    "SELECT state, clean_end, dropped, wall_ns, wall_source, cost_ns_per_span, recorder_ns, recorder_cpu_ns FROM run",
);
/// Segments of all ranks, or of one.
pub const SEGMENTS: Input = Input::sql(
    "segments",
    "SELECT state, rows_expected, rows_read, rows_lost, verified FROM segments",
);
/// Ranks of the job; the input is absent if the run has none.
pub const RANKS: Input = Input::sql("ranks", "SELECT rank FROM ranks").optional();
/// Problems with missing or misplaced ranks. Some belong to no rank, so only the job has all of them.
pub const RANK_PROBLEMS: Input = Input::sql(
    "rank_problems",
    "SELECT p.code AS code FROM problems AS p WHERE p.code = 'rank_missing' OR p.code = 'rank_lost' \
     OR p.code = 'rank_twice' OR p.code = 'rank_unknown' OR p.code = 'rank_not_aligned' OR p.code = 'ranks_apart'",
)
.optional();

pub const INPUTS: [Input; 20] = [
    RUN,
    SEGMENTS,
    Input::sql(
        "bricks",
        "SELECT id, parent, thread, start_ns, dur_ns, timing = 'bound' AS is_bound, \
         kind = 'run' OR kind = 'iteration' OR kind = 'layer' AS is_scope, \
         timing = 'bound' AND kind = 'task' AS is_open FROM bricks",
    ),
    Input::sql(
        "kernels",
        "SELECT id, brick AS parent, thread, device, start_ns, dur_ns, timing = 'bound' AS is_bound, valid FROM kernels",
    ),
    Input::sql(
        "tiles",
        "SELECT id, parent, thread, start_ns, dur_ns FROM tiles",
    ),
    Input::sql(
        "syncs",
        "SELECT id, thread, device, start_ns, dur_ns FROM syncs",
    ),
    Input::sql(
        "calls",
        "SELECT id, brick AS parent, thread, start_ns, dur_ns FROM calls",
    ),
    Input::sql(
        "transfers",
        "SELECT id, brick AS parent, thread, device, start_ns, dur_ns, timing = 'bound' AS is_bound FROM transfers",
    ),
    // A wait for an event is joined with the record of that event, which is no interval.
    Input::sql(
        "edges",
        "SELECT \"from\" AS from_id, \"to\" AS to_id FROM edges \
         WHERE \"from\" NOT IN (SELECT id FROM device_events)",
    ),
    Input::sql(
        "launches",
        "SELECT k.id AS id, c.start_ns AS call_start_ns, k.start_ns AS start_ns \
         FROM calls AS c JOIN kernels AS k ON c.correlation = k.correlation WHERE k.device IS NOT NULL",
    ),
    Input::sql(
        "invalid_kernels",
        "SELECT reason, COUNT(*) AS kernels FROM kernels WHERE valid = FALSE GROUP BY reason ORDER BY reason",
    ),
    Input::sql(
        "graph_kernels",
        "SELECT COUNT(*) AS kernels, COUNT(brick) AS with_brick FROM kernels WHERE graph_node IS NOT NULL",
    ),
    // In groups, because without calls there are none, and nothing is joined.
    Input::sql(
        "graph_launches",
        "SELECT COUNT(*) AS launches, COUNT(w.correlation) AS with_work FROM calls AS c LEFT JOIN \
         (SELECT correlation FROM kernels WHERE correlation IS NOT NULL GROUP BY correlation) AS w \
         ON c.correlation = w.correlation WHERE c.name LIKE '%GraphLaunch%' GROUP BY c.name",
    ),
    Input::sql(
        "clock_pairs",
        "SELECT ticks, host_ns FROM clock_pairs ORDER BY host_ns, ticks",
    ),
    Input::sql(
        "checksums",
        "SELECT COUNT(*) AS checksums, COUNT(nan_count) AS counted FROM checksums",
    ),
    Input::sql(
        "nan_checksums",
        "SELECT COUNT(*) AS checksums FROM checksums WHERE nan_count > 0",
    ),
    Input::sql(
        "decode_calls",
        "SELECT kind, name, thread, iteration, layer, COUNT(*) AS calls FROM bricks \
         WHERE iteration IS NOT NULL AND (kind = 'iteration' OR (kind = 'brick' \
         AND (name = 'LmHead' OR name = 'RmsNorm' OR name = 'AttentionScore'))) \
         GROUP BY kind, name, thread, iteration, layer",
    )
    .optional(),
    RANKS,
    RANK_PROBLEMS,
    // Each rank has a clock of its own.
    Input::sql(
        "rank_clocks",
        "SELECT r.rank AS rank, c.ticks AS ticks, c.host_ns AS host_ns FROM ranks AS r \
         JOIN clock_pairs AS c ON r.rank = c.rank ORDER BY rank, host_ns, ticks",
    )
    .optional(),
];
