//! Settings of sessions: those under which plans are safe.

use ballista_core::config::{
    BALLISTA_CLIENT_IO_RETRIES_TIMES, BALLISTA_CLIENT_PULL,
    BALLISTA_SCHEDULER_MAX_PARTITIONS_PER_TASK,
};
use ballista_core::extension::SessionConfigExt;
use datafusion::prelude::SessionConfig;

/// The settings of a session with plans of this many partitions.
pub fn session(partitions: usize) -> SessionConfig {
    SessionConfig::new_with_ballista()
        // Adaptive plans hang where there is UNION ALL with ORDER BY.
        .with_ballista_adaptive_query_planner(false)
        // One file is one partition, and one partition is one task: a lost executor costs its tasks, and no others.
        .with_target_partitions(partitions)
        .with_repartition_file_scans(false)
        .with_round_robin_repartition(false)
        .set_usize(BALLISTA_SCHEDULER_MAX_PARTITIONS_PER_TASK, 1)
        // Asking again and again notices at once that the scheduler is gone.
        .set_bool(BALLISTA_CLIENT_PULL, true)
        .set_usize(BALLISTA_CLIENT_IO_RETRIES_TIMES, 2)
        // The folder of tasks is new each time: what was known of files is of no use.
        .set_bool("datafusion.execution.collect_statistics", false)
}
