//! Queries over the run.

use trueno_analysis::name_groups::NameGroups;
use trueno_analysis::window::Window;
use trueno_plugin::Input;

use crate::waits::wakers;

/// Texts come as numbers, with a list of the few distinct ones.
pub const INPUTS: [Input; 19] = [
    Input::sql(
        "samples",
        "SELECT time_ns, thread, stack, event_id, period FROM samples",
    )
    .optional(),
    Input::sql(
        "events",
        "SELECT DISTINCT event_id AS id, event AS text FROM samples",
    )
    .optional(),
    Input::sql(
        "stacks",
        "SELECT id, caller, function_id, module_id, file_id, line, inlined FROM stacks",
    )
    .optional(),
    Input::sql(
        "functions",
        "SELECT DISTINCT function_id AS id, \"function\" AS text FROM stacks WHERE \"function\" IS NOT NULL",
    )
    .optional(),
    Input::sql(
        "modules",
        "SELECT DISTINCT module_id AS id, module AS text FROM stacks WHERE module IS NOT NULL",
    )
    .optional(),
    Input::sql(
        "files",
        "SELECT DISTINCT file_id AS id, file AS text FROM stacks WHERE file IS NOT NULL",
    )
    .optional(),
    Input::sql("threads", "SELECT thread, name, start_ns FROM threads").optional(),
    Input::sql(
        "waits",
        "SELECT id, thread, name_id AS call_id, start_ns, dur_ns, stack, kind = 'runnable' AS is_runnable FROM syncs \
         WHERE kind = 'off_cpu' OR kind = 'runnable'",
    )
    .optional(),
    Input::sql(
        "wait_calls",
        "SELECT DISTINCT name_id AS id, name AS text FROM syncs WHERE kind = 'off_cpu' AND name IS NOT NULL",
    )
    .optional(),
    wakers::WAKINGS.optional(),
    wakers::STRETCHES.optional(),
    // Read by the sampler where all switches of the thread are known.
    Input::sql(
        "cpu_times",
        "SELECT thread, time_ns FROM counters WHERE name = 'cpu_time' AND source = 'measured' AND thread IS NOT NULL",
    )
    .optional(),
    // Rows that only contain the work say nothing about a moment inside them.
    Input::sql(
        "bricks",
        "SELECT id, thread, start_ns, dur_ns, kind_id, name_id FROM bricks \
         WHERE timing <> 'bound' AND thread IN (SELECT thread FROM samples)",
    )
    .optional(),
    Input::sql(
        "brick_kinds",
        "SELECT DISTINCT kind_id AS id, kind AS text FROM bricks",
    )
    .optional(),
    Input::sql(
        "brick_names",
        "SELECT DISTINCT name_id AS id, name AS text FROM bricks",
    )
    .optional(),
    Input::sql(
        "kernels",
        "SELECT id, thread, start_ns, dur_ns, name_id FROM kernels \
         WHERE device IS NULL AND timing <> 'bound' AND thread IN (SELECT thread FROM samples)",
    )
    .optional(),
    Input::sql(
        "kernel_names",
        "SELECT DISTINCT name_id AS id, name AS text FROM kernels WHERE device IS NULL",
    )
    .optional(),
    NameGroups::INPUT,
    // Only there where the report is about a part of the run.
    Window::INPUT,
];
