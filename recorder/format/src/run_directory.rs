//! The directory of a run: made new, never in the place of anything but a run.

mod ours;

use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use xxhash_rust::xxh3::xxh3_64;

use crate::edit::remove_run;
use crate::error::Error;
use crate::live;
use crate::run_json::RUN_JSON;

pub use ours::check_removable;

/// Makes a run directory. A run that is there is removed if that is allowed and it holds nothing else; anything else
/// never.
///
/// # Errors
/// Something else is there or in it, or a run that is being recorded, or the operating system refuses.
pub fn make_directory(path: &Path, overwrite: bool) -> Result<(), Error> {
    if path.as_os_str().is_empty() {
        let error = io::Error::new(io::ErrorKind::InvalidInput, "its path is empty");
        return Err(not_made(path, error));
    }
    if path.join(RUN_JSON).is_file() {
        if !overwrite {
            return Err(Error::RunExists { path: path.into() });
        }
        if live::is_recording(path) == Some(true) {
            return Err(Error::RunInUse { path: path.into() });
        }
        check_removable(path)?;
        return replace_run(path).map_err(|e| {
            Error::io_with_hint(
                path,
                "remove the run that is there",
                e,
                "choose another path",
            )
        });
    } else if let Ok(mut entries) = fs::read_dir(path) {
        if entries.next().is_some() {
            return Err(Error::NotARun { path: path.into() });
        }
    } else if path.symlink_metadata().is_ok() {
        return Err(Error::NotARun { path: path.into() });
    }
    fs::create_dir_all(path).map_err(|e| not_made(path, e))
}

fn not_made(path: &Path, error: io::Error) -> Error {
    let hint = "choose the path of a new folder, below one that can be written to";
    Error::io_with_hint(path, "make the run directory", error, hint)
}

/// Removes a run and makes its directory anew: of a link, where it leads to.
fn replace_run(path: &Path) -> io::Result<()> {
    let run = fs::canonicalize(path)?;
    remove_run(&run)?;
    fs::create_dir(&run)
}

/// A `run_id`, which tells runs apart: random where the system has randomness, else time and process.
pub fn new_run_id() -> String {
    format!("{:016x}", random_number())
}

fn random_number() -> u64 {
    let mut bytes = [0u8; 8];
    // SAFETY: the pointer and the length describe `bytes`.
    let got =
        unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), libc::GRND_NONBLOCK) };
    if got == bytes.len() as isize {
        return u64::from_le_bytes(bytes);
    }
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let realtime_ns = since_epoch.map_or(0, |since| since.as_nanos());
    let seed = format!("{} {}", realtime_ns, std::process::id());
    xxh3_64(seed.as_bytes())
}
