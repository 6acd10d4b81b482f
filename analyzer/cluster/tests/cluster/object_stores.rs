//! Jobs in a bucket, which executors mirror: the report is that of the same job here, to the byte.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::engine_processes::Processes;
use crate::workplace::{Workplace, cluster, ends, same};

const RANKS: u32 = 6;
const KEY: &str = "AKIAEXAMPLE";
const SECRET: &str = "a-secret-of-the-test";
/// Variable with the path of `trueno-store`. The server is in `examples` next to it.
const STORE: &str = "TRUENO_STORE";

struct Bucket {
    buckets: PathBuf,
    environment: Vec<(String, String)>,
    store: PathBuf,
    server: Child,
}

impl Bucket {
    /// Uploads a job as `s3://traces/job`.
    fn of(workplace: &Workplace, job: &Path) -> Self {
        let store = match std::env::var_os(STORE) {
            Some(file) => PathBuf::from(file),
            None => {
                Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/target/debug/trueno-store")
            }
        };
        let program = store.with_file_name("examples/s3_server");
        let buckets = workplace.join("buckets");
        fs::create_dir_all(buckets.join("traces")).expect("a folder");
        fs::rename(job, buckets.join("traces/job")).expect("a job");
        let mut server = Command::new(&program)
            .args([buckets.clone(), KEY.into(), workplace.join("faults")])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| {
                panic!(
                    "{}: {error} (hint: cargo build --all-targets in analyzer/store makes it, and {STORE} names another)",
                    program.display()
                )
            });
        let mut endpoint = String::new();
        let stdout = server.stdout.take().expect("its output");
        BufReader::new(stdout)
            .read_line(&mut endpoint)
            .expect("its address");
        let own = Path::new(env!("CARGO_BIN_EXE_trueno-cluster"));
        let own = own.parent().expect("a file lies in a folder").to_owned();
        let beside = store.parent().expect("a file lies in a folder").to_owned();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = [own, beside]
            .into_iter()
            .chain(std::env::split_paths(&path));
        let path = std::env::join_paths(path).expect("folders");
        let environment = [
            ("PATH", path.to_str().expect("UTF-8")),
            ("AWS_ENDPOINT_URL", endpoint.trim()),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", KEY),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self {
            buckets,
            environment: environment.into(),
            store,
            server,
        }
    }

    fn object(&self, name: &str) -> PathBuf {
        self.buckets.join("traces/job").join(name)
    }

    fn environment(&self) -> impl Iterator<Item = (&str, &str)> {
        self.environment
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// A cluster in which each executor has its own mirror folder, as on separate machines.
    fn cluster(&self, workplace: &Workplace, executors: usize) -> Processes {
        let mut processes = Processes::start(&workplace.analyze, 0);
        for number in 0..executors {
            let mirrors = workplace.join(&format!("mirrors{number}"));
            let mirrors = mirrors.to_str().expect("UTF-8");
            let args = ["--fetch-to", mirrors, "--tasks", "2"];
            processes.add_executor_with(&workplace.analyze, &args, self.environment());
        }
        processes
    }

    /// `trueno-store report s3://traces/job` with the flags of [`Workplace::report`].
    fn report(&self, workplace: &Workplace, args: &[&str]) -> Command {
        let of = workplace.report(Path::new("job"), args);
        let mut command = Command::new(&self.store);
        command
            .args(["report", "--analyze"])
            .arg(&workplace.analyze);
        command
            .arg("--fetch-to")
            .arg(workplace.join("own-mirrors"))
            .arg("s3://traces/job");
        command.args(of.get_args().skip(2));
        for (name, value) in of.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(folder) = of.get_current_dir() {
            command.current_dir(folder);
        }
        command.envs(self.environment());
        command
    }

    fn report_by(&self, workplace: &Workplace, url: &str, parts: &str) -> Command {
        let parts = workplace.join(parts);
        let args = ["--engine", url, "--ranks-per-task", "1", "--parts"];
        self.report(
            workplace,
            &[&args[..], &[parts.to_str().expect("UTF-8")]].concat(),
        )
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn mirrors(workplace: &Workplace, executor: usize) -> Vec<PathBuf> {
    let folder = workplace.join(&format!("mirrors{executor}"));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[test]
fn reports_of_jobs_in_buckets_are_those_of_local_jobs() {
    let workplace = Workplace::new();
    let job = workplace.job(RANKS);
    let local = ends(&mut workplace.report(&job, &[]), 0).stdout;
    let bucket = Bucket::of(&workplace, &job);
    let here = ends(&mut bucket.report(&workplace, &[]), 0);
    same(&here.stdout, &local, "without a cluster");
    let cluster = bucket.cluster(&workplace, 2);
    let made = ends(&mut bucket.report_by(&workplace, &cluster.url, "parts"), 0);
    same(&made.stdout, &local, "by a cluster");
    assert_eq!(made.stderr, "", "no part is made here");
    // An object changes: it is fetched again, here and there.
    let name = "rank=1/run.json";
    let text = fs::read_to_string(bucket.object(name)).expect("a file");
    fs::write(bucket.object(name), format!("{text} ")).expect("a file");
    let parts = workplace.parts("parts").len();
    let again = ends(&mut bucket.report_by(&workplace, &cluster.url, "parts"), 0);
    let bucket_job = bucket.object("");
    let local = ends(&mut workplace.report(&bucket_job, &[]), 0).stdout;
    same(&again.stdout, &local, "after a change");
    assert_eq!(again.stderr, "", "no part is made here");
    assert!(
        workplace.parts("parts").len() > parts,
        "parts of the job as it is now"
    );
}

/// Tasks of an executor share one mirror. Neither they nor the driver see the credentials.
#[test]
fn executors_mirror_a_job_once_and_keep_keys_to_themselves() {
    let workplace = Workplace::new();
    let job = workplace.job(RANKS);
    let bucket = Bucket::of(&workplace, &job);
    let notes = workplace.join("notes");
    fs::create_dir(&notes).expect("a folder");
    let (notes_of, analyze) = (notes.display(), workplace.analyze.display());
    let script = format!("env >{notes_of}/$$.env\ntee {notes_of}/$$.task | '{analyze}' \"$@\"");
    let program = workplace.script("analyze", &script);
    let mut processes = Processes::start(&program, 0);
    let own = workplace.join("mirrors0");
    let args = ["--fetch-to", own.to_str().expect("UTF-8"), "--tasks", "2"];
    processes.add_executor_with(&program, &args, bucket.environment());
    let args = ["--ranks-per-task", "1"];
    let mut run = workplace.run(Path::new("s3://traces/job"), &processes.url, "parts", &args);
    ends(run.envs(bucket.environment()), 0);
    assert_eq!(workplace.parts("parts").len(), 2 * RANKS as usize);
    let mirrors = mirrors(&workplace, 0);
    assert_eq!(mirrors.len(), 1, "{mirrors:?}");
    let mut tasks = 0;
    for note in fs::read_dir(notes).expect("notes") {
        let note = note.expect("a note").path();
        let text = fs::read_to_string(&note).expect("a note");
        assert!(!text.contains(SECRET) && !text.contains(KEY), "{text}");
        if note.extension().is_some_and(|ending| ending == "task") {
            tasks += 1;
            assert!(text.contains(&*mirrors[0].to_string_lossy()), "{text}");
        }
    }
    assert_eq!(tasks, 2 * RANKS, "two rounds of tasks");
}

/// An executor resumes a partial mirror, or says why it cannot.
#[test]
fn executors_go_on_with_half_a_mirror() {
    let workplace = Workplace::new();
    let job = workplace.job(RANKS);
    let local = ends(&mut workplace.report(&job, &[]), 0).stdout;
    let bucket = Bucket::of(&workplace, &job);
    let processes = bucket.cluster(&workplace, 1);
    ends(
        &mut bucket.report_by(&workplace, &processes.url, "parts"),
        0,
    );
    let mirror = mirrors(&workplace, 0).remove(0);
    // As a fetch that was killed leaves it: some files, and lines for some of them.
    fs::remove_dir_all(mirror.join("rank=1")).expect("a folder");
    let source = mirror.join(".trueno-mirror/source.json");
    let text = fs::read_to_string(&source).expect("a file");
    let (before, _) = text.split_once("\"version\":").expect("a version");
    fs::write(&source, format!("{before}\"version\":null}}")).expect("a file");
    fs::write(workplace.join("faults"), "cut").expect("a file");
    // The job itself is whole here.
    let failed = ends(
        &mut bucket.report_by(&workplace, &processes.url, "others"),
        2,
    );
    assert!(failed.stderr.contains("attempts"), "{}", failed.stderr);
    assert!(
        failed.stderr.contains("s3://traces/job"),
        "{}",
        failed.stderr
    );
    fs::write(workplace.join("faults"), "").expect("a file");
    let made = ends(
        &mut bucket.report_by(&workplace, &processes.url, "others"),
        0,
    );
    same(&made.stdout, &local, "the report");
    assert_eq!(made.stderr, "", "no part is made here");
}

#[test]
fn stores_that_refuse_executors_are_told() {
    let workplace = Workplace::new();
    let job = workplace.job(2);
    let bucket = Bucket::of(&workplace, &job);
    let processes = Processes::start(&workplace.analyze, 1);
    let run = |uri: &str| {
        let mut run = workplace.run(
            Path::new(uri),
            &processes.url,
            "parts",
            &["--deadline", "60s"],
        );
        run.envs(bucket.environment());
        run
    };
    let failed = ends(&mut run("s3://none/job"), 2);
    assert!(failed.stderr.contains("NoSuchBucket"), "{}", failed.stderr);
    let mut other = run("s3://traces/job");
    other.env("AWS_ACCESS_KEY_ID", "AKIAOTHER");
    let failed = ends(&mut other, 2);
    assert!(
        failed.stderr.contains("InvalidAccessKeyId"),
        "{}",
        failed.stderr
    );
    let mut alone = run("s3://traces/job");
    alone.env("PATH", "/nowhere");
    let failed = ends(&mut alone, 2);
    assert!(
        failed.stderr.contains("analyzer/store/Cargo.toml"),
        "{}",
        failed.stderr
    );
    // Half a mirror.
    let mut fetch = Command::new(&bucket.store);
    let half = workplace.join("half");
    fetch
        .args(["fetch", "s3://traces/job"])
        .arg(&half)
        .envs(bucket.environment());
    fs::write(workplace.join("faults"), "cut").expect("a file");
    ends(&mut fetch, 2);
    let mut run = cluster(&[
        "run",
        "--engine",
        &processes.url,
        "--parts",
        "parts",
        "--job",
    ]);
    let failed = ends(run.arg(&half).current_dir(workplace.join("")), 2);
    assert!(
        failed.stderr.contains("not a whole mirror"),
        "{}",
        failed.stderr
    );
}
