//! Number of cores that may be used.

use std::sync::OnceLock;
use std::thread;

/// Cores that this process may run on, at least one. The system is asked once: it reads several files for an answer.
pub fn count() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}
