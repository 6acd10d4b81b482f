//! Settings of sessions: those under which plans are safe.

use ballista_core::config::{
    BALLISTA_CLIENT_IO_RETRIES_TIMES, BALLISTA_CLIENT_PULL,
    BALLISTA_SCHEDULER_MAX_PARTITIONS_PER_TASK,
};
use ballista_core::extension::SessionConfigExt;
use datafusion::prelude::SessionConfig;

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
        // Texts as plain texts: neither views of them nor dictionaries are the same on both sides of a shuffle.
        .set_bool(
            "datafusion.execution.parquet.schema_force_view_types",
            false,
        )
        // Filters that a later step finds do not reach a scan in another process.
        .set_bool("datafusion.optimizer.enable_dynamic_filter_pushdown", false)
        // The folder of tasks is new each time: what was known of files is of no use.
        .set_bool("datafusion.execution.collect_statistics", false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without these settings, plans of this version hang or read rows twice.
    #[test]
    fn sessions_are_safe() {
        let session = session(7);
        let ballista = session.ballista_config();
        assert!(!ballista.adaptive_query_planner_enabled());
        assert!(ballista.client_pull());
        let options = session.options();
        assert_eq!(options.execution.target_partitions, 7);
        assert!(!options.optimizer.repartition_file_scans);
        assert!(!options.optimizer.enable_round_robin_repartition);
        assert!(!options.optimizer.enable_dynamic_filter_pushdown);
        assert!(!options.execution.parquet.schema_force_view_types);
    }
}
