use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use libc::pid_t;

/// Maximum length of a process name in the kernel, in bytes.
const MAX_NAME_BYTES: usize = 15;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// The first process and all its descendants.
    #[default]
    All,
    First,
    /// Processes with this name, or running a file with this name.
    Named(String),
}

impl Selection {
    pub fn takes(&self, is_first: bool, name: &OsStr, file: Option<&OsStr>) -> bool {
        match self {
            Self::All => true,
            Self::First => is_first,
            Self::Named(wanted) => {
                let wanted = wanted.as_bytes();
                let cut = &wanted[..wanted.len().min(MAX_NAME_BYTES)];
                let base =
                    file.and_then(|file| file.as_bytes().rsplit(|byte| *byte == b'/').next());
                name.as_bytes() == cut || base == Some(wanted)
            }
        }
    }

    /// Like [`Selection::takes`], for a running process.
    pub fn takes_process(&self, is_first: bool, process: pid_t) -> bool {
        if !matches!(self, Self::Named(_)) {
            return self.takes(is_first, OsStr::new(""), None);
        }
        let name = fs::read(format!("/proc/{process}/comm")).unwrap_or_default();
        let file = fs::read_link(format!("/proc/{process}/exe")).ok();
        let file = file.as_ref().map(|file| file.as_os_str());
        self.takes(is_first, OsStr::from_bytes(name.trim_ascii_end()), file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(wanted: &str, name: &str, file: &str) -> bool {
        Selection::Named(wanted.to_owned()).takes(false, name.as_ref(), Some(file.as_ref()))
    }

    #[test]
    fn a_process_has_the_name_it_goes_by_and_that_of_its_file() {
        assert!(takes("python3", "python3", "/usr/bin/python3.11"));
        assert!(takes("python3.11", "worker", "/usr/bin/python3.11"));
        assert!(takes("a-name-longer-than-fifteen", "a-name-longer-t", "/a"));
        assert!(!takes("python", "python3", "/usr/bin/python3.11"));
        assert!(!takes("bin", "x", "/usr/bin/x"));
    }
}
