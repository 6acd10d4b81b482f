//! `trueno-analyze query`: SQL over the tables of a run, and over those that plugins make of it.

mod cluster;
mod limits;
mod line;
mod session;

use std::collections::BTreeSet;
use std::io::{self, IsTerminal};
use std::path::Path;

use anyhow::{Context, bail};
use trueno_compare::golden::Opened;
use trueno_engine::closed_types;
use trueno_engine::query::output::Format;
use trueno_engine::query::{Database, collect_in_order, output, tables_of};
use trueno_engine::run::Run;
use trueno_engine::spans::is_computed;
use trueno_host::name_tables;
use trueno_host::plan::PluginSelection;
use trueno_host::{Request, build};
use trueno_model::categories::CategoryRules;
use trueno_model::csv::CsvTexts;
use trueno_model::{Section, SectionStatus, exit};
use trueno_plugin::Table;

use polars::prelude::DataFrame;

use self::cluster::Cluster;
use self::session::session;
use super::options;
use super::output::{Output, Raw};
use super::runs::Runs;
use super::search::gather;
use super::stderr::Stderr;
use super::stdout::{on_terminal, page_width};
use crate::cli::{NamedRun, QueryArgs, QueryFormat};

/// A view over tables that are computed only when a query names them.
const COMPUTED: &str = "timeline";

/// Runs one query and prints its rows. Without a query, starts a session if there is a terminal.
pub fn query(args: &QueryArgs, runs: &Runs<'_>, stderr: &Stderr) -> anyhow::Result<u8> {
    if args.sql.is_none() && io::stdin().is_terminal() && on_terminal() {
        let source = Source::open(args, None, runs, stderr)?;
        return session(source, stderr);
    }
    let to = Output::open(args.output.as_deref())?;
    let sql = sql(args.sql.as_deref())?;
    limits::limit_memory(args.memory);
    limits::end_after(args.timeout.unwrap_or(limits::DEFAULT_TIME));
    let mut source = Source::open(args, Some(&sql), runs, stderr)?;
    source.is_single = true;
    let frame = source.collect(&sql)?;
    let format = match args.format {
        QueryFormat::Text => Format::Table {
            room: room(args.width, &to),
            limit: args.top,
        },
        QueryFormat::Json => Format::Json,
        QueryFormat::Arrow => Format::Arrow,
        QueryFormat::Csv if args.csv_exact => Format::Csv(CsvTexts::Exact),
        QueryFormat::Csv => Format::Csv(CsvTexts::Guarded),
    };
    let raw = match format {
        Format::Table { .. } | Format::Arrow => Raw::Never,
        Format::Json => Raw::Json,
        Format::Csv(_) => Raw::Data,
    };
    to.replace_raw(stderr, raw, |to| output::write(&frame, format, to))?;
    Ok(exit::FINE)
}

/// Longest text in a table. Text is shortened only on a terminal, or if `--width` is given.
fn room(width: Option<u16>, to: &Output) -> usize {
    const UNLIMITED: usize = usize::MAX >> 1;
    match width {
        None if !to.is_stdout() || !on_terminal() => UNLIMITED,
        width => page_width(width),
    }
}

struct Source<'a> {
    args: &'a QueryArgs,
    run: Run,
    database: Database,
    /// Other runs by name. Each has its own database, because text ids of a run are valid only there.
    others: Vec<(String, Database)>,
    runs: &'a Runs<'a>,
    stderr: &'a Stderr,
    published: BTreeSet<(String, String)>,
    cluster: Option<Cluster<'a>>,
    /// No other query follows, so that nothing is held for one.
    is_single: bool,
}

impl<'a> Source<'a> {
    fn open(
        args: &'a QueryArgs,
        sql: Option<&str>,
        runs: &'a Runs<'a>,
        stderr: &'a Stderr,
    ) -> anyhow::Result<Self> {
        let run = open(&args.run, runs, stderr)?;
        let mut database = run.sql_context()?;
        let others = others(args, sql, runs, stderr)?;
        let cluster = Cluster::open(args, &run, stderr)?;
        for (name, other) in &others {
            database.register_all(&format!("{name}."), other);
        }
        Ok(Self {
            args,
            run,
            database,
            others,
            runs,
            stderr,
            published: BTreeSet::new(),
            cluster,
            is_single: false,
        })
    }

    fn shown(&self) -> impl std::fmt::Display {
        self.args.run.display()
    }

    /// Columns of a table that is in the database; empty if it cannot be read.
    fn columns(&self, table: &str) -> Vec<String> {
        let sql = format!("SELECT * FROM \"{table}\" LIMIT 0");
        let frame = collect_in_order(&self.database, &sql);
        let names = frame.map(|frame| frame.get_column_names_owned());
        let names = names.unwrap_or_default().into_iter();
        names.map(|name| name.to_string()).collect()
    }

    /// Runs a query, after publishing the plugin tables that it reads.
    fn collect(&mut self, sql: &str) -> anyhow::Result<DataFrame> {
        let tables = tables_of(sql).unwrap_or_default();
        let mut named = tables_of_plugins(&tables);
        named.retain(|(of, _)| self.others.iter().all(|(name, _)| name != of));
        if let (Some(cluster), Some((of, name))) = (&self.cluster, named.first()) {
            cluster.refuse(&format!("{of}.{name}"))?;
        }
        let reads_plugins = !named.is_empty();
        named.retain(|table| !self.published.contains(table));
        let (args, database) = (self.args, &mut self.database);
        let is_of_names =
            |table: &str| matches!(table, name_tables::CATEGORIES | name_tables::GROUPS);
        if !named.is_empty() {
            publish(args, &self.run, &named, database, self.runs, self.stderr)?;
            self.published.extend(named);
        } else if tables.iter().any(|table| is_of_names(table)) {
            publish_names(args, database, self.stderr)?;
        } else if !reads_plugins
            && (args.baseline.is_some() || !args.set.is_empty() || args.categories.is_some())
        {
            self.stderr.warn("the query reads no table of a plugin, so --baseline, --set and --categories do nothing");
        }
        match &self.cluster {
            Some(cluster) => cluster.collect(&self.database, sql),
            None => {
                let _claims = self.is_single.then(|| self.database.claims(sql));
                Ok(collect_in_order(&self.database, sql)?)
            }
        }
    }
}

/// The query from the command line or standard input, without the final semicolon.
fn sql(typed: Option<&str>) -> anyhow::Result<String> {
    let sql = match typed {
        Some(sql) if sql != "-" => sql.to_owned(),
        _ if typed.is_none() && io::stdin().is_terminal() => {
            bail!("no query (hint: trueno-analyze query RUN \"SELECT …\", or < FILE)")
        }
        _ => io::read_to_string(io::stdin()).context("standard input cannot be read as a query")?,
    };
    Ok(sql.trim().trim_end_matches(';').to_owned())
}

fn open(path: &Path, runs: &Runs<'_>, stderr: &Stderr) -> anyhow::Result<Run> {
    let run = runs.open(path)?;
    if run.facts().complete == Some(false) {
        stderr.warn(&format!(
            "{path}: the run is incomplete, and so is the answer (hint: `trueno-analyze info {path}` says what is missing)",
            path = path.display()
        ));
    }
    stderr.doubts(path, &run);
    Ok(run)
}

fn others(
    args: &QueryArgs,
    sql: Option<&str>,
    runs: &Runs<'_>,
    stderr: &Stderr,
) -> anyhow::Result<Vec<(String, Database)>> {
    let of_names = [COMPUTED, name_tables::CATEGORIES, name_tables::GROUPS];
    let may_name = |table: &str| sql.is_none_or(|sql| sql.contains(table));
    let reads_names = of_names.into_iter().any(may_name);
    let mut others: Vec<(String, Database)> = Vec::new();
    for NamedRun { name, run } in &args.others {
        let is_taken = name == COMPUTED || others.iter().any(|(known, _)| known == name);
        if is_taken {
            bail!("--run {name}=…: the name {name} is taken");
        }
        let run = open(run, runs, stderr)?;
        let mut database = run.sql_context()?;
        if reads_names {
            publish_names(args, &mut database, stderr)?;
        }
        others.push((name.clone(), database));
    }
    Ok(others)
}

fn tables_of_plugins(tables: &BTreeSet<String>) -> BTreeSet<(String, String)> {
    let parts = tables.iter().filter_map(|table| table.split_once('.'));
    parts
        .map(|(plugin, table)| (plugin.to_owned(), table.to_owned()))
        .collect()
}

/// Publishes the tables about names. Returns the category rules.
fn publish_names(
    args: &QueryArgs,
    database: &mut Database,
    stderr: &Stderr,
) -> anyhow::Result<CategoryRules> {
    let rules = match &args.categories {
        Some(file) => CategoryRules::read(file)?,
        None => CategoryRules::default(),
    };
    if let Err(why) = name_tables::publish(&rules, database, None) {
        stderr.warn(&format!(
            "rules for names without a category were not applied: {why}"
        ));
    }
    Ok(rules)
}

/// Runs the plugins of those tables and their inputs, and publishes their tables.
fn publish(
    args: &QueryArgs,
    run: &Run,
    named: &BTreeSet<(String, String)>,
    database: &mut Database,
    runs: &Runs<'_>,
    stderr: &Stderr,
) -> anyhow::Result<()> {
    let registry = gather(&args.plugins, stderr)?;
    let plugins: BTreeSet<&String> = named.iter().map(|(plugin, _)| plugin).collect();
    let known = plugins.into_iter().filter(|id| registry.get(id).is_some());
    let only: Vec<String> = known.cloned().collect();
    let is_of_engine =
        |(plugin, table): &(String, String)| is_computed(&format!("{plugin}.{table}"));
    if only.is_empty() && !named.iter().any(is_of_engine) {
        // The query itself says which table there is not.
        return Ok(());
    }
    let rules = publish_names(args, database, stderr)?;
    if only.is_empty() {
        return Ok(());
    }
    let options = options::gather(None, &args.set)?;
    options::check(&options, &registry)?;
    let baseline = args
        .baseline
        .as_deref()
        .map(|path| runs.open_side(path))
        .transpose()?;
    let report = build(&Request {
        baseline: baseline.as_ref().map(Opened::run),
        categories: &rules,
        options: &options,
        before_each: &|id| stderr.step(&format!("running {id}")),
        ..Request::new(run, &registry, &PluginSelection::only(only))
    })?;
    for section in &report.sections {
        let plugin = &section.plugin;
        if section.status != SectionStatus::Ok {
            // What it gave before it failed may be a part only.
            let why = section.message.as_deref().unwrap_or("it gave no reason");
            bail!("the query reads tables of {plugin}, which did not finish: {why}");
        }
        for table in &section.tables {
            let name = format!("{plugin}.{}", table.name());
            match closed_types::to_frame(table) {
                Ok(frame) => database.register(&name, frame),
                Err(why) => bail!("table {name} cannot be read: {why}"),
            }
        }
        let made = |wanted: &str| section.tables.iter().any(|table| table.name() == wanted);
        let missing = named
            .iter()
            .find(|(of, table)| of == plugin && !made(table));
        if let Some((_, table)) = missing {
            bail!("{}", not_made(section, table, args.baseline.is_some()));
        }
    }
    Ok(())
}

fn not_made(section: &Section, table: &str, has_baseline: bool) -> String {
    let made: Vec<&str> = section.tables.iter().map(Table::name).collect();
    let made = match &made[..] {
        [] => "none".to_owned(),
        made => made.join(", "),
    };
    let more = if has_baseline {
        ""
    } else {
        "; --baseline RUN may give it more to do"
    };
    let plugin = &section.plugin;
    format!("{plugin} makes no table {table} of this run (hint: it makes {made}{more})")
}
