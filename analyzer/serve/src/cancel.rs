//! Work that ends when nobody waits for it any more.

use std::sync::{Arc, Mutex, PoisonError};

type End = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Inner {
    is_cancelled: bool,
    ends: Vec<End>,
}

#[derive(Clone, Default)]
pub struct Cancel(Arc<Mutex<Inner>>);

impl Cancel {
    /// Runs `end` once the client is gone, immediately if it already is.
    pub fn on_cancel(&self, end: impl FnOnce() + Send + 'static) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.is_cancelled {
            drop(inner);
            end();
        } else {
            inner.ends.push(Box::new(end));
        }
    }

    pub fn is_cancelled(&self) -> bool {
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.is_cancelled
    }

    pub fn cancel(&self) {
        let ends = {
            let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            inner.is_cancelled = true;
            std::mem::take(&mut inner.ends)
        };
        ends.into_iter().for_each(|end| end());
    }

    /// Cancels when dropped, together with the response that a client waits for.
    pub(crate) fn when_dropped(&self) -> CancelOnDrop {
        CancelOnDrop(self.clone())
    }
}

pub(crate) struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
