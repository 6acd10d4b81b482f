//! Instructions and branches that one span takes on the thread that records it: numbers that no neighbour's
//! load changes.
//!
//! `cargo bench -p trueno-recorder --bench instructions` (Linux on x86-64)
//!
//! Each candidate runs in a process of its own, whose main thread is stepped through instruction by
//! instruction (`ptrace`); the writer beside it runs free. What is printed is the difference between twice as
//! many spans and so many, divided by their number: what comes once for all falls out. With the arguments
//! `--trace NAME` the addresses of eight spans' instructions are printed, for a disassembler.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod count;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() {
    count::main();
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    println!("instructions are counted on Linux with x86-64 only");
}
