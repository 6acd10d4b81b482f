//! A bucket with a small job, its server and the command.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

pub const KEY: &str = "AKIAEXAMPLE";
pub const SECRET: &str = "a-secret-of-the-test";
/// Far longer than anything takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// Size of the largest object: several pieces.
pub const LARGE_BYTES: usize = (20 << 20) + 123;

pub struct Place {
    folder: TempDir,
    pub endpoint: String,
    server: Child,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let job = folder.path().join("buckets/traces/jobs/one");
        for rank in 0..4 {
            let tables = job.join(format!("rank={rank}/kernels"));
            fs::create_dir_all(&tables).expect("a folder");
            fs::write(
                job.join(format!("rank={rank}/run.json")),
                format!("{{{rank}}}"),
            )
            .expect("a file");
            fs::write(tables.join("000000.arrow"), vec![rank; 5_000]).expect("a file");
        }
        fs::write(job.join("rank=0/empty"), "").expect("a file");
        let large: Vec<u8> = (0..LARGE_BYTES).map(|at| (at % 251) as u8).collect();
        fs::write(job.join("rank=1/large.arrow"), large).expect("a file");
        fs::create_dir_all(folder.path().join("buckets/traces/jobs/one-more")).expect("a folder");
        fs::write(
            folder.path().join("buckets/traces/jobs/one-more/run.json"),
            "x",
        )
        .expect("a file");
        let program =
            Path::new(env!("CARGO_BIN_EXE_trueno-store")).with_file_name("examples/s3_server");
        let mut server = Command::new(&program)
            .args([
                folder.path().join("buckets"),
                KEY.into(),
                folder.path().join("faults"),
            ])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let mut endpoint = String::new();
        let stdout = server.stdout.take().expect("its output");
        BufReader::new(stdout)
            .read_line(&mut endpoint)
            .expect("its address");
        let endpoint = endpoint.trim().to_owned();
        Self {
            folder,
            endpoint,
            server,
        }
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn object(&self, name: &str) -> PathBuf {
        self.join("buckets/traces/jobs/one").join(name)
    }

    pub fn set_fault(&self, fault: &str) {
        fs::write(self.join("faults"), fault).expect("a file");
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trueno-store"));
        command
            .args(args)
            .current_dir(self.folder.path())
            .env_clear();
        command
            .env("AWS_ENDPOINT_URL", &self.endpoint)
            .env("AWS_ALLOW_HTTP", "true");
        command
            .env("AWS_ACCESS_KEY_ID", KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET);
        command
            .env("AWS_REGION", "us-east-1")
            .env("XDG_CACHE_HOME", self.join("cache"));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Fetches the job into `mirror`. Returns the numbers of fetched and removed files.
    #[track_caller]
    pub fn fetch(&self) -> (u64, u64) {
        let done = ends(
            &mut self.command(&["fetch", "s3://traces/jobs/one", "mirror"]),
            0,
        );
        let summary: serde_json::Value = serde_json::from_str(&done.0).expect("a summary");
        let number = |name: &str| summary[name].as_u64().expect("a number");
        (number("fetched"), number("removed"))
    }

    #[track_caller]
    pub fn is_mirrored(&self) {
        let found = files(&self.join("mirror"), &self.join("mirror"));
        let expected = files(&self.object(""), &self.object(""));
        assert_eq!(found, expected);
        for name in expected {
            let [one, other] = [self.join("mirror").join(&name), self.object(&name)].map(fs::read);
            assert!(one.expect("a file") == other.expect("an object"), "{name}");
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn files(folder: &Path, top: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.strip_prefix(top).expect("below").display().to_string();
        match path.is_dir() {
            _ if name == ".trueno-mirror" => {}
            true => names.extend(files(&path, top)),
            false => names.push(name),
        }
    }
    names.sort();
    names
}

/// Output and errors of a command that must exit with this code.
#[track_caller]
pub fn ends(command: &mut Command, code: i32) -> (String, String) {
    let mut child = command.spawn().expect("the command starts");
    let began = Instant::now();
    while child.try_wait().expect("it can be waited for").is_none() {
        if began.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("{command:?} hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().expect("its output");
    let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8(text).expect("UTF-8"));
    assert_eq!(status.code(), Some(code), "{command:?}\n{stdout}\n{stderr}");
    assert!(
        !stderr.contains(SECRET) && !stdout.contains(SECRET),
        "{stderr}"
    );
    (stdout, stderr)
}

#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
