//! Queries over the run.

use trueno_analysis::window::Window;
use trueno_plugin::Input;

/// Inputs of the plugin.
pub const INPUTS: [Input; 3] = [
    // A row a brick that was counted. Counts that were scaled are of source `computed`.
    Input::sql(
        "bricks",
        "SELECT b.name AS name, b.start_ns AS start_ns, b.dur_ns AS dur_ns, b.elements AS elements, \
         c.is_estimated AS is_estimated, c.cycles AS cycles, c.instructions AS instructions, \
         c.l2_accesses AS l2_accesses, c.l2_misses AS l2_misses, c.l3_accesses AS l3_accesses, \
         c.l3_misses AS l3_misses, c.task_clock AS task_clock, c.page_faults AS page_faults \
         FROM bricks AS b JOIN ( \
         SELECT span, MAX(CASE WHEN source = 'computed' THEN 1 ELSE 0 END) AS is_estimated, \
         MAX(CASE WHEN name = 'cycles' THEN value END) AS cycles, \
         MAX(CASE WHEN name = 'instructions' THEN value END) AS instructions, \
         MAX(CASE WHEN name = 'l2_accesses' THEN value END) AS l2_accesses, \
         MAX(CASE WHEN name = 'l2_misses' THEN value END) AS l2_misses, \
         MAX(CASE WHEN name = 'l3_accesses' THEN value END) AS l3_accesses, \
         MAX(CASE WHEN name = 'l3_misses' THEN value END) AS l3_misses, \
         MAX(CASE WHEN name = 'task_clock' THEN value END) AS task_clock, \
         MAX(CASE WHEN name = 'page_faults' THEN value END) AS page_faults \
         FROM counters WHERE span IS NOT NULL AND (source = 'measured' OR source = 'computed') \
         AND (name = 'cycles' OR name = 'instructions' OR name = 'l2_accesses' OR name = 'l2_misses' \
         OR name = 'l3_accesses' OR name = 'l3_misses' OR name = 'task_clock' OR name = 'page_faults') \
         GROUP BY span) AS c ON c.span = b.id WHERE b.timing <> 'bound'",
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
