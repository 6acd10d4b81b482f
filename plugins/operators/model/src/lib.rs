//! Model of operators: useful FLOPs and least bytes of a PyTorch operator, from its recorded signature.
//!
//! [`Models::standard`] holds the rules of this crate, one TOML file a family; [`Models::with_rules`] puts those of a
//! user's file before them. [`Models::work`] gives the [`Work`] of a [`Signature`], or the reason why there is none.
//!
//! **Counting.** A multiply-add is two FLOPs; a function of an element, its derivative included, is one. Bytes are the
//! least that any implementation must move: every operand that the result depends on once, by the elements that lie
//! apart in memory (a stride of 0 is held once), and every result once. Statistics that an implementation keeps for
//! its backward pass are operands there, and no results here. Scalars travel with the launch and are no bytes. A rule
//! that departs from this says so in its assumption.
//!
//! **A rule file** lists rules. For a call the first rule counts that names its operator and whose `when` holds; a
//! user's rules come first.
//!
//! ```toml
//! family = "gemm"
//!
//! [[rule]]
//! name = "scaled product"
//! operators = ["mylib::mm_*", "mylib::{linear,dense}"]
//! when = "rank(0) == 2 and rank(1) == 2"
//! let = ["M = dim(0, 0)", "K = dim(0, 1)", "N = dim(1, 1)"]
//! flops = "2 * M * N * K"
//! read_bytes = "bytes(0) + bytes(1)"
//! written_bytes = "M * N * element_bytes(0)"
//! precision = "0"
//! unit = "matrix"
//! assumption = "The output has the type of the first operand."
//! source = "definition of the matrix product"
//! ```
//!
//! `moved_bytes` may stand in place of the two. `precision` is the operand whose type names the ceiling, the first
//! tensor when left out; `tf32` a formula that is true where the call allows TF32 in place of FP32. An operator with
//! `lowers_to` only calls those named: work is its own, and so are the bytes, but who sums over a run counts either it
//! or them, since device time belongs to the operator that launched the kernel. Formulas are those of the module
//! `expression`: whole numbers of 128 bits, checked, and functions of the signature.

mod element_type;
mod expression;
mod models;
mod pattern;
mod rules;
mod signature;

pub use element_type::{ElementType, Precision};
pub use models::{Models, NotModelled, Unit, Work};
pub use rules::RuleError;
pub use signature::{Concrete, Operand, RecordedTexts, Signature, SignatureError, Tensor};
