//! The library that the CUDA driver (`CUDA_INJECTION64_PATH`) and NVTX (`NVTX_INJECTION64_PATH`) load into
//! a program, to have it recorded without a change. `trueno-record run` sets both variables.
//!
//! It is a guest: no panic leaves it, it installs no signal handlers, makes no CUDA context, changes no exit
//! code, and where it cannot record it says so once and stays away. It appends to one file of its own in
//! the folder that [`FOLDER_VARIABLE`] names, from a thread of its own; another one has CUPTI deliver what
//! it holds several times a second, so that a program that ends by `_exit` or a signal loses little.
//!
//! `trueno-record` makes a run directory of these files; this library knows nothing of runs.
//!
//! Inside a foreign process as little as possible is done: CUPTI's buffers are copied, with the texts that addresses in
//! them stand for, in chunks with hashes. Decoding, sorting and Arrow come afterwards, in the command. Signals are blocked
//! on its threads, the program's end waits ten seconds for it at most, and a forked child starts over or records nothing.

#![deny(unsafe_op_in_unsafe_fn)]

mod buffers;
mod callbacks;
mod clock;
mod contexts;
mod entry;
mod flusher;
mod graphs;
mod names;
mod nvtx;
mod pump;
mod session;
mod settings;
mod shutdown;
mod subscribe;
mod threads;
mod timing_check;

use std::ffi::c_int;

pub use settings::{FLUSH_VARIABLE, FOLDER_VARIABLE, GRAPHS_VARIABLE, LEVEL_VARIABLE};

/// Called by the driver's `cuInit`. Returns 1 if it records.
#[unsafe(no_mangle)]
pub extern "C" fn InitializeInjection() -> c_int {
    entry::guarded(0, || c_int::from(subscribe::start()))
}

/// A range of the calling thread begins, for programs that state theirs without NVTX: as `nvtxRangePushA`.
///
/// # Safety
/// `text` points to `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trueno_inject_push(text: *const u8, bytes: usize) {
    nvtx::handle((), |session| {
        // SAFETY: the caller promised it.
        let text = unsafe { std::slice::from_raw_parts(text, bytes) };
        nvtx::push(session, text);
    });
}

/// Ends the innermost range of the calling thread.
#[unsafe(no_mangle)]
pub extern "C" fn trueno_inject_pop() {
    nvtx::handle((), nvtx::pop);
}

/// Called by each copy of NVTX at its first use. 1: ranges are recorded.
///
/// # Safety
/// `get_export_table` is as NVTX's injection interface says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn InitializeInjectionNvtx2(
    get_export_table: Option<nvtx::GetExportTable>,
) -> c_int {
    entry::guarded(0, || {
        // SAFETY: the caller promised it.
        c_int::from(get_export_table.is_some_and(|get| unsafe { nvtx::install(get) }))
    })
}
