//! Joins that have no rows, as one of their tables has none.
//!
//! Most runs lack most kinds of events, and a plugin asks for all of them. The engine would read the other table of
//! such a join from end to end.

use std::rc::Rc;
use std::sync::Arc;

use sqlparser::ast::{
    Expr, GroupByExpr, JoinOperator, Query, Select, SetExpr, SetOperator, Statement, TableFactor,
    TableWithJoins,
};

use super::plan::parse;
use super::tokens::{Kind, dotted, tokens};
use crate::columns::StoredTable;

pub(super) trait Tables {
    fn table(&self, name: &str) -> Option<Arc<StoredTable>>;

    /// No row of the table passes a condition, in which the table has the alias `called`.
    fn has_none(&self, table: &str, called: &str, condition: &str) -> bool;
}

pub(super) fn is_empty(sql: &str, tables: &dyn Tables) -> bool {
    parse(sql).is_ok_and(|statement| match &*statement {
        Statement::Query(query) => of_query(query, tables),
        _ => false,
    })
}

/// The query reads only joins without rows, and returns no row for an empty input.
pub(super) fn gives_no_rows(sql: &str, tables: &dyn Tables) -> bool {
    parse(sql).is_ok_and(|statement| match &*statement {
        Statement::Query(query) => !makes_rows(&query.body) && of_query(query, tables),
        _ => false,
    })
}

pub(super) fn parsed(sql: &str) -> Option<Query> {
    match Rc::unwrap_or_clone(parse(sql).ok()?) {
        Statement::Query(query) => Some(*query),
        _ => None,
    }
}

const OF_ROW: [&str; 6] = ["abs", "cast", "coalesce", "lower", "try_cast", "upper"];

/// The body may return a row for an empty input, as an aggregate without groups does.
fn makes_rows(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => {
            let is_grouped = match &select.group_by {
                GroupByExpr::Expressions(keys, _) => !keys.is_empty(),
                GroupByExpr::All(_) => false,
            };
            !is_grouped
                && select
                    .projection
                    .iter()
                    .any(|item| calls(&item.to_string()))
        }
        SetExpr::Query(query) => makes_rows(&query.body),
        SetExpr::SetOperation { left, right, .. } => makes_rows(left) || makes_rows(right),
        _ => true,
    }
}

fn calls(expression: &str) -> bool {
    let tokens = tokens(expression);
    tokens.windows(2).any(|pair| {
        pair[0].name.is_some()
            && pair[1].kind == Kind::Mark('(')
            && !OF_ROW.iter().any(|function| pair[0].is(function))
    })
}

fn of_query(query: &Query, tables: &dyn Tables) -> bool {
    query.with.is_none() && of_body(&query.body, tables)
}

fn of_body(body: &SetExpr, tables: &dyn Tables) -> bool {
    match body {
        SetExpr::Select(select) => of_select(select, tables),
        SetExpr::Query(query) => of_query(query, tables),
        SetExpr::SetOperation {
            op: SetOperator::Union,
            left,
            right,
            ..
        } => of_body(left, tables) && of_body(right, tables),
        _ => false,
    }
}

fn of_select(select: &Select, tables: &dyn Tables) -> bool {
    let [from] = select.from.as_slice() else {
        return false;
    };
    if let (TableFactor::Derived { subquery, .. }, true) = (&from.relation, from.joins.is_empty()) {
        return of_query(subquery, tables);
    }
    of_join(from, select.selection.as_ref(), tables)
}

fn of_join(from: &TableWithJoins, condition: Option<&Expr>, tables: &dyn Tables) -> bool {
    let joins = from.joins.iter();
    let mut inner = Vec::new();
    for join in joins {
        match &join.join_operator {
            JoinOperator::Join(_) | JoinOperator::Inner(_) | JoinOperator::CrossJoin(_) => {
                inner.push(&join.relation);
            }
            // Rows of the first table stay without it.
            JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => {}
            _ => return false,
        }
    }
    let has_no_rows = |relation: &TableFactor| {
        let name = table_name(relation).map(|(table, _)| table);
        let table = name.and_then(|name| tables.table(&name));
        table.is_some_and(|table| table.rows() == 0)
    };
    if has_no_rows(&from.relation) || inner.into_iter().any(has_no_rows) {
        return true;
    }
    let Some((table, called)) = table_name(&from.relation) else {
        return false;
    };
    // A condition on the first table chooses of its rows before they are joined.
    let is_first = |condition: &&Expr| is_of_table(&condition.to_string(), &called);
    let mut all = condition.map(conjuncts).unwrap_or_default();
    all.retain(is_first);
    let mut all = all.iter();
    all.any(|condition| tables.has_none(&table, &called, &condition.to_string()))
}

const OF_CONDITIONS: [&str; 9] = [
    "and", "false", "in", "is", "like", "not", "null", "or", "true",
];

/// The condition names only columns of the table with this alias.
fn is_of_table(condition: &str, called: &str) -> bool {
    let tokens = tokens(condition);
    let is_dot = |at: usize| tokens.get(at).is_some_and(|t| t.kind == Kind::Mark('.'));
    let fits = |at: usize| match &tokens[at].name {
        None => true,
        Some(name) if is_dot(at + 1) => name == called,
        Some(_) if at > 0 && is_dot(at - 1) => true,
        Some(_) => OF_CONDITIONS.iter().any(|word| tokens[at].is(word)),
    };
    (0..tokens.len()).all(fits)
}

pub(super) fn conjuncts(condition: &Expr) -> Vec<&Expr> {
    match condition {
        Expr::Nested(inner) => conjuncts(inner),
        Expr::BinaryOp {
            left,
            op: sqlparser::ast::BinaryOperator::And,
            right,
        } => [conjuncts(left), conjuncts(right)].concat(),
        other => vec![other],
    }
}

pub(super) fn table_name(relation: &TableFactor) -> Option<(String, String)> {
    let TableFactor::Table {
        name,
        alias,
        args: None,
        ..
    } = relation
    else {
        return None;
    };
    let table = dotted(name)?;
    let called = match alias {
        Some(alias) => alias.name.value.clone(),
        None => table.clone(),
    };
    Some((table, called))
}
