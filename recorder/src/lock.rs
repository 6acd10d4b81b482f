//! Locks of the recorder's own data.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::reentrancy::ReentrancyGuard;

/// Guard of [`lock`]. The thread counts as inside the recorder, because an allocation under a lock must not be
/// recorded.
pub(crate) struct Locked<'m, T> {
    // Dropped in this order.
    data: MutexGuard<'m, T>,
    _reentrancy: ReentrancyGuard,
}

impl<T> Deref for Locked<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.data
    }
}

impl<T> DerefMut for Locked<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.data
    }
}

/// Locks and ignores poisoning, because the data are plain lists.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> Locked<'_, T> {
    let reentrancy = ReentrancyGuard::enter();
    Locked {
        data: mutex.lock().unwrap_or_else(PoisonError::into_inner),
        _reentrancy: reentrancy,
    }
}
