//! `trueno-record run --libs` and `--alloc`: calls of BLAS and LAPACK, and allocations, are the rows of its run, and the
//! program does what it would have done without.
#![cfg(target_os = "linux")]

mod allocations;
mod calls;
mod programs;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use trueno_testing::{Table, compile, has_c_compiler, table};

const CODE: i32 = 7;

struct Place(tempfile::TempDir);

impl Place {
    /// `None`, with a message, if the program cannot be built.
    fn new() -> Option<Self> {
        if !has_c_compiler() {
            return None;
        }
        let place = Self(tempfile::tempdir().unwrap());
        place.library("blas.c", "libblas.so", &[]);
        let origin = ["-rdynamic", "-Wl,-rpath,$ORIGIN", "-w"];
        let (program, blas) = (place.path("program"), place.text("libblas.so"));
        compile("linear_algebra.c", &origin, &program, &[&blas]);
        Some(place)
    }

    fn library(&self, source: &str, name: &str, more: &[&str]) {
        let options = ["-shared", "-fPIC", "-w", "-Wl,-rpath,$ORIGIN"];
        let soname = format!("-Wl,-soname,{name}");
        let options = [&options[..], &[&soname]].concat();
        compile(source, &options, &self.path(name), more);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn run(&self) -> PathBuf {
        self.path("it.run")
    }

    fn command(&self, flags: &[&str], program: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trueno-record"));
        command
            .args(["run", "--overwrite", "-o", "it.run"])
            .args(flags)
            .arg("--")
            .args(program)
            // The one that was built with the tests; beside the command may lie an older one.
            .env(
                "TRUENO_INTERPOSE_LIBRARY",
                beside_the_tests("libtrueno_interpose.so"),
            )
            .current_dir(self.0.path());
        command
    }

    /// Records the program and checks that it behaves as without recording.
    fn record(&self, flags: &[&str], arguments: &[&str]) -> Output {
        let program = [&["./program"], arguments].concat();
        let alone = Command::new(self.path("program"))
            .args(arguments)
            .current_dir(self.0.path())
            .output()
            .unwrap();
        let recorded = self.command(flags, &program).output().unwrap();
        assert_eq!(text(&recorded.stdout), text(&alone.stdout));
        assert_eq!(recorded.status, alone.status, "{}", text(&recorded.stderr));
        recorded
    }

    fn table(&self, name: &str) -> Table {
        table(&self.run(), name)
    }
}

fn beside_the_tests(file: &str) -> PathBuf {
    std::env::current_exe().unwrap().with_file_name(file)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn value(run: &Path, name: &str) -> String {
    trueno_testing::run_json(run).values[name].clone()
}
