//! `trueno-record peaks --into RUN`: ceilings for a run that was recorded without them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use trueno_ceilings::{AttachError, Attachment};
use trueno_format::journal::{Chunk, chunk_hash};
use trueno_format::run_json::{RunJson, sealed};
use trueno_format::run_writer::RunWriter;
use trueno_recorder::{Ceiling, CeilingKind, Recorder, Source};
use trueno_testing::{Cell, folder, journal, run_json, table};

/// With a separate cache and as little measuring as possible.
fn peaks(run: &Path, words: &[&str]) -> Output {
    let cache = tempfile::tempdir().unwrap();
    Command::new(env!("CARGO_BIN_EXE_trueno-record"))
        .args(["peaks", "--repetitions", "1", "--repetition-ms", "0.2"])
        .args(["--seconds", "0", "--into"])
        .arg(run)
        .args(words)
        .env("XDG_CACHE_HOME", cache.path())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn recorded(path: &Path, ceilings: &[Ceiling]) {
    let rec = Recorder::create(path).unwrap();
    drop(rec.brick("first"));
    drop(rec.brick("second"));
    rec.value("model", "small");
    for ceiling in ceilings {
        rec.ceiling(ceiling.clone());
    }
    rec.finish().unwrap();
}

fn files(run: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut out = BTreeMap::new();
    for entry in fs::read_dir(run).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            out.extend(files(&path));
        } else {
            out.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    out
}

/// Asserts that the journal covers every byte of each segment, and that the counts in `run.json` are right.
fn assert_whole(run: &Path) {
    let lines = journal(run);
    let mut counts: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
    for (name, lines) in &lines {
        let bytes = fs::read(run.join(name)).unwrap();
        let mut end = 0;
        for line in lines {
            assert_eq!(line.offset, end, "{name}");
            end += line.bytes;
            let chunk = &bytes[line.offset as usize..end as usize];
            assert_eq!(chunk_hash(chunk), line.xxh3, "{name}");
        }
        assert_eq!(end, bytes.len() as u64, "{name}");
        let tail = lines.last().unwrap();
        assert_eq!(tail.chunk, Chunk::Tail);
        let counted = counts
            .entry(name.split('/').next().unwrap().to_owned())
            .or_default();
        counted.0 += tail.rows.unwrap();
        counted.1 += 1;
        counted.2 += end;
    }
    let said = run_json(run).tables;
    let said: BTreeMap<_, _> = said
        .into_iter()
        .map(|(name, table)| (name, (table.rows, table.segments, table.bytes)))
        .collect();
    assert_eq!(said, counts);
}

fn assert_alone(run: &Path) {
    let there = fs::read_dir(run.parent().unwrap()).unwrap();
    let names: Vec<_> = there.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [run.file_name().unwrap()]);
}

fn levels(run: &Path) -> Vec<(String, String)> {
    let rows = table(run, "ceilings");
    let word = |name: &str, at| match rows.cell(name, at) {
        Cell::T(text) => text.clone(),
        other => panic!("{other:?}"),
    };
    (0..rows.rows)
        .map(|at| (word("device", at), word("source", at)))
        .collect()
}

#[test]
fn a_finished_run_gets_ceilings_and_nothing_else_changes() {
    let (_folder, path) = folder();
    recorded(&path, &[]);
    let (before, bricks) = (run_json(&path), path.join("bricks/000000.arrow"));
    let inode = fs::metadata(&bricks).unwrap().ino();
    let done = peaks(&path, &[]);
    let said = text(&done.stderr);
    assert!(done.status.success(), "{said}");
    assert!(text(&done.stdout).contains("DRAM"));
    let rows = levels(&path);
    assert!(rows.len() > 8);
    let expected = format!(
        "{}: has {} ceilings of this machine now\n",
        path.display(),
        rows.len()
    );
    assert_eq!(said, expected);
    assert!(
        rows.iter()
            .all(|row| *row == ("cpu".into(), "measured".into()))
    );
    assert_whole(&path);
    assert_alone(&path);
    assert_eq!(fs::metadata(&bricks).unwrap().ino(), inode, "the same file");

    let mut after = run_json(&path);
    let joined = after.joined.remove(0);
    assert!(after.joined.is_empty());
    assert_eq!(joined.tool, "trueno-record peaks");
    assert_eq!(joined.segments, ["ceilings/000000.arrow"]);
    assert_eq!(joined.matched["ceilings"], rows.len() as u64);
    let value = after.values.remove("peaks").unwrap();
    assert!(
        value.starts_with(&format!("{} ceilings, measured ", rows.len()))
            && value.ends_with(", joined after the recording"),
        "{value}"
    );
    after.values.retain(|key, _| !key.starts_with("peaks."));
    after.tables.remove("ceilings");
    assert_eq!(after, before);
}

#[test]
fn what_is_there_is_replaced_when_that_is_asked_for() {
    let (_folder, path) = folder();
    let of =
        |device: &'static str, source| Ceiling::new(device, CeilingKind::Bandwidth, 1e9, source);
    let own = [
        of("cpu", Source::Measured),
        of("gpu:0", Source::Measured),
        of("cpu", Source::Nominal),
    ];
    recorded(&path, &own);
    let before = files(&path);
    let refused = peaks(&path, &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(text(&refused.stdout), "", "before anything is measured");
    let said = text(&refused.stderr);
    assert!(
        said.contains("holds 1 measured ceilings of its processor (hint: --replace"),
        "{said}"
    );
    assert_eq!(files(&path), before);
    assert_alone(&path);

    // Twice: what was joined can be replaced as well.
    for _ in 0..2 {
        let done = peaks(&path, &["--replace"]);
        assert!(done.status.success(), "{}", text(&done.stderr));
        assert!(text(&done.stderr).contains(", in place of "));
        assert_whole(&path);
        let rows = levels(&path);
        let word = |device: &str, source: &str| (device.to_owned(), source.to_owned());
        assert_eq!(
            rows[..2],
            [word("gpu:0", "measured"), word("cpu", "nominal")],
            "they stay"
        );
        assert!(rows.len() > 8 && rows[2..].iter().all(|row| *row == word("cpu", "measured")));
        let cell = table(&path, "ceilings").cell("value", 0).clone();
        assert_eq!(cell, Cell::F(1e9));
        assert_eq!(run_json(&path).joined.len(), 1);
    }
}

/// Ceilings of devices alone are no reason to ask for confirmation, and their segments stay unchanged.
#[test]
fn ceilings_of_devices_stay_where_they_are() {
    let (_folder, path) = folder();
    let own = Ceiling::new("gpu:0", CeilingKind::Bandwidth, 1e12, Source::Measured);
    recorded(&path, &[own]);
    let before = fs::read(path.join("ceilings/000000.arrow")).unwrap();
    let done = peaks(&path, &[]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert_eq!(
        fs::read(path.join("ceilings/000000.arrow")).unwrap(),
        before
    );
    assert_eq!(
        run_json(&path).joined[0].segments,
        ["ceilings/000001.arrow"]
    );
    assert_whole(&path);
}

#[test]
fn a_run_that_cannot_have_them_is_refused_and_stays_as_it_is() {
    let edit = |change: fn(&mut RunJson)| {
        move |run: &Path| {
            let mut found = run_json(run);
            change(&mut found);
            fs::write(run.join("run.json"), sealed(&found).unwrap()).unwrap();
        }
    };
    type Change = Box<dyn Fn(&Path)>;
    let cases: Vec<(Change, &str)> = vec![
        (
            Box::new(edit(|run| run.host.cpu_model = Some("Another".into()))),
            "was recorded on another machine or configuration: processor: \"Another\" in the run, ",
        ),
        (
            Box::new(edit(|run| run.host.logical_cpus = Some(4096))),
            "processors it may use: 4096 in the run, ",
        ),
        (
            Box::new(edit(|run| run.imported = true)),
            "was imported from another tool's file",
        ),
        (
            Box::new(edit(|run| run.exported_from = Some(Default::default()))),
            "is an export (hint: join the ceilings to the recording",
        ),
        (
            Box::new(edit(|run| run.format.major = 99)),
            "is of format 99",
        ),
        (
            Box::new(|run| fs::write(run.join("run.json"), "{").unwrap()),
            "is damaged: run.json: ",
        ),
        (
            Box::new(|run| fs::remove_file(run.join("run.json")).unwrap()),
            "is not a run: it has no run.json",
        ),
        (
            Box::new(|run| {
                let path = run.join("bricks/000000.arrow");
                let mut bytes = fs::read(&path).unwrap();
                let middle = bytes.len() / 2;
                bytes[middle] ^= 1;
                fs::write(path, bytes).unwrap();
            }),
            "is damaged: bricks/000000.arrow: bytes ",
        ),
        (
            Box::new(|run| {
                let path = run.join("bricks/000000.arrow");
                let bytes = fs::read(&path).unwrap();
                fs::write(path, &bytes[..bytes.len() - 1]).unwrap();
            }),
            "is damaged: bricks/000000.arrow: ends at byte ",
        ),
        (
            Box::new(|run| fs::remove_file(run.join("bricks/000000.arrow")).unwrap()),
            "is damaged: bricks/000000.arrow: cannot be read: ",
        ),
        (
            Box::new(|run| fs::write(run.join("bricks/000001.arrow"), "").unwrap()),
            "is damaged: bricks/000001.arrow: the journal does not list it",
        ),
        (
            Box::new(|run| fs::write(run.join("batches.jsonl"), "{}\n").unwrap()),
            "is damaged: batches.jsonl: line 1 cannot be read",
        ),
        (
            Box::new(|run| fs::remove_file(run.join("batches.jsonl")).unwrap()),
            "is damaged: batches.jsonl: cannot be read: ",
        ),
        (
            Box::new(|run| {
                fs::set_permissions(run, fs::Permissions::from_mode(0o555)).unwrap();
            }),
            "is read-only (hint: `chmod u+w` it",
        ),
        (
            Box::new(|run| {
                fs::remove_dir_all(run).unwrap();
                fs::create_dir_all(run.join("rank=0")).unwrap();
            }),
            "holds several ranks",
        ),
    ];
    for (change, expected) in cases {
        let (_folder, path) = folder();
        recorded(&path, &[]);
        change(&path);
        let before = files(&path);
        let done = peaks(&path, &[]);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(done.status.code(), Some(2), "{expected}");
        let said = text(&done.stderr);
        assert_eq!(
            (said.lines().count(), text(&done.stdout)),
            (1, ""),
            "{said}"
        );
        assert!(
            said.starts_with("error: ") && said.contains(expected),
            "{said}"
        );
        assert_eq!(files(&path), before, "{expected}");
        assert_alone(&path);
    }
}

#[test]
fn a_recording_that_goes_on_or_was_cut_off_is_refused() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    drop(rec.brick("work"));
    let done = peaks(&path, &[]);
    assert_eq!(done.status.code(), Some(2));
    let said = text(&done.stderr);
    assert!(said.contains("is being recorded now (hint: wait"), "{said}");
    rec.finish().unwrap();
    assert!(peaks(&path, &[]).status.success());

    let (_folder, path) = folder();
    drop(RunWriter::create(&path, RunJson::default()).unwrap());
    let said = peaks(&path, &[]).stderr;
    assert!(text(&said).contains("was never ended (hint: `trueno-analyze recover` it first)"));
}

/// A run of an older recorder has no microcode. The rest is compared, and both outputs mention it.
#[test]
fn what_a_run_does_not_say_is_said() {
    let (_folder, path) = folder();
    recorded(&path, &[]);
    let mut found = run_json(&path);
    let Some(microcode) = found.host.microcode.take() else {
        return; // nor does this machine
    };
    let write = |run: &RunJson| {
        fs::write(path.join("run.json"), sealed(run).unwrap()).unwrap();
    };
    found.host.microcode = Some(microcode + "1");
    write(&found);
    let said = peaks(&path, &[]).stderr;
    assert!(
        text(&said).contains("another machine or configuration: microcode: "),
        "{}",
        text(&said)
    );
    found.host.microcode = None;
    write(&found);
    let done = peaks(&path, &[]);
    assert!(done.status.success());
    let said = text(&done.stderr);
    assert!(
        said.contains("warning: ") && said.contains("does not say the microcode"),
        "{said}"
    );
    assert!(run_json(&path).values["peaks"].ends_with("; the run does not say its microcode"));
}

#[test]
fn one_at_a_time_and_what_a_stopped_one_left_is_removed() {
    let (folder, path) = folder();
    recorded(&path, &[]);
    let hidden = folder.path().join(".test.run.peaks");
    let first = Attachment::begin(&path, false).unwrap();
    assert!(hidden.is_dir());
    assert!(matches!(
        Attachment::begin(&path, false),
        Err(AttachError::Busy(_))
    ));
    drop(first);
    assert_alone(&path);

    fs::create_dir(&hidden).unwrap();
    fs::write(hidden.join("notes"), "mine").unwrap();
    let refused = Attachment::begin(&path, false).err().unwrap().to_string();
    assert!(
        refused.contains("was not created by this program"),
        "{refused}"
    );
    assert_eq!(fs::read_to_string(hidden.join("notes")).unwrap(), "mine");
    // Killed in the middle: what it says is of this run.
    fs::copy(path.join("run.json"), hidden.join("run.json")).unwrap();
    let done = peaks(&path, &[]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert_alone(&path);
    assert_whole(&path);
}

/// Only a part of the first file was written, because of a kill or a full disk.
#[test]
fn what_was_only_begun_is_ours_as_well() {
    let (folder, path) = folder();
    recorded(&path, &[]);
    let hidden = folder.path().join(".test.run.peaks");
    let whole = fs::read(path.join("run.json")).unwrap();
    for (name, length) in [("run.json", 0), ("run.json.tmp", 100)] {
        fs::create_dir(&hidden).unwrap();
        fs::write(hidden.join(name), &whole[..length]).unwrap();
        drop(Attachment::begin(&path, false).unwrap());
        assert_alone(&path);
    }
    fs::create_dir(&hidden).unwrap();
    fs::write(hidden.join("run.json"), "{}").unwrap();
    let refused = Attachment::begin(&path, false).err().unwrap();
    assert!(matches!(refused, AttachError::InTheWay(_)), "{refused}");
}

/// A file size limit stands for a full disk.
#[test]
fn a_full_disk_leaves_nothing_beside_the_run() {
    use std::os::unix::process::CommandExt;
    let (_folder, path) = folder();
    recorded(&path, &[]);
    let before = files(&path);
    let mut child = Command::new(env!("CARGO_BIN_EXE_trueno-record"));
    child.args(["peaks", "--into"]).arg(&path);
    // SAFETY: between fork and exec only calls that are safe there; both leave memory alone.
    unsafe {
        child.pre_exec(|| {
            let limit = libc::rlimit {
                rlim_cur: 100,
                rlim_max: 100,
            };
            // Without the signal's default action, which would end the program.
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            match libc::setrlimit(libc::RLIMIT_FSIZE, &limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
    let refused = child.output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let said = text(&refused.stderr);
    assert!(said.contains("cannot write it"), "{said}");
    assert_alone(&path);
    assert_eq!(files(&path), before);
    let done = peaks(&path, &[]);
    assert!(done.status.success(), "{}", text(&done.stderr));
}

#[test]
fn an_interrupt_leaves_nothing_beside_the_run() {
    use std::os::unix::process::ExitStatusExt;
    let (folder, path) = folder();
    recorded(&path, &[]);
    let before = files(&path);
    let mut child = Command::new(env!("CARGO_BIN_EXE_trueno-record"))
        .args(["peaks", "--no-keep", "--repetitions", "100000"])
        .args(["--seconds", "3600", "--into"])
        .arg(&path)
        .spawn()
        .unwrap();
    // From the folder's first moment on.
    while !folder.path().join(".test.run.peaks").exists() {
        assert_eq!(child.try_wait().unwrap(), None);
        std::thread::yield_now();
    }
    // SAFETY: takes numbers; the child is not waited for yet, so the number is its own.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
    assert_alone(&path);
    assert_eq!(files(&path), before);
}

/// The run changes between the check and the end, which may be seconds apart.
#[test]
fn a_run_that_changes_meanwhile_keeps_its_change() {
    let (_folder, path) = folder();
    recorded(&path, &[]);
    let joining = Attachment::begin(&path, false).unwrap();
    let mut found = run_json(&path);
    found.label = Some("new".into());
    fs::write(path.join("run.json"), sealed(&found).unwrap()).unwrap();
    let effort = trueno_ceilings::Effort {
        repetitions: 1,
        repetition: std::time::Duration::from_micros(100),
        longest: std::time::Duration::ZERO,
    };
    let measured = trueno_ceilings::measure(&effort, |_| {});
    let refused = joining.finish(&measured).unwrap_err();
    assert!(matches!(refused, AttachError::Changed(_)), "{refused}");
    assert_eq!(run_json(&path), found);
    assert_alone(&path);
}
