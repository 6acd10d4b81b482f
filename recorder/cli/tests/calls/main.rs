//! `trueno-record run --calls`: the calls that a program made are the rows of its run, and the program does what it
//! would have done without.
#![cfg(target_os = "linux")]

mod exact;
mod kills;
mod moved;
mod order;
#[path = "../place/mod.rs"]
mod place;
mod program;
mod turns;
mod unchanged;

use std::path::Path;
use std::process::Output;

use trueno_testing::{Table, table};

use place::Place;

impl Place {
    fn record(&self, flags: &[&str], role: &str) -> Output {
        let own = std::env::current_exe().unwrap();
        let own = own.to_str().unwrap();
        let program = [own, "--exact", "program::does_its_part", "--nocapture"];
        self.command(flags, &program)
            .env(program::ROLE, role)
            .output()
            .unwrap()
    }

    fn calls(&self) -> Calls {
        Calls(table(&self.run(), "calls"))
    }
}

/// True if programs can be traced here. Prints a message if not, as in a container that forbids it.
fn can_trace() -> bool {
    let place = Place::new();
    let ends = |flags: &str| {
        let done = place.command(&[flags, "--overwrite"], &["true"]).output();
        done.is_ok_and(|done| done.status.success())
    };
    let can = ends("--calls") && ends("--calls=openat");
    if !can {
        eprintln!("left out: programs cannot be traced here (trueno-record doctor)");
    }
    can
}

struct Calls(Table);

impl Calls {
    fn of(&self, name: &str, target: Option<&str>) -> Vec<usize> {
        let (names, targets) = (self.0.texts("name"), self.0.texts("target"));
        (0..self.0.rows)
            .filter(|row| names[*row] == Some(name))
            .filter(|row| target.is_none() || targets[*row] == target)
            .collect()
    }

    fn number(&self, column: &str, row: usize) -> Option<i128> {
        self.0.number(column, row)
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
