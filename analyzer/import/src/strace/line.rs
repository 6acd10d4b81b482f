//! One line of strace.

/// A line by its kind. Times are nanoseconds since the Unix epoch; the process id is 0 without `-f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'t> {
    Call {
        pid: u64,
        time_ns: i64,
        name: &'t str,
        dur_ns: Option<i64>,
        status: Option<i64>,
    },
    Unfinished {
        pid: u64,
        time_ns: i64,
        name: &'t str,
    },
    Resumed {
        pid: u64,
        time_ns: i64,
        name: &'t str,
        dur_ns: Option<i64>,
        status: Option<i64>,
    },
    /// A signal or an exit.
    Event { pid: u64, time_ns: i64 },
}

impl Line<'_> {
    /// The kind of the line, for counting.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Call { .. } => "call",
            Self::Unfinished { .. } => "begun call",
            Self::Resumed { .. } => "ended call",
            Self::Event { .. } => "signal or exit",
        }
    }

    /// Thread and time of the line.
    pub fn place(self) -> (u64, i64) {
        match self {
            Self::Call { pid, time_ns, .. }
            | Self::Unfinished { pid, time_ns, .. }
            | Self::Resumed { pid, time_ns, .. }
            | Self::Event { pid, time_ns } => (pid, time_ns),
        }
    }
}

/// Reads a line; `None`: it is no such line.
pub fn parse(line: &str) -> Option<Line<'_>> {
    let mut rest = line.trim();
    let mut pid = 0;
    if let Some(after) = rest.strip_prefix("[pid") {
        let (number, after) = after.split_once(']')?;
        pid = number.trim().parse().ok()?;
        rest = after.trim_start();
    } else if let Some((number, after)) = rest.split_once(char::is_whitespace)
        && let Ok(number) = number.parse()
    {
        pid = number;
        rest = after.trim_start();
    }
    let (time, rest) = rest.split_once(' ')?;
    let time_ns = seconds(time)?;
    if rest.starts_with("---") || rest.starts_with("+++") {
        return Some(Line::Event { pid, time_ns });
    }
    if let Some(rest) = rest.strip_prefix("<... ") {
        let (name, rest) = rest.split_once(" resumed>")?;
        let (dur_ns, status) = end(rest);
        return Some(Line::Resumed {
            pid,
            time_ns,
            name,
            dur_ns,
            status,
        });
    }
    let (name, arguments) = rest.split_once('(')?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || !name.bytes().all(is_name) {
        return None;
    }
    if arguments.ends_with("<unfinished ...>") {
        return Some(Line::Unfinished { pid, time_ns, name });
    }
    let (dur_ns, status) = end(arguments);
    Some(Line::Call {
        pid,
        time_ns,
        name,
        dur_ns,
        status,
    })
}

/// Duration and result, from the end of the line: arguments may hold anything.
fn end(text: &str) -> (Option<i64>, Option<i64>) {
    let (text, dur_ns) = match text
        .strip_suffix('>')
        .and_then(|text| text.rsplit_once(" <"))
    {
        Some((text, dur)) if seconds(dur).is_some() => (text, seconds(dur)),
        _ => (text, None),
    };
    let status = text.rsplit_once(" = ").and_then(|(_, result)| {
        let word = result.split_whitespace().next()?;
        match word.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok().map(u64::cast_signed),
            None => word.parse().ok(),
        }
    });
    (dur_ns, status)
}

/// `1700000000.123456` in nanoseconds, digit by digit: as floating point it would be rounded.
fn seconds(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let nanoseconds: i64 = format!("{fraction:0<9}").parse().ok()?;
    whole
        .parse::<i64>()
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(nanoseconds)
}

/// True for `name(arguments) = result` behind process and time, whatever these look like.
pub fn is_call(line: &str) -> bool {
    let Some((before, after)) = line.split_once('(') else {
        return false;
    };
    let name = before.split_whitespace().next_back().unwrap_or_default();
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    !name.is_empty()
        && name.chars().all(is_name)
        && (after.contains(") = ") || after.contains("<unfinished ..."))
}
