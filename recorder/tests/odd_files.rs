//! Pipes, folders, links and devices where a run is to be recorded, or in place of its files: each is refused in words,
//! and none is waited for, written to or removed.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fmt::Debug;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use trueno_format::PtxHash;
use trueno_recorder::{Error, Recorder};
use trueno_testing::{folder, run_json, table};

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

const KINDS: [&str; 6] = [
    "pipe",
    "folder",
    "link to itself",
    "link to nothing",
    "device",
    "socket",
];

/// Creates it at a path where nothing is.
fn put(kind: &str, path: &Path) -> io::Result<()> {
    match kind {
        "pipe" => {
            let name = CString::new(path.as_os_str().as_bytes()).unwrap();
            // SAFETY: the text ends with a zero and outlives the call.
            match unsafe { libc::mkfifo(name.as_ptr(), 0o600) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        }
        "folder" => fs::create_dir(path),
        "link to itself" => symlink(path, path),
        "link to nothing" => symlink("nowhere", path),
        "socket" => UnixListener::bind(path).map(drop),
        _ => symlink("/dev/zero", path),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

/// Replaces what is at a path. A recorder may recreate its file at the same time.
fn replace(path: &Path, put: impl Fn(&Path) -> io::Result<()>) {
    for _ in 0..1000 {
        let _ = remove(path);
        if put(path).is_ok() {
            return;
        }
    }
    panic!("{}: something else is there all the time", path.display());
}

/// Everything in a folder: its kind, and a file's bytes or a link's target.
fn contents(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let kind = path.symlink_metadata().unwrap().file_type();
        let what = match () {
            () if kind.is_symlink() => format!("{:?}", fs::read_link(&path).unwrap()),
            () if kind.is_file() => format!("{:?}", fs::read(&path).unwrap()),
            () => format!("{kind:?}"),
        };
        if kind.is_dir() {
            all.extend(contents(&path));
        }
        all.insert(path, what);
    }
    all
}

fn within_patience<T: Send + 'static>(
    what: impl Debug,
    act: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || send.send(act()));
    let done = receive.recv_timeout(PATIENCE);
    done.unwrap_or_else(|late| panic!("{what:?}: {late}"))
}

fn create(path: &Path, overwrite: bool) -> Result<Recorder, Error> {
    let builder = Recorder::builder(path).overwrite(overwrite);
    within_patience((path, overwrite), || builder.create())
}

/// Asserts that it is refused with its name and the next step, and that nothing below `folder` has changed.
fn is_refused(folder: &Path, path: &Path, overwrite: bool, what: &str) {
    let before = contents(folder);
    let refused = create(path, overwrite).unwrap_err().to_string();
    assert!(
        refused.contains(&path.display().to_string()) && refused.contains("hint: "),
        "{what}: {refused}"
    );
    assert_eq!(contents(folder), before, "{what}");
}

fn record(path: &Path) {
    let rec = Recorder::create(path).unwrap();
    drop(rec.brick("kept"));
    rec.ptx("m", "source");
    rec.finish().unwrap();
}

#[test]
fn a_run_with_something_odd_in_it_is_not_replaced() {
    let mut refused = 0;
    for entry in [
        "run.json",
        "batches.jsonl",
        "bricks",
        "bricks/000000.arrow",
        "ptx",
        "live",
        "live/log.jsonl",
        "run.json.tmp",
    ] {
        for kind in KINDS {
            let (folder, path) = folder();
            record(&path);
            let odd = path.join(entry);
            fs::create_dir_all(odd.parent().unwrap()).unwrap();
            replace(&odd, |path| put(kind, path));
            let what = format!("{kind} for {entry}");
            is_refused(folder.path(), &path, false, &what);
            if kind == "folder" && matches!(entry, "bricks" | "ptx" | "live") {
                create(&path, true).unwrap().finish().unwrap();
                continue;
            }
            is_refused(folder.path(), &path, true, &what);
            refused += 1;
        }
    }
    assert_eq!(refused, 8 * KINDS.len() - 3);
}

#[test]
fn a_place_that_is_no_folder_is_refused() {
    for kind in KINDS {
        for overwrite in [false, true] {
            let (folder, path) = folder();
            if kind != "folder" {
                put(kind, &path).unwrap();
                is_refused(folder.path(), &path, overwrite, kind);
                is_refused(folder.path(), &path.join("below.run"), overwrite, kind);
                remove(&path).unwrap();
            }
            // With something of others beside it.
            fs::create_dir(&path).unwrap();
            put(kind, &path.join("theirs")).unwrap();
            is_refused(folder.path(), &path, overwrite, kind);
        }
    }
    for overwrite in [false, true] {
        let refused = create(Path::new(""), overwrite).unwrap_err().to_string();
        assert!(refused.contains("its path is empty (hint: "), "{refused}");
    }
}

#[test]
fn a_link_is_not_followed_to_replace_a_run() {
    let (folder, path) = folder();
    let link = folder.path().join("latest.run");
    symlink("test.run", &link).unwrap();
    is_refused(folder.path(), &link, true, "link to nothing");
    record(&path);
    is_refused(folder.path(), &link, false, "link to a run");
    is_refused(folder.path(), &link, true, "link to a run");
    let refused = create(&link, true).unwrap_err().to_string();
    let target = fs::canonicalize(&path).unwrap().display().to_string();
    assert!(refused.contains(&target), "{refused}");
    // One to an empty folder is a place like others.
    fs::remove_dir_all(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let rec = create(&link, true).unwrap();
    drop(rec.brick("new"));
    rec.finish().unwrap();
    assert_eq!(fs::read_link(&link).unwrap(), Path::new("test.run"));
    assert_eq!(table(&path, "bricks").texts("name"), [Some("new")]);
}

/// Root may do everything, so this thread becomes nobody, for file access only.
fn as_another_user<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    within_patience("as another user", || {
        // SAFETY: calls with numbers, of this thread alone; others than root stay what they are.
        unsafe {
            libc::setfsgid(65534);
            libc::setfsuid(65534);
        }
        act()
    })
}

#[test]
fn of_a_protected_run_nothing_is_removed() {
    for protected in ["", "bricks", "ptx"] {
        let (folder, path) = folder();
        record(&path);
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let all = contents(folder.path()).into_keys();
        for place in all
            .filter(|place| place.is_dir())
            .chain([folder.path().into()])
        {
            mode(&place, 0o777);
        }
        mode(&path.join(protected), 0o555);
        let before = contents(&path);
        let builder = Recorder::builder(&path).overwrite(true);
        let refused = as_another_user(|| builder.create());
        let refused = refused.unwrap_err().to_string();
        let named = path.join(protected).display().to_string();
        let named = named.trim_end_matches('/');
        assert!(
            refused.starts_with(&format!("{named}: cannot remove what is in it"))
                || refused.starts_with(&format!("{named}/: cannot remove what is in it")),
            "{refused}"
        );
        assert!(refused.contains("(hint: "), "{refused}");
        assert_eq!(contents(&path), before, "{protected:?}");

        // Nothing is there that could be removed, and nothing can be made.
        let empty = folder.path().join("empty");
        fs::create_dir(&empty).unwrap();
        mode(&empty, 0o555);
        for place in [empty.clone(), empty.join("below.run")] {
            let refused = as_another_user(move || Recorder::create(place)).unwrap_err();
            let refused = refused.to_string();
            assert!(
                refused.contains("empty/") && refused.contains("(hint: "),
                "{refused}"
            );
        }
        assert!(contents(&empty).is_empty());
    }
}

/// Something is put in the way of each file that the recorder is about to create.
#[test]
fn what_comes_in_the_way_is_neither_waited_for_nor_written_to() {
    let source = format!("ptx/{}.ptx", PtxHash::from_source("source"));
    let places = [
        "run.json.tmp",
        "run.json",
        "bricks",
        "bricks/000000.arrow.open",
        "ptx",
        &source,
    ];
    for place in places {
        for kind in KINDS
            .into_iter()
            .chain(["link to a file", "link to a folder"])
        {
            let (folder, path) = folder();
            let theirs = folder.path().join("theirs");
            fs::create_dir(&theirs).unwrap();
            fs::write(theirs.join("thesis.txt"), "years of work").unwrap();
            let before = contents(&theirs);
            let rec = Recorder::create(&path).unwrap();
            let odd = path.join(place);
            fs::create_dir_all(odd.parent().unwrap()).unwrap();
            replace(&odd, |odd| match kind {
                "link to a file" => symlink(theirs.join("thesis.txt"), odd),
                "link to a folder" => symlink(&theirs, odd),
                kind => put(kind, odd),
            });
            let what = format!("{kind} for {place}");
            let finished = within_patience(what.clone(), move || {
                drop(rec.brick("kept"));
                rec.ptx("m", "source");
                rec.finish().map(|summary| summary.rows)
            });
            assert_eq!(contents(&theirs), before, "{what}");
            match finished {
                Ok(_) => {
                    assert_eq!(table(&path, "bricks").rows, 1, "{what}");
                    assert!(run_json(&path).problems.is_empty(), "{what}");
                }
                Err(Error::Writer { problem, .. }) => {
                    let named = place.split('/').next().unwrap().trim_end_matches(".tmp");
                    assert!(problem.contains(named), "{what}: {problem}");
                }
                Err(other) => panic!("{what}: {other}"),
            }
        }
    }
}

#[test]
fn a_baseline_that_is_no_file_is_refused() {
    for kind in KINDS {
        let (folder, path) = folder();
        let golden = folder.path().join("golden.json");
        put(kind, &golden).unwrap();
        let builder = Recorder::builder(&path).checksum_baseline(&golden);
        let refused = within_patience(kind, || builder.create()).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains("golden.json: cannot be read"), "{refused}");
        assert!(!path.exists(), "{kind}: nothing was made");
    }
}
