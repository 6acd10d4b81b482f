//! One plan for Ballista: a scan of task files, one a partition, and the function that runs them.
//!
//! Plans of other shapes lose rows, double them or hang in this version of Ballista: leaf nodes of our own, globs in
//! paths of tables, UNION of many branches. This one has no shuffle, and its tasks fail and are repeated one by one.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use ballista_core::execution_plans::DistributedQueryExec;
use ballista_core::extension::SessionStateExt;
use ballista_core::serde::protobuf::CancelJobParams;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::datasource::file_format::json::JsonFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{SessionContext, col};
use datafusion_proto::protobuf::LogicalPlanNode;
use serde_json::json;
use tempfile::TempDir;
use tokio::time::timeout;
use url::Url;

use crate::address::Address;
use crate::task::Envelope;
use crate::{function, settings};

const TASK: &str = "task";
/// Time that a scheduler has to accept a cancellation.
const CANCELS: Duration = Duration::from_secs(3);

pub struct Submission {
    scheduler: Address,
    context: SessionContext,
    plan: Arc<dyn ExecutionPlan>,
    _files: TempDir,
}

impl Submission {
    /// Writes the tasks next to the parts, where all machines can read them, and plans.
    ///
    /// # Errors
    /// A file cannot be written; there is no such plan.
    pub async fn new(
        scheduler: &Address,
        parts: &Path,
        tasks: &[Envelope],
    ) -> anyhow::Result<Self> {
        let files = write(parts, tasks).with_context(|| format!("--parts {}", parts.display()))?;
        let state = SessionStateBuilder::new()
            .with_default_features()
            .with_config(settings::session(tasks.len()))
            .build();
        let state = state.upgrade_for_ballista(scheduler.url())?;
        let context = SessionContext::new_with_state(state);
        let function = function::in_plans();
        context.register_udf(function.as_ref().clone());
        // An address: a path would be read as a pattern.
        let folder = Url::from_directory_path(files.path())
            .map_err(|()| anyhow!("{}: it is not absolute", files.path().display()))?;
        let options =
            ListingOptions::new(Arc::new(JsonFormat::default())).with_file_extension(".json");
        let schema = Schema::new(vec![Field::new(TASK, DataType::Utf8, false)]);
        let table = ListingTableConfig::new(ListingTableUrl::try_new(folder, None)?)
            .with_listing_options(options)
            .with_schema(Arc::new(schema));
        let table = context.read_table(Arc::new(ListingTable::try_new(table)?))?;
        let answer = function.call(vec![col(TASK)]).alias("answer");
        let table = table.select(vec![col(TASK), answer])?;
        let plan = table.create_physical_plan().await?;
        Ok(Self {
            scheduler: scheduler.clone(),
            context,
            plan,
            _files: files,
        })
    }

    /// Runs the tasks. Returns pairs of task and answer, in any order.
    ///
    /// # Errors
    /// The cluster does not bring it to an end.
    pub async fn rows(&self) -> anyhow::Result<Vec<(String, String)>> {
        let batches = collect(self.plan.clone(), self.context.task_ctx()).await?;
        let mut rows = Vec::new();
        for batch in &batches {
            rows.extend(pairs(batch)?);
        }
        Ok(rows)
    }

    pub async fn cancel(&self) {
        cancel(&self.scheduler, &self.plan).await;
    }
}

pub async fn cancel(scheduler: &Address, plan: &Arc<dyn ExecutionPlan>) {
    let query = plan.downcast_ref::<DistributedQueryExec<LogicalPlanNode>>();
    let Some(job) = query.and_then(DistributedQueryExec::job_id) else {
        return;
    };
    let cancelled = async {
        let mut client = SchedulerGrpcClient::connect(scheduler.url()).await?;
        let job_id = job.into_inner();
        anyhow::Ok(client.cancel_job(CancelJobParams { job_id }).await?)
    };
    match timeout(CANCELS, cancelled).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => log::warn!("the job is not cancelled: {error}"),
        Err(_) => log::warn!("the job is not cancelled: the scheduler does not answer"),
    }
}

/// Writes a folder of task files with one line each.
fn write(parts: &Path, tasks: &[Envelope]) -> anyhow::Result<TempDir> {
    let folder = tempfile::Builder::new()
        .prefix("tasks.")
        // As far as the umask lets others read: executors may be theirs.
        .permissions(Permissions::from_mode(0o777))
        .tempdir_in(parts)?;
    for (number, task) in tasks.iter().enumerate() {
        let line = json!({ TASK: serde_json::to_string(task)? });
        fs::write(
            folder.path().join(format!("{number}.json")),
            format!("{line}\n"),
        )?;
    }
    Ok(folder)
}

fn pairs(batch: &RecordBatch) -> anyhow::Result<Vec<(String, String)>> {
    ensure!(
        batch.num_columns() == 2,
        "an answer has different columns than requested"
    );
    let column = |at: usize| {
        let column = batch.column(at).as_string_opt::<i32>();
        column.context("an answer has different types than requested")
    };
    let pairs = column(0)?.iter().zip(column(1)?.iter());
    pairs
        .map(|(task, answer)| Some((task?.to_owned(), answer?.to_owned())))
        .collect::<Option<_>>()
        .context("an answer is null")
}
