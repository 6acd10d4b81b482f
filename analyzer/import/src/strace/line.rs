//! One line of strace.

use super::frame::{FrameText, source_place};
use super::outcome::Outcome;
use super::stamp::{Stamp, seconds};

/// Larger numbers before a call are times without a fraction, because Linux has at most 2^22 process ids.
const MIN_SECONDS: u64 = 1_000_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'t> {
    /// 0 without `-f`.
    pub thread_id: u64,
    /// With `-Y`.
    pub thread_name: Option<&'t str>,
    pub stamp: Option<Stamp>,
    /// Time since the previous line, if `-r` adds it to another time.
    pub since_last_ns: Option<i64>,
    pub body: Body<'t>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body<'t> {
    Call(Beginning<'t>, End<'t>),
    /// A line of another thread came in between, or the call never ended.
    Unfinished(Beginning<'t>),
    Resumed(&'t str, &'t str, End<'t>),
    Event(Event<'t>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beginning<'t> {
    pub name: &'t str,
    pub arguments: &'t str,
    pub source: Option<FrameText<'t>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End<'t> {
    pub dur_ns: Option<i64>,
    pub outcome: Outcome<'t>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event<'t> {
    pub name: &'t str,
    pub is_exit: bool,
    pub code: Option<i64>,
    pub signal: Option<&'t str>,
    pub arguments: Option<&'t str>,
}

impl Line<'_> {
    pub fn kind(&self) -> &'static str {
        match self.body {
            Body::Call(..) => "call",
            Body::Unfinished(_) => "begun call",
            Body::Resumed(..) => "ended call",
            Body::Event(_) => "signal or exit",
        }
    }
}

/// Parses a line; `None` if strace did not write it.
pub fn parse(line: &str) -> Option<Line<'_>> {
    let text = line.trim_start().trim_end_matches(['\n', '\r']);
    let (thread_id, thread_name, text) = thread(text);
    let (stamp, since_last_ns, text) = stamp(without_brackets(text))?;
    let text = without_brackets(text);
    let body = if let Some(event) = text.strip_prefix("--- ") {
        Body::Event(signal(event.strip_suffix(" ---").unwrap_or(event)))
    } else if let Some(event) = text.strip_prefix("+++ ") {
        Body::Event(exit(event.strip_suffix(" +++").unwrap_or(event)))
    } else if let Some(text) = text.strip_prefix("<... ") {
        let (name, text) = text.split_once("resumed>")?;
        let (arguments, end) = end(text)?;
        // Of a thread that was killed in its call.
        let arguments = arguments
            .strip_suffix(" <unfinished ...>")
            .unwrap_or(arguments);
        Body::Resumed(name.trim_end(), arguments, end)
    } else {
        call(text, None).or_else(|| call_at_source(text))?
    };
    Some(Line {
        thread_id,
        thread_name,
        stamp,
        since_last_ns,
        body,
    })
}

/// Strips `[pid 7]`, `7` or `7<sh>`.
fn thread(text: &str) -> (u64, Option<&str>, &str) {
    let (bracket, number) = match text.strip_prefix("[pid") {
        Some(rest) => ("]", rest.trim_start()),
        None => ("", text),
    };
    let read = || {
        let digits = number.find(|c: char| !c.is_ascii_digit())?;
        let (id, rest) = number.split_at(digits);
        let id: u64 = id.parse().ok()?;
        let (name, rest) = match rest.strip_prefix('<') {
            Some(rest) => rest
                .split_once('>')
                .map(|(name, rest)| (Some(name), rest))?,
            None => (None, rest),
        };
        let rest = rest.strip_prefix(bracket)?;
        let rest = rest.strip_prefix(char::is_whitespace)?.trim_start();
        // `7 /* 5 in strace's PID NS */`
        let rest = match rest.strip_prefix("/*") {
            Some(rest) => rest.split_once("*/")?.1.trim_start(),
            None => rest,
        };
        (id < MIN_SECONDS).then_some((id, name, rest))
    };
    read().unwrap_or((0, None, text))
}

/// Strips a time, and the difference that `-r` adds to it. `None` if the time is invalid.
fn stamp(text: &str) -> Option<(Option<Stamp>, Option<i64>, &str)> {
    let Some((word, rest)) = text.split_once(' ') else {
        return Some((None, None, text));
    };
    let is_time = word
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b':'));
    if !is_time || word.is_empty() {
        return Some((None, None, text));
    }
    let stamp = Some(Stamp::parse(word)?);
    match rest.strip_prefix("(+") {
        Some(rest) => {
            let (difference, rest) = rest.split_once(')')?;
            let since_last_ns = Some(seconds(difference.trim())?);
            Some((stamp, since_last_ns, rest.trim_start()))
        }
        None => Some((stamp, None, rest.trim_start())),
    }
}

/// Strips call numbers (`-n`), instruction pointers (`-i`) and security contexts.
fn without_brackets(mut text: &str) -> &str {
    while let Some(rest) = text.strip_prefix('[')
        && let Some((_, rest)) = rest.split_once("] ")
    {
        text = rest;
    }
    text
}

fn signal(text: &str) -> Event<'_> {
    if let Some(signal) = text.strip_prefix("stopped by ") {
        return Event {
            name: "stopped",
            signal: Some(signal),
            ..Event::default()
        };
    }
    let (name, arguments) = text.split_once(' ').unzip();
    Event {
        name: name.unwrap_or(text),
        arguments,
        ..Event::default()
    }
}

fn exit(text: &str) -> Event<'_> {
    let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
    let mut event = Event {
        name,
        is_exit: true,
        arguments: Some(rest).filter(|rest| !rest.is_empty()),
        ..Event::default()
    };
    if let Some(code) = text.strip_prefix("exited with ") {
        event.code = code.parse().ok();
        event.arguments = event.arguments.filter(|_| event.code.is_none());
    } else if let Some(rest) = text.strip_prefix("killed by ") {
        let (signal, core) = rest.split_once(' ').unzip();
        event.signal = Some(signal.unwrap_or(rest));
        event.arguments = core;
    }
    event
}

/// Parses `name(arguments) = result`.
fn call<'t>(text: &'t str, source: Option<FrameText<'t>>) -> Option<Body<'t>> {
    let (name, text) = text.split_once('(')?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || !name.bytes().all(is_name) || name.as_bytes()[0].is_ascii_digit() {
        return None;
    }
    let beginning = |arguments| Beginning {
        name,
        arguments,
        source,
    };
    let open = [" <unfinished ...>", " <detached ...>", "<unfinished ...>"];
    if let Some(arguments) = open.iter().find_map(|end| text.strip_suffix(end)) {
        return Some(Body::Unfinished(beginning(arguments)));
    }
    let (arguments, end) = end(text)?;
    Some(Body::Call(beginning(arguments), end))
}

/// Parses `src/main.rs:9 main name(arguments) = result`; the function may be missing.
fn call_at_source(text: &str) -> Option<Body<'_>> {
    let (place, text) = text.split_once(' ')?;
    let (file, line) = source_place(place)?;
    let at = text[..text.find('(')?].rfind(' ');
    let (function, text) = match at {
        Some(at) => (Some(text[..at].trim()), &text[at + 1..]),
        None => (None, text),
    };
    call(text, Some(FrameText::of_source(file, Some(line), function)))
}

/// The last arguments and the end. Searched from the end of the line, because arguments may contain anything.
fn end(text: &str) -> Option<(&str, End<'_>)> {
    let duration = text
        .strip_suffix('>')
        .and_then(|text| text.rsplit_once(" <"))
        .and_then(|(text, dur)| Some((text, seconds(dur)?)));
    let (text, dur_ns) = match duration {
        Some((text, dur_ns)) => (text, Some(dur_ns)),
        None => (text, None),
    };
    let mut results = text.rmatch_indices("= ");
    let (arguments, result) = results.find_map(|(at, _)| {
        let before = text[..at].strip_suffix(' ')?.trim_end_matches(' ');
        Some((before.strip_suffix(')')?, &text[at + 2..]))
    })?;
    let outcome = Outcome::parse(result);
    Some((arguments, End { dur_ns, outcome }))
}
