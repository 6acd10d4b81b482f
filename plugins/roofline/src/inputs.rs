//! The queries to the run, and the same to the baseline; those of the merging of parts.

use trueno_analysis::lanes::CATEGORY_RULES;
use trueno_analysis::name_groups::NameGroups;
use trueno_analysis::roofline::ceilings::{BASELINE_CEILINGS, CEILINGS};
use trueno_analysis::window::Window;
use trueno_plugin::Input;

use crate::{operators, parts};

const BRICKS: &str = "SELECT id, thread, start_ns, dur_ns, name_id, category_id, backend_id, flops, \
     bytes_read + bytes_written AS bytes, timing = 'bound' AS is_bound, \
     kind = 'run' OR kind = 'iteration' OR kind = 'layer' AS is_frame FROM bricks";
const TASKS: &str = "SELECT parent, thread FROM bricks WHERE kind = 'task' AND parent IS NOT NULL";
const BRICK_NAMES: &str = "SELECT DISTINCT name_id AS id, name AS text FROM bricks";
const BRICK_CATEGORIES: &str = "SELECT DISTINCT category_id AS id, category AS text FROM bricks";
const BRICK_BACKENDS: &str = "SELECT DISTINCT backend_id AS id, backend AS text FROM bricks";
const KERNELS: &str = "SELECT id, brick, thread, device, stream, start_ns, dur_ns, name_id, backend_id, flops, bytes, \
     timing = 'bound' AS is_bound, valid FROM kernels";
// Read before the bricks, which are read before the kernels.
const KERNEL_LINKS: &str = "SELECT id, brick, device, flops FROM kernels WHERE brick IS NOT NULL";
const KERNEL_NAMES: &str = "SELECT DISTINCT name_id AS id, name AS text FROM kernels";
const KERNEL_BACKENDS: &str = "SELECT DISTINCT backend_id AS id, backend AS text FROM kernels";
// By ncu of kernels, and by the CPU's counters of bricks; of the latter not those that were scaled (`computed`).
const COUNTERS: &str = "SELECT span, name, value FROM counters WHERE span IS NOT NULL \
     AND ((source = 'ncu' AND (name = 'dram_bytes' OR name LIKE 'flops_%')) \
     OR (source = 'measured' AND (name = 'flops' OR name = 'flops_f32' OR name = 'flops_f64'))) ORDER BY span, name, value";

const fn baseline(name: &'static str, sql: &'static str) -> Input {
    Input::sql(name, sql).baseline().optional()
}

pub const INPUTS: [Input; 29] = [
    Input::sql("bricks", BRICKS),
    Input::sql("tasks", TASKS),
    Input::sql("brick_names", BRICK_NAMES),
    Input::sql("brick_categories", BRICK_CATEGORIES),
    Input::sql("brick_backends", BRICK_BACKENDS),
    Input::sql("kernels", KERNELS),
    Input::sql("kernel_links", KERNEL_LINKS),
    Input::sql("kernel_names", KERNEL_NAMES),
    Input::sql("kernel_backends", KERNEL_BACKENDS),
    Input::sql("counters", COUNTERS),
    CEILINGS,
    CATEGORY_RULES,
    NameGroups::INPUT,
    Window::INPUT,
    operators::BY_SHAPE,
    operators::BY_CATEGORY,
    operators::PLACED,
    operators::ROOFS,
    baseline("baseline_bricks", BRICKS),
    baseline("baseline_tasks", TASKS),
    baseline("baseline_brick_names", BRICK_NAMES),
    baseline("baseline_brick_categories", BRICK_CATEGORIES),
    baseline("baseline_brick_backends", BRICK_BACKENDS),
    baseline("baseline_kernels", KERNELS),
    baseline("baseline_kernel_links", KERNEL_LINKS),
    baseline("baseline_kernel_names", KERNEL_NAMES),
    baseline("baseline_kernel_backends", KERNEL_BACKENDS),
    baseline("baseline_counters", COUNTERS),
    BASELINE_CEILINGS,
];

/// Inputs for merging: the parts, and what their sums are compared with.
pub const MERGE_INPUTS: [Input; 22] = [
    parts::CALLS,
    parts::INNERMOST,
    parts::BUSY,
    parts::EXCLUDED,
    parts::ONE_FIGURE,
    CEILINGS,
    NameGroups::INPUT,
    operators::BY_SHAPE,
    operators::BY_CATEGORY,
    operators::PLACED,
    operators::ROOFS,
    baseline("baseline_bricks", BRICKS),
    baseline("baseline_tasks", TASKS),
    baseline("baseline_brick_names", BRICK_NAMES),
    baseline("baseline_brick_categories", BRICK_CATEGORIES),
    baseline("baseline_brick_backends", BRICK_BACKENDS),
    baseline("baseline_kernels", KERNELS),
    baseline("baseline_kernel_links", KERNEL_LINKS),
    baseline("baseline_kernel_names", KERNEL_NAMES),
    baseline("baseline_kernel_backends", KERNEL_BACKENDS),
    baseline("baseline_counters", COUNTERS),
    BASELINE_CEILINGS,
];
