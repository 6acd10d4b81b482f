//! Small language in which rules state formulas: whole numbers that never overflow, and facts of the signature.
//!
//! ```text
//! 2 * product(0, 0, -1) * dim(1, -1)
//! if is_tensor(2) then bytes(2) else broadcast(0, 1) * promoted_bytes(0, 1)
//! product_over(d, 2, rank(0), floor_divide(dim(0, d) + 2 * entry(padding, d - 2), entry(stride, d - 2)) + 1)
//! ```
//!
//! `+ - *`, exact `/` (a remainder is an error; `floor_divide` and `ceiling_divide` round), comparisons, `and`, `or`,
//! `not`, `if … then … else …`, lists in brackets, texts in quotes, and the calls of `functions`.

mod evaluate;
mod facts;
mod functions;
mod parse;
mod tokens;
mod value;

pub(crate) use evaluate::Evaluation;
pub(crate) use parse::{Expression, ParseError};
pub(crate) use value::Value;
