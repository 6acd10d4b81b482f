//! An own folder and command per test, and a recording to report on.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::Value;
use trueno_recorder::{BrickId, Recorder, TileLevel};

/// Far longer than any of our commands takes, even on a busy machine. What has not finished by then hangs.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// Polls until `ready` returns a value. After [`PATIENCE`] it fails with `what`.
#[track_caller]
pub fn until<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = ready() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Lets an interrupt end a child even if the tests run in the background of a shell, which has it ignored there.
pub fn heed_interrupts(command: &mut Command) {
    let heed = || {
        // SAFETY: `signal` may be called between fork and exec, and the default has no handler.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
        Ok(())
    };
    // SAFETY: the closure does nothing but that call.
    unsafe { command.pre_exec(heed) };
}

/// Waits for a child to exit. After [`PATIENCE`] it is killed and the test fails.
#[track_caller]
pub fn ends(child: &mut Child, what: &str) -> ExitStatus {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return status;
        }
        if began.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("{what} does not end");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A folder that is removed with the test.
pub struct Dir {
    dir: tempfile::TempDir,
}

impl Dir {
    pub fn new() -> Dir {
        Dir {
            dir: tempfile::tempdir().expect("a folder for the test"),
        }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub fn folder(&self, name: &str) -> PathBuf {
        let folder = self.join(name);
        std::fs::create_dir_all(&folder).expect("a folder in the test's own");
        folder
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A copy of `datasets/tiny/test.run` in the folder. [`record`] made it once, so that it does not depend on
    /// the machine.
    pub fn run(&self) -> PathBuf {
        let to = self.join("test.run");
        copy(&tiny_run(), &to);
        to
    }

    /// The command, with the folder as working directory and isolated from the developer's environment and
    /// build.
    pub fn command(&self, args: &[&str]) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trueno-analyze"));
        command.current_dir(self.path()).args(args);
        for variable in [
            "COLUMNS",
            "NO_COLOR",
            "RUST_BACKTRACE",
            "TRUENO_PLUGIN_PATH",
            "CLICOLOR_FORCE",
            "POLARS_MAX_THREADS",
        ] {
            command.env_remove(variable);
        }
        // Not the developer's.
        command.env("XDG_CACHE_HOME", self.join("cache"));
        command.env("XDG_CONFIG_HOME", self.join("config"));
        Run { command }
    }

    /// The command. If it loads plugins, it gets only the standard ones, in one process as they ship, whatever
    /// the developer's build contains.
    pub fn command_with_plugins(&self, args: &[&str]) -> Run {
        let folder = standard_plugins(self);
        let folder = folder.to_str().expect("a path in UTF-8");
        let plugins = [
            "--no-default-plugins",
            "--no-isolate",
            "--plugin-dir",
            folder,
        ];
        let loads = matches!(
            args[0],
            "report" | "query" | "compare" | "check" | "tree" | "watch" | "serve"
        );
        // In front of the others, which may say otherwise.
        let plugins = if loads { &plugins[..] } else { &[] };
        self.command(&[&args[..1], plugins, &args[1..]].concat())
    }

    pub fn report(&self, run: &Path, args: &[&str]) -> Run {
        let run = run.to_str().expect("a path in UTF-8");
        self.command_with_plugins(&[&["report", run], args].concat())
    }
}

pub struct Run {
    pub command: Command,
}

impl Run {
    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Run {
        self.command.env(name, value);
        self
    }

    /// Runs the command and asserts its exit code.
    pub fn exits(mut self, code: i32) -> Done {
        let (done, ended) = self.ends();
        assert_eq!(
            ended,
            Some(code),
            "{:?}\n-- stdout\n{}\n-- stderr\n{}",
            self.command,
            done.stdout,
            done.stderr
        );
        done
    }
}

impl Run {
    /// Runs a `report --json -` that is not a gate. The exit code must be 1 if a section failed, 2 if none
    /// finished, else 0.
    pub fn reports(mut self) -> Done {
        let (done, ended) = self.ends();
        let json = done.json();
        let sections = json["sections"].as_array().expect("sections are a list");
        let of = |status: &str| -> Vec<Value> {
            let found = sections
                .iter()
                .filter(|section| section["status"] == status);
            found.map(|section| section["plugin"].clone()).collect()
        };
        let failed = of("failed");
        let code = match (of("ok").len(), failed.len()) {
            (0, _) => 2,
            (_, 0) => 0,
            _ => 1,
        };
        assert_eq!(
            ended,
            Some(code),
            "{:?}, failed: {failed:?}\n{}",
            self.command,
            done.stderr
        );
        assert_eq!(json["failed"], Value::from(failed), "{:?}", self.command);
        done
    }

    fn ends(&mut self) -> (Done, Option<i32>) {
        let Output {
            status,
            stdout,
            stderr,
        } = self.output();
        let done = Done {
            stdout: String::from_utf8(stdout).expect("standard output is UTF-8"),
            stderr: String::from_utf8(stderr).expect("standard error is UTF-8"),
        };
        (done, status.code())
    }

    /// As [`Command::output`], but fails after [`PATIENCE`].
    fn output(&mut self) -> Output {
        let output = self.ends_within(PATIENCE);
        output.unwrap_or_else(|late| panic!("{late}: {:?}", self.command))
    }

    /// As [`Command::output`], with a timeout that is an error.
    pub fn ends_within(&mut self, patience: Duration) -> Result<Output, &'static str> {
        let streams = self.command.stdin(Stdio::null()).stdout(Stdio::piped());
        let child = streams.stderr(Stdio::piped()).spawn();
        let child = child.expect("the command starts");
        let id = i32::try_from(child.id()).expect("numbers of processes are small");
        let (done, is_done) = mpsc::channel::<()>();
        let watch = std::thread::spawn(move || {
            let is_late = is_done.recv_timeout(patience) == Err(mpsc::RecvTimeoutError::Timeout);
            if is_late {
                // SAFETY: a call with numbers. The child has not been waited for while nobody says so.
                unsafe { libc::kill(id, libc::SIGKILL) };
            }
            is_late
        });
        let output = child.wait_with_output();
        drop(done);
        let is_late = watch.join().expect("the watch ends");
        if is_late {
            Err("it does not end")
        } else {
            Ok(output.expect("the command can be waited for"))
        }
    }
}

pub struct Done {
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}\n{}", self.stdout))
    }

    #[track_caller]
    pub fn stderr_has(self, text: &str) -> Done {
        assert!(
            self.stderr.contains(text),
            "standard error does not say {text:?}:\n{}",
            self.stderr
        );
        self
    }

    #[track_caller]
    pub fn stdout_starts(self, text: &str) -> Done {
        assert!(
            self.stdout.starts_with(text),
            "standard output does not start with {text:?}:\n{}",
            self.stdout
        );
        self
    }

    #[track_caller]
    pub fn stdout_has(self, text: &str) -> Done {
        assert!(
            self.stdout.contains(text),
            "standard output does not say {text:?}:\n{}",
            self.stdout
        );
        self
    }
}

#[track_caller]
pub fn section<'a>(report: &'a Value, plugin: &str) -> &'a Value {
    let sections = report["sections"].as_array().expect("sections are a list");
    let found = sections.iter().find(|section| section["plugin"] == plugin);
    found.unwrap_or_else(|| panic!("no section {plugin} in {report:#}"))
}

/// The library `NAME`, in the folder where `cargo test` puts dev-dependencies. The file name follows the platform.
pub fn built_library(name: &str) -> PathBuf {
    let deps = std::env::current_exe().expect("the test has a path");
    let deps = deps.parent().expect("it lies in deps/");
    let file = library_in(deps, name);
    assert!(file.exists(), "{} was not built", file.display());
    file
}

/// Copies a library into a folder under a new name. A link would not do, because the host checks what it points to.
pub fn install(library: &Path, folder: &Path, name: &str) -> PathBuf {
    let file = library_in(folder, name);
    std::fs::copy(library, &file).expect("the library is copied");
    file
}

fn library_in(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!(
        "{}{name}{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    ))
}

/// Ids of the standard plugins that need no baseline, sorted.
pub static STANDARD: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let ids = trueno_standard_plugins::ids();
    ids.filter(|id| *id != "divergence").collect()
});

/// A folder with only the standard plugins.
pub fn standard_plugins(dir: &Dir) -> PathBuf {
    let folder = dir.folder("standard");
    for id in STANDARD.iter() {
        let name = format!("trueno_plugin_{id}");
        // Once: a process that is about to end may still have it mapped.
        if !library_in(&folder, &name).exists() {
            let built = built_library(&name);
            // 140 MB a folder as copies. Nobody writes to them.
            if std::fs::hard_link(&built, library_in(&folder, &name)).is_err() {
                install(&built, &folder, &name);
            }
        }
    }
    folder
}

pub fn hostile_plugin() -> PathBuf {
    built_library("hostile_plugin")
}

pub fn spin(micros: u64) {
    let end = Instant::now() + Duration::from_micros(micros);
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

/// The recording that report tests start from.
pub fn tiny_run() -> PathBuf {
    datasets().join("tiny/test.run")
}

/// The repository's folder of recordings.
pub fn datasets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets")
}

pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder in the test's own");
    for entry in std::fs::read_dir(from).expect("a folder of the repository") {
        let entry = entry.expect("an entry of it");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            std::fs::copy(&from, &to).expect("a file is copied");
        }
    }
}

/// Two layers of bricks, kernels and tiles, and a task on a second thread that the first one waits for.
pub fn record(path: &Path) {
    let rec = Recorder::builder(path)
        .label("test")
        .create()
        .expect("a recorder");
    rec.value("model", "tiny");
    {
        let _iteration = rec.iteration(0);
        for number in 0..2 {
            let _layer = rec.layer(number);
            {
                let mut norm = rec.brick(BrickId::RmsNorm);
                norm.elements(64).backend("scalar");
                spin(20);
            }
            let mut qkv = rec.brick(BrickId::QkvProjection);
            qkv.elements(1 << 12).flops(1 << 13).bytes(1 << 14, 1 << 12);
            {
                let mut kernel = rec.kernel("gemv");
                kernel.flops(1 << 13).bytes(1 << 14);
                let _tile = rec.tile(TileLevel::Macro, 0, 0);
                spin(40);
            }
            spin(10);
        }
        let heads = rec.brick("heads");
        let parent = heads.id();
        std::thread::scope(|scope| {
            let (rec, (started, ids)) = (&rec, std::sync::mpsc::channel());
            let thread = scope.spawn(move || {
                let task = rec.task("head 0", Some(parent));
                started.send(task.id()).expect("the first thread listens");
                spin(60);
            });
            let _wait = rec.wait("join heads", &[ids.recv().expect("the task starts")]);
            thread.join().expect("the task ends");
        });
    }
    rec.finish().expect("the recording ends");
}

/// Changes a `run.json` and renews its seal.
pub fn change_json(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    value.as_object_mut().unwrap().remove("xxh3");
    change(&mut value);
    std::fs::write(path, trueno_format::run_json::sealed(&value).unwrap()).unwrap();
}
