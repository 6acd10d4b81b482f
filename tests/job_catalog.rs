//! Tasks with a catalog of their job: they open their own ranks only, and make the same parts.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

use crate::harness::{Dir, Done, change_json, copy};
use crate::part_cache::{four_ranks, report, run_task};

const CHANGED: &str =
    "since the catalog was written (hint: `trueno-analyze rank-task --write-catalog`";

const HASH: &str = "\"hash:";

struct Tasks<'a> {
    dir: &'a Dir,
    job: PathBuf,
    flags: &'a [&'a str],
}

impl<'a> Tasks<'a> {
    /// Of a job of four ranks.
    fn new(dir: &'a Dir, flags: &'a [&'a str]) -> Self {
        Self {
            dir,
            job: four_ranks(dir),
            flags,
        }
    }

    fn of(&self, ranks: &[u32], parts: &str, is_cataloged: bool) -> Value {
        let mut task = json!({"job": self.job, "ranks": ranks, "parts": self.dir.join(parts)});
        if is_cataloged {
            task["catalog"] = json!(self.dir.join("catalog"));
        }
        task
    }

    fn write_catalog(&self, exits: i32) -> Done {
        let task = self.of(&[], "unused", true);
        run_task(self.dir, task, self.flags, &["--write-catalog"]).exits(exits)
    }

    /// A task with the catalog.
    fn task(&self, ranks: &[u32], exits: i32) -> Done {
        let task = self.of(ranks, "parts", true);
        run_task(self.dir, task, self.flags, &[]).exits(exits)
    }

    fn whole_task(&self, ranks: &[u32]) -> Done {
        let task = self.of(ranks, "whole", false);
        run_task(self.dir, task, self.flags, &[]).exits(0)
    }
}

/// All files in a folder and its subfolders.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    files
}

fn same_parts(dir: &Dir) {
    let of = |parts: &str| {
        let files = files(&dir.join(parts)).into_iter();
        let name = |path: PathBuf| path.strip_prefix(dir.join(parts)).unwrap().to_owned();
        files
            .map(|(path, bytes)| (name(path), bytes))
            .collect::<BTreeMap<_, _>>()
    };
    let (parts, whole) = (of("parts"), of("whole"));
    assert!(!whole.is_empty());
    assert!(parts.keys().eq(whole.keys()), "{:?}", parts.keys());
    for (name, bytes) in parts {
        assert!(bytes == whole[&name], "{}", name.display());
    }
}

fn flip(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(file, bytes).unwrap();
}

fn segment(job: &Path, rank: u32, table: &str) -> PathBuf {
    let folder = fs::read_dir(job.join(format!("rank={rank}/{table}"))).unwrap();
    folder.map(|entry| entry.unwrap().path()).next().unwrap()
}

/// Parses JSON with hashes, which a [`Value`] would round, as texts.
fn parsed(text: &str) -> Value {
    let mut quoted = String::new();
    for part in text.split_inclusive(|c: char| !c.is_ascii_digit()) {
        let (digits, end) =
            part.split_at(part.trim_end_matches(|c: char| !c.is_ascii_digit()).len());
        match digits.len() {
            0..=20 => quoted.push_str(digits),
            _ => quoted.push_str(&format!("{HASH}{digits}\"")),
        }
        quoted.push_str(end);
    }
    serde_json::from_str(&quoted).unwrap()
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    let mut parts = text.split(HASH);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + &part.replacen('"', "", 1))
}

/// Runs both rounds over all ranks, one a task, with the catalog and without.
fn both_ways(tasks: &Tasks<'_>) {
    for _ in 0..2 {
        for rank in 0..4 {
            let (one, other) = (tasks.task(&[rank], 0), tasks.whole_task(&[rank]));
            assert_eq!((one.stdout, one.stderr), (other.stdout, other.stderr));
        }
    }
    same_parts(tasks.dir);
}

#[test]
fn tasks_with_a_catalog_make_the_same_parts() {
    for flags in [
        &[][..],
        &["--from", "4ms", "--to", "12ms"],
        &["--from", "4ms"],
    ] {
        let dir = Dir::new();
        let tasks = Tasks::new(&dir, flags);
        assert_eq!(tasks.write_catalog(0).json(), json!({"ranks": 4}));
        both_ways(&tasks);
        let local = report(&dir, &tasks.job, flags);
        let merged = report(&dir, &tasks.job, &[flags, &["--parts", "parts"]].concat());
        assert_eq!((merged.stdout, merged.stderr.as_str()), (local.stdout, ""));
    }
}

/// Ranks that were damaged before the catalog was written are as damaged with it, and one that is lost stays lost.
#[test]
fn damage_from_before_costs_the_same_rows() {
    let dir = Dir::new();
    let tasks = Tasks::new(&dir, &[]);
    flip(&segment(&tasks.job, 1, "kernels"));
    let cut = segment(&tasks.job, 2, "bricks");
    let bytes = fs::read(&cut).unwrap();
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    fs::create_dir(tasks.job.join("rank=7")).unwrap();
    tasks.write_catalog(0);
    both_ways(&tasks);
    let known = "rank 7: the job has none (hint: it has ranks 0–3)";
    tasks.task(&[7], 2).stderr_has(known);
}

#[test]
fn other_ranks_are_not_opened() {
    let dir = Dir::new();
    let tasks = Tasks::new(&dir, &[]);
    tasks.write_catalog(0);
    tasks.whole_task(&[0]);
    // The job moves, and nothing is left of the others but their folders.
    let moved = dir.join("moved");
    for rank in 1..4 {
        fs::create_dir_all(moved.join(format!("rank={rank}"))).unwrap();
    }
    fs::rename(tasks.job.join("rank=0"), moved.join("rank=0")).unwrap();
    let tasks = Tasks {
        job: moved,
        ..tasks
    };
    tasks.task(&[0], 0);
    same_parts(&dir);
    tasks.task(&[0, 3], 2).stderr_has("rank 3 has changed");
}

/// A catalog without the window of a task: the window is looked up in all ranks, which must be the same.
#[test]
fn other_ranks_are_opened_when_their_rows_are_needed() {
    let dir = Dir::new();
    let mut tasks = Tasks::new(&dir, &[]);
    tasks.write_catalog(0);
    tasks.flags = &["--from", "5ms"];
    both_ways(&tasks);
    flip(&segment(&tasks.job, 3, "kernels"));
    let refused = "other ranks have changed since the catalog was written";
    tasks.task(&[0], 2).stderr_has(refused);
}

#[test]
fn a_rank_that_changed_is_refused() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 8] = [
        ("rank 1 has changed", |job| {
            flip(&segment(job, 1, "kernels"))
        }),
        ("rank 1 has changed", |job| {
            let file = fs::File::options()
                .append(true)
                .open(segment(job, 1, "bricks"));
            let file = file.unwrap();
            file.set_len(file.metadata().unwrap().len() - 1).unwrap();
        }),
        ("rank 1 has changed", |job| {
            change_json(&job.join("rank=1/run.json"), |run| {
                run["label"] = json!("another")
            });
        }),
        ("rank 1 has changed", |job| {
            fs::write(job.join("rank=1/more"), "").unwrap()
        }),
        ("rank 1 has changed", |job| {
            fs::remove_dir_all(job.join("rank=1")).unwrap();
            copy(&job.join("rank=2"), &job.join("rank=1"));
        }),
        ("its ranks have changed", |job| {
            fs::remove_dir_all(job.join("rank=1")).unwrap()
        }),
        ("its ranks have changed", |job| {
            fs::create_dir(job.join("rank=4")).unwrap()
        }),
        ("its ranks have changed", |job| {
            fs::write(job.join("run.json"), r#"{"ranks": [0, 1, 2, 3, 4]}"#).unwrap();
        }),
    ];
    for (what, change) in changes {
        let dir = Dir::new();
        let tasks = Tasks::new(&dir, &[]);
        tasks.write_catalog(0);
        change(&tasks.job);
        let refused = tasks.task(&[1], 2).stderr_has(&format!("{what} {CHANGED}"));
        assert_eq!(refused.stdout, "");
        assert!(files(&dir.folder("parts")).is_empty(), "{what}");
        // Only tasks of that rank are lost, as long as the job has the same ranks.
        tasks.task(&[0], if what.starts_with("rank 1") { 0 } else { 2 });
    }
}

#[test]
fn a_catalog_that_is_not_ours_is_refused() {
    let dir = Dir::new();
    let tasks = Tasks::new(&dir, &[]);
    let file = dir.join("catalog");
    tasks
        .task(&[0], 2)
        .stderr_has("there is no such catalog (hint: `trueno-analyze rank-task --write-catalog`");
    tasks.write_catalog(0);
    let good = fs::read(&file).unwrap();
    let end = good.iter().position(|byte| *byte == b'\n').unwrap();
    let refused = |why: &str| {
        let refused = tasks.task(&[0], 2).stderr_has("catalog: ");
        assert!(refused.stderr.contains(why), "{why}: {}", refused.stderr);
        assert_eq!(refused.stdout, "");
    };
    for bytes in [
        &b""[..],
        b"\n",
        b"{}",
        b"\xff\xfe\n{}",
        &good[end..],
        b"[[[[[[[[",
    ] {
        fs::write(&file, bytes).unwrap();
        refused("it is not a catalog");
    }
    for at in [end + 1, end + 100, good.len() / 2, good.len() - 1] {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        fs::write(&file, &bytes).unwrap();
        refused("its bytes have changed since it was written");
        fs::write(&file, &good[..at]).unwrap();
        refused("its bytes have changed since it was written");
    }
    for (key, value) in [("build", json!(7)), ("trueno_catalog", json!(2))] {
        let head = String::from_utf8_lossy(&good[..end]);
        let mut head = parsed(&head);
        head[key] = value;
        fs::write(&file, [shown(&head).as_bytes(), &good[end..]].concat()).unwrap();
        refused(
            "another build of trueno-analyze wrote it (hint: all machines need the same build)",
        );
    }
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    refused("it is a folder, expected a regular file");
    fs::remove_dir(&file).unwrap();
    symlink(&file, &file).unwrap();
    refused("symbolic links");
    fs::remove_file(&file).unwrap();
    // Of another job with the same ranks.
    fs::write(&file, &good).unwrap();
    let other = dir.join("other");
    copy(&tasks.job, &other);
    change_json(&other.join("rank=0/run.json"), |run| {
        run["label"] = json!("another")
    });
    let tasks = Tasks {
        job: other,
        ..tasks
    };
    tasks.task(&[0], 2).stderr_has("rank 0 has changed");
    tasks.task(&[1], 0);
}

/// Whatever a catalog says whose hash was made to fit, a task ends with an answer or an error.
#[test]
fn a_forged_catalog_ends_no_task_with_a_panic() {
    let dir = Dir::new();
    let tasks = Tasks::new(&dir, &[]);
    tasks.write_catalog(0);
    let file = dir.join("catalog");
    let good = fs::read_to_string(&file).unwrap();
    let (head, rest) = good.split_once('\n').unwrap();
    let (head, rest) = (parsed(head), parsed(rest));
    let forgeries: [(&str, Value); 16] = [
        ("/job/files/ranks", json!({})),
        ("/job/files/ranks/0", json!(1)),
        (
            "/job/folders",
            json!({"0": "../../etc", "1": "rank=1", "2": "rank=2", "3": "rank=3"}),
        ),
        ("/job/facts/facts/ranks", json!([])),
        ("/job/facts/facts/ranks/0/offset_ns", json!(i64::MIN)),
        ("/job/facts/facts/ranks/0/rank", json!(u32::MAX)),
        ("/job/facts/facts/wall_ns", json!(i64::MAX)),
        (
            "/job/problems",
            json!([[0, {"severity": "error", "code": "x", "text": "y"}]]),
        ),
        ("/job/segments", json!(u64::MAX)),
        ("/job/tables", json!({})),
        ("/job/tables/bricks/columns", json!([])),
        ("/job/tables/bricks/types", json!({})),
        ("/job/tables/bricks/types/name", json!("F64")),
        (
            "/job/tables/bricks/numbered",
            json!(["start_ns", "nothing"]),
        ),
        ("/job/texts", json!(["", "", "\u{0}", "x"])),
        (
            "/lookups/names/groups/templates",
            json!({"*": [], "decode *": [true, true]}),
        ),
    ];
    let forged = |head: &Value, rest: &Value| {
        let (mut head, rest) = (head.clone(), shown(rest));
        head["hash"] = json!(format!("{:032x}", xxh3_128(rest.as_bytes())));
        fs::write(&file, format!("{}\n{rest}", shown(&head))).unwrap();
    };
    forged(&head, &rest);
    tasks.task(&[0], 0);
    for (place, value) in forgeries {
        let mut rest = rest.clone();
        *rest
            .pointer_mut(place)
            .unwrap_or_else(|| panic!("{place} is there")) = value;
        forged(&head, &rest);
        let mut task = run_task(&dir, tasks.of(&[0, 1], "forged", true), &[], &[]);
        let done = task.command.output().unwrap();
        let stderr = String::from_utf8_lossy(&done.stderr);
        assert!(
            matches!(done.status.code(), Some(0 | 2)),
            "{place}: {stderr}"
        );
        assert!(!stderr.contains("panicked"), "{place}: {stderr}");
    }
}

#[test]
fn tasks_without_a_catalog_or_ranks_are_refused() {
    let dir = Dir::new();
    let tasks = Tasks::new(&dir, &[]);
    let without = tasks.of(&[0], "parts", false);
    run_task(&dir, without, &[], &["--write-catalog"])
        .exits(2)
        .stderr_has("the task names no catalog to write");
    tasks.write_catalog(0);
    tasks.task(&[], 2).stderr_has("the task names no ranks");
    tasks
        .task(&[0, 9], 2)
        .stderr_has("rank 9: the job has none (hint: it has ranks 0–3)");
    let window = Tasks {
        flags: &["--window", "iteration=99"],
        job: tasks.job.clone(),
        ..tasks
    };
    window
        .write_catalog(2)
        .stderr_has("iteration=99: the run has none");
    let run = Tasks {
        dir: &dir,
        job: dir.run(),
        flags: &[],
    };
    run.write_catalog(2)
        .stderr_has("a catalog is of a folder of ranks");
}
