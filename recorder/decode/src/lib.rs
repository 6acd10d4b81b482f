//! A small transformer that decodes tokens and records what it does: the program behind the example `decode` and
//! two benchmarks.

pub mod attention;
pub mod backend;
pub mod blocked_matmul;
pub mod brick;
pub mod buffers;
pub mod generate;
pub mod head_pool;
pub mod kernel_names;
pub mod kernels;
pub mod model;
pub mod plant;
pub mod probe;
pub mod projection;
pub mod random;
pub mod rope;
pub mod sampling;
pub mod simd;
pub mod slow;
pub mod weights;
pub mod work;

#[cfg(test)]
mod recorded_tests;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
