//! Entries of a run directory that are ours, and those of somebody else.

use std::io;
use std::path::Path;

use serde::Deserialize;

use crate::edit::NEW_RUN_JSON;
use crate::error::Error;
use crate::folder::{EntryKind, Folder};
use crate::journal::JOURNAL;
use crate::live::{CONTROL, COUNTS, LIVE, LOG};
use crate::run_json::RUN_JSON;
use crate::schema::FORMAT_NAME;

const PTX: &str = "ptx";
const RANK: &str = "rank=";
const MAX_NAMED: usize = 8;
/// A larger `run.json` is not ours.
const MAX_RUN_JSON_BYTES: u64 = 256 << 20;

/// Checks that a run or a folder of ranks can be removed: `run.json` names our format, we create every entry in it,
/// and none of its folders is write-protected, which would leave a part of it.
///
/// # Errors
/// It has other entries, which are listed; it is not a run; or an operating system error.
pub(super) fn check_removable(given: &Path, run: &Folder) -> Result<(), Error> {
    let mut foreign = Vec::new();
    let failed = |e| Error::io(given, "look at what is there", e);
    if !look_at_run(run, "", &mut foreign).map_err(failed)? {
        return Err(Error::NotARun { path: given.into() });
    }
    if foreign.is_empty() {
        return check_writable(given, run);
    }
    foreign.sort_unstable();
    let more = foreign.len().saturating_sub(MAX_NAMED);
    foreign.truncate(MAX_NAMED);
    let mut named = foreign.join(", ");
    if more > 0 {
        named.push_str(&format!(" and {more} more"));
    }
    Err(Error::Foreign {
        path: given.into(),
        entries: named,
    })
}

/// True for a run and for a folder of ranks, regardless of other entries.
pub(super) fn is_run(folder: &Folder) -> io::Result<bool> {
    if is_run_json(folder) {
        return Ok(true);
    }
    let is_ranks_run = |name: &std::ffi::OsStr| {
        name.to_str().is_some_and(is_rank)
            && folder.folder(name).is_ok_and(|rank| is_run_json(&rank))
    };
    let entries = folder.entries()?;
    Ok(entries.iter().any(|entry| is_ranks_run(&entry.name)))
}

fn look_at_run(run: &Folder, prefix: &str, foreign: &mut Vec<String>) -> io::Result<bool> {
    let has_run_json = is_run_json(run);
    let (mut has_rank, mut others) = (false, Vec::new());
    for entry in run.entries()? {
        let shown = format!("{prefix}{}", entry.name.to_string_lossy());
        let Some(name) = entry.name.to_str() else {
            others.push(shown);
            continue;
        };
        if entry.kind == EntryKind::File && matches!(name, RUN_JSON | NEW_RUN_JSON | JOURNAL) {
            continue;
        }
        let below = format!("{shown}/");
        if entry.kind == EntryKind::Folder && is_rank(name) && prefix.is_empty() {
            if look_at_run(&run.folder(name)?, &below, &mut others)? {
                has_rank = true;
                continue;
            }
        } else if entry.kind == EntryKind::Folder && has_run_json && is_folder_name(name) {
            let is_ours: fn(&str) -> bool = match name {
                LIVE => is_of_live,
                // The table of that name lies beside them.
                PTX => |name| is_source(name) || is_segment(name),
                _ => is_segment,
            };
            look_at_files(&run.folder(name)?, &below, is_ours, &mut others)?;
            continue;
        }
        others.push(shown);
    }
    foreign.append(&mut others);
    Ok(has_run_json || has_rank)
}

fn look_at_files(
    folder: &Folder,
    prefix: &str,
    is_ours: fn(&str) -> bool,
    foreign: &mut Vec<String>,
) -> io::Result<()> {
    for entry in folder.entries()? {
        let is_socket =
            entry.kind == EntryKind::Other && prefix.ends_with("live/") && entry.name == CONTROL;
        let is_file = entry.kind == EntryKind::File && entry.name.to_str().is_some_and(is_ours);
        if !is_file && !is_socket {
            foreign.push(format!("{prefix}{}", entry.name.to_string_lossy()));
        }
    }
    Ok(())
}

/// Rejects a folder if its files, or the files in its subfolders, cannot be removed.
fn check_writable(shown: &Path, folder: &Folder) -> Result<(), Error> {
    let hint = "permit it, or choose another path";
    let failed = |e| Error::io_with_hint(shown, "remove what is in it", e, hint);
    folder.check_writable().map_err(failed)?;
    for entry in folder.entries().map_err(failed)? {
        if entry.kind == EntryKind::Folder {
            let below = folder.folder(&entry.name).map_err(failed)?;
            check_writable(&shown.join(&entry.name), &below)?;
        }
    }
    Ok(())
}

fn is_run_json(run: &Folder) -> bool {
    #[derive(Deserialize)]
    struct Named {
        format: Format,
    }
    #[derive(Deserialize)]
    struct Format {
        name: String,
    }
    let text = run.read(RUN_JSON, MAX_RUN_JSON_BYTES).unwrap_or_default();
    serde_json::from_slice::<Named>(&text).is_ok_and(|found| found.format.name == FORMAT_NAME)
}

pub(super) fn is_rank(name: &str) -> bool {
    name.strip_prefix(RANK).is_some_and(is_number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Tables of any format version, and the two other folders. None of these names can be the name of a file.
fn is_folder_name(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Segments have the same names in every table and format version.
fn is_segment(name: &str) -> bool {
    let number = name
        .strip_suffix(".arrow")
        .or_else(|| name.strip_suffix(".parquet"));
    number.is_some_and(is_number)
}

fn is_source(name: &str) -> bool {
    name.strip_suffix(".ptx")
        .is_some_and(|hash| !hash.is_empty() && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn is_of_live(name: &str) -> bool {
    name == COUNTS
        || name == LOG
        || name.strip_suffix(".ring").is_some_and(is_number)
        || name.ends_with(".rows")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const RUN: &str = r#"{"format":{"name":"trueno-run","major":1,"minor":9},"state":"finished"}"#;

    fn check(files: &[(&str, &str)]) -> Result<(), Error> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        check_removable(folder.path(), &Folder::open(folder.path()).unwrap())
    }

    #[test]
    fn runs_of_any_version_and_ranks_are_removable() {
        let whole = [
            (RUN_JSON, RUN),
            (JOURNAL, ""),
            ("bricks/000000.arrow", ""),
            ("of_a_later_version/000001.parquet", ""),
            ("ptx/00ff.ptx", ""),
            ("ptx/000000.arrow", ""),
            ("live/000003.ring", ""),
            ("live/bricks.rows", ""),
            ("live/counts", ""),
            ("live/log.jsonl", ""),
        ];
        check(&whole).unwrap();
        check(&[
            ("rank=0/run.json", RUN),
            ("rank=1/run.json", RUN),
            ("rank=1/kernels/000000.arrow", ""),
        ])
        .unwrap();
    }

    #[test]
    fn what_is_not_ours_is_named() {
        for foreign in [
            "notes.txt",
            ".git/HEAD",
            "src/main.c",
            "bricks/notes.txt",
            "bricks/deep/000000.arrow",
            "live/core",
            "ptx/readme.ptx",
        ] {
            let Err(Error::Foreign { entries, .. }) = check(&[(RUN_JSON, RUN), (foreign, "")])
            else {
                panic!("{foreign} would be removed");
            };
            assert!(foreign.starts_with(&entries) || entries.starts_with(foreign));
        }
        let ranks = [("rank=0/run.json", RUN), ("rank=0/a.html", ""), ("b", "")];
        let Err(Error::Foreign { entries, .. }) = check(&ranks) else {
            panic!("files beside ranks would be removed");
        };
        assert_eq!(entries, "b, rank=0/a.html");
    }

    #[test]
    fn a_run_json_of_another_program_is_no_run() {
        for text in ["{}", "", r#"{"format":{"name":"other"}}"#, "[1]"] {
            let found = check(&[(RUN_JSON, text), ("bricks/000000.arrow", "")]);
            assert!(matches!(found, Err(Error::NotARun { .. })), "{text}");
        }
        let found = check(&[("rank=0/notes", ""), ("rank=x/run.json", RUN)]);
        assert!(matches!(found, Err(Error::NotARun { .. })));
    }

    #[test]
    fn links_are_foreign() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(RUN_JSON), RUN).unwrap();
        std::os::unix::fs::symlink("/", folder.path().join("bricks")).unwrap();
        let found = check_removable(folder.path(), &Folder::open(folder.path()).unwrap());
        assert!(matches!(found, Err(Error::Foreign { entries, .. }) if entries == "bricks"));
    }
}
