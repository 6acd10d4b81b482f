//! Samples, where they are all that was recorded.

use trueno_analysis::vendors::library_without_symbols;
use trueno_analysis::wording::{self, percent};
use trueno_plugin::{Result, Table, agreeing};

use crate::sentence::{short, time};

/// With fewer samples, shares are not reliable. The same limit as in the findings of `samples`.
const MIN_SAMPLES: u64 = 100;
/// Event of samples whose file does not say what was counted.
const UNNAMED: &str = "samples";
/// Name of unknown functions in the tables of `samples`.
const NOT_KNOWN: &str = "not known";

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampled {
    pub samples: u64,
    pub threads: u64,
    /// CPU time of all threads; `None` if the event does not count time.
    pub cpu_ns: Option<i64>,
    /// Number of threads and the time they ran, as measured; `None` if that is unknown for some thread.
    pub ran: Option<(u64, i64)>,
    /// The event of the samples, if it is not time: more samples then need not mean more time.
    pub other_event: Option<String>,
    /// The function with the most samples, in short, or the module whose functions are not known: name, share, and the ends of
    /// the share's interval.
    pub hottest: Option<(String, [f64; 3])>,
    /// The wait that has most samples of the thread that otherwise runs most: thread, function, and its share.
    pub waits: Option<(String, String, f64)>,
}

impl Sampled {
    /// Reads the tables of `samples`, using their first event. `None` if there are no samples.
    ///
    /// # Errors
    /// A table lacks a column or has it in another type.
    pub fn read(
        functions: &Table,
        threads: &Table,
        waits: &Table,
        scheduling: &Table,
    ) -> Result<Option<Self>> {
        let events = threads.text("event")?;
        let all = || events.iter().flatten();
        let Some(event) = all().find(|event| is_time(event)).or_else(|| all().next()) else {
            return Ok(None);
        };
        let (samples, times) = (threads.u64("samples")?, threads.i64("estimated_ns")?);
        let mut found = Self {
            other_event: (!is_time(event)).then(|| event.to_owned()),
            cpu_ns: Some(0),
            ran: ran(scheduling)?,
            waits: longest_wait(waits, event)?,
            ..Self::default()
        };
        for row in (0..threads.rows()).filter(|row| events.get(*row) == Some(event)) {
            found.threads += 1;
            found.samples += samples.get(row).unwrap_or(0);
            let sum = found.cpu_ns.zip(times.get(row));
            found.cpu_ns = sum.and_then(|(sum, ns)| sum.checked_add(ns));
        }
        let (of, names) = (functions.text("event")?, functions.text("function")?);
        let shares = ["self_share", "low_share", "high_share"].map(|share| functions.f64(share));
        let [share, low, high] = shares;
        let (share, low, high) = (share?, low?, high?);
        let modules = functions.text("module")?;
        let name = |row: usize| match (names.get(row)?, modules.get(row)) {
            (NOT_KNOWN, None) => None,
            (NOT_KNOWN, Some(module)) => {
                let file = module.rsplit('/').next().unwrap_or(module);
                if let Some(library) = library_without_symbols(file) {
                    return Some(library.to_owned());
                }
                Some(format!("{} (functions {NOT_KNOWN})", short(file)))
            }
            (name, _) => Some(short(name)),
        };
        let mut of_event = (0..functions.rows()).filter(|row| of.get(*row) == Some(event));
        let first = of_event.find_map(|row| Some((row, name(row)?)));
        let first = first.filter(|_| found.samples >= MIN_SAMPLES);
        found.hottest = first.and_then(|(row, name)| {
            let ends = [share.get(row)?, low.get(row)?, high.get(row)?];
            Some((name, ends))
        });
        Ok(Some(found))
    }

    /// Text such as `2 threads used 7.46 s of CPU time, measured (1.9 processors on average) · leaf ran in 87 %
    /// of it (85 to 88 %), estimated from 7,603 samples`. If no context switches were recorded, the time is
    /// estimated too.
    pub fn text(&self, wall_ns: Option<i64>) -> String {
        let (threads, cpu_ns) = match self.ran {
            Some((threads, ns)) => (threads, Some(ns)),
            None => (self.threads, self.cpu_ns),
        };
        let mut text = match &self.waits {
            Some((thread, function, share)) => format!(
                "{thread} waits in {function} in {} of its samples (inferred from the name) · ",
                percent(*share)
            ),
            None => String::new(),
        };
        text.push_str(&wording::many(threads, "thread"));
        match cpu_ns {
            Some(ns) => {
                text.push_str(&format!(" used {} of CPU time", time(ns as f64)));
                if self.ran.is_some() {
                    text.push_str(", measured");
                }
                if let Some(wall_ns) = wall_ns.filter(|wall_ns| *wall_ns > 0) {
                    let processors = ns as f64 / wall_ns as f64;
                    text.push_str(&format!(" ({processors:.2} processors on average)"));
                }
            }
            None => text.push_str(agreeing(threads, " was seen running", " were seen running")),
        }
        let whole = match (self.cpu_ns, self.other_event.as_deref()) {
            (Some(_), _) => "it".to_owned(),
            (None, None | Some(UNNAMED)) if self.waits.is_some() => "the other samples".to_owned(),
            (None, None | Some(UNNAMED)) => "the samples".to_owned(),
            (None, Some(event)) => format!("the samples of {event}"),
        };
        if let Some(hottest) = self.hottest_of(&whole) {
            text.push_str(&format!(" · {hottest}"));
        }
        if self.ran.is_none() || self.hottest.is_some() {
            let samples = wording::many(self.samples, "sample");
            text.push_str(&format!(", estimated from {samples}"));
        }
        text
    }

    /// What ran most, beside rows that do not say it. `None` if the samples do not count time.
    pub fn beside_rows(&self) -> Option<String> {
        let is_time = self.other_event.is_none();
        let whole = wording::many(self.samples, "sample");
        self.hottest_of(&whole).filter(|_| is_time)
    }

    /// Text such as `leaf ran in 87 % of it (85 to 88 %)`.
    fn hottest_of(&self, whole: &str) -> Option<String> {
        let (name, [share, low, high]) = self.hottest.as_ref()?;
        // The interval is rounded outwards, as in the findings of `samples`.
        const ROUNDING: f64 = 1e-9;
        let low = (low * 100.0 + ROUNDING).floor();
        let high = (high * 100.0 - ROUNDING).ceil();
        Some(format!(
            "{name} ran in {} of {whole} ({low:.0} to {high:.0} %)",
            percent(*share)
        ))
    }
}

fn longest_wait(waits: &Table, event: &str) -> Result<Option<(String, String, f64)>> {
    let (events, names) = (waits.text("event")?, waits.text("name")?);
    let (functions, shares) = (waits.text("function")?, waits.f64("thread_share")?);
    let row = (0..waits.rows()).find(|row| events.get(*row) == Some(event));
    Ok(row.and_then(|row| {
        let name = names.get(row).unwrap_or("a thread");
        // py-spy writes `Thread 0x7F12 "MainThread"`.
        let name = name.split('"').nth(1).unwrap_or(name);
        let function = functions.get(row).unwrap_or(NOT_KNOWN);
        Some((name.to_owned(), function.to_owned(), shares.get(row)?))
    }))
}

/// True of an event that counts time: a clock, or cycles, which pass at the processor's frequency.
fn is_time(event: &str) -> bool {
    let event = event
        .rsplit('/')
        .find(|part| part.len() > 3)
        .unwrap_or(event);
    let event = event.split(':').next().unwrap_or(event);
    matches!(
        event,
        "cpu-clock" | "task-clock" | "cycles" | "cpu-cycles" | "ref-cycles" | "CPU time" | "time"
    )
}

/// Number of threads with recorded context switches, and the time they ran. `None` if there are none, or if some
/// switches were lost.
fn ran(scheduling: &Table) -> Result<Option<(u64, i64)>> {
    let times = scheduling.i64("on_cpu_ns")?;
    let add = |sum: (u64, i64), ns: Option<i64>| Some((sum.0 + 1, sum.1.checked_add(ns?)?));
    let sum = times.iter().try_fold((0, 0), add);
    Ok(sum.filter(|(threads, _)| *threads > 0))
}
