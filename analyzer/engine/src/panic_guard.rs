//! Keeps a panic of the query engine within the call that caused it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use polars::prelude::PolarsResult;

/// Runs `work` and converts a panic into an error.
///
/// The engine uses assertions for some of its expectations of files and queries.
pub fn guarded<T>(work: impl FnOnce() -> PolarsResult<T>) -> Result<T, String> {
    guard_panic(work)?.map_err(|error| error.to_string())
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

static GUARDED: AtomicUsize = AtomicUsize::new(0);

const ENGINE_THREADS: [&str; 3] = ["polars", "async-executor", "tokio-rt-worker"];

/// Runs `work` and returns the text of a panic, which is not printed.
pub fn guard_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    be_quiet();
    let outer = INSIDE.replace(true);
    GUARDED.fetch_add(1, Ordering::Relaxed);
    let done = catch_unwind(AssertUnwindSafe(work));
    GUARDED.fetch_sub(1, Ordering::Relaxed);
    INSIDE.set(outer);
    done.map_err(|panic| {
        let text = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        format!("the query engine gave up: {}", cause(text))
    })
}

/// Silences panics within guarded calls, because their callers report them. Other panics go to the previous hook.
fn be_quiet() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            let of_engine = |name: &str| ENGINE_THREADS.iter().any(|of| name.starts_with(of));
            let is_engine = GUARDED.load(Ordering::Relaxed) > 0
                && thread::current().name().is_some_and(of_engine);
            if !INSIDE.get() && !is_engine {
                before(info);
            }
        }));
    });
}

/// Extracts the engine's own message from that of an unexpected error.
fn cause(panic: &str) -> &str {
    let inner = panic.split_once("ErrString(\"").map(|(_, after)| after);
    let inner = inner.and_then(|after| after.rsplit_once("\")"));
    inner.map_or(panic, |(text, _)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_cause() {
        let error = guard_panic(|| {
            let failed: Result<(), _> = Err("InvalidOperation(ErrString(\"no 'x'\"))".to_owned());
            if let Err(error) = failed {
                panic!("called `Result::unwrap()` on an `Err` value: {error}");
            }
        });
        assert_eq!(error, Err("the query engine gave up: no 'x'".to_owned()));
        assert_eq!(
            guard_panic(|| panic!("plain")).map(|()| 1),
            Err("the query engine gave up: plain".to_owned())
        );
    }
}
