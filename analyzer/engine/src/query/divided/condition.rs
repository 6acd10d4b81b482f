//! Conditions that mean the same to every engine: comparisons of whole numbers and texts with what is written out.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};

use super::{Scope, quoted};
use crate::columns::Kind;

/// The condition in SQL that both engines interpret in the same way; `None` if that is uncertain.
pub(super) fn exact(expr: &Expr, scope: &Scope<'_>) -> Option<String> {
    match expr {
        Expr::Nested(inner) => exact(inner, scope),
        Expr::BinaryOp {
            left,
            op: op @ (BinaryOperator::And | BinaryOperator::Or),
            right,
        } => Some(format!(
            "({} {op} {})",
            exact(left, scope)?,
            exact(right, scope)?
        )),
        Expr::BinaryOp { left, op, right } => comparison(left, op, right, scope),
        Expr::UnaryOp {
            op: UnaryOperator::Not,
            expr,
        } => Some(format!("(NOT {})", exact(expr, scope)?)),
        Expr::IsNull(column) => Some(format!("({} IS NULL)", quoted(scope.column(column)?.0))),
        Expr::IsNotNull(column) => {
            Some(format!("({} IS NOT NULL)", quoted(scope.column(column)?.0)))
        }
        Expr::InList {
            expr,
            list,
            negated: false,
        } => {
            let (name, kind) = scope.column(expr)?;
            let list: Option<Vec<String>> = list.iter().map(|value| literal(value, kind)).collect();
            let list = list.filter(|list| !list.is_empty())?;
            Some(format!("({} IN ({}))", quoted(name), list.join(", ")))
        }
        Expr::Between {
            expr,
            negated: false,
            low,
            high,
        } => {
            let (name, kind) = scope.column(expr)?;
            (kind != Kind::Text).then_some(())?;
            let (low, high) = (literal(low, kind)?, literal(high, kind)?);
            Some(format!("({} BETWEEN {low} AND {high})", quoted(name)))
        }
        column => match scope.column(column)? {
            (name, Kind::Bool) => Some(quoted(name)),
            _ => None,
        },
    }
}

fn comparison(left: &Expr, op: &BinaryOperator, right: &Expr, scope: &Scope<'_>) -> Option<String> {
    let is_equality = matches!(op, BinaryOperator::Eq | BinaryOperator::NotEq);
    let is_order = matches!(
        op,
        BinaryOperator::Lt | BinaryOperator::LtEq | BinaryOperator::Gt | BinaryOperator::GtEq
    );
    let (shown, kind) = match (scope.column(left), scope.column(right)) {
        (Some((name, kind)), None) => (
            format!("{} {op} {}", quoted(name), literal(right, kind)?),
            kind,
        ),
        (None, Some((name, kind))) => (
            format!("{} {op} {}", literal(left, kind)?, quoted(name)),
            kind,
        ),
        (Some((one, kind)), Some((other, same))) if kind == same => {
            (format!("{} {op} {}", quoted(one), quoted(other)), kind)
        }
        _ => return None,
    };
    let is_exact = match kind {
        Kind::I64 | Kind::U64 | Kind::U32 => is_equality || is_order,
        Kind::Text => is_equality,
        Kind::F64 | Kind::Bool => false,
    };
    is_exact.then(|| format!("({shown})"))
}

/// A literal that a column of this kind can hold.
fn literal(expr: &Expr, kind: Kind) -> Option<String> {
    let (negated, expr) = match expr {
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => (true, expr.as_ref()),
        Expr::Nested(inner) => return literal(inner, kind),
        expr => (false, expr),
    };
    let Expr::Value(value) = expr else {
        return None;
    };
    match (&value.value, kind) {
        (Value::SingleQuotedString(text), Kind::Text) if !negated => {
            Some(format!("'{}'", text.replace('\'', "''")))
        }
        (Value::Number(digits, false), Kind::I64 | Kind::U64 | Kind::U32) => {
            let number: i64 = digits.parse().ok()?;
            let number = if negated { -number } else { number };
            let fits = match kind {
                Kind::U32 => u32::try_from(number).is_ok(),
                Kind::U64 => number >= 0,
                _ => true,
            };
            fits.then(|| number.to_string())
        }
        _ => None,
    }
}
