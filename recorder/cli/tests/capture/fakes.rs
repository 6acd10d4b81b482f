//! A driver, a CUPTI and a program, built once from `recorder/testing/fakes`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use trueno_format::run_json::{Capture, RunJson};
use trueno_testing::{Table, compile};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cupti {
    New,
    /// Like 13.4: no stream is 0, and host functions have records.
    Latest,
    /// Ends the process that queries its version.
    Crashes,
    /// Like 12.4: shorter records, fewer functions.
    Middle,
    /// Like 12.0: also without records of events.
    Old,
    Ancient,
    /// Without function names, and without the function that steps over records.
    Bare,
    None,
}

impl Cupti {
    fn folder(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Latest => "latest",
            Self::Crashes => "crashes",
            Self::Middle => "middle",
            Self::Old => "old",
            Self::Ancient => "ancient",
            Self::Bare => "bare",
            Self::None => "none",
        }
    }
}

/// Folder of the fakes. `None`, with a message, if there is no C compiler.
pub fn fakes() -> Option<&'static Path> {
    static FAKES: OnceLock<Option<tempfile::TempDir>> = OnceLock::new();
    let built = FAKES.get_or_init(|| {
        if !trueno_testing::has_c_compiler() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let library = |source: &str, name: &str, into: &str, options: &[&str]| {
            let into = folder.path().join(into);
            fs::create_dir_all(&into).unwrap();
            let soname = format!("-Wl,-soname,{name}");
            let mut all = vec!["-shared", "-fPIC", &soname];
            all.extend(options);
            compile(source, &all, &into.join(name), &[]);
        };
        library("cuda.c", "libcuda.so.1", "driver", &[]);
        library(
            "driver_api.c",
            "libcuda.so.1",
            "driver_api",
            &["-Wno-unused-function"],
        );
        library("cupti.c", "libcupti.so.13", "new", &[]);
        library("cupti.c", "libcupti.so.13", "latest", &["-DLATEST"]);
        library("cupti.c", "libcupti.so.13", "crashes", &["-DCRASHES"]);
        library("cupti.c", "libcupti.so.12", "old", &["-DOLDER"]);
        let middle = ["-DOLDER", "-DEVENTS"];
        library("cupti.c", "libcupti.so.12", "middle", &middle);
        let refused = ["-DNEWER_THAN_DRIVER"];
        library("cupti.c", "libcupti.so.13", "too_new", &refused);
        library(
            "cupti.c",
            "libcupti.so.12",
            "ancient",
            &["-DOLDER", "-DANCIENT"],
        );
        let bare = ["-DWITHOUT_NAMES", "-DWITHOUT_GET_NEXT_RECORD"];
        library("cupti.c", "libcupti.so.13", "bare", &bare);
        let driver = folder.path().join("driver/libcuda.so.1");
        let program = folder.path().join("program");
        compile(
            "program.c",
            &["-Wno-unused-function"],
            &program,
            &[driver.to_str().unwrap()],
        );
        Some(folder)
    });
    built.as_ref().map(tempfile::TempDir::path)
}

/// The injected library from this build.
pub fn inject() -> PathBuf {
    let command = Path::new(env!("CARGO_BIN_EXE_trueno-record"));
    let path = command.parent().unwrap().join("deps/libtrueno_inject.so");
    assert!(path.is_file(), "{} was not built", path.display());
    path
}

pub fn command(cupti: Cupti) -> Option<Command> {
    let fakes = fakes()?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_trueno-record"));
    let libraries = [fakes.join("driver"), fakes.join(cupti.folder())];
    command
        .env("LD_LIBRARY_PATH", std::env::join_paths(libraries).unwrap())
        .env("TRUENO_INJECT", inject())
        .env_remove("CUDA_INJECTION64_PATH")
        .env_remove("NVTX_INJECTION64_PATH")
        .env_remove("TRUENO_CUPTI")
        .env_remove("RANK");
    // A newer one of the machine would come first.
    if let Cupti::Middle | Cupti::Old | Cupti::Ancient = cupti {
        let old = fakes.join(cupti.folder()).join("libcupti.so.12");
        command.env("TRUENO_CUPTI", old);
    }
    Some(command)
}

pub struct Recording {
    pub output: Output,
    pub folder: tempfile::TempDir,
}

impl Recording {
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("it.run")
    }

    pub fn table(&self, name: &str) -> Table {
        trueno_testing::table(&self.path(), name)
    }

    pub fn run(&self) -> RunJson {
        trueno_testing::run_json(&self.path())
    }

    pub fn capture(&self) -> Capture {
        self.run().capture.unwrap()
    }

    pub fn said(&self) -> String {
        String::from_utf8(self.output.stderr.clone()).unwrap()
    }

    pub fn printed(&self) -> String {
        String::from_utf8(self.output.stdout.clone()).unwrap()
    }

    /// Kernels that the program reports as launched, and those that were recorded, as `name stream number`.
    pub fn launched_and_recorded(&self) -> (Vec<String>, Vec<String>) {
        let printed = self.printed();
        let mut launched: Vec<String> = printed
            .lines()
            .filter_map(|line| Some(line.strip_prefix("kernel ")?.to_owned()))
            .collect();
        let kernels = self.table("kernels");
        let names = kernels.texts("name");
        let (streams, grids) = (kernels.numbers("stream"), kernels.numbers("grid_x"));
        let mut recorded: Vec<String> = (0..kernels.rows)
            .map(|row| {
                format!(
                    "{} {} {}",
                    names[row].unwrap(),
                    streams[row].unwrap(),
                    grids[row].unwrap()
                )
            })
            .collect();
        launched.sort();
        recorded.sort();
        (launched, recorded)
    }

    pub fn succeeded(self) -> Self {
        assert_eq!(self.output.status.code(), Some(0), "{}", self.said());
        self
    }

    pub fn assert_clean(&self) {
        let left = fs::read_dir(self.folder.path()).unwrap();
        let left: Vec<PathBuf> = left.map(|entry| entry.unwrap().path()).collect();
        assert!(left.iter().all(|path| *path == self.path()), "{left:?}");
    }
}

/// Records the program with these instructions. `None` without a C compiler.
pub fn record(words: &str) -> Option<Recording> {
    record_with(Cupti::New, "", "", words)
}

/// Like [`record`], with a CUPTI that misbehaves in this way and options of `run`.
pub fn record_with(
    cupti: Cupti,
    misbehaves: &str,
    options: &str,
    words: &str,
) -> Option<Recording> {
    let folder = tempfile::tempdir().unwrap();
    let output = command(cupti)?
        .arg("run")
        .arg("-o")
        .arg(folder.path().join("it.run"))
        .args(options.split_whitespace())
        .arg("--")
        .arg(fakes()?.join("program"))
        .args(words.split_whitespace())
        .env("FAKE_CUPTI", misbehaves)
        .output()
        .unwrap();
    Some(Recording { output, folder })
}
