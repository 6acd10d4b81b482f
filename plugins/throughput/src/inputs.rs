//! Queries over the run.

use trueno_analysis::name_groups::NameGroups;
use trueno_analysis::window::Window;
use trueno_plugin::Input;

pub const INPUTS: [Input; 10] = [
    Input::sql(
        "iterations",
        "SELECT id, thread, iteration, start_ns, dur_ns, timing = 'bound' AS is_bound FROM bricks \
         WHERE kind = 'iteration'",
    ),
    // Those on rows of iterations count.
    Input::sql(
        "declared",
        "SELECT span, name, value FROM counters WHERE (name = 'tokens' OR name = 'samples') \
         AND (source = 'declared' OR source = 'measured')",
    ),
    Input::sql(
        "declared_all",
        "SELECT name, COUNT(*) AS readings FROM counters WHERE name = 'tokens' OR name = 'samples' \
         GROUP BY name ORDER BY name",
    ),
    Input::sql(
        "bricks",
        "SELECT id, parent, thread, iteration, kind_id, name_id, dur_ns FROM bricks WHERE timing <> 'bound'",
    ),
    Input::sql(
        "brick_kinds",
        "SELECT DISTINCT kind_id AS id, kind AS text FROM bricks",
    ),
    Input::sql(
        "brick_names",
        "SELECT DISTINCT name_id AS id, name AS text FROM bricks",
    ),
    NameGroups::INPUT,
    // Only there where the report is about a part of the run.
    Window::INPUT,
    // How long it is: steps at its ends may be cut off.
    Input::sql("run", "SELECT wall_ns, clock_source FROM run").optional(),
    // Only there where the run holds ranks; threads then hold their rank.
    Input::sql("ranks", "SELECT rank FROM ranks").optional(),
];
