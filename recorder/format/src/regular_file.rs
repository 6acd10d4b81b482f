//! Files of a run, opened only where they are files: a pipe or a device in their place would be waited for, or read, for ever.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Longest text of a run that is read at once: `run.json`, the journal, the log. Larger ones are damaged, or nobody's.
pub const MAX_TEXT_BYTES: u64 = 4 << 30;

/// Opens a file for reading.
///
/// # Errors
/// It cannot be opened, or is no regular file: the message says what it is.
pub fn open(path: &Path) -> io::Result<File> {
    // A pipe without a writer would be waited for within `open`.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    checked(file)
}

pub(crate) fn checked(file: File) -> io::Result<File> {
    let found = file.metadata()?.file_type();
    let what = match () {
        () if found.is_file() => return Ok(file),
        () if found.is_dir() => "a folder",
        () if found.is_fifo() => "a pipe",
        () if found.is_socket() => "a socket",
        () => "a device",
    };
    let error = format!("it is {what}, expected a regular file");
    Err(io::Error::new(io::ErrorKind::InvalidInput, error))
}

/// Reads a whole text of a run.
///
/// # Errors
/// As [`open`]; it cannot be read, or is larger than [`MAX_TEXT_BYTES`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let bytes = file.metadata()?.len();
    let too_large = || {
        let error = format!("it has {bytes} bytes, expected at most {MAX_TEXT_BYTES}");
        io::Error::new(io::ErrorKind::InvalidData, error)
    };
    if bytes > MAX_TEXT_BYTES {
        return Err(too_large());
    }
    let mut text = Vec::with_capacity(usize::try_from(bytes).map_err(|_| too_large())?);
    // One that grows meanwhile is read up to here; what comes later was not there when it was opened.
    file.take(MAX_TEXT_BYTES).read_to_end(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("text"), "abc").unwrap();
        std::os::unix::fs::symlink(at("text"), at("link")).unwrap();
        assert_eq!(read(&at("link")).unwrap(), b"abc");

        let pipe = std::ffi::CString::new(at("pipe").to_str().unwrap()).unwrap();
        // SAFETY: the path lives for the call.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        std::os::unix::fs::symlink("/dev/zero", at("zero")).unwrap();
        let _listener = UnixListener::bind(at("socket")).unwrap();
        std::os::unix::fs::symlink(at("round"), at("round")).unwrap();
        for (name, what) in [
            ("pipe", "a pipe"),
            ("zero", "a device"),
            (".", "a folder"),
            ("socket", ""),
            ("round", ""),
            ("none", ""),
        ] {
            let error = read(&at(name)).unwrap_err().to_string();
            assert!(error.contains(what), "{name}: {error}");
        }
    }

    #[test]
    fn a_text_beyond_the_limit_is_refused_and_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse");
        File::create(&path)
            .unwrap()
            .set_len(MAX_TEXT_BYTES + 1)
            .unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("expected at most"), "{error}");
    }
}
