//! Profiles of Bazel, by the categories of its rows: descriptions in `ProfilerTask.java`.

use super::event::Event;

pub(super) const OF_CRITICAL_PATH: &str =
    "component of Bazel's critical path: its action has a row of its own";

/// Categories of rows in which a thread of Bazel waits for another thread, a process, a lock or a server.
const WAITS: [&[u8]; 11] = [
    b"Acquiring dynamic execution output lock",
    b"Remote execution process wall time",
    b"Remote execution queuing time",
    b"action resource lock",
    b"blocked on repo contents cache GC",
    b"borrowing a worker",
    b"remote action cache check",
    b"remote action execution",
    b"skyframe evaluator",
    b"thread wait",
    b"waiting for response from worker",
];

/// True of a row that repeats one of another lane.
pub(super) fn is_of_critical_path(event: &Event) -> bool {
    event.category == b"critical path component"
}

pub(super) fn only_waits(event: &Event) -> bool {
    // Commands that repository rules run: `local: COMMAND`, in a process of its own.
    let runs_command = event.category == b"Starlark repository function call"
        && (event.name.starts_with(b"local: ") || event.name.starts_with(b"remote: "));
    runs_command || WAITS.contains(&event.category.as_slice())
}
