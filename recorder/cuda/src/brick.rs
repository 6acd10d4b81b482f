//! Bricks that `trueno-record run` sees too.

use std::ops::{Deref, DerefMut};

use trueno_recorder::{BrickGuard, BrickId};

use crate::injected::Injected;
use crate::recorded::Cuda;

/// A brick of the recorder; under `trueno-record run` also a range of that recording, in which CUPTI's records of the
/// kernels launched here hang. Dropping it ends both.
#[must_use = "the interval lasts until the guard is dropped"]
pub struct Brick<'r> {
    guard: BrickGuard<'r>,
    // Ends after the guard: it lies around it.
    _range: Range,
}

struct Range(Option<Injected>);

impl Drop for Range {
    fn drop(&mut self) {
        if let Some(injected) = self.0 {
            injected.pop();
        }
    }
}

impl<'r> Deref for Brick<'r> {
    type Target = BrickGuard<'r>;

    fn deref(&self) -> &BrickGuard<'r> {
        &self.guard
    }
}

impl<'r> DerefMut for Brick<'r> {
    fn deref_mut(&mut self) -> &mut BrickGuard<'r> {
        &mut self.guard
    }
}

impl Cuda {
    /// Opens a brick of that name, known ([`BrickId::name`]) or not, on the calling thread.
    #[track_caller]
    pub fn brick<'r>(&'r self, name: &'static str) -> Brick<'r> {
        let injected = self.device.injected();
        if let Some(injected) = injected {
            injected.push(name);
        }
        Brick {
            _range: Range(injected),
            guard: self.rec.brick(name),
        }
    }

    /// Opens a known brick.
    #[track_caller]
    pub fn known_brick(&self, brick: BrickId) -> Brick<'_> {
        self.brick(brick.name())
    }
}
