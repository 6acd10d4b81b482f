//! `trueno-record compare`: two programs recorded in turn.

use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use trueno_recorder::Recorder;
use trueno_testing::run_json;

/// A folder with a recorded run and a program that counts its own runs and copies that run to the given path.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let rec = Recorder::create(folder.path().join("made.run")).unwrap();
    drop(rec.brick("first"));
    rec.finish().unwrap();
    let program = "echo $1 >> order; echo printed; cp -r made.run \"$2\"";
    fs::write(folder.path().join("program"), program).unwrap();
    folder
}

fn compare(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trueno-record"))
        .arg("compare")
        .args(words)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

const PROGRAMS: [&str; 9] = ["--", "sh", "program", "a", "{}", "--", "sh", "program", "b"];

#[test]
fn programs_as_they_are_are_compared_by_samples() {
    let folder = folder();
    let spin = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    let words = ["-n", "1", "--warmup", "0", "--sample", "--no-compare"];
    let words = [
        &words[..],
        &["--", "sh", "-c", spin, "--", "sh", "-c", spin],
    ]
    .concat();
    let done = compare(folder.path(), &words);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    for run in ["base-01", "run-01"] {
        let run = folder.path().join(format!("compared/{run}.run"));
        assert!(run_json(&run).tables["samples"].rows > 0);
    }

    let records_itself = ["--sample", "--", "true", "--", "true", "{}"];
    let refused = compare(folder.path(), &records_itself);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("with `{}` records itself"));
}

#[test]
fn both_programs_take_turns_and_only_what_follows_the_warm_up_is_kept() {
    let folder = folder();
    let words = [&["-n", "3", "--no-compare"], &PROGRAMS[..], &["{}"]].concat();
    let done = compare(folder.path(), &words);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert_eq!((text(&done.stdout), text(&done.stderr)), ("", ""));
    let order = fs::read_to_string(folder.path().join("order")).unwrap();
    let order: String = order.split_whitespace().collect();
    assert_eq!(order, "abbaabba");
    let mut kept: Vec<String> = fs::read_dir(folder.path().join("compared"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    kept.sort();
    let runs: Vec<&str> = kept
        .iter()
        .filter_map(|name| name.strip_suffix(".run"))
        .collect();
    assert_eq!(
        runs,
        [
            "base-01", "base-02", "base-03", "run-01", "run-02", "run-03"
        ]
    );
    let log = fs::read_to_string(folder.path().join("compared/run-02.log")).unwrap();
    assert_eq!(log, "printed\n");

    // Runs that are there are not replaced unasked.
    let again = compare(folder.path(), &words);
    assert_eq!(again.status.code(), Some(2));
    assert!(
        text(&again.stderr).contains("--overwrite"),
        "{}",
        text(&again.stderr)
    );
    let replaced = [&["--overwrite"], &words[..]].concat();
    assert_eq!(compare(folder.path(), &replaced).status.code(), Some(0));
}

#[test]
fn a_program_that_fails_or_records_nothing_ends_the_series() {
    let folder = folder();
    let fails = compare(
        folder.path(),
        &[
            "--no-compare",
            "--",
            "sh",
            "-c",
            "echo no >&2; exit 7",
            "{}",
            "--",
            "true",
            "{}",
        ],
    );
    assert_eq!(fails.status.code(), Some(2));
    let said = text(&fails.stderr);
    assert!(
        said.contains("base-warmup: the program failed (exit status: 7)"),
        "{said}"
    );
    assert!(said.contains("compared/base-warmup.log"), "{said}");

    let nothing = compare(
        folder.path(),
        &["--no-compare", "--", "true", "{}", "--", "true", "{}"],
    );
    assert_eq!(nothing.status.code(), Some(2));
    assert!(text(&nothing.stderr).contains("recorded nothing in compared/base-warmup.run"));

    let absent = compare(
        folder.path(),
        &["--no-compare", "--", "./absent", "{}", "--", "true", "{}"],
    );
    assert_eq!(absent.status.code(), Some(2));
    assert!(text(&absent.stderr).contains("./absent: cannot be started"));

    for words in [&["--", "true", "{}"][..], &["--", "true", "{}", "--"]] {
        let one = compare(folder.path(), words);
        assert_eq!(one.status.code(), Some(2));
        assert!(
            text(&one.stderr).contains("two programs are needed"),
            "{}",
            text(&one.stderr)
        );
    }
}

/// A repository with a program in a folder, which names itself `old` in the last commit and `new` in the working tree.
struct Repository {
    folder: tempfile::TempDir,
}

impl Repository {
    fn new() -> Self {
        let repository = Self { folder: folder() };
        fs::create_dir_all(repository.tools()).unwrap();
        fs::create_dir(repository.temporary()).unwrap();
        repository.write_program("old");
        for words in [
            &["init", "--quiet"][..],
            &["add", "tools"],
            &["commit", "--quiet", "-m", "old"],
        ] {
            repository.git(words);
        }
        repository.write_program("new");
        repository
    }

    fn tools(&self) -> PathBuf {
        self.folder.path().join("tools")
    }

    fn temporary(&self) -> PathBuf {
        self.folder.path().join("temporary")
    }

    fn write_program(&self, name: &str) {
        let (order, made) = (
            self.folder.path().join("order"),
            self.folder.path().join("made.run"),
        );
        let (order, made) = (order.display(), made.display());
        let program =
            format!("test -e built && echo {name} >> {order}; cp -r {made} \"$1\"; exec $2");
        fs::write(self.tools().join("program"), program).unwrap();
    }

    fn git(&self, words: &[&str]) -> String {
        let identity = [
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "-c",
            "commit.gpgsign=false",
        ];
        let done = Command::new("git")
            .args(identity)
            .args(words)
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
        text(&done.stdout).to_owned()
    }

    fn compare(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trueno-record"));
        command
            .args(["compare", "-n", "2", "--no-compare", "--overwrite"])
            .args(words)
            .env("TMPDIR", self.temporary())
            .current_dir(self.tools());
        command
    }

    /// Checks that nothing of a worktree is left.
    fn has_no_worktree(&self) {
        assert_eq!(fs::read_dir(self.temporary()).unwrap().count(), 0);
        let list = self.git(&["worktree", "list"]);
        assert_eq!(list.lines().count(), 1, "{list}");
    }
}

#[test]
fn a_revision_is_built_and_recorded_beside_the_working_tree() {
    let repository = Repository::new();
    let words = [
        "--git",
        "HEAD",
        "--build",
        "touch built",
        "--",
        "sh",
        "program",
        "{}",
    ];
    let done = repository.compare(&words).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let order = fs::read_to_string(repository.folder.path().join("order")).unwrap();
    let order: Vec<&str> = order.split_whitespace().collect();
    assert_eq!(order, ["old", "new", "new", "old", "old", "new"]);
    for run in ["base-02.run", "run-02.run"] {
        let run = repository.tools().join("compared").join(run);
        assert!(run.join("run.json").is_file(), "{}", run.display());
    }
    repository.has_no_worktree();
}

#[test]
fn errors_of_a_revision_name_the_step() {
    let repository = Repository::new();
    let program = ["--", "sh", "program", "{}"];
    for (words, expected) in [
        (&["--git", "nosuch"][..], "--git nosuch: no such revision: "),
        (&["--git=--help"], "--git --help: no such revision: "),
        (
            &["--git", "HEAD", "--build", "exit 3"],
            "base-build: the build failed (exit status: 3); it printed compared/base-build.log",
        ),
        (&["--build", "true"], "--git <REVISION>"),
    ] {
        let done = repository
            .compare(&[words, &program].concat())
            .output()
            .unwrap();
        assert_eq!(done.status.code(), Some(2));
        let said = text(&done.stderr);
        assert!(said.contains(expected), "{said}");
        repository.has_no_worktree();
    }
    let new = repository.folder.path().join("new");
    fs::create_dir(&new).unwrap();
    let mut command = repository.compare(&[&["--git", "HEAD"][..], &program].concat());
    let done = command.current_dir(new).output().unwrap();
    let said = text(&done.stderr);
    assert!(said.contains("--git HEAD: has no folder new/"), "{said}");
    repository.has_no_worktree();
    let elsewhere = folder();
    let done = compare(
        elsewhere.path(),
        &[&["--git", "HEAD"][..], &program].concat(),
    );
    assert_eq!(done.status.code(), Some(2));
    let said = text(&done.stderr);
    assert!(said.contains("--git HEAD: no repository here: "), "{said}");
}

#[test]
fn an_interrupt_removes_the_worktree() {
    let repository = Repository::new();
    let words = ["--git", "HEAD", "--", "sh", "program", "{}", "sleep 600"];
    let mut command = repository.compare(&words);
    // Tests that run in the background of a shell inherit an ignored interrupt.
    // SAFETY: `signal` is async-signal-safe, and the closure does nothing else.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
    let mut child = command.process_group(0).spawn().unwrap();
    let run = repository.tools().join("compared/base-warmup.run/run.json");
    while !run.is_file() {
        assert_eq!(child.try_wait().unwrap(), None);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // SAFETY: takes numbers. The group is that of this child.
    unsafe { libc::kill(-(child.id() as i32), libc::SIGINT) };
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGINT));
    repository.has_no_worktree();
}
