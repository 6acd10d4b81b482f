use std::fs;
use std::io;

use libc::pid_t;
use trueno_format::host::field;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// At most 15 bytes.
    pub name: String,
    pub process: pid_t,
    pub parent: pid_t,
    /// Process that traces it; 0 for none.
    pub tracer: pid_t,
    pub user: u32,
    /// As shown by `ps`: `R` running or runnable, `S` and `D` waiting, `T` and `t` stopped, `Z` and `X` ended.
    pub state: char,
    has_memory: bool,
}

impl Status {
    /// # Errors
    /// There is no such process.
    pub fn of(process: pid_t) -> io::Result<Self> {
        Self::read(&format!("/proc/{process}/status"))
    }

    /// # Errors
    /// There is no such thread.
    pub fn of_thread(process: pid_t, thread: pid_t) -> io::Result<Self> {
        Self::read(&format!("/proc/{process}/task/{thread}/status"))
    }

    fn read(path: &str) -> io::Result<Self> {
        let text = fs::read(path)?;
        Self::parse(&String::from_utf8_lossy(&text))
            .ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn parse(text: &str) -> Option<Self> {
        let number = |key| field(text, key)?.split_whitespace().next()?.parse().ok();
        Some(Self {
            name: field(text, "Name")?.to_owned(),
            process: number("Tgid")?,
            parent: number("PPid")?,
            tracer: number("TracerPid")?,
            user: number("Uid")?.unsigned_abs(),
            state: field(text, "State")?.chars().next()?,
            has_memory: field(text, "VmSize").is_some(),
        })
    }

    /// True if it has ended, including zombies.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    pub fn is_of_kernel(&self) -> bool {
        !self.has_memory && !self.has_ended()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_a_running_program() {
        let own = std::process::id() as pid_t;
        let status = Status::of(own).unwrap();
        assert_eq!((status.process, status.tracer), (own, 0));
        assert!(!status.has_ended() && !status.is_of_kernel());
        assert!(crate::threads(own).unwrap().contains(&own));
        assert!(crate::family(status.parent).contains(&own));
    }

    #[test]
    fn the_user_of_a_process_is_read() {
        // SAFETY: takes nothing.
        let own = unsafe { libc::geteuid() };
        assert_eq!(crate::effective_user(std::process::id()), Some(own));
        assert_eq!(crate::effective_user(u32::MAX), None);
    }

    #[test]
    fn a_thread_of_the_kernel_has_no_memory() {
        let text = "Name:\tkthreadd\nState:\tS (sleeping)\nTgid:\t2\nPPid:\t0\nTracerPid:\t0\nUid:\t0\t0\t0\t0\n";
        let status = Status::parse(text).unwrap();
        assert!(status.is_of_kernel());
        let ended = Status::parse(&text.replace('S', "Z")).map(|status| status.is_of_kernel());
        assert_ne!(ended, Some(true));
    }
}
