//! Iterations.
