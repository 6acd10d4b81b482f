//! `trueno-cluster scheduler`: hands tasks to executors that ask for them.

use std::io::Write;
use std::sync::Arc;

use anyhow::Context;
use ballista_core::config::TaskSchedulingPolicy;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use datafusion::execution::SessionState;
use datafusion::prelude::SessionConfig;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tokio::net::TcpListener;

use crate::cli::SchedulerArgs;
use crate::{function, settings};

pub async fn serve(args: &SchedulerArgs) -> anyhow::Result<()> {
    let listener = TcpListener::bind(args.bind).await;
    let listener = listener.with_context(|| format!("--bind {}", args.bind))?;
    let address = listener.local_addr()?;
    let timeout_s = args.executor_timeout.as_secs().max(1);
    let config = SchedulerConfig {
        bind_host: address.ip().to_string(),
        bind_port: address.port(),
        external_host: address.ip().to_string(),
        // Executors ask: they need no port that the scheduler reaches for tasks, and one that is gone gets none.
        scheduling_policy: TaskSchedulingPolicy::PullStaged,
        executor_timeout_seconds: timeout_s,
        expire_dead_executor_interval_seconds: (timeout_s / 4).clamp(1, 5),
        no_executors_grace_period_seconds: timeout_s,
        // Whoever reaches the scheduler gets results, also where executors are not to be reached.
        enable_embedded_flight_proxy: true,
        override_session_builder: Some(Arc::new(state)),
        override_config_producer: Some(Arc::new(|| settings::session(1))),
        ..SchedulerConfig::default()
    };
    config.validate()?;
    let cluster = BallistaCluster::new_from_config(&config).await?;
    let scheduler =
        create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(config)).await?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "ballista://{address}").and_then(|()| stdout.flush())?;
    start_grpc_service_with_listener(listener, scheduler).await?;
    Ok(())
}

fn state(config: SessionConfig) -> datafusion::common::Result<SessionState> {
    let mut state = ballista_core::utils::default_session_builder(config)?;
    datafusion::execution::FunctionRegistry::register_udf(&mut state, function::in_plans())?;
    Ok(state)
}
