//! SQL to lazy frames.
//!
//! Each column of each table of a query gets a name of its own in the frame (`c0`, `c1`, …), so that tables may have
//! columns of the same name, be joined with themselves, and be ordered by what is not selected. The names that users
//! see are given at the very end. A correlated subquery is planned over the distinct values that it takes from the query
//! around it, and joined with that.
//!
//! Projections are sequential (`select_seq`). This concerns only the engine without streams, which runs the queries over
//! few rows: in parallel, polars 0.55.2 splits a frame by its chunks, and allocates 8 MiB of zeros for the first one.

mod aggregate;
mod expression;
mod from;
mod function;
mod scope;
mod select;
mod set;
mod subquery;
mod types;
mod window;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use polars::df;
use polars::prelude::{
    Column, DataFrame, IntoLazy, LazyFrame, NamedFrom, PlSmallStr, PolarsResult, Schema, SchemaRef,
    Series, SortMultipleOptions, col,
};
use sqlparser::ast::{Expr as Ast, LimitClause, OrderBy, OrderByExpr, OrderByKind, OrderByOptions};
use sqlparser::ast::{Query, SetExpr, Statement, Value};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::{Parser, ParserOptions};

use self::scope::{Field, Relation};
use super::error::first_line;
use super::{QueryError, tokens};

type Answer<T> = Result<T, QueryError>;

fn invalid<T>(why: impl Into<String>) -> Answer<T> {
    Err(QueryError::Sql(why.into()))
}

fn unsupported<T>(what: impl std::fmt::Display, instead: &str) -> Answer<T> {
    let hint = if instead.is_empty() {
        String::new()
    } else {
        format!(" (hint: {instead})")
    };
    invalid(format!("{what} is not supported{hint}"))
}

/// A table as the query engine reads it.
pub(super) struct Table {
    pub(super) frame: LazyFrame,
    pub(super) schema: SchemaRef,
}

pub(super) trait Tables {
    fn table(&self, name: &str) -> Option<PolarsResult<Table>>;
    fn names(&self) -> Vec<&str>;
    fn is_empty(&self, name: &str) -> bool;
}

/// Parses a query. Recent results are kept: a query is looked at several times before it runs.
pub(super) fn parse(sql: &str) -> Answer<Rc<Statement>> {
    const KEPT: usize = 4;
    /// No tree is so deep that dropping it at the end of a thread needs much of the stack.
    const MAX_BYTES: usize = 4 << 10;
    thread_local! {
        static RECENT: RefCell<VecDeque<(String, Rc<Statement>)>> = const { RefCell::new(VecDeque::new()) };
    }
    let recent = RECENT.with_borrow(|recent| {
        let mut recent = recent.iter();
        let known = recent.find(|(text, _)| text == sql);
        known.map(|(_, statement)| Rc::clone(statement))
    });
    if let Some(statement) = recent {
        return Ok(statement);
    }
    let statement = Rc::new(parse_anew(sql)?);
    if sql.len() <= MAX_BYTES {
        RECENT.with_borrow_mut(|recent| {
            recent.truncate(KEPT - 1);
            recent.push_front((sql.to_owned(), Rc::clone(&statement)));
        });
    }
    Ok(statement)
}

fn parse_anew(sql: &str) -> Answer<Statement> {
    let options = ParserOptions {
        trailing_commas: true,
        ..ParserOptions::default()
    };
    let parser = Parser::new(&GenericDialect).with_options(options);
    let parser = match tokens::for_parser(sql) {
        Some(tokens) => Ok(parser.with_tokens_with_locations(tokens)),
        None => parser.try_with_sql(sql),
    };
    let parsed = parser.and_then(|mut parser| parser.parse_statements());
    let mut statements = parsed.map_err(|error| {
        let error = error.to_string();
        let error = error.strip_prefix("sql parser error: ").unwrap_or(&error);
        QueryError::Sql(error.replace('\n', " "))
    })?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        (None, _) => invalid("expected a query that begins with SELECT or WITH"),
        (Some(_), false) => invalid("expected one query, and found several"),
    }
}

/// Plans a query. With `is_total`, rows whose order the query leaves open are sorted by all columns.
pub(super) fn plan(tables: &dyn Tables, sql: &str, is_total: bool) -> Answer<LazyFrame> {
    Planner::new(tables, is_total).statement(&*parse(sql)?)
}

/// The columns of a query and their types, from the schemas of the tables alone. Narrow types are given as the wide ones
/// of their kind. `None` if only the engine can tell a type.
pub(super) fn columns(tables: &dyn Tables, sql: &str) -> Answer<Option<Schema>> {
    let Statement::Query(query) = &*parse(sql)? else {
        return Ok(None);
    };
    let Relation { fields, .. } = Planner::new(tables, false).query(query, None)?;
    let is_known = |field: &Field| !matches!(field.ty, types::Ty::Null | types::Ty::Other);
    Ok(fields.iter().all(is_known).then(|| {
        let types = fields.iter().map(|field| field.ty.dtype());
        names(&fields).into_iter().zip(types).collect()
    }))
}

struct Planner<'a> {
    tables: &'a dyn Tables,
    is_total: bool,
    next: usize,
    /// Current nesting of queries and set operations.
    nesting: usize,
    /// Queries of `WITH`, innermost last.
    ctes: Vec<(String, Relation)>,
    /// Columns of the enclosing queries, innermost last.
    outer: Vec<Vec<Field>>,
    /// Those of them that were used, by index in `outer`.
    outer_refs: BTreeSet<(usize, String)>,
}

/// The distinct values that a correlated subquery uses from the enclosing query.
#[derive(Clone)]
struct Domain {
    frame: LazyFrame,
    fields: Vec<Field>,
}

/// Number of rows to skip, and of rows to return.
#[derive(Clone, Copy, Default)]
struct Limit {
    offset: u64,
    rows: Option<u64>,
}

impl Limit {
    fn is_any(self) -> bool {
        self.offset > 0 || self.rows.is_some()
    }
}

/// A sort key: expression, descending, nulls first.
type SortKey = (polars::prelude::Expr, bool, bool);

impl<'a> Planner<'a> {
    fn new(tables: &'a dyn Tables, is_total: bool) -> Self {
        Self {
            tables,
            is_total,
            next: 0,
            nesting: 0,
            ctes: Vec::new(),
            outer: Vec::new(),
            outer_refs: BTreeSet::new(),
        }
    }

    fn statement(&mut self, statement: &Statement) -> Answer<LazyFrame> {
        match statement {
            Statement::Query(query) => {
                let relation = self.query(query, None)?;
                Ok(named(relation))
            }
            Statement::Explain { statement, .. } => {
                let plan = self.statement(statement)?;
                let plan = plan.describe_optimized_plan();
                let plan = plan.map_err(|error| QueryError::Failed(first_line(&error)))?;
                let lines: Vec<&str> = plan.split('\n').collect();
                one_column("Logical Plan", Series::new("".into(), lines))
            }
            Statement::ShowTables { .. } => {
                let names: Vec<&str> = self.tables.names();
                one_column("name", Series::new("".into(), names))
            }
            _ => invalid("expected a query that begins with SELECT or WITH"),
        }
    }

    fn new_id(&mut self) -> PlSmallStr {
        let id = format!("c{}", self.next);
        self.next += 1;
        id.into()
    }

    /// The rows of a query; for a correlated one, for each row of the domain.
    fn query(&mut self, query: &Query, domain: Option<&Domain>) -> Answer<Relation> {
        self.nesting += 1;
        let known = self.ctes.len();
        let relation = self.query_within(query, domain);
        self.ctes.truncate(known);
        self.nesting -= 1;
        relation
    }

    fn query_within(&mut self, query: &Query, domain: Option<&Domain>) -> Answer<Relation> {
        let is_plain = query.locks.is_empty()
            && query.for_clause.is_none()
            && query.settings.is_none()
            && query.format_clause.is_none();
        if !is_plain {
            return unsupported("FOR, SETTINGS or FORMAT", "leave it out");
        }
        if !query.pipe_operators.is_empty() {
            return unsupported("|>", "write it as subqueries in FROM");
        }
        if let Some(with) = &query.with {
            if with.recursive {
                return unsupported("WITH RECURSIVE", "join a table with itself a few times");
            }
            for cte in &with.cte_tables {
                let mut relation = self.query(&cte.query, None)?;
                rename(&mut relation, &cte.alias)?;
                self.ctes.push((cte.alias.name.value.clone(), relation));
            }
        }
        let limit = limit_of(query)?;
        match query.body.as_ref() {
            SetExpr::Select(select) => self.select(select, query.order_by.as_ref(), limit, domain),
            body => {
                let relation = self.body(body, domain)?;
                self.ordered_by_output(relation, query.order_by.as_ref(), limit)
            }
        }
    }

    /// Sorts rows by columns of the result, as after `UNION`, and applies the limit.
    fn ordered_by_output(
        &mut self,
        mut relation: Relation,
        order: Option<&OrderBy>,
        limit: Limit,
    ) -> Answer<Relation> {
        let mut keys: Vec<SortKey> = Vec::new();
        for by in order_list(order, relation.fields.len())? {
            let expr = match ordinal(&by.expr, relation.fields.len())? {
                Some(at) => relation.fields[at].column(),
                None => {
                    let mut context = select::Context::new(relation.clone());
                    let expr = self.expr(&by.expr, &mut context)?.expr;
                    relation.frame = context.base.frame;
                    expr
                }
            };
            keys.push(sort_key(expr, by.options));
        }
        let fields = relation.fields.clone();
        Ok(self.sorted(relation, keys, &fields, limit))
    }

    /// Sorts rows by keys, then by all columns of the result if the order must be total, and applies the limit.
    fn sorted(
        &self,
        mut relation: Relation,
        keys: Vec<SortKey>,
        ties: &[Field],
        limit: Limit,
    ) -> Relation {
        let is_open = !keys.is_empty() || !relation.is_ordered;
        let mut all = keys;
        let is_seen = self.nesting == 1 || limit.is_any();
        if self.is_total && is_open && !relation.is_single && is_seen {
            let ties = ties.iter().filter(|field| field.ty != types::Ty::Other);
            all.extend(ties.map(|field| (field.column(), false, false)));
        }
        let mut by: Vec<SortKey> = Vec::new();
        for key in all {
            let is_new = !by.iter().any(|(known, ..)| *known == key.0);
            if is_new && !key.0.clone().meta().root_names().is_empty() {
                by.push(key);
            }
        }
        if !by.is_empty() {
            relation.frame = sort(relation.frame, by);
            relation.is_ordered = true;
        } else if let Some(field) = ties.first().filter(|_| limit.is_any()) {
            // polars 0.55.2 fails where it reads the first rows of a batch with NULL. A condition keeps it from that.
            let is_any = field.column().is_null().or(field.column().is_not_null());
            relation.frame = relation.frame.filter(is_any);
        }
        if limit.is_any() {
            let offset = i64::try_from(limit.offset).unwrap_or(i64::MAX);
            let rows = limit
                .rows
                .map_or(u32::MAX, |rows| u32::try_from(rows).unwrap_or(u32::MAX));
            relation.frame = relation.frame.slice(offset, rows);
            relation.is_single = false;
        }
        relation
    }
}

fn sort(frame: LazyFrame, by: Vec<SortKey>) -> LazyFrame {
    let descending: Vec<bool> = by.iter().map(|key| key.1).collect();
    let nulls_last: Vec<bool> = by.iter().map(|key| !key.2).collect();
    let exprs: Vec<_> = by.into_iter().map(|key| key.0).collect();
    let options = SortMultipleOptions::default()
        .with_order_descending_multi(descending)
        .with_nulls_last_multi(nulls_last)
        .with_maintain_order(true);
    frame.sort_by_exprs(exprs, options)
}

/// NULL comes last, or first in descending order, as in PostgreSQL.
fn sort_key(expr: polars::prelude::Expr, options: OrderByOptions) -> SortKey {
    let is_descending = options.asc == Some(false);
    (
        expr,
        is_descending,
        options.nulls_first.unwrap_or(is_descending),
    )
}

/// The keys of an `ORDER BY`. `ALL` means the columns of the result, by number.
fn order_list(order: Option<&OrderBy>, columns: usize) -> Answer<Vec<OrderByExpr>> {
    let Some(order) = order else {
        return Ok(Vec::new());
    };
    if order.interpolate.is_some() {
        return unsupported("INTERPOLATE", "");
    }
    Ok(match &order.kind {
        OrderByKind::Expressions(list) => {
            if list.iter().any(|by| by.with_fill.is_some()) {
                return unsupported("WITH FILL", "");
            }
            list.clone()
        }
        OrderByKind::All(options) => {
            let number = |at: usize| Value::Number(at.to_string(), false).into();
            let key = |at: usize| OrderByExpr {
                expr: Ast::Value(number(at)),
                options: *options,
                with_fill: None,
            };
            (1..=columns).map(key).collect()
        }
    })
}

/// The column that an integer in `ORDER BY` or `GROUP BY` refers to.
fn ordinal(expr: &Ast, columns: usize) -> Answer<Option<usize>> {
    let Ast::Value(value) = expr else {
        return Ok(None);
    };
    let Value::Number(digits, _) = &value.value else {
        return Ok(None);
    };
    match digits.parse::<usize>() {
        Ok(at) if (1..=columns).contains(&at) => Ok(Some(at - 1)),
        _ => invalid(format!(
            "there is no column {digits} to order or group by (hint: the answer has {columns})"
        )),
    }
}

fn limit_of(query: &Query) -> Answer<Limit> {
    let mut limit = Limit::default();
    match &query.limit_clause {
        None => {}
        Some(LimitClause::LimitOffset {
            limit: rows,
            offset,
            limit_by,
        }) => {
            if !limit_by.is_empty() {
                return unsupported("LIMIT … BY", "QUALIFY ROW_NUMBER() OVER (…) <= n");
            }
            if let Some(rows) = rows {
                limit.rows = number_of_rows(rows, "LIMIT")?;
            }
            if let Some(offset) = offset {
                limit.offset = number_of_rows(&offset.value, "OFFSET")?.unwrap_or(0);
            }
        }
        Some(LimitClause::OffsetCommaLimit {
            offset,
            limit: rows,
        }) => {
            limit.rows = number_of_rows(rows, "LIMIT")?;
            limit.offset = number_of_rows(offset, "OFFSET")?.unwrap_or(0);
        }
    }
    if let Some(fetch) = &query.fetch {
        if fetch.with_ties || fetch.percent {
            return unsupported(
                "FETCH … WITH TIES or PERCENT",
                "QUALIFY RANK() OVER (…) <= n",
            );
        }
        limit.rows = match &fetch.quantity {
            Some(rows) => number_of_rows(rows, "FETCH")?,
            None => Some(1),
        };
    }
    Ok(limit)
}

fn number_of_rows(expr: &Ast, word: &str) -> Answer<Option<u64>> {
    if let Ast::Value(value) = expr {
        match &value.value {
            Value::Null => return Ok(None),
            Value::Number(digits, _) => {
                if let Ok(rows) = digits.parse() {
                    return Ok(Some(rows));
                }
            }
            _ => {}
        }
    }
    invalid(format!("{word} takes a whole number, and not {expr}"))
}

fn rename(relation: &mut Relation, alias: &sqlparser::ast::TableAlias) -> Answer<()> {
    for field in &mut relation.fields {
        field.qualifier = Some(alias.name.value.clone());
    }
    if alias.columns.len() > relation.fields.len() {
        return invalid(format!(
            "{} has {} columns, and {} names are given",
            alias.name,
            relation.fields.len(),
            alias.columns.len()
        ));
    }
    for (field, column) in relation.fields.iter_mut().zip(&alias.columns) {
        field.name.clone_from(&column.name.value);
    }
    Ok(())
}

fn named(relation: Relation) -> LazyFrame {
    let columns = relation.fields.iter().zip(names(&relation.fields));
    let columns = columns.map(|(field, name)| field.column().alias(name));
    relation.frame.select_seq(columns.collect::<Vec<_>>())
}

/// The names that the user sees. The second of duplicate names becomes `name_2`.
fn names(fields: &[Field]) -> Vec<PlSmallStr> {
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    let all: BTreeSet<&String> = fields.iter().map(|field| &field.name).collect();
    let mut names = Vec::with_capacity(fields.len());
    for field in fields {
        let count = taken.entry(field.name.clone()).or_insert(0);
        *count += 1;
        let mut name = field.name.clone();
        if *count > 1 {
            while name == field.name || all.contains(&name) {
                name = format!("{}_{count}", field.name);
                *count += usize::from(all.contains(&name));
            }
        }
        names.push(name.into());
    }
    names
}

fn one_column(name: &str, values: Series) -> Answer<LazyFrame> {
    let column: Column = values.with_name(name.into()).into();
    match DataFrame::new(column.len(), vec![column]) {
        Ok(frame) => Ok(frame.lazy()),
        Err(error) => Err(QueryError::Failed(first_line(&error))),
    }
}

fn one_row() -> LazyFrame {
    let frame = df!["" => [true]].unwrap_or_default();
    frame.lazy().select_seq([col("").alias("one")])
}
