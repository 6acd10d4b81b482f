//! Queries over the run.

use trueno_analysis::lanes::CATEGORY_RULES;
use trueno_analysis::steps;
use trueno_analysis::window::Window;
use trueno_plugin::Input;

pub const INPUTS: [Input; 8] = [
    Input::sql(
        "kernels",
        "SELECT id, name, device, stream, correlation, start_ns, dur_ns, timing = 'bound' AS is_bound, valid, \
         grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, smem_static, smem_dynamic, smem \
         FROM kernels WHERE device IS NOT NULL",
    )
    .optional(),
    Input::sql(
        "transfers",
        "SELECT id, direction AS name, device, stream, correlation, start_ns, dur_ns, bytes, timing = 'bound' AS is_bound \
         FROM transfers WHERE device IS NOT NULL",
    )
    .optional(),
    // Several calls of one correlation are nested: the one that began first is what the program called.
    Input::sql(
        "calls",
        "SELECT correlation, start_ns, dur_ns FROM calls WHERE correlation IS NOT NULL",
    )
    .optional(),
    // Launches of traces without correlations.
    Input::sql(
        "launches",
        "SELECT e.\"to\" AS work, c.start_ns AS start_ns, c.dur_ns AS dur_ns FROM edges AS e JOIN calls AS c ON c.id = e.\"from\" \
         WHERE e.kind = 'launches' AND c.correlation IS NULL",
    )
    .optional(),
    Input::sql(
        "devices",
        "SELECT device, multiprocessors, compute_capability FROM devices",
    )
    .optional(),
    steps::INPUT,
    CATEGORY_RULES,
    // Only there where the report is about a part of the run.
    Window::INPUT,
];
