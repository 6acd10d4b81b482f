//! Queries over the run.

use trueno_analysis::window::Window;
use trueno_plugin::Input;

/// Texts come as numbers, with a list of the few distinct ones.
pub const INPUTS: [Input; 8] = [
    Input::sql(
        "calls",
        "SELECT name_id, thread, start_ns, dur_ns, status, target_id, bytes, errno_id FROM calls \
         WHERE kind = 'syscall'",
    )
    .optional(),
    Input::sql(
        "names",
        "SELECT DISTINCT name_id AS id, name AS text FROM calls WHERE kind = 'syscall'",
    )
    .optional(),
    Input::sql(
        "targets",
        "SELECT DISTINCT target_id AS id, target AS text FROM calls \
         WHERE kind = 'syscall' AND target IS NOT NULL",
    )
    .optional(),
    Input::sql(
        "errors",
        "SELECT DISTINCT errno_id AS id, errno AS text FROM calls \
         WHERE kind = 'syscall' AND errno IS NOT NULL",
    )
    .optional(),
    // A call that does nothing but wait stands there with the same times.
    Input::sql(
        "waits",
        "SELECT DISTINCT thread, start_ns, dur_ns FROM syncs \
         WHERE (kind = 'call' OR kind = 'join') AND thread IS NOT NULL",
    )
    .optional(),
    Input::sql(
        "instants",
        "SELECT time_ns, name, arguments FROM annotations \
         WHERE kind = 'instant' AND dur_ns IS NULL AND arguments LIKE '%syscall%'",
    )
    .optional(),
    Input::sql("run", "SELECT wall_ns FROM run").optional(),
    // Only there where the report is about a part of the run.
    Window::INPUT,
];
