//! Entries of a run directory that are ours, and those of somebody else.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::Deserialize;

use crate::edit::NEW_RUN_JSON;
use crate::error::Error;
use crate::journal::JOURNAL;
use crate::live::{COUNTS, LIVE, LOG};
use crate::run_json::RUN_JSON;
use crate::schema::FORMAT_NAME;

/// Folder of kernel sources.
const PTX: &str = "ptx";
/// Beginning of the name of a rank's folder.
const RANK: &str = "rank=";
/// Foreign entries that are named.
const MAX_NAMED: usize = 8;
/// A larger `run.json` is none of ours.
const MAX_RUN_JSON_BYTES: u64 = 256 << 20;

/// Permits the removal of a run, or of a folder of ranks: `run.json` names our format, every entry is one that we make,
/// and none of its folders is protected, of which else a part would be removed.
///
/// # Errors
/// It holds something else, which is named; it is no run; the operating system refuses.
pub fn check_removable(path: &Path) -> Result<(), Error> {
    let mut foreign = Vec::new();
    let failed = |e| Error::io(path, "look at what is there", e);
    if !look_at_run(path, "", &mut foreign).map_err(failed)? {
        return Err(Error::NotARun { path: path.into() });
    }
    if foreign.is_empty() {
        return check_writable(path);
    }
    foreign.sort_unstable();
    let more = foreign.len().saturating_sub(MAX_NAMED);
    foreign.truncate(MAX_NAMED);
    let mut named = foreign.join(", ");
    if more > 0 {
        named.push_str(&format!(" and {more} more"));
    }
    Err(Error::Foreign {
        path: path.into(),
        entries: named,
    })
}

/// False where it is neither a run nor a folder of ranks.
fn look_at_run(run: &Path, prefix: &str, foreign: &mut Vec<String>) -> io::Result<bool> {
    let has_run_json = is_run_json(&run.join(RUN_JSON));
    let (mut has_rank, mut others) = (false, Vec::new());
    for entry in fs::read_dir(run)? {
        let entry = entry?;
        let name = entry.file_name();
        let shown = format!("{prefix}{}", name.to_string_lossy());
        let Some(name) = name.to_str() else {
            others.push(shown);
            continue;
        };
        let kind = entry.file_type()?;
        let path = entry.path();
        if kind.is_file() && matches!(name, RUN_JSON | NEW_RUN_JSON | JOURNAL) {
            continue;
        }
        let below = format!("{shown}/");
        if kind.is_dir() && is_rank(name) && prefix.is_empty() {
            if look_at_run(&path, &below, &mut others)? {
                has_rank = true;
                continue;
            }
        } else if kind.is_dir() && has_run_json && is_folder_name(name) {
            let is_ours: fn(&str) -> bool = match name {
                LIVE => is_of_live,
                // The table of that name lies beside them.
                PTX => |name| is_source(name) || is_segment(name),
                _ => is_segment,
            };
            look_at_files(&path, &below, is_ours, &mut others)?;
            continue;
        }
        others.push(shown);
    }
    foreign.append(&mut others);
    Ok(has_run_json || has_rank)
}

fn look_at_files(
    folder: &Path,
    prefix: &str,
    is_ours: fn(&str) -> bool,
    foreign: &mut Vec<String>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if !(entry.file_type()?.is_file() && name.to_str().is_some_and(is_ours)) {
            foreign.push(format!("{prefix}{}", name.to_string_lossy()));
        }
    }
    Ok(())
}

/// Refuses a folder of whose files, or of whose folders' files, none may be removed.
fn check_writable(folder: &Path) -> Result<(), Error> {
    let hint = "permit it, or choose another path";
    let failed = |e| Error::io_with_hint(folder, "remove what is in it", e, hint);
    let name = CString::new(folder.as_os_str().as_bytes()).map_err(|e| failed(e.into()))?;
    let asked = libc::W_OK | libc::X_OK;
    // SAFETY: the text ends with a zero and outlives the call.
    if unsafe { libc::faccessat(libc::AT_FDCWD, name.as_ptr(), asked, libc::AT_EACCESS) } != 0 {
        return Err(failed(io::Error::last_os_error()));
    }
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_dir() {
            check_writable(&entry.path())?;
        }
    }
    Ok(())
}

fn is_run_json(path: &Path) -> bool {
    #[derive(Deserialize)]
    struct Named {
        format: Format,
    }
    #[derive(Deserialize)]
    struct Format {
        name: String,
    }
    let is_file = |found: fs::Metadata| found.is_file() && found.len() <= MAX_RUN_JSON_BYTES;
    if !path.symlink_metadata().is_ok_and(is_file) {
        return false;
    }
    let text = fs::read(path).unwrap_or_default();
    serde_json::from_slice::<Named>(&text).is_ok_and(|found| found.format.name == FORMAT_NAME)
}

fn is_rank(name: &str) -> bool {
    name.strip_prefix(RANK).is_some_and(is_number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Tables, of any version of the format, and the two other folders: no name of theirs is that of a file.
fn is_folder_name(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Segments have the same names in each table, of any version of the format.
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
    use super::*;

    const RUN: &str = r#"{"format":{"name":"trueno-run","major":1,"minor":9},"state":"finished"}"#;

    /// The outcome for a folder with these files.
    fn check(files: &[(&str, &str)]) -> Result<(), Error> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        check_removable(folder.path())
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

    #[cfg(unix)]
    #[test]
    fn links_are_foreign() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(RUN_JSON), RUN).unwrap();
        std::os::unix::fs::symlink("/", folder.path().join("bricks")).unwrap();
        let found = check_removable(folder.path());
        assert!(matches!(found, Err(Error::Foreign { entries, .. }) if entries == "bricks"));
    }
}
