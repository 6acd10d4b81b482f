//! The stays in spans that are open on the calling thread.
//!
//! No row is dropped while the list is borrowed: it may be the last handle of its recorder,
//! which then waits for the writer.

use std::cell::RefCell;

use tracing_core::span::Id;

use crate::owned_span::OwnedSpan;

pub(super) struct Entered {
    /// Number of the recorder.
    pub recorder: u64,
    pub span: Id,
    pub row: OwnedSpan,
}

/// Outermost first.
struct Stays(Vec<Entered>);

thread_local! {
    static STAYS: RefCell<Stays> = const { RefCell::new(Stays(Vec::new())) };
}

impl Stays {
    fn find(&self, recorder: u64, span: &Id) -> Option<usize> {
        self.0
            .iter()
            .rposition(|stay| stay.recorder == recorder && stay.span == *span)
    }
}

impl Drop for Stays {
    /// The thread ends inside spans: their rows end here, the innermost first.
    fn drop(&mut self) {
        while let Some(stay) = self.0.pop() {
            drop(stay);
        }
    }
}

/// Runs `with` on this thread's list. `None` if the thread is ending.
fn with_stays<T>(with: impl FnOnce(&mut Stays) -> T) -> Option<T> {
    let result = STAYS.try_with(|stays| {
        stays
            .try_borrow_mut()
            .ok()
            .map(|mut stays| with(&mut stays))
    });
    result.ok().flatten()
}

pub(super) fn is_inside(recorder: u64, span: &Id) -> bool {
    with_stays(|stays| stays.find(recorder, span).is_some()).unwrap_or(false)
}

/// The thread enters a span. If the thread is ending, the row ends at once.
pub(super) fn push(stay: Entered) {
    let mut stay = Some(stay);
    with_stays(|stays| stays.0.extend(stay.take()));
}

/// The thread leaves a span: the innermost entry of it if there are several. Spans can be left in any order.
pub(super) fn take(recorder: u64, span: &Id) -> Option<OwnedSpan> {
    let stay = with_stays(|stays| {
        let at = stays.find(recorder, span)?;
        Some(stays.0.remove(at))
    });
    stay.flatten().map(|stay| stay.row)
}
