//! Queries over the run, and the same over the baseline.

use trueno_analysis::roofline::ceilings::{BASELINE_CEILINGS, CEILINGS};
use trueno_analysis::window::Window;
use trueno_plugin::Input;

use crate::parts;

const SIGNATURES: &str =
    "SELECT id, input_dims, input_types, input_strides, concrete_inputs FROM signatures";
const BRICKS: &str = "SELECT id, parent, thread, start_ns, name_id, dur_ns, signature FROM bricks WHERE timing <> 'bound'";
const BRICK_NAMES: &str = "SELECT DISTINCT name_id AS id, name AS text FROM bricks";
const KERNELS: &str = "SELECT brick, device, stream, name_id, start_ns, dur_ns, timing = 'bound' AS is_bound, valid FROM kernels \
     WHERE device IS NOT NULL";
const KERNEL_NAMES: &str =
    "SELECT DISTINCT name_id AS id, name AS text FROM kernels WHERE device IS NOT NULL";
const TRANSFERS: &str = "SELECT brick, device, stream, start_ns, dur_ns, timing = 'bound' AS is_bound FROM transfers \
     WHERE device IS NOT NULL";
const DEVICES: &str = "SELECT device, name FROM devices";

const RANKS: &str = "SELECT rank FROM ranks";

const fn baseline(name: &'static str, sql: &'static str) -> Input {
    Input::sql(name, sql).baseline().optional()
}

/// Inputs of the plugin. Without signatures, only those and the names are read.
pub const INPUTS: [Input; 19] = [
    // Only there where the run was written by a version that keeps them, as are devices.
    Input::sql("signatures", SIGNATURES).optional(),
    Input::sql("bricks", BRICKS),
    Input::sql("brick_names", BRICK_NAMES),
    Input::sql("kernels", KERNELS),
    Input::sql("kernel_names", KERNEL_NAMES),
    Input::sql("transfers", TRANSFERS),
    CEILINGS,
    Input::sql("devices", DEVICES).optional(),
    // Only there where the run holds ranks.
    Input::sql("ranks", RANKS).optional(),
    // Only there where the report is about a part of the run.
    Window::INPUT,
    baseline("baseline_signatures", SIGNATURES),
    baseline("baseline_bricks", BRICKS),
    baseline("baseline_brick_names", BRICK_NAMES),
    baseline("baseline_kernels", KERNELS),
    baseline("baseline_kernel_names", KERNEL_NAMES),
    baseline("baseline_transfers", TRANSFERS),
    BASELINE_CEILINGS,
    baseline("baseline_devices", DEVICES),
    baseline("baseline_ranks", RANKS),
];

/// Inputs for merging: the parts, what the roofs of the whole run need, and the baseline, which is not split into
/// parts.
pub const MERGE_INPUTS: [Input; 15] = [
    parts::FACTS,
    parts::TEXTS,
    parts::SHAPES,
    parts::KERNELS,
    CEILINGS,
    Input::sql("devices", DEVICES).optional(),
    baseline("baseline_signatures", SIGNATURES),
    baseline("baseline_bricks", BRICKS),
    baseline("baseline_brick_names", BRICK_NAMES),
    baseline("baseline_kernels", KERNELS),
    baseline("baseline_kernel_names", KERNEL_NAMES),
    baseline("baseline_transfers", TRANSFERS),
    BASELINE_CEILINGS,
    baseline("baseline_devices", DEVICES),
    baseline("baseline_ranks", RANKS),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Run,
    Baseline,
}

impl Side {
    pub fn input(self, name: &str) -> String {
        match self {
            Self::Run => name.to_owned(),
            Self::Baseline => format!("baseline_{name}"),
        }
    }
}
