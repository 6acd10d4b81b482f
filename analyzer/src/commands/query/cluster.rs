//! Queries over tables that a cluster reads: `trueno-cluster query`, a command of its own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use polars::prelude::{DataFrame, IpcStreamReader, SerReader};
use serde_json::json;
use trueno_engine::query::{Database, Division, Piece, RowsOfRanks};
use trueno_engine::run::Run;
use trueno_export::TableFolder;

use super::limits;
use crate::cli::{Engine, QueryArgs};
use crate::commands::cluster::{Ended, program};
use crate::commands::parquet::write_tables;
use crate::commands::stderr::Stderr;

pub(super) struct Cluster<'a> {
    url: &'a str,
    folder: PathBuf,
    tables: TableFolder,
    rows: RowsOfRanks,
    max_rows: u64,
    deadline: Duration,
    stderr: &'a Stderr,
}

impl<'a> Cluster<'a> {
    /// The cluster of a query and the tables that its machines read, which are created if they are missing.
    /// `None` if the query runs locally.
    ///
    /// # Errors
    /// There is no folder for tables; they are of another job, or cannot be created.
    pub(super) fn open(
        args: &'a QueryArgs,
        run: &Run,
        stderr: &'a Stderr,
    ) -> anyhow::Result<Option<Self>> {
        let Engine::Ballista(url) = &args.engine else {
            return Ok(None);
        };
        let folder = args.tables.clone().with_context(|| {
            format!(
                "--engine {url}: tables need a folder that all machines see (hint: --tables DIR)"
            )
        })?;
        if !args.others.is_empty() {
            bail!("--engine {url}: a cluster reads the tables of one job, without --run");
        }
        let is_empty = |folder: &Path| match fs::read_dir(folder) {
            Ok(mut entries) => entries.next().is_none(),
            Err(_) => !folder.exists(),
        };
        if is_empty(&folder) {
            stderr.step(&format!("writing tables to {}", folder.display()));
            write_tables(run, &folder, false, stderr)?;
        }
        let tables = TableFolder::read(&folder)?;
        if !tables.is_of(run.hash_of_files()?) {
            bail!(
                "{}: tables of other files than {} has (hint: trueno-analyze export parquet --by-table --overwrite {1} -o {0})",
                folder.display(),
                args.run.display()
            );
        }
        let rows = tables.tables.iter();
        let rows = rows.map(|(name, table)| (name.clone(), table.rows_of_rank.clone()));
        Ok(Some(Self {
            url,
            rows: rows.collect(),
            folder,
            tables,
            max_rows: args.max_rows,
            deadline: args.timeout.unwrap_or(limits::DEFAULT_TIME),
            stderr,
        }))
    }

    pub(super) fn refuse(&self, table: &str) -> anyhow::Result<()> {
        bail!(
            "--engine {}: {table} is computed from the rows of all tables, here (hint: without --engine)",
            self.url
        )
    }

    pub(super) fn collect(&self, database: &Database, sql: &str) -> anyhow::Result<DataFrame> {
        for division in [Division::Groups, Division::Rows] {
            let divided = database.divided(sql, &self.rows, division)?;
            let answers = self.answers(divided.pieces())?;
            if let Some(rows) = divided.answer(database, answers)? {
                return Ok(rows);
            }
        }
        Err(anyhow!("--engine {}: the query has no answer", self.url))
    }

    fn answers(&self, pieces: &[Piece]) -> anyhow::Result<Vec<DataFrame>> {
        if pieces.is_empty() {
            return Ok(Vec::new());
        }
        let out = tempfile::tempdir()?;
        let columns = |table: &str| self.tables.tables.get(table).map(|table| &table.columns);
        let question = |piece: &Piece| json!({"table": piece.table, "columns": columns(&piece.table), "sql": piece.sql});
        let questions: Vec<_> = pieces.iter().map(question).collect();
        for piece in pieces {
            self.stderr
                .step(&format!("asking {}: {}", self.url, piece.sql));
        }
        let mut command = Command::new(program()?);
        command.args(["query", "--engine", self.url, "--tables"]);
        command.arg(&self.folder).arg("--out").arg(out.path());
        command.args(["--max-rows", &self.max_rows.to_string()]);
        command.args([
            "--deadline",
            &format!("{}ms", self.deadline.as_millis().max(1)),
        ]);
        let stdin = json!({ "questions": questions }).to_string();
        let ended = Ended::of(&mut command, &stdin, self.stderr)?;
        ended
            .succeeded()
            .with_context(|| format!("--engine {}", self.url))?;
        let answer = |number: usize| {
            let file = out.path().join(format!("{number}.arrow"));
            let opened = File::open(&file).with_context(|| file.display().to_string())?;
            let rows = IpcStreamReader::new(opened).finish();
            rows.map_err(|error| anyhow!("the answer of the cluster cannot be read: {error}"))
        };
        (0..pieces.len()).map(answer).collect()
    }
}
