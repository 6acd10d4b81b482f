//! Executes PTX on the host: the text that is shipped is what is tested, without a GPU.
//!
//! The part of PTX that the kernels consist of, one thread after the other, warp by warp. Stricter than a GPU: an
//! access outside of what was lent, or not aligned to its size, is a panic, and so is a shuffle that not all 32
//! threads of a warp come to.

#![allow(dead_code, reason = "each test uses a part of it")]

mod execute;
mod matrix;
mod memory;
mod parse;
mod value;

pub use memory::Memory;
pub use parse::Module;
