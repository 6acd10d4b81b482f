//! Queries over the run.

use trueno_analysis::lanes;
use trueno_plugin::Input;

pub const EDGES: Input = Input::sql(
    "edges",
    "SELECT \"from\" AS from_id, \"to\" AS to_id, kind FROM edges",
)
.optional();
pub const TASKS: Input = Input::sql(
    "tasks",
    "SELECT parent AS from_id, id AS to_id FROM bricks WHERE kind = 'task' AND parent IS NOT NULL",
)
.optional();
pub const KERNEL_LAUNCHES: Input = Input::sql(
    "kernel_launches",
    "SELECT c.id AS from_id, k.id AS to_id FROM calls AS c JOIN kernels AS k ON c.correlation = k.correlation \
     WHERE k.device IS NOT NULL",
)
.optional();
pub const TRANSFER_LAUNCHES: Input = Input::sql(
    "transfer_launches",
    "SELECT c.id AS from_id, t.id AS to_id FROM calls AS c JOIN transfers AS t ON c.correlation = t.correlation \
     WHERE t.device IS NOT NULL",
)
.optional();
/// Kinds of edges, of bricks, and names of calls: without edges, tasks and calls no event of a lane is ordered with
/// those of another.
pub const EDGE_KINDS: Input = Input::sql(
    "edge_kinds",
    "SELECT DISTINCT kind_id AS id, kind AS text FROM edges",
)
.optional();
pub const KINDS_OF_BRICKS: Input = Input::sql(
    "kinds_of_bricks",
    "SELECT DISTINCT kind_id AS id, kind AS text FROM bricks",
)
.optional();
pub const NAMES_OF_CALLS: Input = Input::sql(
    "names_of_calls",
    "SELECT DISTINCT name_id AS id, name AS text FROM calls",
)
.optional();
pub const PROCESSES: Input = Input::sql(
    "processes",
    "SELECT thread, process FROM threads WHERE process IS NOT NULL",
)
.optional();
/// Ranks of the job; the input is absent if the run has none.
pub const JOB: Input = Input::sql("job", "SELECT rank FROM ranks").optional();

const OWN: [Input; 9] = [
    EDGES,
    EDGE_KINDS,
    KINDS_OF_BRICKS,
    NAMES_OF_CALLS,
    TASKS,
    KERNEL_LAUNCHES,
    TRANSFER_LAUNCHES,
    PROCESSES,
    JOB,
];

pub const INPUTS: [Input; lanes::INPUTS.len() + OWN.len()] = {
    let mut all = [OWN[0]; lanes::INPUTS.len() + OWN.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < lanes::INPUTS.len() {
            lanes::INPUTS[at]
        } else {
            OWN[at - lanes::INPUTS.len()]
        };
        at += 1;
    }
    all
};
