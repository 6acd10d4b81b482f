//! First line of a sample: thread, processor, time, period and event.

use super::event;
use super::frame::{self, first_word};

/// A line `comm pid/tid [cpu] time: period event: text`. Only thread and time are required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'t> {
    /// Name of the thread; empty if not printed.
    pub comm: &'t str,
    /// Process id; negative if unknown to perf.
    pub pid: Option<i64>,
    /// Thread id; negative if unknown to perf.
    pub tid: i64,
    pub cpu: Option<u32>,
    pub time_ns: i64,
    pub period: Option<u64>,
    /// Name of the event as printed, with modifiers.
    pub event: Option<&'t str>,
    pub text: &'t str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A time at which a thread was seen running.
    Sample,
    Tracepoint,
    /// A record of perf itself, such as a mapping or a renamed thread.
    Bookkeeping,
}

impl<'t> Header<'t> {
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

    /// True if no other program writes such lines.
    pub fn is_surely_of_perf(&self) -> bool {
        let is_frame = frame::parse(self.text).is_some_and(|frame| frame.is_symbolized());
        let is_event = self.event.is_some_and(|event| {
            event::is_tracepoint(event::name(event))
                || self.period.is_some() && (self.text.is_empty() || is_frame)
        });
        self.may_be_of_perf() && (is_event || is_frame || self.kind() == Kind::Bookkeeping)
    }

    /// True for the kernel's idle task, which a processor runs when no thread is ready. Threads of another PID
    /// namespace have the id 0 too, but names of their own.
    pub fn is_idle_task(&self) -> bool {
        let name = self
            .comm
            .split_once('/')
            .map_or(self.comm, |(name, _)| name);
        self.tid == 0 && name == "swapper"
    }

    /// False for a line of strace whose arguments contain text of perf: thread names have no quotes and are
    /// short.
    pub fn may_be_of_perf(&self) -> bool {
        self.comm.len() <= MAX_COMM_BYTES && !self.comm.contains('"')
    }
}

/// What Android's simpleperf prints between time and period.
const SIMPLEPERF: &str = "\t\t";
/// Kernel workers have longer names than programs can set.
const MAX_COMM_BYTES: usize = 64;

/// Name, process, thread and CPU, which precede the time.
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

/// Period, event and the rest, which follow the time.
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

/// `684943.45` of simpleperf before 2019, which prints microseconds without leading zeros.
fn seconds_of_simpleperf(text: &str) -> Option<i64> {
    let (whole, micros) = text.split_once('.')?;
    if micros.is_empty() || micros.len() > 6 {
        return None;
    }
    seconds(&format!("{whole}.{micros:0>6}"))
}

/// Parses `11100.607618` or `11100.607618123` as nanoseconds, digit by digit, because floating point would round.
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
