//! Queries over the run.

use trueno_analysis::window::Window;
use trueno_plugin::Input;

pub const INPUTS: [Input; 3] = [
    // A row a count of a brick. Counts that were scaled are of source `computed`.
    Input::sql(
        "counted",
        "SELECT b.id AS id, b.name AS name, b.start_ns AS start_ns, b.dur_ns AS dur_ns, b.elements AS elements, \
         c.name AS count, c.value AS value, c.source = 'computed' AS is_estimated \
         FROM counters AS c JOIN bricks AS b ON c.span = b.id \
         WHERE b.timing <> 'bound' AND (c.source = 'measured' OR c.source = 'computed') \
         AND (c.name = 'cycles' OR c.name = 'instructions' OR c.name = 'l2_accesses' OR c.name = 'l2_misses' \
         OR c.name = 'l3_accesses' OR c.name = 'l3_misses' OR c.name = 'task_clock' OR c.name = 'page_faults')",
    ),
    // All others. Those of Nsight Compute are of kernels, and in `roofline`; ids of other tools are no values.
    Input::sql(
        "readings",
        "SELECT time_ns, name, unit, source, value FROM counters WHERE source <> 'ncu' \
         AND name NOT LIKE 'external id: %' AND (span IS NULL OR NOT (name = 'cycles' OR name = 'instructions' \
         OR name = 'l2_accesses' OR name = 'l2_misses' OR name = 'l3_accesses' OR name = 'l3_misses' \
         OR name = 'task_clock' OR name = 'page_faults' OR name LIKE 'flops%'))",
    ),
    // Only there where the report is about a part of the run.
    Window::INPUT,
];
