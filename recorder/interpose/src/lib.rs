//! The library that `trueno-record run --libs` and `--alloc` have the loader put before all others (`LD_PRELOAD`): its
//! functions have the names of BLAS, LAPACK and `malloc`, and call what the program would have called.
//!
//! It is a guest: it starts no thread, opens nothing but the command's shared memory once, installs no signal handler,
//! allocates nothing, and changes neither results nor `errno`. What it sees goes to a lane of that memory
//! ([`channel`](trueno_preload_rows::channel)); rows are made by the command. A forked child is noticed by a page that the
//! kernel wipes in it, whatever call forked it, and takes lanes of its own.
//!
//! No panic may leave it, so that nothing in it panics: no index, no sum that could overflow.

#![deny(unsafe_op_in_unsafe_fn)]
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

mod allocator;
mod call;
mod image;
mod memory;
mod module;
mod symbols;
mod thread;
