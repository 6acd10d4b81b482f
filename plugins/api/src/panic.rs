//! Panics stop at the plugin: caught here, with their message and place.
//!
//! Only the plugin can do it. A library carries its own copy of the standard
//! library, so a panic that leaves it is foreign to the host and aborts it.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `body`; a panic becomes "message (file:line:column)".
///
/// While it runs, panics of this thread print nothing; those of others go to
/// the hook that was there before, so that a test binary keeps its own.
pub(crate) fn catch<R>(body: impl FnOnce() -> R) -> Result<R, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if INSIDE.get() {
                keep(info)
            } else {
                before(info)
            }
        }));
    });
    let outer = INSIDE.replace(true);
    LAST.take();
    let outcome = catch_unwind(AssertUnwindSafe(body));
    INSIDE.set(outer);
    outcome.map_err(|payload| {
        let message = LAST
            .take()
            .unwrap_or_else(|| text(payload.as_ref()).to_owned());
        // Dropping anything but a text could panic again, this time out of `extern "C"`.
        if !payload.is::<String>() && !payload.is::<&str>() {
            std::mem::forget(payload);
        }
        message
    })
}

fn keep(info: &PanicHookInfo<'_>) {
    let place = info
        .location()
        .map(|at| format!(" ({}:{}:{})", at.file(), at.line(), at.column()));
    let message = format!("{}{}", text(info.payload()), place.unwrap_or_default());
    LAST.with(|last| {
        if let Ok(mut last) = last.try_borrow_mut() {
            *last = Some(message);
        }
    });
}

fn text(payload: &(dyn Any + Send)) -> &str {
    match (
        payload.downcast_ref::<&str>(),
        payload.downcast_ref::<String>(),
    ) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "a panic without a text",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_and_place_are_kept() {
        let line = line!() + 1;
        let message = catch(|| panic!("lost {}", 3)).unwrap_err();
        assert!(message.starts_with("lost 3 ("), "{message}");
        assert!(message.contains(&format!("panic.rs:{line}:")), "{message}");
        assert_eq!(catch(|| 5), Ok(5));
    }

    #[test]
    fn a_payload_may_be_anything_even_one_that_panics_when_dropped() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("bomb");
            }
        }
        let message = catch(|| std::panic::panic_any(Bomb)).unwrap_err();
        assert!(message.starts_with("a panic without a text ("), "{message}");
    }

    #[test]
    fn a_panic_carried_over_from_another_thread_keeps_its_text() {
        let payload = std::thread::spawn(|| std::panic::resume_unwind(Box::new("from afar")))
            .join()
            .unwrap_err();
        assert_eq!(
            catch(|| std::panic::resume_unwind(payload)).unwrap_err(),
            "from afar"
        );
    }

    #[test]
    fn an_older_panic_is_not_told_again() {
        let _ = catch(|| panic!("old"));
        let message = catch(|| std::panic::resume_unwind(Box::new(7_u8))).unwrap_err();
        assert_eq!(message, "a panic without a text");
    }
}
