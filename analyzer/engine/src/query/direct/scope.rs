//! Expressions of direct queries. What is not understood as a whole is left to the engine.

use std::borrow::Cow;
use std::collections::BTreeMap;

use polars::prelude::CategoricalMapping;
use sqlparser::ast::{
    BinaryOperator, Expr, Function as Call, FunctionArg, FunctionArgExpr, FunctionArguments,
    UnaryOperator, Value,
};

use super::{Comparison, Condition, Item, TextTest, ValueType};
use crate::columns::{Kind, StoredTable};

pub(super) struct Scope<'a> {
    /// Alias of the table. In a join, aliases are part of the column names instead.
    pub(super) called: Vec<String>,
    pub(super) table: &'a StoredTable,
    /// Columns of a subquery used in place of the table.
    pub(super) derived: Option<BTreeMap<String, Item>>,
    pub(super) numbers: &'a CategoricalMapping,
}

impl Scope<'_> {
    /// The column name, if the expression is nothing else.
    pub(super) fn name<'e>(&self, expr: &'e Expr) -> Option<Cow<'e, str>> {
        match expr {
            Expr::Identifier(name) => Some(Cow::Borrowed(&name.value)),
            Expr::CompoundIdentifier(parts) => match (parts.as_slice(), self.called.as_slice()) {
                ([table, name], [called]) if table.value == *called => {
                    Some(Cow::Borrowed(&name.value))
                }
                ([table, name], [_, _]) if self.called.contains(&table.value) => {
                    Some(Cow::Owned(format!("{}.{}", table.value, name.value)))
                }
                _ => None,
            },
            Expr::Nested(inner) => self.name(inner),
            _ => None,
        }
    }

    pub(super) fn named(&self, name: &str) -> Option<Item> {
        if let Some(derived) = &self.derived {
            return derived.get(name).cloned();
        }
        if let Some((column, kind)) = self.table.column(name) {
            return Some(Item::Column(column, kind));
        }
        self.table.text_of_companion(name).map(Item::Id)
    }

    fn column(&self, expr: &Expr) -> Option<(usize, Kind)> {
        match self.named(&self.name(expr)?)? {
            Item::Column(column, kind) => Some((column, kind)),
            _ => None,
        }
    }

    pub(super) fn item(&self, expr: &Expr) -> Option<Item> {
        if let Some(name) = self.name(expr) {
            return self.named(&name);
        }
        match expr {
            Expr::Nested(inner) => self.item(inner),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Plus,
                right,
            } => {
                let (a, b) = (self.item(left)?, self.item(right)?);
                let is_wide = matches!(a.kind(), Kind::I64 | Kind::U64);
                let is_sum = is_wide && a.kind() == b.kind();
                is_sum.then(|| Item::Sum(Box::new(a), Box::new(b)))
            }
            Expr::Function(call) => {
                let arguments = plain_call(call, "COALESCE")?;
                let [value, Expr::Value(literal)] = arguments.as_slice() else {
                    return None;
                };
                let (Item::Column(column, kind), Value::Number(digits, false)) =
                    (self.item(value)?, &literal.value)
                else {
                    return None;
                };
                let literal: u64 = digits.parse().ok()?;
                let is_integer = matches!(kind, Kind::I64 | Kind::U64);
                let item = Item::Column(column, kind);
                (is_integer && literal <= MAX_LITERAL)
                    .then(|| Item::OrElse(Box::new(item), literal))
            }
            _ => self.condition(expr).map(Item::Truth),
        }
    }

    pub(super) fn condition(&self, expr: &Expr) -> Option<Condition> {
        let both = |a: &Expr, b: &Expr| -> Option<(Box<Condition>, Box<Condition>)> {
            Some((Box::new(self.condition(a)?), Box::new(self.condition(b)?)))
        };
        let not = |condition| Condition::Not(Box::new(condition));
        let unless = |negated: bool, condition| if negated { not(condition) } else { condition };
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
            Expr::InList {
                expr,
                list,
                negated,
            } => {
                let (column, Kind::Text) = self.column(expr)? else {
                    return None;
                };
                let texts = list.iter().map(|value| text(value).map(str::to_owned));
                let test = TextTest::Among(texts.collect::<Option<_>>()?);
                unless(*negated, Condition::Texts(column, test))
            }
            Expr::InSubquery {
                expr,
                subquery,
                negated,
            } => {
                let (column, value) = match self.named(&self.name(expr)?)? {
                    Item::Column(column, Kind::Text) => (column, ValueType::Text),
                    // Plugins get 32 bits as 64 with a sign.
                    Item::Column(column, Kind::I64 | Kind::U32) | Item::Id(column) => {
                        (column, ValueType::I64)
                    }
                    Item::Column(column, Kind::U64) => (column, ValueType::U64),
                    _ => return None,
                };
                let among = Condition::Among(column, value, subquery.to_string());
                unless(*negated, among)
            }
            Expr::Like {
                negated,
                any: false,
                expr,
                pattern,
                escape_char: None,
            } => {
                let (value, is_lower) = match &**expr {
                    Expr::Function(call) => (plain_call(call, "LOWER")?.pop()?, true),
                    _ => ((**expr).clone(), false),
                };
                let (column, Kind::Text) = self.column(&value)? else {
                    return None;
                };
                let pattern = text(pattern)?.chars().collect();
                let test = TextTest::Like { is_lower, pattern };
                unless(*negated, Condition::Texts(column, test))
            }
            _ => match self.column(expr)? {
                (column, Kind::Bool) => Condition::Column(column),
                _ => return None,
            },
        })
    }

    fn comparison(&self, left: &Expr, by: Comparison, right: &Expr) -> Option<Condition> {
        let (column, kind) = self.column(left)?;
        let Expr::Value(literal) = right else {
            let (other, other_kind) = self.column(right)?;
            let is_exact = !matches!(kind, Kind::F64 | Kind::Bool);
            let is_same = by == Comparison::Equal && is_exact && kind == other_kind;
            return is_same.then_some(Condition::Same(column, other));
        };
        match (kind, &literal.value) {
            (Kind::Text, Value::SingleQuotedString(text)) if by == Comparison::Equal => {
                // Rows with that text may be read later than this, and are to meet the number that it has here.
                let number = self.numbers.insert_cat(text).ok()?;
                Some(Condition::Text(column, u64::from(number)))
            }
            (Kind::I64 | Kind::U64, Value::Number(digits, false)) => {
                let number: u64 = digits.parse().ok()?;
                (number <= MAX_LITERAL).then_some(Condition::Integer(column, kind, by, number))
            }
            (Kind::Bool, Value::Boolean(truth)) if by == Comparison::Equal => {
                let column = Condition::Column(column);
                Some(if *truth {
                    column
                } else {
                    Condition::Not(Box::new(column))
                })
            }
            _ => None,
        }
    }
}

/// The engine gives larger literals another type.
const MAX_LITERAL: u64 = i32::MAX as u64;

fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(literal) => match &literal.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// The arguments of a call of this function, if it has no other clauses.
pub(super) fn plain_call(call: &Call, name: &str) -> Option<Vec<Expr>> {
    let FunctionArguments::List(list) = &call.args else {
        return None;
    };
    let arguments = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    let arguments = arguments.collect::<Option<Vec<Expr>>>()?;
    let shown: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    let plain = format!("{name}({})", shown.join(", "));
    let is_plain = call.to_string().eq_ignore_ascii_case(&plain);
    is_plain.then_some(arguments)
}
