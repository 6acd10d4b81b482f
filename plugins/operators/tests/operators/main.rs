//! The plugin as a whole: made calls and kernels in, tables and findings out.

mod baseline;
mod counting;
mod places;
mod program;
mod rank_rows;
mod ranks;
