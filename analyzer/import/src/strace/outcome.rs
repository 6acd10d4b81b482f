//! Results of system calls.

use std::borrow::Cow;

use syscalls::Errno;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome<'t> {
    /// -1 for an error.
    pub status: Option<i64>,
    pub errno: Option<Cow<'t, str>>,
}

impl<'t> Outcome<'t> {
    /// From the kernel's raw result, in which -4095 to -1 are errors.
    pub fn from_raw(result: i64) -> Self {
        if !(-4095..0).contains(&result) {
            return Self {
                status: Some(result),
                errno: None,
            };
        }
        let number = -result as i32;
        let errno = match Errno::new(number).name() {
            Some(name) => Cow::Borrowed(name),
            None => format!("errno {number}").into(),
        };
        Self {
            status: Some(-1),
            errno: Some(errno),
        }
    }

    /// Parses the text after `= `, such as `3</etc/passwd>`, `-1 ENOENT (No such file or directory)`, `0x7f00`
    /// or `?`.
    pub fn parse(text: &'t str) -> Self {
        let (word, rest) = text
            .find([' ', '<'])
            .map_or((text, ""), |at| text.split_at(at));
        let rest = rest.trim_start();
        let name = rest.split(' ').next().unwrap_or_default();
        let is_errno = |name: &str| {
            name.len() > 1
                && name.starts_with('E')
                && name
                    .bytes()
                    .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
        };
        if matches!(word, "-1" | "?") && is_errno(name) {
            return Self {
                status: Some(-1),
                errno: Some(Cow::Borrowed(name)),
            };
        }
        let unnamed = rest
            .strip_prefix("(errno ")
            .and_then(|rest| rest.split_once(')')?.0.parse::<i64>().ok());
        match (number(word), unnamed) {
            (Some(-1), Some(errno)) if (1..4096).contains(&errno) => Self::from_raw(-errno),
            (Some(result), _) => Self::from_raw(result),
            (None, _) => Self::default(),
        }
    }
}

/// A number as strace prints it: decimal, or in C notation.
pub fn number(text: &str) -> Option<i64> {
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok().map(u64::cast_signed);
    }
    // The mask of `umask` is octal.
    match text.strip_prefix('0') {
        Some(octal) if !octal.is_empty() => i64::from_str_radix(octal, 8).ok(),
        _ => match text.parse::<i64>() {
            Ok(number) => Some(number),
            Err(_) => text.parse::<u64>().ok().map(u64::cast_signed),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_and_errors_are_told_apart() {
        for (text, status, errno) in [
            ("3", Some(3), None),
            ("3</etc/passwd>", Some(3), None),
            ("0x7f00 (flags O_RDWR)", Some(0x7f00), None),
            ("022", Some(18), None),
            ("1 ([{fd=3, revents=POLLIN}])", Some(1), None),
            (
                "-1 ENOENT (No such file or directory)",
                Some(-1),
                Some("ENOENT"),
            ),
            (
                "? ERESTARTSYS (To be restarted if SA_RESTART is set)",
                Some(-1),
                Some("ERESTARTSYS"),
            ),
            ("-1 (errno 9)", Some(-1), Some("EBADF")),
            ("-1 (errno 513)", Some(-1), Some("ERESTARTNOINTR")),
            ("-1 (errno 4000)", Some(-1), Some("errno 4000")),
            ("-22", Some(-1), Some("EINVAL")),
            ("-5000", Some(-5000), None),
            ("?", None, None),
            ("? <unavailable>", None, None),
            ("hello", None, None),
            ("", None, None),
        ] {
            let found = Outcome::parse(text);
            assert_eq!(
                (found.status, found.errno.as_deref()),
                (status, errno),
                "{text}"
            );
        }
    }
}
