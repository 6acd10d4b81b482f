//! Samples of threads that wait.
//!
//! Profilers such as py-spy sample by the clock on the wall, so a sample does not show that its thread ran. Where the
//! innermost function only waits, by its name and file, the sample is of a wait: that is inferred. It counts in no share of
//! functions that ran.

use trueno_analysis::waits::names_a_wait;
use trueno_analysis::wording::{count, many, percent, short};
use trueno_plugin::{Finding, Severity, Table, TableBuilder};

use crate::findings::MIN_SAMPLES;
use crate::interval::Share;
use crate::sums::{EventSum, Sums, WaitPlace};

/// From this share of the samples of a thread on, its waits are a finding.
pub const WAITING_SHARE: f64 = 0.5;
/// A thread that runs in less than this share of its samples is a helper, for which nobody waits, unless it is the main
/// thread.
const LEAST_RUNNING: f64 = 0.05;
const MAIN_THREAD: &str = "MainThread";

/// Functions of Python's standard library whose own code waits in a call of C, which has no frame: they read a queue, a
/// pipe or a socket, or wait for a process.
const WAITS_IN_C: [(&str, &str); 4] = [
    ("_handle_tasks", "pool.py"),
    ("_worker", "thread.py"),
    ("_try_wait", "subprocess.py"),
    ("readinto", "socket.py"),
];

/// True for events that pass also while a thread waits: samples by the clock, and those whose file does not say what was
/// counted. Clocks of a processor and its counters stand still while a thread waits.
pub fn samples_waiting_threads(event: &str) -> bool {
    matches!(event, "time" | "samples")
}

/// True of a function that only waits, by its name and the file it is in.
pub fn is_wait(name: &str, file: Option<&str>) -> bool {
    let name = without_place(name, file);
    let Some(file) = file.map(file_name) else {
        return names_a_wait(name, false);
    };
    WAITS_IN_C.contains(&(name, file)) || names_a_wait(&format!("{name} ({file}:1)"), false)
}

/// The name without the file that imports add where several files have the name, as in `join (pool.py)`.
fn without_place<'n>(name: &'n str, file: Option<&str>) -> &'n str {
    let parts = name
        .strip_suffix(')')
        .and_then(|name| name.rsplit_once(" ("));
    match parts.zip(file) {
        Some(((name, place), file)) if file.ends_with(place) => name,
        _ => name,
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

impl WaitPlace {
    /// The function with its file, as in `join (pool.py)`.
    fn shown(&self) -> String {
        let name = self.function.shown_name();
        match self.file.as_deref() {
            Some(file) => {
                let name = short(without_place(name, Some(file)));
                format!("{name} ({})", file_name(file))
            }
            None => short(name),
        }
    }
}

fn in_order(event: &EventSum) -> Vec<(&WaitPlace, u64)> {
    let mut places: Vec<(&WaitPlace, u64)> = event.waiting.iter().map(|of| (of.0, *of.1)).collect();
    places.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
    places
}

/// Table `sampled_waits`: samples in which a thread waited, by the function, most first. Inferred from its name.
///
/// `samples`: samples with the function innermost; `thread_samples`: all samples of the thread, in which it ran or waited;
/// `thread_share`: of these, with its interval as in `functions`; `is_longest`: of the thread that runs most, if it waits
/// for half of its samples or more and is no helper.
pub fn table(sums: &Sums) -> TableBuilder {
    let longest = Longest::find(sums);
    let is_longest = |event: &str, place: &WaitPlace| {
        let longest = longest.as_ref();
        longest.is_some_and(|of| of.event_name == event && of.place == place)
    };
    let rows: Vec<(&str, &WaitPlace, u64, u64)> = sums
        .events
        .iter()
        .flat_map(|(event, sum)| {
            let places = in_order(sum).into_iter();
            places.map(|(place, samples)| {
                (
                    event.as_str(),
                    place,
                    samples,
                    sum.of_thread(place.thread).1,
                )
            })
        })
        .collect();
    let rows = || rows.iter().copied();
    let share = |row: (&str, &WaitPlace, u64, u64)| Share::new(row.2, row.3);
    Table::build("sampled_waits")
        .text("event", rows().map(|row| row.0))
        .i64("thread", rows().map(|row| row.1.thread))
        .text(
            "name",
            rows().map(|row| sums.thread_names.get(&row.1.thread).map(String::as_str)),
        )
        .text("function", rows().map(|row| row.1.function.shown_name()))
        .text("file", rows().map(|row| row.1.file.as_deref()))
        .text("module", rows().map(|row| row.1.function.module.as_deref()))
        .u64("samples", rows().map(|row| row.2))
        .u64("thread_samples", rows().map(|row| row.3))
        .f64(
            "thread_share",
            rows().map(|row| share(row).map(|of| of.share)),
        )
        .f64("low_share", rows().map(|row| share(row).map(|of| of.low)))
        .f64("high_share", rows().map(|row| share(row).map(|of| of.high)))
        .bool("is_longest", rows().map(|row| is_longest(row.0, row.1)))
}

fn all_samples(event: &EventSum) -> u64 {
    let waiting = event.waiting.values().copied();
    waiting.fold(event.all.samples, u64::saturating_add)
}

/// The longest wait of the thread that runs most of those that wait.
struct Longest<'s> {
    event_name: &'s str,
    event: &'s EventSum,
    place: &'s WaitPlace,
    samples: u64,
    of_thread: u64,
}

impl<'s> Longest<'s> {
    fn find(sums: &'s Sums) -> Option<Self> {
        let events = sums.events.iter();
        let events = events.filter(|(_, event)| !event.waiting.is_empty());
        let (event_name, event) = events.max_by_key(|(_, event)| all_samples(event))?;
        let running = |thread: i64| event.threads.get(&thread).map_or(0, |tally| tally.samples);
        let places = in_order(event);
        let threads = places.iter().map(|(place, _)| place.thread);
        let thread = threads.max_by_key(|thread| {
            let waiting = event.of_thread(*thread).0;
            (running(*thread), waiting, std::cmp::Reverse(*thread))
        })?;
        let (waits, of_thread) = event.of_thread(thread);
        let share = waits as f64 / of_thread.max(1) as f64;
        let name = sums.thread_names.get(&thread);
        let is_main = name.is_some_and(|name| name.contains(MAIN_THREAD));
        let is_helper = 1.0 - share < LEAST_RUNNING && !is_main;
        if of_thread < MIN_SAMPLES || share < WAITING_SHARE || is_helper {
            return None;
        }
        let (place, samples) = places
            .into_iter()
            .find(|(place, _)| place.thread == thread)?;
        Some(Self {
            event_name,
            event,
            place,
            samples,
            of_thread,
        })
    }
}

/// Where the thread waits that runs most. Helpers that always wait are usual.
pub fn finding(sums: &Sums) -> Option<Finding> {
    let Longest {
        event,
        place,
        samples: most,
        of_thread: samples,
        ..
    } = Longest::find(sums)?;
    let thread = place.thread;
    let name = match sums.thread_names.get(&thread) {
        Some(name) => short(name),
        None => format!("thread {thread}"),
    };
    let share = percent(most as f64 / samples as f64);
    let title = format!(
        "{name} waits in {} in {share} of its {}, inferred from the function's name",
        place.shown(),
        many(samples, "sample")
    );
    let in_all = event.waiting.values().copied().fold(0, u64::saturating_add);
    let detail = format!(
        "{} of {} are of threads that wait; shares of functions are of the rest",
        count(in_all),
        many(all_samples(event), "sample")
    );
    Some(
        Finding::new("sampled_waits", Severity::Info, title)
            .detail(detail)
            .suggestion("if it waits for other processes, sample these too: `py-spy record --subprocesses`")
            .evidence("SELECT event, thread, name, function, file, samples, thread_samples, thread_share FROM samples.sampled_waits"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_told_by_name_and_file() {
        for (name, file) in [
            ("join", "/usr/lib/python3.13/threading.py"),
            (
                "join (multiprocessing/pool.py)",
                "/usr/lib/multiprocessing/pool.py",
            ),
            ("_recv", "/usr/lib/multiprocessing/connection.py"),
            ("_handle_tasks", "C:\\lib\\multiprocessing\\pool.py"),
            ("poll", "popen_fork.py"),
        ] {
            assert!(is_wait(name, Some(file)), "{name}");
        }
        assert!(is_wait("poll", None));
        for (name, file) in [
            ("join", "/usr/lib/python3.13/posixpath.py"),
            ("join (posixpath.py)", "/usr/lib/python3.13/posixpath.py"),
            ("_worker", "/app/own.py"),
            ("recv_and_sort", "/app/own.py"),
        ] {
            assert!(!is_wait(name, Some(file)), "{name}");
        }
        assert!(!is_wait("join", None));
    }
}
