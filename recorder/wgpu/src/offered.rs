//! A mark on its way to the recorder.
//!
//! The recorder asks a device for a mark behind the work that was submitted; work of wgpu is recorded long before. So who
//! records a command offers the number of the time stamp that will be written there, and the device gives that one.

use std::cell::Cell;

thread_local! {
    /// The device by address, and the mark.
    static OFFERED: Cell<Option<(usize, u64)>> = const { Cell::new(None) };
}

/// Runs `ask`, which may request a mark from `device`. Returns whether it took the offered one.
pub(crate) fn offer<D>(device: &D, mark: u64, ask: impl FnOnce()) -> bool {
    OFFERED.set(Some((address(device), mark)));
    ask();
    OFFERED.take().is_none()
}

pub(crate) fn take<D>(device: &D) -> Option<u64> {
    let (of, mark) = OFFERED.get()?;
    if of != address(device) {
        return None;
    }
    OFFERED.set(None);
    Some(mark)
}

fn address<D>(device: &D) -> usize {
    std::ptr::from_ref(device).addr()
}
