//! Named tables that SQL can be run over.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use polars::prelude::{CategoricalMapping, DataFrame, Engine, IntoLazy, LazyFrame, PolarsResult};
use sqlparser::ast::{ObjectName, Query, Statement, Visit, Visitor};

use super::column_source::Named;
use super::dictionary_lookup::{self, Numbered};
use super::direct::{self, Direct};
use super::error::first_line;
use super::planned::Planned;
use super::{QueryError, empty_join, plan, rewrite, tokens};
use crate::catalog::ID_SUFFIX;
use crate::closed_types::{ClosedRows, frame_without_rows};
use crate::columns::{self, Kind, StoredTable};
use crate::panic_guard::guard_panic;

/// Named tables, lazily read, that SQL can be run over.
#[derive(Clone, Default)]
pub struct Database {
    pub(super) tables: Arc<BTreeMap<String, LazyFrame>>,
    /// Tables whose columns can be read without the engine.
    pub(super) stored: BTreeMap<String, Arc<StoredTable>>,
    /// While it lives, the engine numbers texts as it did before.
    pub(super) numbers: Option<Arc<CategoricalMapping>>,
    /// Tables of which lists of texts can be had cheaply.
    numbered: BTreeMap<String, Arc<Numbered>>,
    /// Queries that were looked at before, as long as the tables whose columns can be read stay the same.
    pub(super) known: Arc<Mutex<BTreeMap<String, Known>>>,
}

/// Results of looking at a query, each once it was asked for.
#[derive(Clone, Default)]
pub(super) struct Known {
    form: Option<Option<Arc<Direct>>>,
    pub(super) reads: Option<Reads>,
}

/// Tables and the columns of them that a query reads.
pub(super) type Reads = Arc<[(String, Vec<usize>)]>;

impl Database {
    /// A database with no tables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Publishes `table` as `name`, which may be `plugin.table`; replaces what had that name.
    pub fn register(&mut self, name: &str, table: DataFrame) {
        let numbers = self.numbers.as_ref();
        let stored = numbers.map(|numbers| columns::of_frame(&table, numbers));
        self.publish(name, table.lazy());
        if let Some(stored) = stored {
            self.register_columns(name, stored);
        }
        self.renew_timeline(name);
    }

    /// Publishes a table that is read when a query asks for it.
    pub fn register_lazy(&mut self, name: &str, table: LazyFrame) {
        self.publish(name, table);
        self.renew_timeline(name);
    }

    fn publish(&mut self, name: &str, table: LazyFrame) {
        Arc::make_mut(&mut self.tables).insert(name.to_owned(), table);
        self.numbered.remove(name);
        if self.stored.remove(name).is_some() {
            self.forget_queries(name);
        }
    }

    /// Publishes a table no longer.
    pub(super) fn forget(&mut self, name: &str) {
        Arc::make_mut(&mut self.tables).remove(name);
        self.stored.remove(name);
        self.numbered.remove(name);
        self.forget_queries(name);
    }

    /// As [`Database::register_lazy`], of a table whose text columns `texts` have companions with the numbers of
    /// [`Database::keep_numbers`].
    pub(crate) fn register_numbered<'a>(
        &mut self,
        name: &str,
        table: LazyFrame,
        texts: impl Iterator<Item = &'a str>,
    ) {
        self.register_lazy(name, table);
        let numbered = Numbered {
            columns: texts.map(str::to_owned).collect(),
            lists: Default::default(),
        };
        self.numbered.insert(name.to_owned(), Arc::new(numbered));
    }

    /// Reads the columns of a published table from here, where a query needs no more than that. Rows are counted by a
    /// column, so one without any is left to the engine.
    pub(crate) fn register_columns(&mut self, name: &str, table: StoredTable) {
        if table.columns().is_empty() {
            return;
        }
        self.stored.insert(name.to_owned(), Arc::new(table));
        self.forget_queries(name);
    }

    /// Forgets the queries in which that table may be named; those who have a copy of this database do not.
    fn forget_queries(&mut self, table: &str) {
        let name = table.rsplit('.').next().unwrap_or(table);
        let mut known = self.known().clone();
        known.retain(|sql, _| !name.contains('"') && !sql.contains(name));
        self.known = Arc::new(Mutex::new(known));
    }

    /// Publishes all tables of another database, their names behind a prefix. That one must live as long as its texts'
    /// numbers are to mean the same.
    pub fn register_all(&mut self, prefix: &str, other: &Database) {
        for (name, table) in other.tables.iter() {
            let as_name = format!("{prefix}{name}");
            self.register_lazy(&as_name, table.clone());
            if let Some(stored) = other.stored.get(name) {
                self.stored.insert(as_name, stored.clone());
            }
        }
        self.known = Arc::default();
    }

    /// Registers a table of another database under its name; without one of that name, none.
    pub fn register_from(&mut self, name: &str, other: &Database) {
        let Some(table) = other.tables.get(name) else {
            return;
        };
        self.register_lazy(name, table.clone());
        if let Some(stored) = other.stored.get(name) {
            self.stored.insert(name.to_owned(), stored.clone());
        }
        self.known = Arc::default();
    }

    /// Keeps the numbers of texts for as long as the database lives.
    pub(crate) fn keep_numbers(&mut self, numbers: Arc<CategoricalMapping>) {
        self.numbers = Some(numbers);
        self.known = Arc::default();
    }

    /// Names of all tables, sorted.
    pub fn table_names(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    /// Plans a query that is run later, or never.
    ///
    /// # Errors
    /// Names that are not there, and SQL that does not parse, as far as that shows before the query runs.
    pub fn planned(&self, sql: &str) -> Result<Planned, QueryError> {
        if let Some(list) = self.list_of_texts(sql) {
            return Ok(Planned::made(sql, list));
        }
        match self.direct(sql) {
            Some(direct) => Ok(Planned::direct(sql, Direct::clone(&direct), self)),
            None => self.planned_by_engine(sql),
        }
    }

    pub(super) fn planned_by_engine(&self, sql: &str) -> Result<Planned, QueryError> {
        let frame = roomy(sql, || self.planned_columns(sql))?;
        Ok(Planned::by_engine(sql, frame, self))
    }

    /// True if it is known without the engine that a query gives no rows.
    pub(super) fn gives_no_rows(&self, sql: &str) -> bool {
        empty_join::gives_no_rows(&self.quoted(sql), self)
    }

    /// A query with names such as `plugin.table` as one name each.
    pub(super) fn quoted(&self, sql: &str) -> String {
        rewrite::quote_dotted(sql, |name| self.tables.contains_key(name))
    }

    /// A query that needs no more than columns of one table, if it is one; what it asks besides can be planned.
    fn direct(&self, sql: &str) -> Option<Arc<Direct>> {
        let direct = self.form(sql)?;
        let mut asked = direct.asked().into_iter();
        asked.all(|sql| self.planned(sql).is_ok()).then_some(direct)
    }

    pub(super) fn form(&self, sql: &str) -> Option<Arc<Direct>> {
        let known = |known: &Known| known.form.clone();
        if let Some(form) = self.known().get(sql).and_then(known) {
            return form;
        }
        let form = (|| {
            rewrite::check(sql).ok()?;
            let numbers = self.numbers.as_ref()?;
            let sql = self.quoted(sql);
            direct::query(&sql, &|name| self.stored.get(name).cloned(), numbers).map(Arc::new)
        })();
        self.known().entry(sql.to_owned()).or_default().form = Some(form.clone());
        form
    }

    /// The groups of a query over a large table, in the engine's types; `None`: ask the engine.
    fn groups(&self, sql: &str) -> Option<DataFrame> {
        let direct = self.direct(sql)?;
        (direct.is_grouped() && direct.table().rows() >= MIN_ROWS).then_some(())?;
        let schema = self.planned_columns(sql).ok()?.collect_schema().ok()?;
        let found = self.frame(sql).ok()?;
        let columns = found.columns().iter().zip(schema.iter_values());
        let columns = columns.map(|(column, dtype)| column.cast(dtype));
        DataFrame::new(found.height(), columns.collect::<PolarsResult<_>>().ok()?).ok()
    }

    /// The rows of a query in the types that plugins read.
    pub(super) fn frame(&self, sql: &str) -> Result<DataFrame, QueryError> {
        let frame = self.planned(sql)?.rows()?.into_frame();
        frame.map_err(|error| QueryError::Failed(first_line(&error)))
    }

    /// Plans a query for its columns: what has to be computed has no rows.
    pub(super) fn planned_columns(&self, sql: &str) -> Result<LazyFrame, QueryError> {
        let computed = self.computed_tables(sql);
        let computed =
            computed.filter_map(|(name, _)| Some((name, self.tables.get(name)?.clone())));
        self.plan_over(sql, &computed.collect(), false)
    }

    /// Computed tables whose names stand in a query.
    fn computed_tables(&self, sql: &str) -> impl Iterator<Item = (&str, &StoredTable)> {
        let tokens = tokens::tokens(sql);
        let computed = self.stored.iter().filter(|(_, table)| table.is_computed());
        let computed = computed.map(|(name, table)| (name.as_str(), &**table));
        computed.filter(move |(name, _)| is_named(&tokens, name))
    }

    /// The rows of computed tables, but for those that others stand in the place of.
    fn computed_frames(
        &self,
        sql: &str,
        instead: &BTreeMap<&str, LazyFrame>,
    ) -> Result<BTreeMap<&str, LazyFrame>, QueryError> {
        let computed = self.computed_tables(sql);
        let computed = computed.filter(|(name, _)| !instead.contains_key(name));
        let frame = |(name, table)| {
            let named = Named::of(&tokens::tokens(sql), table);
            let frame = named.unwrap_or_else(|| Named::all(table)).frame(table);
            match frame {
                Ok(frame) => Ok((name, frame)),
                Err(error) => Err(QueryError::Failed(first_line(&error))),
            }
        };
        computed.map(frame).collect()
    }

    fn plan(&self, sql: &str) -> Result<LazyFrame, QueryError> {
        self.plan_over(sql, &BTreeMap::new(), false)
    }

    /// As [`Database::plan`], with other frames in the place of some tables. With `is_total`, the order of the rows is
    /// made total.
    fn plan_over(
        &self,
        sql: &str,
        instead: &BTreeMap<&str, LazyFrame>,
        is_total: bool,
    ) -> Result<LazyFrame, QueryError> {
        rewrite::check(sql).map_err(QueryError::Sql)?;
        let computed = self.computed_frames(sql, instead)?;
        let sources = Sources {
            database: self,
            instead,
            computed,
        };
        guard_panic(|| plan::plan(&sources, sql, is_total))
            .unwrap_or_else(|panic| Err(QueryError::Sql(gave_up(&panic, sql))))
    }

    /// As [`Database::plan`], with columns in memory for tables of at least so many rows.
    fn plan_from_columns(&self, sql: &str, min_rows: u64) -> Result<LazyFrame, QueryError> {
        let mut frames = BTreeMap::new();
        let named = self.named_columns(sql, min_rows);
        if !named.is_empty() && empty_join::is_empty(&self.quoted(sql), self) {
            return self.plan_over(sql, &self.without_rows(&named), false);
        }
        for (name, table, named) in named {
            if let Ok(Ok(frame)) = guard_panic(|| named.frame(table)) {
                frames.insert(name, frame);
            }
        }
        // What the columns that are named do not suffice for is planned over all of them.
        if frames.is_empty() {
            return self.plan(sql);
        }
        self.plan_over(sql, &frames, false)
            .or_else(|_| self.plan(sql))
    }

    /// Tables with their columns, and no rows.
    fn without_rows<'a>(
        &self,
        named: &[(&'a str, &StoredTable, Named)],
    ) -> BTreeMap<&'a str, LazyFrame> {
        let of_table = |name: &'a str| {
            let schema = guard_panic(|| self.tables.get(name)?.clone().collect_schema().ok());
            let schema = schema.ok().flatten()?;
            Some((name, frame_without_rows(&schema).lazy()))
        };
        let names = named.iter().map(|(name, ..)| *name);
        names.filter_map(of_table).collect()
    }

    /// Tables whose names stand in a query, those that can be read without the engine and have so many rows, and
    /// the columns that the query may read.
    pub(super) fn named_columns(
        &self,
        sql: &str,
        min_rows: u64,
    ) -> Vec<(&str, &StoredTable, Named)> {
        let tokens = tokens::tokens(sql);
        let tables = self.stored.iter();
        let tables = tables.filter(|(name, table)| {
            (table.rows() >= min_rows || table.is_computed()) && is_named(&tokens, name)
        });
        tables
            .filter_map(|(name, table)| Some((name.as_str(), &**table, Named::of(&tokens, table)?)))
            .collect()
    }

    /// The answer to a query for a list of texts, without a text for every row; `None`: ask the engine.
    fn list_of_texts(&self, sql: &str) -> Option<DataFrame> {
        let asked = dictionary_lookup::parse(sql, ID_SUFFIX)?;
        let numbered = self.numbered.get(&asked.table)?;
        let dictionary = self.numbers.as_ref()?;
        if !numbered.columns.contains(&asked.column) {
            return None;
        }
        let lists = || {
            numbered
                .lists
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let known = lists().get(&asked.column).cloned();
        let list = match known {
            Some(list) => list,
            None => {
                let list = match self.distinct_numbers(&asked) {
                    Some(numbers) => dictionary_lookup::list(numbers, dictionary)?,
                    None => {
                        let numbers = run(self.plan(&asked.numbers(ID_SUFFIX)).ok()?, sql).ok()?;
                        dictionary_lookup::list_of_frame(&numbers, dictionary)?
                    }
                };
                lists().insert(asked.column.clone(), list.clone());
                list
            }
        };
        asked.named(list).ok()
    }

    /// The numbers of a list, where they can be had without the engine.
    fn distinct_numbers(
        &self,
        asked: &dictionary_lookup::TextListQuery,
    ) -> Option<Vec<Option<i64>>> {
        let table = self.stored.get(&asked.table)?;
        let (column, Kind::Text) = table.column(&asked.column)? else {
            return None;
        };
        let batches = table.batches(&[column]).ok()?;
        Some(direct::distinct(batches.first()?))
    }
}

/// The tables of a database, some of them as other frames.
struct Sources<'a> {
    database: &'a Database,
    instead: &'a BTreeMap<&'a str, LazyFrame>,
    computed: BTreeMap<&'a str, LazyFrame>,
}

impl plan::Tables for Sources<'_> {
    fn frame(&self, name: &str) -> Option<LazyFrame> {
        let made = self.instead.get(name).or(self.computed.get(name));
        made.or(self.database.tables.get(name)).cloned()
    }

    fn names(&self) -> Vec<&str> {
        self.database.table_names().collect()
    }

    fn is_empty(&self, name: &str) -> bool {
        let stored = self.database.stored.get(name);
        stored.is_some_and(|table| table.rows() == 0)
    }
}

/// True if the name of a table, which may be `plugin.table`, stands in a query.
fn is_named(tokens: &[tokens::Token], table: &str) -> bool {
    let has = |name: &str| {
        let mut names = tokens.iter().filter_map(|token| token.name.as_deref());
        names.any(|token| token == name)
    };
    has(table) || table.split('.').all(has)
}

impl empty_join::Tables for Database {
    fn table(&self, name: &str) -> Option<Arc<StoredTable>> {
        self.stored.get(name).cloned()
    }

    fn has_none(&self, table: &str, called: &str, condition: &str) -> bool {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let (table, called) = (quoted(table), quoted(called));
        let sql = format!("SELECT COUNT(*) AS n FROM {table} AS {called} WHERE {condition}");
        // From the columns or not at all: the engine would ask for this again before it reads them.
        let count = self.form(&sql).and_then(|direct| {
            let ask = |sql: &str| self.frame(sql).map_err(|error| error.to_string());
            let fields = direct.fields();
            let batches = Direct::clone(&direct)
                .resolved(&ask)
                .and_then(Direct::batches);
            let frame = ClosedRows::new(fields, batches.ok()?).into_frame().ok()?;
            frame.columns().first()?.i64().ok()?.get(0)
        });
        count == Some(0)
    }
}

/// Runs one SQL query on the streaming engine and gathers its rows.
///
/// Rows come in the order the query asks for. Without `ORDER BY`, those of a
/// grouping or a join come in any order.
///
/// # Errors
///
/// See [`QueryError`]. Queries see the database's tables only: the engine's
/// functions that read files are refused.
pub fn collect(database: &Database, sql: &str) -> Result<DataFrame, QueryError> {
    let started = Instant::now();
    let found = collect_by_best_way(database, sql);
    let rows = found.as_ref().map_or(0, DataFrame::height);
    tracing::debug!(sql, rows, elapsed = ?started.elapsed(), ok = found.is_ok(), "query");
    found
}

fn collect_by_best_way(database: &Database, sql: &str) -> Result<DataFrame, QueryError> {
    if let Some(list) = database.list_of_texts(sql) {
        tracing::trace!("answered from a dictionary");
        return Ok(list);
    }
    if let Some(groups) = database.groups(sql) {
        tracing::trace!("answered from columns in memory");
        return Ok(groups);
    }
    let by_streams = || run(database.plan_from_columns(sql, MIN_ROWS)?, sql);
    roomy(sql, || match database.has_few_rows(sql) {
        // Its streams and their threads take longer to start than such a query. Without them the engine cannot count the
        // rows of several files.
        true => run_on(Engine::InMemory, database.plan_from_columns(sql, 0)?, sql)
            .or_else(|_| by_streams()),
        false => by_streams(),
    })
}

/// Tables of fewer rows, and those of which not all columns can be had from here, are read by the engine itself where
/// it streams.
pub(super) const MIN_ROWS: u64 = 1 << 16;

/// As [`collect`], from columns in memory wherever that can be done.
///
/// # Errors
///
/// As [`collect`].
pub fn collect_from_columns(database: &Database, sql: &str) -> Result<DataFrame, QueryError> {
    roomy(sql, || run(database.plan_from_columns(sql, 0)?, sql))
}

/// As [`collect`], with the same rows in the same order each time: where the
/// query leaves the order open, rows are ordered by their columns from left to right.
///
/// # Errors
///
/// As [`collect`].
pub fn collect_in_order(database: &Database, sql: &str) -> Result<DataFrame, QueryError> {
    roomy(sql, || {
        let columns = database.planned_columns(sql)?.collect_schema();
        let columns = columns.map_err(|error| QueryError::Failed(first_line(&error)))?;
        let ordered = rewrite::order_totally(sql, columns.len());
        if let Some(groups) = ordered.and_then(|sql| database.groups(&sql)) {
            return Ok(groups);
        }
        run(database.plan_over(sql, &BTreeMap::new(), true)?, sql)
    })
}

fn run(frame: LazyFrame, sql: &str) -> Result<DataFrame, QueryError> {
    let found = run_on(Engine::Streaming, frame.clone(), sql);
    match &found {
        // polars 0.55.2 pairs a column with a scalar under some filters above three joined tables. Without streams the
        // same plan gives the rows.
        Err(QueryError::Failed(why)) if why.contains(UNEQUAL_STREAMS) => {
            run_on(Engine::InMemory, frame, sql).or(found)
        }
        _ => found,
    }
}

/// What the streaming engine says of streams that end at different rows.
const UNEQUAL_STREAMS: &str = "zip node received non-equal length inputs";

fn run_on(engine: Engine, frame: LazyFrame, sql: &str) -> Result<DataFrame, QueryError> {
    let run = || count_without_wide_sums(frame)?.collect_with_engine(engine);
    match guard_panic(run) {
        Ok(Ok(result)) => Ok(result.unwrap_single()),
        Ok(Err(error)) => Err(QueryError::Failed(first_line(&error))),
        Err(panic) => Err(QueryError::Failed(gave_up(&panic, sql))),
    }
}

/// Names of the tables that a query reads, those of plugins as `plugin.table`; `None`: it is no query.
pub fn tables_of(sql: &str) -> Option<BTreeSet<String>> {
    #[derive(Default)]
    struct Names {
        tables: BTreeSet<String>,
        ctes: BTreeSet<String>,
    }
    impl Visitor for Names {
        type Break = ();

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            let ctes = query.with.iter().flat_map(|with| &with.cte_tables);
            self.ctes
                .extend(ctes.map(|cte| cte.alias.name.value.clone()));
            ControlFlow::Continue(())
        }

        fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
            let parts = name.0.iter().filter_map(|part| part.as_ident());
            let parts: Vec<&str> = parts.map(|part| part.value.as_str()).collect();
            self.tables.insert(parts.join("."));
            ControlFlow::Continue(())
        }
    }
    rewrite::check(sql).ok()?;
    let names = roomy(sql, || {
        let mut names = Names::default();
        let statement = plan::parse(sql)?;
        let query = match &statement {
            Statement::Explain { statement, .. } => statement,
            statement => statement,
        };
        let _ = query.visit(&mut names);
        Ok(names)
    });
    let Names { mut tables, ctes } = names.ok()?;
    tables.retain(|table| !ctes.contains(table));
    Some(tables)
}

/// Operators from which on a query is planned and run on a larger stack. Without optimisation, a call of polars' planner
/// takes many times the room.
const DEEP: usize = 8;
/// Room for the calls of the deepest query.
const STACK_BYTES: usize = 256 << 20;

/// Does what is to be done with a query; in a thread with a large stack if its tree is deep.
pub(super) fn roomy<T: Send>(
    sql: &str,
    work: impl FnOnce() -> Result<T, QueryError> + Send,
) -> Result<T, QueryError> {
    if rewrite::operators(sql) < DEEP {
        return work();
    }
    thread::scope(|scope| {
        let started = thread::Builder::new()
            .name("query".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, work);
        let thread = started.map_err(|error| {
            QueryError::Failed(format!(
                "it has many operators, and no thread can be started for it: {error}"
            ))
        })?;
        match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// The engine's last words, and the query that was too much for it.
fn gave_up(panic: &str, sql: &str) -> String {
    const MAX_CHARS: usize = 200;
    let start: String = sql.chars().take(MAX_CHARS).collect();
    let more = if start.len() < sql.len() { "…" } else { "" };
    format!(
        "{panic}, in: {}{more}",
        start.split_whitespace().collect::<Vec<_>>().join(" ")
    )
}

/// polars 0.55.2 counts the rows of a union (a table whose rows lie in several kinds of places)
/// as a sum in 128 bits, which it can only do with a feature that we do not build. Such a plan
/// is run without the step that makes it so: it reads more columns, and counts right.
fn count_without_wide_sums(frame: LazyFrame) -> PolarsResult<LazyFrame> {
    let is_wide = frame.describe_plan()?.contains("UNION")
        && frame
            .describe_optimized_plan()?
            .to_lowercase()
            .contains("128");
    Ok(if is_wide {
        frame.with_projection_pushdown(false)
    } else {
        frame
    })
}
