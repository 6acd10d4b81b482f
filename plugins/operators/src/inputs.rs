//! Queries over the run.

use trueno_analysis::window::Window;
use trueno_plugin::Input;

/// Inputs of the plugin; where there are no signatures, none is read but those and the names.
pub const INPUTS: [Input; 9] = [
    // Only there where the run was written by a version that keeps shapes.
    Input::sql(
        "signatures",
        "SELECT id, input_dims, input_types, input_strides, concrete_inputs FROM signatures",
    )
    .optional(),
    Input::sql(
        "bricks",
        "SELECT id, parent, thread, start_ns, name_id, dur_ns, signature FROM bricks WHERE timing <> 'bound'",
    ),
    Input::sql(
        "brick_names",
        "SELECT DISTINCT name_id AS id, name AS text FROM bricks",
    ),
    Input::sql(
        "kernels",
        "SELECT brick, device, name_id, start_ns, dur_ns, timing = 'bound' AS is_bound, valid FROM kernels \
         WHERE device IS NOT NULL",
    ),
    Input::sql(
        "kernel_names",
        "SELECT DISTINCT name_id AS id, name AS text FROM kernels WHERE device IS NOT NULL",
    ),
    Input::sql(
        "transfers",
        "SELECT brick, device, start_ns, dur_ns, timing = 'bound' AS is_bound FROM transfers \
         WHERE device IS NOT NULL",
    ),
    trueno_analysis::roofline::ceilings::CEILINGS,
    // Only there where the run was written by a version that keeps them.
    Input::sql("devices", "SELECT device, name FROM devices").optional(),
    // Only there where the report is about a part of the run.
    Window::INPUT,
];
