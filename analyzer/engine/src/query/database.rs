//! Named tables that SQL can be run over.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use polars::prelude::{
    CategoricalMapping, DataFrame, DslPlan, Engine, IntoLazy, LazyFrame, PolarsResult, Schema,
    SchemaRef,
};
use polars_arrow::datatypes::Field;
use sqlparser::ast::{ObjectName, Query, Statement, Visit, Visitor};

use super::column_source::Named;
use super::dictionary_lookup::{self, Numbered};
use super::direct::{self, Direct, MIN_ROWS};
use super::error::first_line;
use super::planned::{Planned, fields_of};
use super::{QueryError, empty_join, plan, rewrite, tokens};
use crate::catalog::ID_SUFFIX;
use crate::closed_types::{ClosedRows, frame_without_rows};
use crate::columns::{self, Kind, StoredTable};
use crate::panic_guard::guard_panic;

/// Plans reading a table by the query engine.
pub(crate) type Scan = Arc<dyn Fn() -> PolarsResult<LazyFrame> + Send + Sync>;

#[derive(Clone, Default)]
pub struct Database {
    pub(super) tables: Arc<BTreeMap<String, Arc<Published>>>,
    /// Scans of tables that `tables` has without rows. Planning the files of hundreds of ranks takes longer than most
    /// queries, which need none of them.
    scans: Arc<BTreeMap<String, Scan>>,
    pub(super) stored: Arc<BTreeMap<String, Arc<StoredTable>>>,
    /// Keeps the numbering of texts stable while it is alive.
    pub(super) numbers: Option<Arc<CategoricalMapping>>,
    /// Tables whose text lists are cheap.
    numbered: Arc<BTreeMap<String, Arc<Numbered>>>,
    /// Analyzed queries, valid as long as the tables that they name stay the same.
    pub(super) known: Arc<Mutex<BTreeMap<Arc<str>, Known>>>,
    plans: Plans,
}

/// A table as it was published, and its columns.
pub(super) struct Published {
    /// `None` for a table without rows.
    frame: Option<LazyFrame>,
    schema: OnceLock<SchemaRef>,
}

impl Published {
    fn new(frame: LazyFrame) -> Self {
        Self {
            frame: Some(frame),
            schema: OnceLock::new(),
        }
    }

    fn without_rows(schema: SchemaRef) -> Self {
        Self {
            frame: None,
            schema: schema.into(),
        }
    }

    fn schema(&self) -> PolarsResult<SchemaRef> {
        if let Some(schema) = self.schema.get() {
            return Ok(Arc::clone(schema));
        }
        let schema = self.frame.clone().unwrap_or_default().collect_schema()?;
        Ok(Arc::clone(self.schema.get_or_init(|| schema)))
    }

    fn table(&self) -> PolarsResult<plan::Table> {
        let schema = self.schema()?;
        let frame = match &self.frame {
            Some(frame) => frame.clone(),
            None => frame_without_rows(&schema).lazy(),
        };
        Ok(plan::Table { frame, schema })
    }
}

/// Columns of queries that the engine runs, or why it cannot, valid as long as the tables that they name have the same
/// columns. Many plugins ask the same of tables that few runs have, and all of them ask the same of each rank.
#[derive(Clone, Default)]
pub struct Plans(Arc<Mutex<BTreeMap<Arc<str>, Arc<Columns>>>>);

type Columns = Result<Arc<[Field]>, QueryError>;

impl Plans {
    fn kept(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Arc<Columns>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, sql: &str) -> Option<Columns> {
        self.kept().get(sql).map(|columns| Columns::clone(columns))
    }

    fn keep(&self, sql: &str, columns: &Columns) {
        if !matches!(columns, Err(QueryError::Failed(_))) {
            self.kept().insert(sql.into(), Arc::new(columns.clone()));
        }
    }

    fn without(&self, is_stale: impl Fn(&str) -> bool) -> Self {
        let mut left = self.kept().clone();
        left.retain(|sql, _| !is_stale(sql));
        Self(Arc::new(Mutex::new(left)))
    }
}

#[derive(Clone, Default)]
pub(super) struct Known {
    form: Option<Option<Arc<Direct>>>,
    pub(super) reads: Option<Reads>,
}

pub(super) type Reads = Arc<[(String, Vec<usize>)]>;

impl Database {
    pub fn new() -> Self {
        Self::default()
    }

    /// Publishes `table` as `name`, which may be `plugin.table`. Replaces a table of the same name.
    pub fn register(&mut self, name: &str, table: DataFrame) {
        let numbers = self.numbers.as_ref();
        let stored = numbers.map(|numbers| columns::of_frame(&table, numbers));
        self.publish(name, Arc::new(Published::new(table.lazy())));
        if let Some(stored) = stored {
            self.register_columns(name, stored);
        }
        self.renew_timeline(name);
    }

    pub fn register_lazy(&mut self, name: &str, table: LazyFrame) {
        self.register_published(name, Arc::new(Published::new(table)));
    }

    fn register_published(&mut self, name: &str, table: Arc<Published>) {
        self.publish(name, table);
        self.renew_timeline(name);
    }

    fn publish(&mut self, name: &str, table: Arc<Published>) {
        Arc::make_mut(&mut self.tables).insert(name.to_owned(), table);
        Arc::make_mut(&mut self.scans).remove(name);
        Arc::make_mut(&mut self.numbered).remove(name);
        Arc::make_mut(&mut self.stored).remove(name);
        self.forget_queries(name);
    }

    pub(super) fn forget(&mut self, name: &str) {
        Arc::make_mut(&mut self.tables).remove(name);
        Arc::make_mut(&mut self.scans).remove(name);
        Arc::make_mut(&mut self.stored).remove(name);
        Arc::make_mut(&mut self.numbered).remove(name);
        self.forget_queries(name);
    }

    /// As [`Database::register_lazy`]. The text columns `texts` have companions with the numbers of
    /// [`Database::keep_numbers`].
    pub(crate) fn register_numbered<'a>(
        &mut self,
        name: &str,
        table: LazyFrame,
        texts: impl Iterator<Item = &'a str>,
    ) {
        self.register_lazy(name, table);
        self.number(name, texts);
    }

    /// As [`Database::register_numbered`], for a table without rows.
    pub(crate) fn register_without_rows<'a>(
        &mut self,
        name: &str,
        columns: SchemaRef,
        texts: impl Iterator<Item = &'a str>,
    ) {
        self.register_published(name, Arc::new(Published::without_rows(columns)));
        self.number(name, texts);
    }

    fn number<'a>(&mut self, name: &str, texts: impl Iterator<Item = &'a str>) {
        let numbered = Numbered {
            columns: texts.map(str::to_owned).collect(),
            lists: Default::default(),
        };
        Arc::make_mut(&mut self.numbered).insert(name.to_owned(), Arc::new(numbered));
    }

    /// As [`Database::register_numbered`], with a table whose columns are read without the engine
    /// ([`Database::register_columns`]), or by `scan`. `table` has no rows.
    pub(crate) fn register_deferred<'a>(
        &mut self,
        name: &str,
        table: LazyFrame,
        texts: impl Iterator<Item = &'a str>,
        scan: Scan,
    ) {
        self.register_numbered(name, table, texts);
        Arc::make_mut(&mut self.scans).insert(name.to_owned(), scan);
    }

    /// Reads the columns of a published table from `table` where possible. A table without columns is left to
    /// the engine, because rows are counted by a column.
    pub(crate) fn register_columns(&mut self, name: &str, table: StoredTable) {
        if table.columns().is_empty() {
            return;
        }
        Arc::make_mut(&mut self.stored).insert(name.to_owned(), Arc::new(table));
        self.forget_queries(name);
    }

    /// Drops analyzed queries that may name the table. Copies of this database are not affected.
    fn forget_queries(&mut self, table: &str) {
        let name = table.rsplit('.').next().unwrap_or(table);
        let is_stale = |sql: &str| name.contains('"') || sql.contains(name);
        let mut known = self.known().clone();
        known.retain(|sql, _| !is_stale(sql));
        self.known = Arc::new(Mutex::new(known));
        self.plans = self.plans.without(is_stale);
    }

    /// Publishes all tables of another database, with a prefix. The other database must outlive the use of its
    /// text numbers.
    pub fn register_all(&mut self, prefix: &str, other: &Database) {
        for (name, table) in other.tables.iter() {
            let as_name = format!("{prefix}{name}");
            self.register_published(&as_name, table.clone());
            if let Some(scan) = other.scans.get(name) {
                Arc::make_mut(&mut self.scans).insert(as_name.clone(), scan.clone());
            }
            if let Some(stored) = other.stored.get(name) {
                Arc::make_mut(&mut self.stored).insert(as_name, stored.clone());
            }
        }
        self.known = Arc::default();
        self.plans = Plans::default();
    }

    /// Registers a table of another database under the same name, if it exists there.
    pub fn register_from(&mut self, name: &str, other: &Database) {
        let Some(table) = other.tables.get(name) else {
            return;
        };
        self.register_published(name, table.clone());
        if let Some(scan) = other.scans.get(name) {
            Arc::make_mut(&mut self.scans).insert(name.to_owned(), scan.clone());
        }
        if let Some(stored) = other.stored.get(name) {
            Arc::make_mut(&mut self.stored).insert(name.to_owned(), stored.clone());
        }
        self.known = Arc::default();
    }

    /// Keeps the numbering of texts as long as the database lives.
    pub(crate) fn keep_numbers(&mut self, numbers: Arc<CategoricalMapping>) {
        self.numbers = Some(numbers);
        self.known = Arc::default();
    }

    pub fn table_names(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    /// Plans a query to be run later.
    ///
    /// # Errors
    /// Unknown names and invalid SQL, as far as planning detects them.
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
        let known = self.plans.of(sql);
        let columns = known.unwrap_or_else(|| {
            tracing::trace!(sql, "planned by the engine");
            let columns = roomy(sql, || {
                if let Some(schema) = self.columns_by_types(sql)? {
                    return Ok(fields_of(&schema)?.into());
                }
                Ok(fields_of(&*self.schema_of(sql)?)?.into())
            });
            self.plans.keep(sql, &columns);
            columns
        })?;
        Ok(Planned::by_engine(sql, columns, self))
    }

    /// The columns of a query as the engine types them.
    fn schema_of(&self, sql: &str) -> Result<SchemaRef, QueryError> {
        let mut plan = self.planned_columns(sql)?;
        match guard_panic(|| plan.collect_schema()) {
            Ok(schema) => schema.map_err(|error| QueryError::Failed(first_line(&error))),
            Err(panic) => Err(QueryError::Sql(gave_up(&panic, sql))),
        }
    }

    /// The columns of a query as our planner types them. The engine would take ten times as long to find the same.
    fn columns_by_types(&self, sql: &str) -> Result<Option<Schema>, QueryError> {
        rewrite::check(sql).map_err(QueryError::Sql)?;
        guard_panic(|| plan::columns(&Schemas(self), sql))
            .unwrap_or_else(|panic| Err(QueryError::Sql(gave_up(&panic, sql))))
    }

    /// Plans each query once for all databases that share `plans`. Their tables must have the same names and columns.
    pub fn share_plans(&mut self, plans: &Plans) {
        self.plans = plans.clone();
    }

    pub(super) fn gives_no_rows(&self, sql: &str) -> bool {
        empty_join::gives_no_rows(sql, self)
    }

    pub(super) fn quoted(&self, sql: &str) -> String {
        rewrite::quote_dotted(sql, |name| self.tables.contains_key(name))
    }

    /// A query that only needs columns of one table, if it is one. Its subqueries can be planned.
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
            direct::query(sql, &|name| self.stored.get(name).cloned(), numbers).map(Arc::new)
        })();
        self.known().entry(sql.into()).or_default().form = Some(form.clone());
        form
    }

    /// The groups of a query over a large table, in the engine's types. `None` to leave it to the engine.
    fn groups(&self, sql: &str) -> Option<DataFrame> {
        let direct = self.direct(sql)?;
        (direct.is_grouped() && direct.table().rows() >= MIN_ROWS).then_some(())?;
        let schema = self.schema_of(sql).ok()?;
        let found = self.frame(sql).ok()?;
        let columns = found.columns().iter().zip(schema.iter_values());
        let columns = columns.map(|(column, dtype)| column.cast(dtype));
        DataFrame::new(found.height(), columns.collect::<PolarsResult<_>>().ok()?).ok()
    }

    pub(super) fn frame(&self, sql: &str) -> Result<DataFrame, QueryError> {
        let frame = self.planned(sql)?.rows()?.into_frame();
        frame.map_err(|error| QueryError::Failed(first_line(&error)))
    }

    /// Plans a query to get its columns. Computed tables, and those of ranks, are planned without rows.
    pub(super) fn planned_columns(&self, sql: &str) -> Result<LazyFrame, QueryError> {
        let tokens = tokens::tokens(sql);
        let computed = self.computed_tables(sql).map(|(name, _)| name);
        let deferred = self.scans.keys().map(String::as_str);
        let deferred = deferred.filter(|name| is_named(&tokens, name));
        let names = computed.chain(deferred);
        let without_rows = names.filter_map(|name| {
            let table = self.tables.get(name)?.table().ok()?;
            Some((name, table.frame))
        });
        self.plan_over(sql, &without_rows.collect(), false)
    }

    fn computed_tables(&self, sql: &str) -> impl Iterator<Item = (&str, &StoredTable)> {
        let tokens = tokens::tokens(sql);
        let computed = self.stored.iter().filter(|(_, table)| table.is_computed());
        let computed = computed.map(|(name, table)| (name.as_str(), &**table));
        computed.filter(move |(name, _)| is_named(&tokens, name))
    }

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

    /// As [`Database::plan`], with some tables replaced by frames. With `is_total`, the order of the rows is
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

    /// As [`Database::plan`], with columns in memory for tables of at least `min_rows` rows.
    fn plan_from_columns(&self, sql: &str, min_rows: u64) -> Result<LazyFrame, QueryError> {
        let mut frames = BTreeMap::new();
        let named = self.named_columns(sql, min_rows);
        if !named.is_empty() && empty_join::is_empty(sql, self) {
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

    fn without_rows<'a>(
        &self,
        named: &[(&'a str, &StoredTable, Named)],
    ) -> BTreeMap<&'a str, LazyFrame> {
        let of_table = |name: &'a str| {
            let schema = guard_panic(|| self.tables.get(name)?.schema().ok());
            let schema = schema.ok().flatten()?;
            Some((name, frame_without_rows(&schema).lazy()))
        };
        let names = named.iter().map(|(name, ..)| *name);
        names.filter_map(of_table).collect()
    }

    /// Tables that a query names, that can be read without the engine and have at least `min_rows` rows, with
    /// the columns that the query may read.
    pub(super) fn named_columns(
        &self,
        sql: &str,
        min_rows: u64,
    ) -> Vec<(&str, &StoredTable, Named)> {
        let tokens = tokens::tokens(sql);
        let tables = self.stored.iter();
        let tables = tables.filter(|(name, table)| {
            let is_cheap = table.is_computed() || self.scans.contains_key(*name);
            (table.rows() >= min_rows || is_cheap) && is_named(&tokens, name)
        });
        tables
            .filter_map(|(name, table)| Some((name.as_str(), &**table, Named::of(&tokens, table)?)))
            .collect()
    }

    /// The result of a query for a list of texts, without creating a text per row. `None` to leave it to the
    /// engine.
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

struct Sources<'a> {
    database: &'a Database,
    instead: &'a BTreeMap<&'a str, LazyFrame>,
    computed: BTreeMap<&'a str, LazyFrame>,
}

impl plan::Tables for Sources<'_> {
    fn table(&self, name: &str) -> Option<PolarsResult<plan::Table>> {
        let made = self.instead.get(name).or(self.computed.get(name));
        let made = match (made, self.database.scans.get(name)) {
            (Some(made), _) => made.clone(),
            (None, Some(scan)) => scan().ok()?,
            (None, None) => return Some(self.database.tables.get(name)?.table()),
        };
        Some(Published::new(made).table())
    }

    fn names(&self) -> Vec<&str> {
        self.database.table_names().collect()
    }

    fn is_empty(&self, name: &str) -> bool {
        let stored = self.database.stored.get(name);
        stored.is_some_and(|table| table.rows() == 0)
    }
}

/// The columns of the tables of a database, without their rows.
struct Schemas<'a>(&'a Database);

impl plan::Tables for Schemas<'_> {
    fn table(&self, name: &str) -> Option<PolarsResult<plan::Table>> {
        let schema = self.0.tables.get(name)?.schema();
        let frame = LazyFrame::default();
        Some(schema.map(|schema| plan::Table { frame, schema }))
    }

    fn names(&self) -> Vec<&str> {
        self.0.table_names().collect()
    }

    fn is_empty(&self, _: &str) -> bool {
        false
    }
}

/// The query contains the name of a table, possibly as `plugin.table`.
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

/// Runs an SQL query on the streaming engine and collects its rows.
///
/// Without `ORDER BY`, the rows of groups and joins come in any order.
///
/// # Errors
/// See [`QueryError`]. Queries see only the tables of the database: the engine's functions that read files are
/// rejected.
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

/// As [`collect`], using columns in memory where possible.
///
/// # Errors
/// As [`collect`].
pub fn collect_from_columns(database: &Database, sql: &str) -> Result<DataFrame, QueryError> {
    roomy(sql, || run(database.plan_from_columns(sql, 0)?, sql))
}

/// As [`collect`], with a reproducible order: rows whose order the query leaves open are sorted by all their
/// columns, from left to right.
///
/// # Errors
/// As [`collect`].
pub fn collect_in_order(database: &Database, sql: &str) -> Result<DataFrame, QueryError> {
    roomy(sql, || {
        let columns = database.schema_of(sql)?;
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

/// The streaming engine's message for inputs of different lengths.
const UNEQUAL_STREAMS: &str = "zip node received non-equal length inputs";

fn run_on(engine: Engine, frame: LazyFrame, sql: &str) -> Result<DataFrame, QueryError> {
    tracing::trace!(sql, ?engine, "run by the engine");
    let run = || count_without_wide_sums(frame)?.collect_with_engine(engine);
    match guard_panic(run) {
        Ok(Ok(result)) => Ok(result.unwrap_single()),
        Ok(Err(error)) => Err(QueryError::Failed(first_line(&error))),
        Err(panic) => Err(QueryError::Failed(gave_up(&panic, sql))),
    }
}

/// Names of the tables that a query reads, with those of plugins as `plugin.table`. `None` if it is not a query.
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
        let query = match &*statement {
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

/// Stack for the deepest query that is planned ([`rewrite::MAX_OPERATORS`]). Without optimization, a call of polars'
/// planner needs much of it.
const STACK_BYTES: usize = 256 << 20;
const STACK_BYTES_PER_OPERATOR: usize = STACK_BYTES / rewrite::MAX_OPERATORS;

/// Calls `work`, on a larger stack if what is left of this one may not do for the depth of the query's tree.
pub(super) fn roomy<T>(
    sql: &str,
    work: impl FnOnce() -> Result<T, QueryError>,
) -> Result<T, QueryError> {
    let operators = rewrite::operators(sql).min(rewrite::MAX_OPERATORS);
    let needed_bytes = (operators + 8) * STACK_BYTES_PER_OPERATOR;
    stacker::maybe_grow(needed_bytes, STACK_BYTES + needed_bytes, work)
}

/// The engine's panic message, with the query that caused it.
fn gave_up(panic: &str, sql: &str) -> String {
    const MAX_CHARS: usize = 200;
    let start: String = sql.chars().take(MAX_CHARS).collect();
    let more = if start.len() < sql.len() { "…" } else { "" };
    format!(
        "{panic}, in: {}{more}",
        start.split_whitespace().collect::<Vec<_>>().join(" ")
    )
}

/// polars 0.55.2 counts the rows of a union (a table read from several kinds of sources) as a sum in 128 bits,
/// which needs a feature that our build lacks. Such a plan is run without that optimization: it reads more columns
/// but counts correctly.
fn count_without_wide_sums(frame: LazyFrame) -> PolarsResult<LazyFrame> {
    let mut plans = (&frame.logical_plan).into_iter();
    let is_wide = plans.any(|plan| matches!(plan, DslPlan::Union { .. }))
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
