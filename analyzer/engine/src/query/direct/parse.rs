//! Recognition of direct queries. What is not understood as a whole is left to the engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use polars::prelude::CategoricalMapping;
use sqlparser::ast::{
    BinaryOperator, Distinct, Expr, Function as Call, GroupByExpr, JoinConstraint, JoinOperator,
    OrderByExpr, OrderByKind, Query, Select, SelectItem, SetExpr, Statement, TableFactor,
    TableWithJoins, Value,
};

use super::groups::{Aggregate, Function, Grouping};
use super::join::{Side, joined};
use super::scope::{Scope, plain_call};
use super::{Condition, Direct, Item, MIN_ROWS, Order, Output};
use crate::columns::{Kind, StoredTable};
use crate::query::plan::parse;
use crate::query::tokens::dotted;

pub(crate) type Find<'a> = &'a dyn Fn(&str) -> Option<Arc<StoredTable>>;

/// Parses a query that can be answered directly; `None` for any other.
pub(crate) fn query(
    sql: &str,
    find: Find<'_>,
    numbers: &Arc<CategoricalMapping>,
) -> Option<Direct> {
    let Statement::Query(query) = &*parse(sql).ok()? else {
        return None;
    };
    let parts = Parts::of(query)?;
    let direct = form(&parts, find, numbers)?;
    // The engine has an order of its own for the rows of joins, and sorts many rows faster.
    let is_ordered = || !parts.order.is_empty() && parts.rows(find) < MIN_ROWS;
    (direct.is_grouped() || !parts.is_join() || is_ordered()).then_some(direct)
}

struct Parts {
    select: Select,
    groups: Vec<Expr>,
    order: Vec<OrderByExpr>,
    is_distinct: bool,
    from: From,
    called: String,
}

enum From {
    Table(String),
    /// Table, alias and compared column of both sides.
    Join(Box<[(String, String, String); 2]>),
    Query(Box<Parts>),
}

impl Parts {
    fn of(query: &Query) -> Option<Self> {
        let shown = query.to_string();
        let SetExpr::Select(select) = &*query.body else {
            return None;
        };
        let [from] = select.from.as_slice() else {
            return None;
        };
        let (source, from, alias) = match &from.relation {
            _ if !from.joins.is_empty() => (from.to_string(), join(from)?, &None),
            TableFactor::Table { name, alias, .. } => {
                (name.to_string(), From::Table(dotted(name)?), alias)
            }
            TableFactor::Derived {
                subquery, alias, ..
            } => {
                let parts = Self::of(subquery)?;
                let shown = format!("({subquery})");
                (shown, From::Query(Box::new(parts)), alias)
            }
            _ => return None,
        };
        let alias = alias.as_ref().map(|alias| &alias.name);
        let groups = match &select.group_by {
            GroupByExpr::Expressions(groups, modifiers) if modifiers.is_empty() => groups.clone(),
            _ => return None,
        };
        let order = match query.order_by.as_ref().map(|order| &order.kind) {
            None => Vec::new(),
            Some(OrderByKind::Expressions(order)) => order.clone(),
            Some(OrderByKind::All(_)) => return None,
        };
        let is_distinct = matches!(select.distinct, Some(Distinct::Distinct));
        // Whatever else a query may say would be shown as well.
        let plain = |called: &str| {
            let mut plain = "SELECT ".to_owned();
            if is_distinct {
                plain.push_str("DISTINCT ");
            }
            plain.push_str(&list(&select.projection));
            plain.push_str(&format!(" FROM {source}{called}"));
            if let Some(condition) = &select.selection {
                plain.push_str(&format!(" WHERE {condition}"));
            }
            if !groups.is_empty() {
                plain.push_str(&format!(" GROUP BY {}", list(&groups)));
            }
            if !order.is_empty() {
                plain.push_str(&format!(" ORDER BY {}", list(&order)));
            }
            plain
        };
        let is_plain = match alias {
            Some(alias) => {
                shown == plain(&format!(" AS {alias}")) || shown == plain(&format!(" {alias}"))
            }
            None => shown == plain(""),
        };
        is_plain.then_some(())?;
        let called = match (alias, &from) {
            (Some(alias), _) => alias.value.clone(),
            (None, From::Table(table)) => table.clone(),
            (None, From::Join(_)) => String::new(),
            (None, From::Query(_)) => return None,
        };
        Some(Self {
            groups,
            order,
            is_distinct,
            from,
            called,
            select: Select::clone(select),
        })
    }

    fn is_join(&self) -> bool {
        match &self.from {
            From::Table(_) => false,
            From::Join(_) => true,
            From::Query(parts) => parts.is_join(),
        }
    }

    /// Of all tables that it reads.
    fn rows(&self, find: Find<'_>) -> u64 {
        let of = |table: &String| find(table).map_or(0, |table| table.rows());
        match &self.from {
            From::Table(table) => of(table),
            From::Join(sides) => sides.iter().map(|(table, ..)| of(table)).sum(),
            From::Query(parts) => parts.rows(find),
        }
    }

    fn projection(&self) -> Option<Vec<(&Expr, Option<&str>)>> {
        let items = self.select.projection.iter().map(|item| match item {
            SelectItem::UnnamedExpr(expr) => Some((expr, None)),
            SelectItem::ExprWithAlias { expr, alias } => Some((expr, Some(alias.value.as_str()))),
            _ => None,
        });
        items.collect()
    }
}

fn join(from: &TableWithJoins) -> Option<From> {
    let [join] = from.joins.as_slice() else {
        return None;
    };
    let called = |table: &TableFactor| match table {
        TableFactor::Table {
            name,
            alias: Some(alias),
            ..
        } => {
            // Whatever else it may say would be shown as well.
            let is_plain = table.to_string() == format!("{name} AS {}", alias.name);
            is_plain.then_some((dotted(name)?, alias.name.value.clone()))
        }
        _ => None,
    };
    let ((first, a), (second, b)) = (called(&from.relation)?, called(&join.relation)?);
    let (JoinOperator::Join(on) | JoinOperator::Inner(on)) = &join.join_operator else {
        return None;
    };
    let JoinConstraint::On(on) = on else {
        return None;
    };
    let Expr::BinaryOp {
        left,
        op: BinaryOperator::Eq,
        right,
    } = on
    else {
        return None;
    };
    let column = |expr: &Expr| match expr {
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [table, column] => Some((table.value.clone(), column.value.clone())),
            _ => None,
        },
        _ => None,
    };
    let (left, right) = (column(left)?, column(right)?);
    let (key, other) = if left.0 == a {
        (left, right)
    } else {
        (right, left)
    };
    let shown = from.to_string();
    let plain = ["JOIN", "INNER JOIN"]
        .into_iter()
        .any(|word| shown == format!("{} {word} {} ON {on}", from.relation, join.relation));
    let is_of_both = a != b && key.0 == a && other.0 == b;
    (plain && is_of_both).then(|| From::Join(Box::new([(first, a, key.1), (second, b, other.1)])))
}

fn list<T: ToString>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    items.join(", ")
}

fn form(parts: &Parts, find: Find<'_>, numbers: &Arc<CategoricalMapping>) -> Option<Direct> {
    let (table, derived, inner) = match &parts.from {
        From::Table(name) => (find(name)?, None, None),
        From::Join(sides) => {
            let side = |(table, called, key): &(String, String, String)| {
                let table = find(table)?;
                Some(Side {
                    key: table.column(key)?.0,
                    called: called.clone(),
                    table,
                })
            };
            let [first, second] = &**sides;
            let joined = joined(side(first)?, side(second)?)?;
            (Arc::new(joined), None, None)
        }
        From::Query(inner) => {
            let inner = form(inner, find, numbers)?;
            let Output::Rows { items, .. } = inner.output else {
                return None;
            };
            inner.order.is_empty().then_some(())?;
            let items: BTreeMap<String, Item> = items.into_iter().collect();
            (inner.table, Some(items), inner.filter)
        }
    };
    let called = match &parts.from {
        From::Join(sides) => sides.iter().map(|(_, called, _)| called.clone()).collect(),
        _ => vec![parts.called.clone()],
    };
    let scope = Scope {
        called,
        table: &table,
        derived,
        numbers,
    };
    let filter = match &parts.select.selection {
        Some(expr) => Some(scope.condition(expr)?),
        None => None,
    };
    let filter = match (inner, filter) {
        (Some(a), Some(b)) => Some(Condition::And(Box::new(a), Box::new(b))),
        (a, b) => a.or(b),
    };
    let projection = parts.projection()?;
    let mut names: Vec<String> = Vec::new();
    for (expr, alias) in &projection {
        let name = match (alias, &parts.from) {
            (Some(alias), _) => (*alias).to_owned(),
            (None, From::Join(_)) => return None,
            (None, _) => scope.name(expr)?.into_owned(),
        };
        // The engine has its own word for two columns of one name.
        if names.contains(&name) {
            return None;
        }
        names.push(name);
    }
    let exprs = projection.iter().map(|(expr, _)| *expr);
    let is_aggregate =
        |expr: &Expr| matches!(expr, Expr::Function(call) if function(call).is_some());
    // There the engine goes by the names of columns without those of their tables.
    if matches!(parts.from, From::Join(_)) && !parts.groups.is_empty() {
        return None;
    }
    let is_grouped = !parts.groups.is_empty() || exprs.clone().any(is_aggregate);
    let mut output = match (is_grouped, parts.is_distinct) {
        (true, true) => return None,
        (true, false) => Output::Groups(grouping(parts, &scope, &names)?),
        (false, is_distinct) => {
            let items = exprs.map(|expr| scope.item(expr));
            let items = items.collect::<Option<Vec<Item>>>()?;
            if is_distinct {
                let outputs = (0..items.len()).map(Aggregate::Key);
                Output::Groups(Grouping::new(
                    items,
                    names.iter().cloned().zip(outputs).collect(),
                )?)
            } else {
                Output::Rows {
                    shown: items.len(),
                    items: names.iter().cloned().zip(items).collect(),
                }
            }
        }
    };
    let order = order(parts, &scope, &names, &mut output)?;
    Some(Direct {
        numbers: numbers.clone(),
        filter,
        output,
        order,
        table,
    })
}

fn grouping(parts: &Parts, scope: &Scope<'_>, names: &[String]) -> Option<Grouping> {
    let projection = parts.projection()?;
    let mut keys: Vec<Item> = Vec::new();
    for expr in &parts.groups {
        let key = scope.item(expr)?;
        // A name may also be that of a column of the result.
        let mut selected = names.iter().zip(&projection);
        let is_plain = selected.all(|(name, (expr, _))| {
            scope.named(name).is_none()
                || is_aggregate_or(expr, |expr| scope.item(expr) == scope.named(name))
                || !parts
                    .groups
                    .iter()
                    .any(|group| scope.name(group).as_deref() == Some(name))
        });
        let is_literal = matches!(expr, Expr::Value(_));
        if !is_plain || is_literal {
            return None;
        }
        keys.push(key);
    }
    let mut outputs = Vec::new();
    for (name, (expr, _)) in names.iter().zip(&projection) {
        let aggregate = match expr {
            Expr::Function(call) if function(call).is_some() => aggregate(call, scope)?,
            _ => {
                let item = scope.item(expr)?;
                Aggregate::Key(keys.iter().position(|key| *key == item)?)
            }
        };
        outputs.push((name.clone(), aggregate));
    }
    Grouping::new(keys, outputs)
}

/// False for an aggregate, otherwise the result of `holds`.
fn is_aggregate_or(expr: &Expr, holds: impl Fn(&Expr) -> bool) -> bool {
    match expr {
        // An aggregate that goes by the name of a key would be taken for the key.
        Expr::Function(call) if function(call).is_some() => false,
        _ => holds(expr),
    }
}

fn function(call: &Call) -> Option<Function> {
    Some(match call.name.to_string().to_ascii_uppercase().as_str() {
        "COUNT" => Function::Count,
        "SUM" => Function::Sum,
        "MIN" => Function::Min,
        "MAX" => Function::Max,
        "MEDIAN" => Function::Median,
        _ => return None,
    })
}

fn aggregate(call: &Call, scope: &Scope<'_>) -> Option<Aggregate> {
    if call.to_string().eq_ignore_ascii_case("COUNT(*)") {
        return Some(Aggregate::Rows);
    }
    let function = function(call)?;
    let arguments = plain_call(call, &call.name.to_string())?;
    let [argument] = arguments.as_slice() else {
        return None;
    };
    let item = scope.item(argument)?;
    let is_known = match function {
        Function::Count => true,
        // Sums of few bits keep their few bits in the engine.
        Function::Sum | Function::Median => matches!(item.kind(), Kind::I64 | Kind::U64),
        Function::Min | Function::Max => {
            matches!(item.kind(), Kind::I64 | Kind::U64 | Kind::U32)
        }
    };
    is_known.then_some(Aggregate::Of(function, item))
}

/// The sort keys. Those not in the result are added to the output as hidden columns.
fn order(
    parts: &Parts,
    scope: &Scope<'_>,
    names: &[String],
    output: &mut Output,
) -> Option<Vec<Order>> {
    let mut all = Vec::new();
    for by in &parts.order {
        let column = match &by.expr {
            Expr::Value(literal) => match &literal.value {
                Value::Number(digits, false) => {
                    let number: usize = digits.parse().ok()?;
                    (1..=names.len()).contains(&number).then(|| number - 1)?
                }
                _ => return None,
            },
            expr => {
                let name = scope.name(expr)?;
                let shown = names.iter().position(|shown| *shown == name);
                let item = scope.named(&name);
                match (shown, &mut *output, item) {
                    // One name for two things.
                    (Some(shown), Output::Rows { items, .. }, Some(item))
                        if items[shown].1 != item =>
                    {
                        return None;
                    }
                    (Some(shown), ..) => shown,
                    (None, Output::Rows { items, .. }, Some(item)) if !parts.is_distinct => {
                        items.push((String::new(), item));
                        items.len() - 1
                    }
                    _ => return None,
                }
            }
        };
        let is_descending = by.options.asc == Some(false);
        all.push(Order {
            column,
            is_descending,
            nulls_first: by.options.nulls_first.unwrap_or(is_descending),
        });
    }
    Some(all)
}
