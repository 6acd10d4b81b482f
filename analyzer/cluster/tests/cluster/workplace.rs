//! A folder of a test, with a job, the analyzer and its plugins.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

use tempfile::TempDir;

use crate::kineto_job;

/// Far longer than anything takes, even on a busy machine. Later than this, it hangs.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Variable with the path of the analyzer. Its plugins are next to it.
const ANALYZE: &str = "TRUENO_ANALYZE";

pub struct Workplace {
    folder: TempDir,
    pub analyze: PathBuf,
}

impl Workplace {
    pub fn new() -> Self {
        let analyze = match std::env::var_os(ANALYZE) {
            Some(file) => PathBuf::from(file),
            None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/debug/trueno-analyze"),
        };
        let analyze = analyze.canonicalize().unwrap_or_else(|error| {
            panic!(
                "{}: {error} (hint: cargo build -p trueno-analyze in the workspace makes it, and {ANALYZE} names another)",
                analyze.display()
            )
        });
        let folder = tempfile::tempdir().expect("a folder for the test");
        let plugins = folder.path().join("plugins");
        fs::create_dir(&plugins).expect("a folder in the test's own");
        let beside = analyze.parent().expect("a file lies in a folder");
        for entry in fs::read_dir(beside).expect("the folder of the analyzer") {
            let file = entry.expect("an entry").path();
            let name = file.file_name().and_then(|name| name.to_str());
            if name
                .is_some_and(|name| name.starts_with("libtrueno_plugin_") && name.ends_with(".so"))
            {
                fs::copy(&file, plugins.join(file.file_name().expect("a name"))).expect("a copy");
            }
        }
        let count = fs::read_dir(&plugins).expect("the folder").count();
        assert!(
            count >= 10,
            "{} has {count} plugins beside it (hint: cargo build --workspace makes them)",
            analyze.display()
        );
        Self { folder, analyze }
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn job(&self, ranks: u32) -> PathBuf {
        let traces: Vec<PathBuf> = (0..ranks)
            .map(|rank| {
                let file = self.join(&format!("rank{rank}.json"));
                kineto_job::write(&file, rank, ranks);
                file
            })
            .collect();
        let job = self.join("job");
        let mut import = Command::new(&self.analyze);
        import.arg("import").args(traces).arg("-o").arg(&job);
        ends(self.clean(&mut import), 0);
        job
    }

    /// A job whose ranks have rows in all tables and clocks with different origins. Rank 10 sorts before 2 by
    /// name.
    pub fn full_job(&self) -> PathBuf {
        let job = self.join("full");
        fs::create_dir(&job).expect("a folder");
        for (place, rank) in [0, 1, 2, 10].into_iter().enumerate() {
            let mut facts = trueno_format::run_json::RunJson::default();
            facts.clock.origin_realtime_ns = 1_700_000_000_000_000_000 + 250 * place as i64;
            let texts = [["gemm", "ä \"b\" 'c'", "="], ["gemm", "", "softmax"]][place % 2];
            trueno_testing::full_of(&job.join(format!("rank={rank}")), facts, texts);
        }
        job
    }

    /// `trueno-analyze query JOB SQL`, with the test's plugins.
    pub fn query(&self, job: &Path, sql: &str, args: &[&str]) -> Command {
        let mut command = Command::new(&self.analyze);
        command.arg("query").arg(job).arg(sql);
        command.args(["--no-default-plugins", "--no-isolate", "--plugin-dir"]);
        command.arg(self.join("plugins")).args(args);
        self.clean(&mut command);
        command
    }

    pub fn query_by(
        &self,
        job: &Path,
        url: &str,
        tables: &str,
        sql: &str,
        args: &[&str],
    ) -> Command {
        let mut command = self.query(job, sql, &["--engine", url, "--tables"]);
        command.arg(self.join(tables)).args(args);
        command
    }

    /// `trueno-analyze report JOB --json -`, with the test's plugins.
    pub fn report(&self, job: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(&self.analyze);
        command.arg("report").arg(job).args(["--json", "-"]);
        command.args(["--no-default-plugins", "--no-isolate", "--plugin-dir"]);
        command.arg(self.join("plugins")).args(args);
        self.clean(&mut command);
        command
    }

    pub fn report_by(&self, job: &Path, url: &str, parts: &str, args: &[&str]) -> Command {
        let mut command = self.report(job, &["--engine", url, "--parts"]);
        command.arg(self.join(parts)).args(args);
        command
    }

    /// `trueno-cluster run` with the flags of [`Workplace::report`].
    pub fn run(&self, job: &Path, url: &str, parts: &str, args: &[&str]) -> Command {
        let mut command = cluster(&["run", "--engine", url]);
        command
            .arg("--job")
            .arg(job)
            .arg("--parts")
            .arg(self.join(parts));
        let folder = self.join("plugins");
        let folder = format!("--plugin-dir={}", folder.display());
        for flag in ["--no-default-plugins", "--no-isolate", &folder] {
            command.arg(format!("--report={flag}"));
        }
        command.args(args);
        self.clean(&mut command);
        command
    }

    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        let file = self.join(name);
        fs::write(&file, format!("#!/bin/sh\n{text}\n")).expect("a script");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("a script");
        file
    }

    /// All files of parts, with their modification times.
    pub fn parts(&self, parts: &str) -> BTreeMap<PathBuf, SystemTime> {
        let entries = |folder: &Path| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect::<Vec<_>>()
        };
        let keys = entries(&self.join(parts)).into_iter();
        let keys = keys.filter(|key| !key.to_string_lossy().contains("/tasks."));
        let files = keys.flat_map(|key| entries(&key));
        let files = files.filter(|file| file.extension().is_some_and(|end| end == "json"));
        let written = |file: &Path| fs::metadata(file).and_then(|file| file.modified());
        files
            .filter_map(|file| Some((file.clone(), written(&file).ok()?)))
            .collect()
    }

    /// Clears environment variables of the developer that could affect a command.
    fn clean<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        for variable in [
            "COLUMNS",
            "NO_COLOR",
            "RUST_BACKTRACE",
            "TRUENO_PLUGIN_PATH",
        ] {
            command.env_remove(variable);
        }
        let own = Path::new(env!("CARGO_BIN_EXE_trueno-cluster"));
        let own = own.parent().expect("a file lies in a folder").to_owned();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = [own].into_iter().chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(path).expect("folders"));
        command.env("XDG_CACHE_HOME", self.join("cache"));
        command.current_dir(self.folder.path())
    }
}

pub fn cluster(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trueno-cluster"));
    command.args(args);
    command
}

pub struct Done {
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

/// Runs a command that must exit with `code`.
#[track_caller]
pub fn ends(command: &mut Command, code: i32) -> Done {
    let began = Instant::now();
    let child = begin(command);
    ends_of(child, began, code, &format!("{command:?}"))
}

pub fn begin(command: &mut Command) -> Child {
    let streams = command.stdin(Stdio::null()).stdout(Stdio::piped());
    streams
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts")
}

#[track_caller]
pub fn ends_of(child: Child, began: Instant, code: i32, shown: &str) -> Done {
    let id = child.id();
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let late =
            is_done.recv_timeout(PATIENCE) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
        if late {
            kill(id);
        }
        late
    });
    let Output {
        status,
        stdout,
        stderr,
    } = child
        .wait_with_output()
        .expect("the command can be waited for");
    drop(done);
    assert!(!watch.join().expect("the watch ends"), "{shown} hangs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    let done = Done {
        stdout: text(stdout),
        stderr: text(stderr),
        took: began.elapsed(),
    };
    let (out, err) = (&done.stdout, &done.stderr);
    assert_eq!(
        status.code(),
        Some(code),
        "{shown}\n-- stdout\n{out}\n-- stderr\n{err}"
    );
    done
}

/// Compares two outputs, and shows the first difference.
#[track_caller]
pub fn same(made: &str, local: &str, what: &str) {
    let pairs = made.bytes().zip(local.bytes());
    let length = pairs.take_while(|(made, local)| made == local).count();
    let excerpt = |text: &str| {
        let bytes = text.as_bytes();
        let end = bytes.len().min(length + 300);
        String::from_utf8_lossy(&bytes[length.saturating_sub(300)..end]).into_owned()
    };
    assert!(
        made == local,
        "{what}: other bytes from {length} on\n-- made\n{}\n-- local\n{}",
        excerpt(made),
        excerpt(local)
    );
}

/// Kills a child process that has not been waited for.
pub fn kill(id: u32) {
    let id = i32::try_from(id).expect("numbers of processes are small");
    // SAFETY: a call with numbers, which touches no memory of this process.
    unsafe { libc::kill(id, libc::SIGKILL) };
}

#[track_caller]
pub fn until<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = ready() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
