//! Joins that have no rows, as one of their tables has none.
//!
//! Most runs lack most kinds of events, and a plugin asks for all of them. The engine would read the other table of
//! such a join from end to end.

use std::sync::Arc;

use sqlparser::ast::{
    Expr, JoinOperator, Query, Select, SetExpr, SetOperator, Statement, TableFactor, TableWithJoins,
};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;

use crate::columns::StoredTable;

/// Facts about tables that a join depends on.
pub(super) trait Tables {
    fn table(&self, name: &str) -> Option<Arc<StoredTable>>;

    /// True if no row of a table, called so, passes a condition on it.
    fn has_none(&self, table: &str, called: &str, condition: &str) -> bool;
}

/// True if a query reads nothing but joins without rows.
pub(super) fn is_empty(sql: &str, tables: &dyn Tables) -> bool {
    let Ok(mut statements) = Parser::parse_sql(&GenericDialect, sql) else {
        return false;
    };
    match (statements.pop(), statements.is_empty()) {
        (Some(Statement::Query(query)), true) => of_query(&query, tables),
        _ => false,
    }
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
    let is_first = |condition: &&Expr| {
        let column = match condition {
            Expr::IsNull(column) | Expr::IsNotNull(column) => Some(column),
            _ => None,
        };
        column.is_some_and(|column| match &**column {
            Expr::CompoundIdentifier(parts) => parts.len() == 2 && parts[0].value == called,
            _ => false,
        })
    };
    let mut all = condition.map(conjuncts).unwrap_or_default();
    all.retain(is_first);
    let mut all = all.iter();
    all.any(|condition| tables.has_none(&table, &called, &condition.to_string()))
}

/// Conditions that all have to hold.
fn conjuncts(condition: &Expr) -> Vec<&Expr> {
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

/// The name of a table, and what it is called.
fn table_name(relation: &TableFactor) -> Option<(String, String)> {
    let TableFactor::Table {
        name,
        alias,
        args: None,
        ..
    } = relation
    else {
        return None;
    };
    let [part] = name.0.as_slice() else {
        return None;
    };
    let table = part.as_ident()?.value.clone();
    let called = match alias {
        Some(alias) => alias.name.value.clone(),
        None => table.clone(),
    };
    Some((table, called))
}
