//! The queries that lanes are made of.
//!
//! Rows come unsorted: sorting lanes here costs a tenth of an `ORDER BY` over
//! four columns. Texts come as numbers, with a list of the few distinct ones.

use trueno_plugin::Input;

use crate::name_groups::NameGroups;
use crate::window::Window;

/// Categories of names, where the host has rules for names.
pub const CATEGORY_RULES: Input = Input::sql(
    "category_rules",
    "SELECT name, category FROM category_rules",
)
.optional();

/// All inputs of [`load`](super::load), to be listed by the plugin.
pub const INPUTS: [Input; 20] = [
    Input::sql("run", "SELECT wall_ns FROM run"),
    Input::sql("threads", "SELECT thread, name FROM threads"),
    Input::sql(
        "bricks",
        "SELECT id, thread, start_ns, dur_ns, kind_id, name_id, category_id, elements, timing = 'bound' AS is_bound FROM bricks",
    ),
    Input::sql(
        "kernels",
        "SELECT id, brick, thread, device, stream, start_ns, dur_ns, name_id, elements, timing = 'bound' AS is_bound, valid FROM kernels",
    ),
    Input::sql(
        "tiles",
        "SELECT id, thread, start_ns, dur_ns, level_id, elements FROM tiles",
    ),
    Input::sql(
        "syncs",
        "SELECT id, thread, device, stream, start_ns, dur_ns, kind_id FROM syncs",
    ),
    Input::sql(
        "calls",
        "SELECT id, brick, thread, start_ns, dur_ns, name_id FROM calls",
    ),
    Input::sql(
        "transfers",
        "SELECT id, brick, thread, device, stream, start_ns, dur_ns, direction_id, timing = 'bound' AS is_bound FROM transfers",
    ),
    Input::sql(
        "brick_kinds",
        "SELECT DISTINCT kind_id AS id, kind AS text FROM bricks",
    ),
    Input::sql(
        "brick_names",
        "SELECT DISTINCT name_id AS id, name AS text FROM bricks",
    ),
    Input::sql(
        "brick_categories",
        "SELECT DISTINCT category_id AS id, category AS text FROM bricks",
    ),
    Input::sql(
        "kernel_names",
        "SELECT DISTINCT name_id AS id, name AS text FROM kernels",
    ),
    Input::sql(
        "tile_levels",
        "SELECT DISTINCT level_id AS id, level AS text FROM tiles",
    ),
    Input::sql(
        "sync_kinds",
        "SELECT DISTINCT kind_id AS id, kind AS text FROM syncs",
    ),
    Input::sql(
        "call_names",
        "SELECT DISTINCT name_id AS id, name AS text FROM calls",
    ),
    Input::sql(
        "transfer_directions",
        "SELECT DISTINCT direction_id AS id, direction AS text FROM transfers",
    ),
    CATEGORY_RULES,
    NameGroups::INPUT,
    Window::INPUT,
    // Only there where the run holds ranks.
    Input::sql("ranks", "SELECT rank FROM ranks").optional(),
];
