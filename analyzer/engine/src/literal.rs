//! Literals of queries.

use polars::prelude::{Expr, LiteralValue, Scalar, lit};

/// A literal of exactly this type. Polars built without 128-bit integers cannot represent an untyped one above the
/// largest `i64`.
pub(crate) fn typed_lit<T>(value: T) -> Expr
where
    Scalar: From<T>,
{
    lit(LiteralValue::Scalar(Scalar::from(value)))
}
