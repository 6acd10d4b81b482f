//! `trueno-cluster query`: answers to questions over the tables of a job, each over one table.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use ballista_core::extension::SessionStateExt;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::address::Address;
use crate::attempts::repeated;
use crate::cli::QueryArgs;
use crate::readiness;
use crate::submission::cancel;
use crate::{plan_shape, settings};

/// Column that is encoded in the folder names.
const RANK: &str = "rank";
/// How long to wait for executors that start at the same time.
const EXECUTORS_START: Duration = Duration::from_secs(20);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Questions {
    questions: Vec<Question>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    table: String,
    columns: Vec<Column>,
    sql: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Column {
    name: String,
    #[serde(rename = "type")]
    ty: String,
}

#[derive(Debug, Serialize)]
struct Answered {
    rows: Vec<u64>,
}

pub async fn run(args: &QueryArgs, is_verbose: bool) -> anyhow::Result<()> {
    let deadline = Instant::now() + args.deadline;
    let text = std::io::read_to_string(std::io::stdin()).context("standard input")?;
    let questions: Questions = serde_json::from_str(&text).context("standard input")?;
    let tables = args.tables.canonicalize();
    let tables = tables.with_context(|| format!("--tables {}", args.tables.display()))?;
    let patience = EXECUTORS_START.min(args.deadline);
    readiness::wait_for_executors(&args.engine, patience).await?;
    let mut answered = Answered { rows: Vec::new() };
    for (number, question) in questions.questions.iter().enumerate() {
        let so_far: u64 = answered.rows.iter().sum();
        let asking = Asking {
            scheduler: &args.engine,
            tables: &tables,
            tasks: args.tasks.get(),
            max_rows: args.max_rows.saturating_sub(so_far),
            all_rows: args.max_rows,
            deadline,
            out: args.out.join(format!("{number}.arrow")),
            is_verbose,
        };
        answered.rows.push(asking.ask(question).await?);
    }
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{}", serde_json::to_string(&answered)?).and_then(|()| stdout.flush())?;
    Ok(())
}

struct Asking<'a> {
    scheduler: &'a Address,
    tables: &'a Path,
    tasks: usize,
    max_rows: u64,
    all_rows: u64,
    deadline: Instant,
    out: PathBuf,
    is_verbose: bool,
}

impl Asking<'_> {
    /// Writes the answer and returns its number of rows. If Ballista cannot finish the query, it is sent again
    /// while there are executors.
    async fn ask(&self, question: &Question) -> anyhow::Result<u64> {
        let again = |error: &anyhow::Error| {
            if self.is_verbose {
                eprintln!("it is sent again: {error:#}");
            }
        };
        repeated(self.scheduler, self.deadline, again, async |_| {
            if self.is_verbose {
                eprintln!("{}", question.sql);
            }
            self.answer(question).await
        })
        .await
    }

    /// One attempt. The outer error is final: too many rows, or an invalid plan.
    async fn answer(&self, question: &Question) -> anyhow::Result<anyhow::Result<u64>> {
        let folder = self.tables.join(&question.table);
        let session = settings::session(self.tasks);
        let state = SessionStateBuilder::new()
            .with_default_features()
            .with_config(session)
            .build();
        let state = state.upgrade_for_ballista(self.scheduler.url())?;
        let context = SessionContext::new_with_state(state);
        register(&context, &folder, question)?;
        let frame = context.sql(&question.sql).await;
        let frame = frame.with_context(|| question.sql.clone())?;
        plan_shape::check(frame.logical_plan())?;
        let plan = frame.create_physical_plan().await?;
        let schema = plain(&plan.schema());
        let mut stream = match execute_stream(plan.clone(), context.task_ctx()) {
            Ok(stream) => stream,
            Err(error) => return Ok(Err(error.into())),
        };
        let written = self.write(&mut stream, &schema).await;
        if !matches!(written, Ok(Ok(_))) {
            cancel(self.scheduler, &plan).await;
        }
        written
    }

    /// Writes rows as they arrive. The outer error is final.
    async fn write(
        &self,
        stream: &mut SendableRecordBatchStream,
        schema: &SchemaRef,
    ) -> anyhow::Result<anyhow::Result<u64>> {
        let mut rows = 0;
        let file = File::create(&self.out).with_context(|| self.out.display().to_string())?;
        let mut writer = StreamWriter::try_new(BufWriter::new(file), schema)?;
        loop {
            let batch = match timeout_at(self.deadline, stream.next()).await {
                Err(_) => {
                    bail!("the cluster did not answer by the deadline (hint: --timeout TIME)")
                }
                Ok(None) => break,
                Ok(Some(Ok(batch))) => batch,
                Ok(Some(Err(error))) => return Ok(Err(error.into())),
            };
            rows += batch.num_rows() as u64;
            ensure!(
                rows <= self.max_rows,
                "more than {} rows would be collected here (hint: group or filter rows by whole numbers and texts, which \
                 the cluster does, or --max-rows N)",
                self.all_rows
            );
            writer.write(&cast_to(&batch, schema)?)?;
        }
        writer.finish()?;
        Ok(Ok(rows))
    }
}

/// Registers the table of a query: all its files, with the rank from their folders.
fn register(context: &SessionContext, folder: &Path, question: &Question) -> anyhow::Result<()> {
    // An address: a path would be read as a pattern.
    let url = Url::from_directory_path(folder)
        .map_err(|()| anyhow!("{}: it is not absolute", folder.display()))?;
    ensure!(
        folder.is_dir(),
        "{}: there is no such table",
        folder.display()
    );
    let options = ListingOptions::new(Arc::new(ParquetFormat::default()))
        .with_file_extension(".parquet")
        .with_table_partition_cols(vec![(RANK.to_owned(), DataType::UInt64)]);
    let fields = question.columns.iter().map(|column| {
        let ty = match column.ty.as_str() {
            "u32" => DataType::UInt32,
            "u64" => DataType::UInt64,
            "i64" => DataType::Int64,
            "f64" => DataType::Float64,
            "bool" => DataType::Boolean,
            "text" => DataType::Utf8,
            ty => bail!("{}.{}: {ty} is not a type", question.table, column.name),
        };
        Ok(Field::new(&column.name, ty, true))
    });
    let schema = Schema::new(fields.collect::<anyhow::Result<Vec<Field>>>()?);
    let table = ListingTableConfig::new(ListingTableUrl::try_new(url, None)?)
        .with_listing_options(options)
        .with_schema(Arc::new(schema));
    let table = Arc::new(ListingTable::try_new(table)?);
    let name = datafusion::common::TableReference::bare(question.table.as_str());
    context.register_table(name, table)?;
    Ok(())
}

/// The schema of an answer, with plain strings.
fn plain(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| {
        let ty = match field.data_type() {
            DataType::Utf8View | DataType::LargeUtf8 | DataType::Dictionary(..) => DataType::Utf8,
            ty => ty.clone(),
        };
        Field::new(field.name(), ty, true)
    });
    Arc::new(Schema::new(fields.collect::<Vec<Field>>()))
}

fn cast_to(batch: &RecordBatch, schema: &SchemaRef) -> anyhow::Result<RecordBatch> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| cast(column, field.data_type()));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    Ok(RecordBatch::try_new(schema.clone(), columns)?)
}
