//! Queries over the run.

use trueno_analysis::window::Window;
use trueno_plugin::Input;

/// Inputs of the plugin.
pub const INPUTS: [Input; 7] = [
    Input::sql(
        "iterations",
        "SELECT id, thread, iteration, start_ns, dur_ns, timing = 'bound' AS is_bound FROM bricks \
         WHERE kind = 'iteration' ORDER BY start_ns, id",
    ),
    Input::sql(
        "declared",
        "SELECT c.span AS span, c.name AS name, c.value AS value FROM counters AS c JOIN bricks AS b ON c.span = b.id \
         WHERE b.kind = 'iteration' AND (c.name = 'tokens' OR c.name = 'samples') \
         AND (c.source = 'declared' OR c.source = 'measured') ORDER BY span, name, value",
    ),
    Input::sql(
        "declared_all",
        "SELECT name, COUNT(*) AS readings FROM counters WHERE name = 'tokens' OR name = 'samples' \
         GROUP BY name ORDER BY name",
    ),
    // Self time by name: time of the rows, less that of the rows right below on the same thread.
    Input::sql(
        "own",
        "SELECT thread, iteration, kind, name, SUM(dur_ns) AS dur_ns FROM bricks \
         WHERE iteration IS NOT NULL AND timing <> 'bound' \
         GROUP BY thread, iteration, kind, name ORDER BY thread, iteration, kind, name",
    ),
    Input::sql(
        "below",
        "SELECT thread, iteration, kind, name, SUM(dur_ns) AS dur_ns FROM ( \
         SELECT p.thread AS thread, p.iteration AS iteration, p.kind AS kind, p.name AS name, c.dur_ns AS dur_ns \
         FROM bricks AS c JOIN bricks AS p ON c.parent = p.id \
         WHERE c.thread = p.thread AND c.timing <> 'bound' AND p.timing <> 'bound' AND p.iteration IS NOT NULL \
         ) AS pairs GROUP BY thread, iteration, kind, name ORDER BY thread, iteration, kind, name",
    ),
    // Only there where the report is about a part of the run.
    Window::INPUT,
    // Only there where the run holds ranks; threads then hold their rank.
    Input::sql("ranks", "SELECT rank FROM ranks").optional(),
];
