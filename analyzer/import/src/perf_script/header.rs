//! First line of a sample: thread, processor, time, period and event.

use super::event;
use super::frame::{self, first_word};

/// A line `comm pid/tid [cpu] time: period event: text`, of which only thread and time must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'t> {
    /// Name of the thread, empty where none is printed.
    pub comm: &'t str,
    /// Process id; negative where perf does not know it.
    pub pid: Option<i64>,
    /// Thread id; negative where perf does not know it.
    pub tid: i64,
    pub cpu: Option<u32>,
    /// By the clock of perf.
    pub time_ns: i64,
    pub period: Option<u64>,
    /// Name of the event as it is printed, with its modifiers.
    pub event: Option<&'t str>,
    /// The rest of the line.
    pub text: &'t str,
}

/// Kind of the record that a line begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A moment at which a thread was seen running.
    Sample,
    /// An event that says something.
    Tracepoint,
    /// A record of perf itself: memory mapped, a thread renamed.
    Bookkeeping,
}

impl<'t> Header<'t> {
    /// Reads a line; `None`: it begins no record.
    pub fn parse(line: &'t str) -> Option<Self> {
        // Lines of functions are most of a file, and begin no record.
        if line.starts_with('\t') {
            return None;
        }
        // The first that fits: names are short, texts of tracepoints may hold anything.
        line.match_indices(':').find_map(|(colon, _)| {
            let rest = &line[colon + 1..];
            if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
                return None;
            }
            let begin = line[..colon].rfind(' ').map_or(0, |space| space + 1);
            let time = &line[begin..colon];
            let time_ns = match seconds(time) {
                None if rest.starts_with(SIMPLEPERF) => seconds_of_simpleperf(time),
                time_ns => time_ns,
            }?;
            let (comm, pid, tid, cpu) = thread(&line[..begin])?;
            let (period, event, text) = description(rest.trim());
            Some(Self {
                comm,
                pid,
                tid,
                cpu,
                time_ns,
                period,
                event,
                text,
            })
        })
    }

    /// The kind of the record.
    pub fn kind(&self) -> Kind {
        let event = self.event.unwrap_or_default();
        // Some of their names end with a colon, as events do.
        if [event, self.text]
            .iter()
            .any(|text| text.starts_with("PERF_RECORD_"))
        {
            return Kind::Bookkeeping;
        }
        let says_something = !self.text.is_empty() && frame::parse(self.text).is_none();
        let is_counted = self.event.is_none() || self.period.is_some();
        if event::is_tracepoint(event::name(event)) || (says_something && !is_counted) {
            Kind::Tracepoint
        } else {
            Kind::Sample
        }
    }

    /// True where no other program's line looks so.
    pub fn is_surely_of_perf(&self) -> bool {
        let is_frame = frame::parse(self.text).is_some_and(|frame| frame.is_symbolized());
        let is_event = self.event.is_some_and(|event| {
            event::is_tracepoint(event::name(event))
                || self.period.is_some() && (self.text.is_empty() || is_frame)
        });
        self.may_be_of_perf() && (is_event || is_frame || self.kind() == Kind::Bookkeeping)
    }

    /// False for a line of strace whose arguments hold text of perf: names of threads have no quotes and are short.
    pub fn may_be_of_perf(&self) -> bool {
        self.comm.len() <= MAX_COMM_BYTES && !self.comm.contains('"')
    }
}

/// What stands between time and period where simpleperf of Android prints them.
const SIMPLEPERF: &str = "\t\t";
/// Names of the kernel's workers are longer than those that a program may give.
const MAX_COMM_BYTES: usize = 64;

/// Name, process, thread and processor, which stand before the time.
fn thread(text: &str) -> Option<(&str, Option<i64>, i64, Option<u32>)> {
    let (mut rest, mut word) = last_word(text);
    // The mode in which it ran, as one or two letters.
    if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        (rest, word) = last_word(rest);
    }
    let mut cpu = None;
    if let Some(number) = word
        .strip_prefix('[')
        .and_then(|word| word.strip_suffix(']'))
    {
        cpu = u32::try_from(number.parse::<i64>().ok()?).ok();
        (rest, word) = last_word(rest);
    }
    let (pid, tid) = match word.split_once('/') {
        Some((pid, tid)) => (Some(pid.parse().ok()?), tid),
        None => (None, word),
    };
    Some((rest.trim(), pid, tid.parse().ok()?, cpu))
}

fn last_word(text: &str) -> (&str, &str) {
    let text = text.trim_end();
    text.rsplit_once(char::is_whitespace).unwrap_or(("", text))
}

/// Period, event and what is left of the part behind the time.
fn description(text: &str) -> (Option<u64>, Option<&str>, &str) {
    let (first, rest) = first_word(text);
    if let Some(event) = event_word(first) {
        return (None, Some(event), rest);
    }
    let is_number = first.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(period) = first.parse().ok().filter(|_| is_number) {
        let (second, behind) = first_word(rest);
        if let Some(event) = event_word(second) {
            return (Some(period), Some(event), behind);
        }
        // An address may look like a number too, but a function follows it.
        if rest.is_empty() || frame::parse(rest).is_some() {
            return (Some(period), None, rest);
        }
    }
    (None, None, text)
}

fn event_word(word: &str) -> Option<&str> {
    word.strip_suffix(':').filter(|event| !event.is_empty())
}

/// `684943.45` of simpleperf before 2019, which prints microseconds without their leading zeros.
fn seconds_of_simpleperf(text: &str) -> Option<i64> {
    let (whole, micros) = text.split_once('.')?;
    if micros.is_empty() || micros.len() > 6 {
        return None;
    }
    seconds(&format!("{whole}.{micros:0>6}"))
}

/// `11100.607618` or `11100.607618123` in nanoseconds, digit by digit: as floating point it would be rounded.
fn seconds(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.')?;
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let unit_ns = match fraction.len() {
        6 => 1_000,
        9 => 1,
        _ => return None,
    };
    let fraction_ns = fraction.parse::<i64>().ok()? * unit_ns;
    whole
        .parse::<i64>()
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(fraction_ns)
}
