//! Names for columns of an answer that would have one name.

use std::borrow::Cow;
use std::collections::BTreeSet;

use sqlparser::ast::{
    Expr, Ident, Select, SelectItem, SetExpr, Statement, WildcardAdditionalOptions,
};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;

use super::{Database, QueryError, rewrite};

/// The query, with names of its own where columns of the answer would have one name.
pub(super) fn with_distinct_names<'a>(database: &Database, sql: &'a str) -> Cow<'a, str> {
    let mut taken = BTreeSet::new();
    let mut named = Cow::Borrowed(sql);
    // Each time, a name that a `*` has already; what cannot be helped is an error in the end.
    while let Err(QueryError::SameNames { name }) = database.planned_columns(&named) {
        if matches!(named, Cow::Owned(_)) && !taken.insert(name) {
            return Cow::Borrowed(sql);
        }
        let quoted = database.quoted(&rewrite::with_fractions(sql));
        match numbered(&quoted, &taken) {
            Some(numbered) => named = Cow::Owned(numbered),
            None => return Cow::Borrowed(sql),
        }
    }
    named
}

/// The query with a name of its own for each expression that it selects: the alias that it has, the column
/// that it is, or its text. Of equal ones, and of `taken`, which others have that are not listed (`*`), all
/// but the first get a number: `name`, `name_2`. `None`: not a query of that form, or nothing would change.
fn numbered(sql: &str, taken: &BTreeSet<String>) -> Option<String> {
    let mut statements = Parser::parse_sql(&GenericDialect, sql).ok()?;
    let [Statement::Query(query)] = statements.as_mut_slice() else {
        return None;
    };
    let select = first_select(&mut query.body)?;
    let mut names = taken.clone();
    let mut is_changed = false;
    for item in &mut select.projection {
        let all = SelectItem::Wildcard(WildcardAdditionalOptions::default());
        let (name, expr) = match std::mem::replace(item, all) {
            SelectItem::UnnamedExpr(expr) => (own_name(&expr), expr),
            SelectItem::ExprWithAlias { alias, expr } => (alias.value, expr),
            other => {
                *item = other;
                continue;
            }
        };
        let numbered = (2..).map(|n| format!("{name}_{n}"));
        let name = [name.clone()].into_iter().chain(numbered);
        let alias = name.into_iter().find(|name| !names.contains(name))?;
        names.insert(alias.clone());
        let alias = Ident::with_quote('"', alias.replace('"', "'"));
        *item = SelectItem::ExprWithAlias { expr, alias };
        is_changed = true;
    }
    is_changed.then(|| query.to_string())
}

/// The part of a query that names its columns: of a union the first.
fn first_select(body: &mut SetExpr) -> Option<&mut Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::SetOperation { left, .. } => first_select(left),
        _ => None,
    }
}

fn own_name(expr: &Expr) -> String {
    match expr {
        Expr::Identifier(name) => name.value.clone(),
        Expr::CompoundIdentifier(parts) => {
            let last = parts.last();
            last.map_or_else(String::new, |name| name.value.clone())
        }
        other => other.to_string(),
    }
}
