//! `trueno-cluster executor`: asks for tasks and runs them.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};

use crate::cli::ExecutorArgs;
use crate::programs::Programs;
use crate::{function, readiness, settings};

/// How long to wait for a scheduler that starts at the same time.
const SCHEDULER_STARTS: Duration = Duration::from_secs(30);

pub async fn serve(args: &ExecutorArgs) -> anyhow::Result<()> {
    let programs = Programs::find(args.analyze.as_deref(), args.fetch_to.as_deref())?;
    let temporary = tempfile::Builder::new()
        .prefix("trueno-cluster.")
        .tempdir()?;
    let work_dir = match &args.work_dir {
        Some(folder) => {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("--work-dir {}", folder.display()))?;
            folder.clone()
        }
        None => temporary.path().to_owned(),
    };
    let bind = with_port(args.bind)?;
    readiness::wait_for_port(&args.scheduler, SCHEDULER_STARTS).await?;
    let mut functions = BallistaFunctionRegistry::default();
    functions
        .scalar_functions
        .insert(function::NAME.to_owned(), function::of_executor(programs));
    let config = ExecutorProcessConfig {
        bind_host: bind.ip().to_string(),
        // Of one that listens everywhere the scheduler takes the address that it asks from.
        external_host: (!bind.ip().is_unspecified()).then(|| bind.ip().to_string()),
        port: bind.port(),
        scheduler_host: args.scheduler.host.clone(),
        scheduler_port: args.scheduler.port,
        vcores: args.tasks.get(),
        task_scheduling_policy: TaskSchedulingPolicy::PullStaged,
        work_dir: Some(text(&work_dir)?),
        job_data_clean_up_interval_seconds: 600,
        job_data_ttl_seconds: 3_600,
        // Rows are a few lines of text; what needs memory are the processes.
        memory_pool_size: Some(0),
        override_function_registry: Some(Arc::new(functions)),
        override_config_producer: Some(Arc::new(|| settings::session(1))),
        ..ExecutorProcessConfig::default()
    };
    eprintln!(
        "trueno-cluster: executor on {bind}, asks {}",
        args.scheduler
    );
    start_executor_process(Arc::new(config)).await?;
    Ok(())
}

fn text(path: &Path) -> anyhow::Result<String> {
    let path = std::path::absolute(path)?;
    let shown = path.display().to_string();
    path.into_os_string()
        .into_string()
        .map_err(|_| anyhow::anyhow!("--work-dir {shown}: it is not UTF-8"))
}

fn with_port(bind: SocketAddr) -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind(bind).with_context(|| format!("--bind {bind}"))?;
    Ok(listener.local_addr()?)
}
