//! The targets, and whether this run reached them.

use crate::rounds::{Row, find};
use crate::spans::{BRICK, DISABLED, FLOOR, KERNEL, PROFILER};

pub fn print(spans: &[Row], added: &f64) {
    let over = |one, other| find(spans, one).over(find(spans, other));
    let lines = [
        ("brick / floor", over(BRICK, FLOOR), 1.15),
        ("kernel with metrics / floor", over(KERNEL, FLOOR), 1.2),
        ("disabled brick / floor", over(DISABLED, FLOOR), 0.08),
        ("brick / aprender-compute", over(BRICK, PROFILER), 0.45),
        ("added to 1 µs, share", *added, 0.020),
    ];
    println!("{:<56} {:>8} {:>8}", "", "found", "at most");
    for (name, found, most) in lines {
        let word = if found <= most { "reached" } else { "MISSED" };
        println!("{name:<56} {found:>8.3} {most:>8.3} {word}");
    }
}
