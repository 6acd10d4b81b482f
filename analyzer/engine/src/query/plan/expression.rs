//! Expressions: names, operators, conditions.

use std::ops::ControlFlow;

use polars::prelude::{DataType, Expr, LiteralValue, NamedFrom, RoundMode, Series, lit, when};
use sqlparser::ast::{
    BinaryOperator as Operator, CastKind, DataType as SqlType, Expr as Ast, Ident, Query,
    TrimWhereField, UnaryOperator, Value, ValueWithSpan, Visit, Visitor, visit_expressions_mut,
};

use super::aggregate;
use super::from::without_nesting;
use super::scope::{Field, Relation, found};
use super::select::{Aliases, Context};
use super::types::{Constant, Ty, Typed, common_type, compared, computed, typed_lit, unified};
use super::{Answer, Planner, invalid, unsupported};

impl Planner<'_> {
    pub(super) fn filter(
        &mut self,
        relation: Relation,
        condition: &Ast,
        aliases: &Aliases,
    ) -> Answer<Relation> {
        let mut context = Context::new(relation);
        context.aliases.clone_from(aliases);
        if self.chosen_by_subquery(condition, &mut context)? {
            return Ok(context.base);
        }
        let truth = self.expr(condition, &mut context)?.into_truth()?;
        let mut relation = context.base;
        relation.frame = relation.filtered(truth);
        relation.is_single = false;
        Ok(relation)
    }

    pub(super) fn expr(&mut self, expr: &Ast, context: &mut Context) -> Answer<Typed> {
        if let Some(key) = key_of_group(expr, context) {
            return Ok(key);
        }
        match expr {
            Ast::Identifier(name) => self.name(std::slice::from_ref(name), context),
            Ast::CompoundIdentifier(parts) => self.name(parts, context),
            Ast::Nested(inner) => self.expr(inner, context),
            Ast::Value(value) => literal(value),
            Ast::UnaryOp { op, expr } => {
                let value = self.expr(expr, context)?;
                unary(op, value)
            }
            Ast::BinaryOp { left, op, right } => {
                let a = self.expr(left, context)?;
                let b = self.expr(right, context)?;
                binary(a, op, b)
            }
            Ast::Function(call) => self.call(call, context),
            Ast::Case { .. } => self.case(expr, context),
            Ast::Cast {
                kind,
                expr,
                data_type,
                format: None,
                ..
            } => {
                let value = self.expr(expr, context)?;
                let is_try = matches!(kind, CastKind::TryCast | CastKind::SafeCast);
                cast(value, data_type, is_try)
            }
            Ast::Subquery(query) => self.scalar_subquery(query, context),
            Ast::Exists { subquery, negated } => self.exists(subquery, *negated, context),
            Ast::InSubquery {
                expr,
                subquery,
                negated,
            } => self.in_subquery(expr, subquery, *negated, context),
            Ast::AnyOp {
                left,
                compare_op: Operator::Eq,
                right,
                ..
            } => match without_nesting(right) {
                Ast::Subquery(query) => self.in_subquery(left, query, false, context),
                _ => unsupported("ANY of a list", "IN (…)"),
            },
            Ast::AllOp {
                left,
                compare_op: Operator::NotEq,
                right,
            } => match without_nesting(right) {
                Ast::Subquery(query) => self.in_subquery(left, query, true, context),
                _ => unsupported("ALL of a list", "NOT IN (…)"),
            },
            Ast::AnyOp { .. } | Ast::AllOp { .. } => unsupported(
                "ANY or ALL with <, <=, > or >=",
                "compare with (SELECT MIN(…) …) or (SELECT MAX(…) …)",
            ),
            _ => self.test(expr, context),
        }
    }

    fn test(&mut self, expr: &Ast, context: &mut Context) -> Answer<Typed> {
        let truth = |expr: Expr| Ok(Typed::new(expr, Ty::Bool));
        match expr {
            Ast::IsNull(inner) => truth(self.expr(inner, context)?.expr.is_null()),
            Ast::IsNotNull(inner) => truth(self.expr(inner, context)?.expr.is_not_null()),
            Ast::IsTrue(inner) => truth(self.truth(inner, context)?.fill_null(lit(false))),
            Ast::IsNotTrue(inner) => truth(self.truth(inner, context)?.fill_null(lit(false)).not()),
            Ast::IsFalse(inner) => truth(self.truth(inner, context)?.not().fill_null(lit(false))),
            Ast::IsNotFalse(inner) => truth(self.truth(inner, context)?.fill_null(lit(true))),
            Ast::IsUnknown(inner) => truth(self.truth(inner, context)?.is_null()),
            Ast::IsNotUnknown(inner) => truth(self.truth(inner, context)?.is_not_null()),
            Ast::IsDistinctFrom(_, b) | Ast::IsNotDistinctFrom(_, b) if is_connective(b) => {
                self.expr(&reassociated(expr), context)
            }
            Ast::IsDistinctFrom(a, b) => {
                let (a, b) = (self.expr(a, context)?, self.expr(b, context)?);
                let (a, b, _) = unified(a, b)?;
                truth(a.neq_missing(b))
            }
            Ast::IsNotDistinctFrom(a, b) => {
                let (a, b) = (self.expr(a, context)?, self.expr(b, context)?);
                let (a, b, _) = unified(a, b)?;
                truth(a.eq_missing(b))
            }
            Ast::Between {
                expr,
                negated,
                low,
                high,
            } => {
                let value = self.expr(expr, context)?;
                let (low, high) = (self.expr(low, context)?, self.expr(high, context)?);
                let above = compared(value.clone(), &Operator::GtEq, low)?;
                let within = above.and(compared(value, &Operator::LtEq, high)?);
                truth(negated_if(*negated, within))
            }
            Ast::InList {
                expr,
                list,
                negated,
            } => {
                let value = self.expr(expr, context)?;
                let list = list.iter().map(|one| self.expr(one, context));
                let is_in = in_list(value, list.collect::<Answer<_>>()?)?;
                truth(negated_if(*negated, is_in))
            }
            Ast::Like {
                negated,
                any: false,
                expr,
                pattern,
                escape_char,
            } => self.like(
                expr,
                pattern,
                escape_char.as_ref(),
                (*negated, false),
                context,
            ),
            Ast::ILike {
                negated,
                any: false,
                expr,
                pattern,
                escape_char,
            } => self.like(
                expr,
                pattern,
                escape_char.as_ref(),
                (*negated, true),
                context,
            ),
            Ast::RLike {
                negated,
                expr,
                pattern,
                ..
            } => {
                let (text, pattern) = (self.expr(expr, context)?, self.expr(pattern, context)?);
                truth(negated_if(*negated, matched(text, &pattern, "")?))
            }
            Ast::Ceil { expr, .. } => self.named_call("ceil", &[expr], context),
            Ast::Floor { expr, .. } => self.named_call("floor", &[expr], context),
            Ast::Position { expr, r#in } => self.named_call("strpos", &[r#in, expr], context),
            Ast::Substring {
                expr,
                substring_from,
                substring_for,
                ..
            } => {
                let first = Ast::value(Value::Number("1".to_owned(), false));
                let from = substring_from.as_deref().unwrap_or(&first);
                let arguments: Vec<&Ast> = [expr.as_ref(), from]
                    .into_iter()
                    .chain(substring_for.as_deref())
                    .collect();
                self.named_call("substr", &arguments, context)
            }
            Ast::Trim {
                expr,
                trim_where,
                trim_what,
                trim_characters,
            } => {
                let name = match trim_where {
                    Some(TrimWhereField::Leading) => "ltrim",
                    Some(TrimWhereField::Trailing) => "rtrim",
                    _ => "trim",
                };
                let characters = trim_characters.iter().flatten();
                let arguments: Vec<&Ast> = std::iter::once(expr.as_ref())
                    .chain(trim_what.as_deref())
                    .chain(characters)
                    .collect();
                self.named_call(name, &arguments, context)
            }
            Ast::Extract { .. } | Ast::TypedString(_) | Ast::Interval(_) => unsupported(
                "a date, a time or an interval",
                "times are whole nanoseconds: 1e9 is one second",
            ),
            Ast::Tuple(_) => unsupported("a list of values in parentheses", "compare each"),
            other => unsupported(other, ""),
        }
    }

    fn truth(&mut self, expr: &Ast, context: &mut Context) -> Answer<Expr> {
        self.expr(expr, context)?.into_truth()
    }

    fn name(&mut self, parts: &[Ident], context: &mut Context) -> Answer<Typed> {
        if let Some(field) = context.base.find(parts)? {
            return self.field(&field, context);
        }
        if let [name] = parts {
            let is = |alias: &&(String, Ast)| {
                alias.0 == name.value && !context.expanding.contains(&alias.0)
            };
            if let Some((alias, expr)) = context.aliases.iter().find(is).cloned() {
                context.expanding.push(alias);
                let typed = self.expr(&expr, context);
                context.expanding.pop();
                return typed;
            }
        }
        for (depth, fields) in self.outer.iter().enumerate().rev() {
            if let Some(field) = found(fields, parts)? {
                self.outer_refs.insert((depth, field.id.to_string()));
                return Ok(field.typed());
            }
        }
        Err(context.base.unknown(parts))
    }

    pub(super) fn field(&mut self, field: &Field, context: &Context) -> Answer<Typed> {
        let is_outer = context.base.outer.iter().any(|outer| outer.id == field.id);
        if !context.is_over_groups() || is_outer {
            return Ok(field.typed());
        }
        let keys = context.grouping.iter().flat_map(|grouping| &grouping.keys);
        let is_field =
            |key: &Ast| matches!(key, Ast::Identifier(name) if name.value == field.id.as_str());
        match keys.into_iter().find(|(key, ..)| is_field(key)) {
            Some((.., key)) => Ok(key.typed()),
            None => invalid(format!(
                "column {0} is neither grouped by nor in an aggregate (hint: add it to GROUP BY, or write ANY_VALUE({0}))",
                field.name
            )),
        }
    }

    fn case(&mut self, expr: &Ast, context: &mut Context) -> Answer<Typed> {
        let Ast::Case {
            operand,
            conditions,
            else_result,
            ..
        } = expr
        else {
            return unsupported(expr, "");
        };
        let operand = match operand {
            Some(operand) => Some(self.expr(operand, context)?),
            None => None,
        };
        let (mut truths, mut results) = (Vec::new(), Vec::new());
        for branch in conditions {
            let condition = self.expr(&branch.condition, context)?;
            truths.push(match &operand {
                Some(operand) => compared(operand.clone(), &Operator::Eq, condition)?,
                None => condition.into_truth()?,
            });
            results.push(self.expr(&branch.result, context)?);
        }
        results.push(match else_result {
            Some(other) => self.expr(other, context)?,
            None => Typed::constant(Constant::Null),
        });
        let ty = common_type(results.iter())?;
        let mut results = results.into_iter().map(|result| result.into_type(ty)).rev();
        let mut chosen = match results.next() {
            Some(other) => other?,
            None => return unsupported(expr, ""),
        };
        for (truth, result) in truths.into_iter().rev().zip(results) {
            chosen = when(truth).then(result?).otherwise(chosen);
        }
        Ok(Typed::new(chosen, ty))
    }

    fn like(
        &mut self,
        text: &Ast,
        pattern: &Ast,
        escape: Option<&ValueWithSpan>,
        (negated, any_case): (bool, bool),
        context: &mut Context,
    ) -> Answer<Typed> {
        let text = self.expr(text, context)?;
        let pattern = match self.expr(pattern, context)?.constant {
            Some(Constant::Text(pattern)) => pattern,
            Some(Constant::Null) => return Ok(Typed::constant(Constant::Null)),
            _ => {
                return unsupported(
                    "LIKE with a pattern that is not a literal",
                    "CONTAINS(text, part) or STARTS_WITH(text, part)",
                );
            }
        };
        let escape = match escape.map(|escape| &escape.value) {
            Some(Value::SingleQuotedString(text)) => text.chars().next(),
            _ => None,
        };
        if text.ty != Ty::Text && text.ty != Ty::Null {
            return invalid("LIKE takes text (hint: CAST(… AS VARCHAR) converts)");
        }
        let text = text.into_text();
        let matches = match regex_of_like(&pattern, escape) {
            Some(regex) => {
                let flags = if any_case { "(?is)" } else { "(?s)" };
                text.str().contains(lit(format!("{flags}^{regex}$")), true)
            }
            None if any_case => text.str().to_lowercase().eq(lit(pattern.to_lowercase())),
            None => text.eq(lit(pattern)),
        };
        Ok(Typed::new(negated_if(negated, matches), Ty::Bool))
    }
}

fn is_connective(expr: &Ast) -> bool {
    let Ast::BinaryOp { op, .. } = expr else {
        return false;
    };
    matches!(op, Operator::And | Operator::Or | Operator::Xor)
}

/// Parses `a IS DISTINCT FROM b AND c` as in SQL: the parser (sqlparser 0.62) takes `b AND c` as the right operand.
fn reassociated(expr: &Ast) -> Ast {
    match expr {
        Ast::IsDistinctFrom(a, b) | Ast::IsNotDistinctFrom(a, b) => {
            if let Ast::BinaryOp { left, op, right } = b.as_ref()
                && is_connective(b)
            {
                let (a, left) = (a.clone(), left.clone());
                let compared = match expr {
                    Ast::IsDistinctFrom(..) => Ast::IsDistinctFrom(a, left),
                    _ => Ast::IsNotDistinctFrom(a, left),
                };
                return Ast::BinaryOp {
                    left: Box::new(reassociated(&compared)),
                    op: op.clone(),
                    right: right.clone(),
                };
            }
            expr.clone()
        }
        other => other.clone(),
    }
}

fn negated_if(negated: bool, expr: Expr) -> Expr {
    if negated { expr.not() } else { expr }
}

/// A regular expression for a `LIKE` pattern; `None` if it has no wildcards.
fn regex_of_like(pattern: &str, escape: Option<char>) -> Option<String> {
    let mut regex = String::new();
    let mut is_plain = true;
    let mut chars = pattern.chars();
    while let Some(one) = chars.next() {
        match one {
            one if Some(one) == escape => {
                is_plain = false;
                let next = chars.next().unwrap_or(one);
                regex.push_str(&escaped(next));
            }
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            one => regex.push_str(&escaped(one)),
        }
        is_plain &= !matches!(one, '%' | '_');
    }
    (!is_plain).then_some(regex)
}

fn escaped(one: char) -> String {
    if one.is_ascii_punctuation() {
        format!("\\{one}")
    } else {
        one.to_string()
    }
}

pub(super) fn matched(text: Typed, pattern: &Typed, flags: &str) -> Answer<Expr> {
    let pattern = regex(pattern, flags)?;
    if !matches!(text.ty, Ty::Text | Ty::Null) {
        return invalid("a regular expression is for text (hint: CAST(… AS VARCHAR) converts)");
    }
    Ok(text.into_text().str().contains(pattern, true))
}

/// A regular expression. A literal is validated before the query runs.
pub(super) fn regex(pattern: &Typed, flags: &str) -> Answer<Expr> {
    let Some(Constant::Text(text)) = &pattern.constant else {
        return Ok(pattern.clone().into_text());
    };
    if let Err(error) = regex::Regex::new(text) {
        let error = error.to_string();
        let why = error.lines().last().unwrap_or_default();
        let why = why.trim_start_matches("error: ");
        return invalid(format!("'{text}' is not a regular expression: {why}"));
    }
    let flags = if flags.is_empty() {
        String::new()
    } else {
        format!("(?{flags})")
    };
    Ok(lit(format!("{flags}{text}")))
}

/// The group key that the expression equals; `None` if there is none.
fn key_of_group(expr: &Ast, context: &Context) -> Option<Typed> {
    let grouping = context
        .grouping
        .as_ref()
        .filter(|_| !context.in_aggregate)?;
    let is_name = matches!(
        expr,
        Ast::Identifier(_) | Ast::CompoundIdentifier(_) | Ast::Value(_)
    );
    if is_name {
        return None;
    }
    let kind = std::mem::discriminant(expr);
    let mut alike = grouping
        .keys
        .iter()
        .filter(|(key, ..)| std::mem::discriminant(key) == kind);
    alike.clone().next()?;
    let own = canonical(expr, &context.base).to_string();
    let key = alike.find(|(key, ..)| key.to_string() == own)?;
    Some(key.2.typed())
}

/// The expression with names replaced by columns of the frame.
pub(super) fn canonical(expr: &Ast, relation: &Relation) -> Ast {
    let mut own = without_nesting(expr).clone();
    let _ = visit_expressions_mut(&mut own, |expr| {
        let found = match &*expr {
            Ast::Identifier(name) => relation.find(std::slice::from_ref(name)),
            Ast::CompoundIdentifier(parts) => relation.find(parts),
            _ => Ok(None),
        };
        if let Ok(Some(field)) = found {
            *expr = Ast::Identifier(Ident::new(field.id.as_str()));
        }
        ControlFlow::<()>::Continue(())
    });
    own
}

/// Names of columns in an expression; `None` if it contains a subquery.
pub(super) fn names_in(expr: &Ast) -> Option<Vec<Vec<Ident>>> {
    struct Names(Vec<Vec<Ident>>);
    impl Visitor for Names {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }

        fn pre_visit_expr(&mut self, expr: &Ast) -> ControlFlow<()> {
            match expr {
                Ast::Identifier(name) => self.0.push(vec![name.clone()]),
                Ast::CompoundIdentifier(parts) => self.0.push(parts.clone()),
                _ => {}
            }
            ControlFlow::Continue(())
        }
    }
    let mut names = Names(Vec::new());
    match expr.visit(&mut names) {
        ControlFlow::Continue(()) => Some(names.0),
        ControlFlow::Break(()) => None,
    }
}

/// The expression calls an aggregate, outside of subqueries.
pub(super) fn is_aggregated(expr: &Ast) -> bool {
    struct Aggregates(usize);
    impl Visitor for Aggregates {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.0 += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.0 -= 1;
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expr: &Ast) -> ControlFlow<()> {
            match expr {
                Ast::Function(call)
                    if self.0 == 0
                        && call.over.is_none()
                        && aggregate::is_aggregate(&call.name.to_string()) =>
                {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    expr.visit(&mut Aggregates(0)).is_break()
}

fn literal(value: &ValueWithSpan) -> Answer<Typed> {
    Ok(Typed::constant(match &value.value {
        Value::Null => Constant::Null,
        Value::Boolean(truth) => Constant::Bool(*truth),
        Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => {
            Constant::Text(text.clone())
        }
        Value::DollarQuotedString(text) => Constant::Text(text.value.clone()),
        Value::Number(digits, _) => match digits.parse::<i128>() {
            Ok(number) => Constant::Int(number),
            Err(_) => match digits.parse::<f64>() {
                Ok(number) => Constant::Float(number),
                Err(_) => return invalid(format!("{digits} is not a number")),
            },
        },
        Value::Placeholder(name) => {
            return unsupported(format!("the placeholder {name}"), "write the value");
        }
        other => return unsupported(other, "write '…'"),
    }))
}

fn unary(op: &UnaryOperator, value: Typed) -> Answer<Typed> {
    match op {
        UnaryOperator::Not => Ok(Typed::new(value.into_truth()?.not(), Ty::Bool)),
        UnaryOperator::Plus => value.into_number(),
        UnaryOperator::Minus => match value.constant {
            Some(Constant::Int(number)) => Ok(Typed::constant(Constant::Int(-number))),
            Some(Constant::Float(number)) => Ok(Typed::constant(Constant::Float(-number))),
            _ => {
                let zero = match value.ty {
                    Ty::Float => typed_lit(0.0),
                    _ => typed_lit(0_i64),
                };
                let number = value.into_number()?;
                let ty = if number.ty == Ty::Float {
                    Ty::Float
                } else {
                    Ty::Int
                };
                let number = Typed::new(number.into_type(ty)?, ty);
                computed(Typed::new(zero, ty), &Operator::Minus, number)
            }
        },
        other => unsupported(format!("the operator {other}"), ""),
    }
}

fn binary(a: Typed, op: &Operator, b: Typed) -> Answer<Typed> {
    let truth = |expr: Expr| Ok(Typed::new(expr, Ty::Bool));
    match op {
        Operator::And => truth(a.into_truth()?.and(b.into_truth()?)),
        Operator::Or => truth(a.into_truth()?.or(b.into_truth()?)),
        Operator::Xor => truth(a.into_truth()?.neq(b.into_truth()?)),
        Operator::Eq
        | Operator::NotEq
        | Operator::Lt
        | Operator::LtEq
        | Operator::Gt
        | Operator::GtEq => truth(compared(a, op, b)?),
        Operator::Spaceship => {
            let (a, b, _) = unified(a, b)?;
            truth(a.eq_missing(b))
        }
        Operator::Plus
        | Operator::Minus
        | Operator::Multiply
        | Operator::Divide
        | Operator::Modulo
        | Operator::DuckIntegerDivide => computed(a, op, b),
        Operator::MyIntegerDivide => computed(a, &Operator::DuckIntegerDivide, b),
        Operator::StringConcat => Ok(Typed::new(a.into_text() + b.into_text(), Ty::Text)),
        Operator::BitwiseAnd | Operator::BitwiseOr => {
            let (a, b, ty) = unified(a.into_number()?, b.into_number()?)?;
            if ty == Ty::Float {
                return invalid(format!("{op} takes whole numbers"));
            }
            let expr = if *op == Operator::BitwiseAnd {
                a.and(b)
            } else {
                a.or(b)
            };
            Ok(Typed::new(expr, ty))
        }
        Operator::PGRegexMatch => truth(matched(a, &b, "")?),
        Operator::PGRegexNotMatch => truth(matched(a, &b, "")?.not()),
        Operator::PGRegexIMatch => truth(matched(a, &b, "i")?),
        Operator::PGRegexNotIMatch => truth(matched(a, &b, "i")?.not()),
        Operator::PGStartsWith => truth(a.into_text().str().starts_with(b.into_text())),
        Operator::PGExp | Operator::BitwiseXor => {
            unsupported(format!("the operator {op}"), "POW(x, y)")
        }
        other => unsupported(format!("the operator {other}"), ""),
    }
}

fn in_list(value: Typed, list: Vec<Typed>) -> Answer<Expr> {
    let unknown = || lit(LiteralValue::untyped_null()).cast(DataType::Boolean);
    let (nulls, list): (Vec<Typed>, Vec<Typed>) =
        list.into_iter().partition(|one| one.ty == Ty::Null);
    let ty = common_type(std::iter::once(&value).chain(&list))?;
    let constants: Option<Vec<Constant>> = list.iter().map(|one| one.constant.clone()).collect();
    let set = constants.and_then(|constants| series(&constants, ty, value.ty));
    let is_in = match set {
        Some((set, own)) => {
            let value = if own == value.ty {
                value.wide()
            } else {
                value.into_type(own)?
            };
            // As one list, which holds for all rows.
            let set = lit(set).implode(false);
            value.is_in(set, false)
        }
        None => {
            let mut any = lit(false);
            for one in list {
                any = any.or(compared(value.clone(), &Operator::Eq, one)?);
            }
            any
        }
    };
    Ok(if nulls.is_empty() {
        is_in
    } else {
        is_in.or(unknown())
    })
}

/// Constants as a set of one type, and that type; `None` if they must be compared one by one.
fn series(constants: &[Constant], ty: Ty, own: Ty) -> Option<(Series, Ty)> {
    let name = || "".into();
    Some(match (ty, own) {
        (Ty::Int | Ty::UInt, Ty::Int) => {
            let numbers = constants.iter().map(|one| match one {
                Constant::Int(number) => Some(i64::try_from(*number).ok()),
                _ => None,
            });
            let numbers: Vec<Option<i64>> = numbers.collect::<Option<_>>()?;
            // What does not fit is equal to no value.
            let numbers: Vec<i64> = numbers.into_iter().flatten().collect();
            (Series::new(name(), numbers), Ty::Int)
        }
        (Ty::Int | Ty::UInt, Ty::UInt) => {
            let numbers = constants.iter().map(|one| match one {
                Constant::Int(number) => Some(u64::try_from(*number).ok()),
                _ => None,
            });
            let numbers: Vec<Option<u64>> = numbers.collect::<Option<_>>()?;
            let numbers: Vec<u64> = numbers.into_iter().flatten().collect();
            (Series::new(name(), numbers), Ty::UInt)
        }
        (Ty::Float, _) => {
            let numbers = constants.iter().map(|one| match one {
                Constant::Int(number) => Some(*number as f64),
                Constant::Float(number) => Some(*number),
                _ => None,
            });
            let numbers: Vec<f64> = numbers.collect::<Option<_>>()?;
            (Series::new(name(), numbers), Ty::Float)
        }
        (Ty::Text, Ty::Text) => {
            let texts = constants.iter().map(|one| match one {
                Constant::Text(text) => Some(text.as_str()),
                _ => None,
            });
            let texts: Vec<&str> = texts.collect::<Option<_>>()?;
            (Series::new(name(), texts), Ty::Text)
        }
        _ => return None,
    })
}

/// Casts a value. Floats are rounded to the nearest integer, as in DuckDB and PostgreSQL.
fn cast(value: Typed, to: &SqlType, is_try: bool) -> Answer<Typed> {
    let (ty, dtype) = type_of(to)?;
    let narrow = dtype != ty.dtype();
    if value.ty == Ty::Other {
        return Ok(Typed {
            narrow,
            ..Typed::new(value.expr.strict_cast(dtype), ty)
        });
    }
    let is_whole = matches!(ty, Ty::Int | Ty::UInt);
    let from = value.ty;
    let mut expr = value.wide();
    if from == Ty::Text && ty != Ty::Text {
        expr = expr.str().strip_chars(lit(LiteralValue::untyped_null()));
    }
    if from == Ty::Text && ty == Ty::Bool {
        let text = expr.str().to_lowercase();
        let truth = when(text.clone().eq(lit("true")).or(text.clone().eq(lit("t"))))
            .then(lit(true))
            .when(text.clone().eq(lit("false")).or(text.eq(lit("f"))))
            .then(lit(false));
        let null = lit(LiteralValue::untyped_null());
        return Ok(Typed::new(truth.otherwise(null), Ty::Bool));
    }
    if from == Ty::Float && is_whole {
        expr = expr.round(0, RoundMode::HalfToEven);
    }
    if from == Ty::Bool && ty == Ty::Text {
        expr = when(expr.clone())
            .then(lit("true"))
            .when(expr.not())
            .then(lit("false"))
            .otherwise(lit(LiteralValue::untyped_null()));
    }
    let expr = if is_try {
        expr.cast(dtype)
    } else {
        expr.strict_cast(dtype)
    };
    Ok(Typed {
        narrow,
        ..Typed::new(expr, ty)
    })
}

fn type_of(to: &SqlType) -> Answer<(Ty, DataType)> {
    use SqlType as Sql;
    Ok(match to {
        Sql::Boolean | Sql::Bool => (Ty::Bool, DataType::Boolean),
        Sql::TinyInt(_) => (Ty::Int, DataType::Int8),
        Sql::SmallInt(_) | Sql::Int2(_) | Sql::Int16 => (Ty::Int, DataType::Int16),
        Sql::Int(_) | Sql::Integer(_) | Sql::Int4(_) | Sql::Int32 => (Ty::Int, DataType::Int32),
        Sql::BigInt(_) | Sql::Int8(_) | Sql::Int64 | Sql::HugeInt => (Ty::Int, DataType::Int64),
        Sql::UTinyInt => (Ty::Int, DataType::UInt8),
        Sql::USmallInt | Sql::UInt16 => (Ty::Int, DataType::UInt16),
        Sql::UInt32 | Sql::IntUnsigned(_) | Sql::UnsignedInteger => (Ty::Int, DataType::UInt32),
        Sql::UBigInt | Sql::BigIntUnsigned(_) | Sql::UInt64 => (Ty::UInt, DataType::UInt64),
        Sql::Real | Sql::Float4 => (Ty::Float, DataType::Float32),
        Sql::Double(_)
        | Sql::DoublePrecision
        | Sql::Float8
        | Sql::Float(_)
        | Sql::Float64
        | Sql::Decimal(_)
        | Sql::Numeric(_)
        | Sql::Dec(_) => (Ty::Float, DataType::Float64),
        Sql::Char(_)
        | Sql::CharVarying(_)
        | Sql::Character(_)
        | Sql::CharacterVarying(_)
        | Sql::String(_)
        | Sql::Text
        | Sql::Varchar(_) => (Ty::Text, DataType::String),
        Sql::Custom(name, _) => match name.to_string().to_ascii_lowercase().as_str() {
            "uinteger" => (Ty::Int, DataType::UInt32),
            "ubigint" => (Ty::UInt, DataType::UInt64),
            "usmallint" => (Ty::Int, DataType::UInt16),
            "utinyint" => (Ty::Int, DataType::UInt8),
            _ => return unsupported(format!("the type {to}"), TYPES),
        },
        _ => return unsupported(format!("the type {to}"), TYPES),
    })
}

const TYPES: &str = "there are BIGINT, UBIGINT, INTEGER, DOUBLE, BOOLEAN and VARCHAR";
