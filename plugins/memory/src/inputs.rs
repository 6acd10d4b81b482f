//! Queries over the run.

use trueno_analysis::window::Window;
use trueno_plugin::Input;

pub const INPUTS: [Input; 12] = [
    // No ORDER BY: rows of a thread come as they were recorded, and the plugin's own sort by time
    // keeps that order where the clock did not tick in between.
    Input::sql(
        "allocations",
        "SELECT time_ns, thread, span, device, bytes, tag, address, weight, sample_bytes FROM allocations",
    ),
    // Host rows that tell of no rank by thread, device or row of bricks: the column `rank` is only there with ranks.
    Input::sql(
        "no_thread",
        "SELECT r.rank AS rank, a.time_ns AS time_ns, a.thread AS thread, a.span AS span, a.device AS device, \
         a.bytes AS bytes, a.tag AS tag, a.address AS address, a.weight AS weight, a.sample_bytes AS sample_bytes \
         FROM allocations AS a JOIN ranks AS r ON a.rank = r.rank \
         WHERE a.thread IS NULL AND a.span IS NULL AND a.device IS NULL ORDER BY rank, time_ns",
    )
    .optional(),
    Input::sql(
        "owners",
        "SELECT id, kind, name, iteration, layer FROM bricks \
         WHERE id IN (SELECT span FROM allocations WHERE span IS NOT NULL) ORDER BY id",
    ),
    Input::sql(
        "calls",
        "SELECT kind, name, thread, COUNT(*) AS calls FROM bricks \
         GROUP BY kind, name, thread ORDER BY kind, name, thread",
    ),
    Input::sql(
        "iterations",
        "SELECT thread, start_ns, start_ns + dur_ns AS end_ns FROM bricks \
         WHERE kind = 'iteration' AND timing <> 'bound' AND dur_ns >= 0 ORDER BY end_ns, thread",
    ),
    Input::sql("run", "SELECT wall_ns, dropped, clock_source FROM run"),
    // Only there where the report is about a part of the run.
    Window::INPUT,
    Input::sql(
        "calls_of_window",
        "SELECT b.kind AS kind, b.name AS name, b.thread AS thread, COUNT(*) AS calls \
         FROM bricks AS b CROSS JOIN report_window AS w \
         WHERE b.start_ns < w.until_ns AND b.start_ns + b.dur_ns > w.from_ns \
         GROUP BY b.kind, b.name, b.thread ORDER BY kind, name, thread",
    )
    .optional(),
    Input::sql(
        "totals",
        "SELECT time_ns, name, value FROM counters \
         WHERE (name LIKE 'gpu% allocated' OR name LIKE 'gpu% reserved' OR name LIKE 'gpu% free segments' \
         OR name LIKE 'gpu% largest free piece') \
         AND source IN ('measured', 'computed') AND unit = 'bytes'",
    )
    .optional(),
    // Devices of ranks may have the same numbers: the column `rank` is only there with ranks.
    Input::sql(
        "totals_of_ranks",
        "SELECT r.rank AS rank, c.time_ns AS time_ns, c.name AS name, c.value AS value \
         FROM counters AS c JOIN ranks AS r ON c.rank = r.rank \
         WHERE (c.name LIKE 'gpu% allocated' OR c.name LIKE 'gpu% reserved' OR c.name LIKE 'gpu% free segments' \
         OR c.name LIKE 'gpu% largest free piece') AND c.source IN ('measured', 'computed') AND c.unit = 'bytes'",
    )
    .optional(),
    // Only there where the run holds ranks: the host memory of each is its own.
    Input::sql("ranks", "SELECT rank FROM ranks").optional(),
    // Requests that an allocator could not meet.
    Input::sql(
        "failed_requests",
        "SELECT device, time_ns, arguments FROM annotations WHERE kind = 'instant' AND name = 'out of memory' \
         AND device IS NOT NULL AND arguments LIKE '{\"bytes\":%' ORDER BY time_ns",
    )
    .optional(),
];
