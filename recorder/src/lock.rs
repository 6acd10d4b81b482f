//! Locks of the recorder's own data.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::reentrancy::ReentrancyGuard;

/// Guard of [`lock`]. Who holds it is inside the recorder: an allocation under a lock must not
/// lead back to it.
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

/// Locks, whatever happened to the thread that held it before: the data are plain lists.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> Locked<'_, T> {
    let reentrancy = ReentrancyGuard::enter();
    Locked {
        data: mutex.lock().unwrap_or_else(PoisonError::into_inner),
        _reentrancy: reentrancy,
    }
}
