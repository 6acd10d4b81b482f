//! Types of expressions, and arithmetic and comparisons that are exact or fail.

use polars::prelude::arity::broadcast_try_binary_elementwise;
use polars::prelude::{
    ChunkedArray, Column, DataType, Expr, Field, Float64Type, Int64Type, IntoColumn, LiteralValue,
    PolarsNumericType, PolarsResult, UInt64Type, lit, map_multiple, polars_err, when,
};
use sqlparser::ast::BinaryOperator as Operator;

use super::{Answer, invalid};
pub(super) use crate::literal::typed_lit;

/// Types that the planner distinguishes. Narrower columns are widened before computing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ty {
    Null,
    Bool,
    Int,
    UInt,
    Float,
    Text,
    Other,
}

impl Ty {
    /// The type of a column, and whether its values have to be widened.
    pub(super) fn of(dtype: &DataType) -> (Self, bool) {
        match dtype {
            DataType::Null => (Self::Null, false),
            DataType::Boolean => (Self::Bool, false),
            DataType::Int64 => (Self::Int, false),
            DataType::UInt64 => (Self::UInt, false),
            DataType::Float64 => (Self::Float, false),
            DataType::String => (Self::Text, false),
            DataType::Float32 => (Self::Float, true),
            other if other.is_integer() => (Self::Int, true),
            other if other.is_categorical() || other.is_enum() => (Self::Text, true),
            _ => (Self::Other, false),
        }
    }

    pub(super) fn dtype(self) -> DataType {
        match self {
            Self::Null | Self::Other => DataType::Null,
            Self::Bool => DataType::Boolean,
            Self::Int => DataType::Int64,
            Self::UInt => DataType::UInt64,
            Self::Float => DataType::Float64,
            Self::Text => DataType::String,
        }
    }

    pub(super) fn is_number(self) -> bool {
        matches!(self, Self::Int | Self::UInt | Self::Float)
    }

    fn word(self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Bool => "a truth value",
            Self::Int | Self::UInt => "a whole number",
            Self::Float => "a number",
            Self::Text => "text",
            Self::Other => "a list or a time",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Constant {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
}

#[derive(Clone, Debug)]
pub(super) struct Typed {
    pub(super) expr: Expr,
    pub(super) ty: Ty,
    pub(super) narrow: bool,
    pub(super) constant: Option<Constant>,
}

impl Typed {
    pub(super) fn new(expr: Expr, ty: Ty) -> Self {
        Self {
            expr,
            ty,
            narrow: false,
            constant: None,
        }
    }

    pub(super) fn constant(value: Constant) -> Self {
        let (expr, ty) = match &value {
            Constant::Null => (lit(LiteralValue::untyped_null()), Ty::Null),
            Constant::Bool(truth) => (lit(*truth), Ty::Bool),
            Constant::Int(number) => match (i64::try_from(*number), u64::try_from(*number)) {
                (Ok(number), _) => (typed_lit(number), Ty::Int),
                (_, Ok(number)) => (typed_lit(number), Ty::UInt),
                _ => (typed_lit(*number as f64), Ty::Float),
            },
            Constant::Float(number) => (typed_lit(*number), Ty::Float),
            Constant::Text(text) => (lit(text.as_str()), Ty::Text),
        };
        Self {
            constant: Some(value),
            ..Self::new(expr, ty)
        }
    }

    pub(super) fn wide(self) -> Expr {
        if self.narrow {
            self.expr.cast(self.ty.dtype())
        } else {
            self.expr
        }
    }

    pub(super) fn into_type(self, ty: Ty) -> Answer<Expr> {
        if let Some(constant) = &self.constant
            && let Some(expr) = constant_of(constant, ty)?
        {
            return Ok(expr);
        }
        let from = self.ty;
        if from == ty {
            return Ok(self.wide());
        }
        let expr = self.wide();
        match (from, ty) {
            (Ty::Null, _) => Ok(expr.cast(ty.dtype())),
            (Ty::Int | Ty::UInt, Ty::Int | Ty::UInt) => Ok(expr.strict_cast(ty.dtype())),
            (Ty::Int | Ty::UInt, Ty::Float) => Ok(expr.cast(DataType::Float64)),
            (Ty::Bool, Ty::Int | Ty::UInt | Ty::Float) => Ok(expr.cast(ty.dtype())),
            _ => invalid(format!(
                "found {} where {} is needed (hint: CAST(… AS …) converts)",
                from.word(),
                ty.word()
            )),
        }
    }

    pub(super) fn into_number(self) -> Answer<Self> {
        match self.ty {
            Ty::Int | Ty::UInt | Ty::Float => Ok(Self {
                ty: self.ty,
                narrow: false,
                constant: self.constant.clone(),
                expr: self.wide(),
            }),
            Ty::Text => match self.constant {
                Some(_) => Ok(Self::new(self.into_type(Ty::Float)?, Ty::Float)),
                None => invalid(
                    "found text where a number is needed (hint: CAST(… AS DOUBLE) converts)",
                ),
            },
            _ => Ok(Self::new(self.into_type(Ty::Int)?, Ty::Int)),
        }
    }

    pub(super) fn into_text(self) -> Expr {
        if self.ty == Ty::Text {
            self.wide()
        } else {
            self.wide().cast(DataType::String)
        }
    }

    pub(super) fn into_truth(self) -> Answer<Expr> {
        match self.ty {
            Ty::Int | Ty::UInt | Ty::Float => {
                let zero = Self::constant(Constant::Int(0)).into_type(self.ty)?;
                Ok(self.wide().neq(zero))
            }
            _ => self.into_type(Ty::Bool),
        }
    }

    pub(super) fn is_same_for_all(&self) -> bool {
        self.constant.is_some() || self.expr.clone().meta().root_names().is_empty()
    }
}

/// Repeats a constant as a column, as long as another column. polars 0.55.2 loses rows if it reads no column at all
/// for a literal.
pub(super) fn repeated(value: Expr, along: Expr) -> Expr {
    let repeat = |columns: &mut [Column]| {
        let all = columns[0].new_from_index(0, columns[1].len());
        // As values: of one value and a number of rows, `IS DISTINCT FROM` makes fewer.
        Ok(all.take_materialized_series().into_column())
    };
    let field = |_: &polars::prelude::Schema, fields: &[Field]| Ok(fields[0].clone());
    map_multiple(repeat, [value, along], field)
}

/// Casts a constant; `None` if that is only possible while the query runs.
fn constant_of(constant: &Constant, ty: Ty) -> Answer<Option<Expr>> {
    Ok(Some(match (constant, ty) {
        (Constant::Int(number), Ty::Int) => match i64::try_from(*number) {
            Ok(number) => typed_lit(number),
            Err(_) => return Ok(None),
        },
        (Constant::Int(number), Ty::UInt) => match u64::try_from(*number) {
            Ok(number) => typed_lit(number),
            Err(_) => return Ok(None),
        },
        (Constant::Int(number), Ty::Float) => typed_lit(*number as f64),
        (Constant::Float(number), Ty::Float) => typed_lit(*number),
        (Constant::Text(text), Ty::Int | Ty::UInt | Ty::Float) => {
            let text = text.trim();
            let number = match text.parse::<i128>() {
                Ok(number) => Constant::Int(number),
                Err(_) => match text.parse::<f64>() {
                    Ok(number) => Constant::Float(number),
                    Err(_) => return invalid(format!("'{text}' is not a number")),
                },
            };
            return constant_of(&number, ty);
        }
        (Constant::Text(text), Ty::Bool) => match text.to_ascii_lowercase().as_str() {
            "true" | "t" => lit(true),
            "false" | "f" => lit(false),
            _ => return invalid(format!("'{text}' is not a truth value")),
        },
        _ => return Ok(None),
    }))
}

pub(super) fn common_type<'a>(all: impl Iterator<Item = &'a Typed> + Clone) -> Answer<Ty> {
    let is_text_constant = |one: &&Typed| matches!(one.constant, Some(Constant::Text(_)));
    let mut found = Ty::Null;
    for one in all.clone().filter(|one| !is_text_constant(one)) {
        found = match (found, one.ty) {
            (Ty::Null, ty) => ty,
            (ty, Ty::Null) => ty,
            (a, b) if a == b => a,
            (Ty::Float, b) if b.is_number() => Ty::Float,
            (a, Ty::Float) if a.is_number() => Ty::Float,
            (Ty::Int, Ty::UInt) | (Ty::UInt, Ty::Int) => Ty::Int,
            (Ty::Bool, b) if b.is_number() => b,
            (a, Ty::Bool) if a.is_number() => a,
            (a, b) => {
                return invalid(format!(
                    "{} and {} cannot be combined (hint: CAST(… AS …) converts)",
                    a.word(),
                    b.word()
                ));
            }
        };
    }
    if found == Ty::Int && all.clone().any(|one| one.ty == Ty::UInt) {
        // Constants adapt to the columns beside them.
        let fits = |one: &Typed| match &one.constant {
            Some(Constant::Int(number)) => u64::try_from(*number).is_ok(),
            _ => one.ty != Ty::Int,
        };
        if all.clone().all(fits) {
            found = Ty::UInt;
        }
    }
    if found == Ty::Null && all.clone().any(|one| one.ty == Ty::Text) {
        found = Ty::Text;
    }
    Ok(found)
}

pub(super) fn unified(a: Typed, b: Typed) -> Answer<(Expr, Expr, Ty)> {
    let ty = common_type([&a, &b].into_iter())?;
    Ok((a.into_type(ty)?, b.into_type(ty)?, ty))
}

/// A comparison. Signed and unsigned integers are compared exactly.
pub(super) fn compared(a: Typed, op: &Operator, b: Typed) -> Answer<Expr> {
    let ty = common_type([&a, &b].into_iter())?;
    let is_mixed = ty == Ty::Int && (a.ty == Ty::UInt || b.ty == Ty::UInt);
    if !is_mixed || a.ty == b.ty || matches!(a.ty, Ty::Bool) || matches!(b.ty, Ty::Bool) {
        let (a, b) = (a.into_type(ty)?, b.into_type(ty)?);
        return Ok(comparison(a, op, b));
    }
    if a.ty == Ty::UInt {
        return compared(b, &mirrored(op), a);
    }
    let (signed, unsigned) = (a.wide(), b.wide());
    let below = matches!(op, Operator::Lt | Operator::LtEq | Operator::NotEq);
    let below = when(unsigned.clone().is_not_null()).then(lit(below));
    let below = below.otherwise(lit(LiteralValue::untyped_null()));
    let above = comparison(signed.clone().cast(DataType::UInt64), op, unsigned);
    Ok(when(signed.lt(typed_lit(0_i64)))
        .then(below)
        .otherwise(above))
}

fn comparison(a: Expr, op: &Operator, b: Expr) -> Expr {
    match op {
        Operator::Eq => a.eq(b),
        Operator::NotEq => a.neq(b),
        Operator::Lt => a.lt(b),
        Operator::LtEq => a.lt_eq(b),
        Operator::Gt => a.gt(b),
        _ => a.gt_eq(b),
    }
}

pub(super) fn mirrored(op: &Operator) -> Operator {
    match op {
        Operator::Lt => Operator::Gt,
        Operator::LtEq => Operator::GtEq,
        Operator::Gt => Operator::Lt,
        Operator::GtEq => Operator::LtEq,
        other => other.clone(),
    }
}

/// Arithmetic in which an overflow is an error.
pub(super) fn computed(a: Typed, op: &Operator, b: Typed) -> Answer<Typed> {
    let (a, b) = (a.into_number()?, b.into_number()?);
    if *op == Operator::Divide {
        let (a, b) = (a.into_type(Ty::Float)?, b.into_type(Ty::Float)?);
        return Ok(Typed::new(a / b, Ty::Float));
    }
    let (a, b, ty) = unified(a, b)?;
    if ty != Ty::Float {
        let expr = match ty {
            Ty::UInt => checked::<UInt64Type>(a, op, b, ty),
            _ => checked::<Int64Type>(a, op, b, ty),
        };
        return Ok(Typed::new(expr, ty));
    }
    let expr = match op {
        Operator::Plus => a + b,
        Operator::Minus => a - b,
        Operator::Multiply => a * b,
        Operator::Modulo => checked::<Float64Type>(a, op, b, ty),
        _ => a.floor_div(b).cast(DataType::Int64),
    };
    let ty = match op {
        Operator::DuckIntegerDivide => Ty::Int,
        _ => ty,
    };
    Ok(Typed::new(expr, ty))
}

trait Checked: PolarsNumericType {
    fn compute(op: &Operator, a: Self::Native, b: Self::Native) -> Option<Self::Native>;
    fn is_zero(value: Self::Native) -> bool;
}

macro_rules! checked_integer {
    ($($ty:ty),*) => {$(
        impl Checked for $ty {
            fn compute(op: &Operator, a: Self::Native, b: Self::Native) -> Option<Self::Native> {
                match op {
                    Operator::Plus => a.checked_add(b),
                    Operator::Minus => a.checked_sub(b),
                    Operator::Multiply => a.checked_mul(b),
                    Operator::Modulo => a.checked_rem(b),
                    _ => a.checked_div(b),
                }
            }

            fn is_zero(value: Self::Native) -> bool {
                value == 0
            }
        }
    )*};
}

checked_integer!(Int64Type, UInt64Type);

impl Checked for Float64Type {
    fn compute(_: &Operator, a: f64, b: f64) -> Option<f64> {
        Some(a % b)
    }

    fn is_zero(_: f64) -> bool {
        false
    }
}

fn checked<T: Checked>(a: Expr, op: &Operator, b: Expr, ty: Ty) -> Expr
where
    ChunkedArray<T>: IntoColumn,
{
    let op = op.clone();
    let compute = move |columns: &mut [Column]| {
        let (a, b) = (columns[0].cast(&ty.dtype())?, columns[1].cast(&ty.dtype())?);
        let (a, b) = (
            a.as_materialized_series().unpack::<T>()?.clone(),
            b.as_materialized_series().unpack::<T>()?.clone(),
        );
        let divides = matches!(op, Operator::Modulo | Operator::DuckIntegerDivide);
        let row = |a: Option<T::Native>, b: Option<T::Native>| {
            let (Some(a), Some(b)) = (a, b) else {
                return Ok(None);
            };
            if divides && T::is_zero(b) {
                return Ok(None);
            }
            match T::compute(&op, a, b) {
                Some(value) => Ok(Some(value)),
                None => Err(polars_err!(ComputeError:
                    "{a} {op} {b} does not fit into 64 bits (hint: CAST({} AS {}) first)",
                    if ty == Ty::UInt && op == Operator::Minus { "both" } else { "one side" },
                    if ty == Ty::UInt && op == Operator::Minus { "BIGINT" } else { "DOUBLE" }
                )),
            }
        };
        let done: PolarsResult<ChunkedArray<T>> = broadcast_try_binary_elementwise(&a, &b, row);
        Ok(done?.into_column())
    };
    let field = move |_: &polars::prelude::Schema, fields: &[Field]| {
        Ok(Field::new(fields[0].name().clone(), ty.dtype()))
    };
    map_multiple(compute, [a, b], field)
}
