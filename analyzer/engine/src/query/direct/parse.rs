//! Recognition of direct queries. What is not understood as a whole is left to the engine.

use std::sync::Arc;

use polars::prelude::CategoricalMapping;
use sqlparser::ast::{
    BinaryOperator, Expr, Query, Select, SelectItem, SetExpr, Statement, TableFactor,
    UnaryOperator, Value,
};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;

use super::{Comparison, Condition, Direct, Item};
use crate::catalog::ID_SUFFIX;
use crate::columns::{Kind, StoredTable};

/// A table of a database, by its name.
pub(crate) type Find<'a> = &'a dyn Fn(&str) -> Option<Arc<StoredTable>>;

/// The direct form of a query, if it has one.
pub(crate) fn query(
    sql: &str,
    find: Find<'_>,
    numbers: &Arc<CategoricalMapping>,
) -> Option<Direct> {
    let (names, select) = parsed(sql)?;
    let table = find(&names.table)?;
    let scope = Scope {
        names: &names,
        table: &table,
        numbers,
    };
    let mut items: Vec<(String, Item)> = Vec::new();
    for item in &select.projection {
        let (expr, alias) = match item {
            SelectItem::UnnamedExpr(expr) => (expr, None),
            SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias.value.clone())),
            _ => return None,
        };
        let name = alias.or_else(|| Some(scope.name(expr)?.to_owned()))?;
        // The engine has its own word for two columns of one name.
        if items.iter().any(|(other, _)| *other == name) {
            return None;
        }
        items.push((name, scope.item(expr)?));
    }
    let filter = match &select.selection {
        Some(expr) => Some(scope.condition(expr)?),
        None => None,
    };
    Some(Direct {
        table,
        numbers: numbers.clone(),
        items,
        filter,
    })
}

/// Name of the table of a query, and what the query calls it.
struct Names {
    table: String,
    alias: Option<String>,
}

/// A query of one `SELECT` from one table, with a condition or without, and nothing else.
fn parsed(sql: &str) -> Option<(Names, Select)> {
    let mut statements = Parser::parse_sql(&GenericDialect, sql).ok()?;
    let Some(Statement::Query(query)) = statements.pop() else {
        return None;
    };
    if !statements.is_empty() {
        return None;
    }
    let shown = query.to_string();
    let Query { body, .. } = *query;
    let SetExpr::Select(select) = *body else {
        return None;
    };
    let [from] = select.from.as_slice() else {
        return None;
    };
    let TableFactor::Table { name, alias, .. } = &from.relation else {
        return None;
    };
    let [name] = name.0.as_slice() else {
        return None;
    };
    let name = name.as_ident()?;
    let alias = alias.as_ref().map(|alias| &alias.name);
    // Whatever else a query may say would be shown as well.
    let mut plain = "SELECT ".to_owned();
    let items: Vec<String> = select.projection.iter().map(ToString::to_string).collect();
    plain.push_str(&items.join(", "));
    plain.push_str(&format!(" FROM {name}"));
    let named = alias.map(|alias| format!("{plain} AS {alias}"));
    let with_condition = |plain: &str| match &select.selection {
        Some(condition) => format!("{plain} WHERE {condition}"),
        None => plain.to_owned(),
    };
    let is_plain = match (&named, alias) {
        (Some(named), Some(alias)) => {
            shown == with_condition(named) || shown == with_condition(&format!("{plain} {alias}"))
        }
        _ => shown == with_condition(&plain),
    };
    let names = Names {
        table: name.value.clone(),
        alias: alias.map(|alias| alias.value.clone()),
    };
    is_plain.then_some((names, *select))
}

/// Names that an expression may use.
struct Scope<'a> {
    names: &'a Names,
    table: &'a StoredTable,
    numbers: &'a CategoricalMapping,
}

impl Scope<'_> {
    /// The name of a column, if that is all there is.
    fn name<'e>(&self, expr: &'e Expr) -> Option<&'e str> {
        match expr {
            Expr::Identifier(name) => Some(&name.value),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, name]
                    if table.value == *self.names.alias.as_ref().unwrap_or(&self.names.table) =>
                {
                    Some(&name.value)
                }
                _ => None,
            },
            Expr::Nested(inner) => self.name(inner),
            _ => None,
        }
    }

    fn column(&self, expr: &Expr) -> Option<(usize, Kind)> {
        self.table.column(self.name(expr)?)
    }

    fn item(&self, expr: &Expr) -> Option<Item> {
        if let Some(name) = self.name(expr) {
            if let Some((column, kind)) = self.table.column(name) {
                return Some(Item::Column(column, kind));
            }
            let (column, kind) = self.table.column(name.strip_suffix(ID_SUFFIX)?)?;
            return (kind == Kind::Text).then_some(Item::Id(column));
        }
        if let Expr::BinaryOp {
            left,
            op: BinaryOperator::Plus,
            right,
        } = expr
        {
            return match (self.column(left)?, self.column(right)?) {
                ((a, Kind::I64), (b, Kind::I64)) => Some(Item::Sum(a, b, Kind::I64)),
                ((a, Kind::U64), (b, Kind::U64)) => Some(Item::Sum(a, b, Kind::U64)),
                _ => None,
            };
        }
        self.condition(expr).map(Item::Truth)
    }

    fn condition(&self, expr: &Expr) -> Option<Condition> {
        let both = |a: &Expr, b: &Expr| -> Option<(Box<Condition>, Box<Condition>)> {
            Some((Box::new(self.condition(a)?), Box::new(self.condition(b)?)))
        };
        let not = |condition| Condition::Not(Box::new(condition));
        Some(match expr {
            Expr::Nested(inner) => self.condition(inner)?,
            Expr::UnaryOp {
                op: UnaryOperator::Not,
                expr,
            } => not(self.condition(expr)?),
            Expr::IsNull(inner) => not(Condition::Present(self.column(inner)?.0)),
            Expr::IsNotNull(inner) => Condition::Present(self.column(inner)?.0),
            Expr::BinaryOp { left, op, right } => match op {
                BinaryOperator::And => {
                    let (a, b) = both(left, right)?;
                    Condition::And(a, b)
                }
                BinaryOperator::Or => {
                    let (a, b) = both(left, right)?;
                    Condition::Or(a, b)
                }
                BinaryOperator::NotEq => not(self.comparison(left, Comparison::Equal, right)?),
                BinaryOperator::Eq => self.comparison(left, Comparison::Equal, right)?,
                BinaryOperator::Lt => self.comparison(left, Comparison::Less, right)?,
                BinaryOperator::LtEq => self.comparison(left, Comparison::LessOrEqual, right)?,
                BinaryOperator::Gt => self.comparison(left, Comparison::Greater, right)?,
                BinaryOperator::GtEq => self.comparison(left, Comparison::GreaterOrEqual, right)?,
                _ => return None,
            },
            _ => match self.column(expr)? {
                (column, Kind::Bool) => Condition::Column(column),
                _ => return None,
            },
        })
    }

    /// A column compared with a literal.
    fn comparison(&self, left: &Expr, by: Comparison, right: &Expr) -> Option<Condition> {
        let (column, kind) = self.column(left)?;
        let Expr::Value(literal) = right else {
            return None;
        };
        match (kind, &literal.value) {
            (Kind::Text, Value::SingleQuotedString(text)) if by == Comparison::Equal => {
                let number = self.numbers.get_cat(text).map(u64::from);
                Some(Condition::Text(column, number))
            }
            (Kind::I64 | Kind::U64, Value::Number(digits, false)) => {
                let number: u64 = digits.parse().ok()?;
                // The engine reads greater ones as another type.
                (number <= i32::MAX as u64).then_some(Condition::Integer(column, kind, by, number))
            }
            _ => None,
        }
    }
}
