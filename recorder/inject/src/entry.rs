//! Every way into this library from outside.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Set after a panic: the library does nothing any more.
static BROKEN: AtomicBool = AtomicBool::new(false);

/// Runs `body`. Returns `otherwise` after a panic, now or earlier, because a panic that left here would end the
/// program.
pub fn guarded<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    if BROKEN.load(Ordering::Relaxed) {
        return otherwise;
    }
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(value) => value,
        Err(_) => {
            BROKEN.store(true, Ordering::Relaxed);
            otherwise
        }
    }
}

pub fn say(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "trueno-record: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_stays_here_and_ends_all_further_work() {
        assert_eq!(guarded(0, || 1), 1);
        assert_eq!(guarded(0, || panic!("on purpose")), 0);
        let mut ran = false;
        guarded((), || ran = true);
        assert!(!ran, "nothing runs any more");
    }
}
