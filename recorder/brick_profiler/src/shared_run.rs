//! The run that `TRUENO_RUN` names: one for all profilers of the process that live at a time.

use std::ffi::OsString;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use trueno_recorder::Recorder;

const RUN_VARIABLE: &str = "TRUENO_RUN";

static RUN: Mutex<Option<SharedRun>> = Mutex::new(None);

static NEXT: AtomicU64 = AtomicU64::new(0);

struct SharedRun {
    number: u64,
    path: OsString,
    rec: Recorder,
    profilers: usize,
}

/// A part in the run of that number: the last one that is dropped ends it.
#[derive(Debug)]
pub struct Membership(u64);

/// The recorder of the run, made by the first that asks. A run that cannot be made is told on standard error.
pub fn join() -> (Recorder, Option<Membership>) {
    let Some(path) = std::env::var_os(RUN_VARIABLE).filter(|path| !path.is_empty()) else {
        return (Recorder::disabled(), None);
    };
    let mut run = RUN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(shared) = run.as_mut().filter(|shared| shared.path == path) {
        shared.profilers += 1;
        return (shared.rec.clone(), Some(Membership(shared.number)));
    }
    match Recorder::create(&path) {
        Ok(rec) => {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            *run = Some(SharedRun {
                number,
                path,
                rec: rec.clone(),
                profilers: 1,
            });
            (rec, Some(Membership(number)))
        }
        Err(error) => {
            eprintln!("trueno-recorder: {RUN_VARIABLE}: {error}");
            (Recorder::disabled(), None)
        }
    }
}

impl Membership {
    /// Says that the run was ended: who comes next makes another.
    pub fn end(&self) {
        let mut run = RUN.lock().unwrap_or_else(PoisonError::into_inner);
        run.take_if(|shared| shared.number == self.0);
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        let mut run = RUN.lock().unwrap_or_else(PoisonError::into_inner);
        let last = run.take_if(|shared| {
            let is_it = shared.number == self.0;
            shared.profilers -= usize::from(is_it);
            is_it && shared.profilers == 0
        });
        // Ending it may take time.
        drop(run);
        drop(last);
    }
}
