//! Warnings that are true of a recording now. Each is a fact that was counted or read; none is a guess about its cause.

use std::collections::BTreeMap;

use serde::Serialize;
use trueno_format::observe::ObservedThread;
use trueno_model::units::{Unit, duration, percent, show};
use trueno_model::{Cell, width};

use crate::lanes::Silence;

/// Share of unread records in a ring above which the writer is late.
const LATE_SHARE: f64 = 0.5;
/// The writer checks rings every 20 ms. If it has not moved for this long, it is stuck.
const STANDS_NS: i64 = 2_000_000_000;
/// Time without any ended row before a warning.
const QUIET_NS: i64 = 5_000_000_000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// Stable name of the case.
    pub code: &'static str,
    pub text: String,
}

#[derive(Clone, Debug, Default)]
pub struct Facts<'a> {
    pub dropped: BTreeMap<&'static str, u64>,
    pub threads: &'a [ObservedThread],
    /// Time in which the writer read no ring although records were waiting.
    pub writer_stands_ns: i64,
    pub silences: Vec<(Silence, Option<char>)>,
    pub age_ns: Option<i64>,
    /// Records in the window that were overwritten before the watcher saw them.
    pub overwritten: u64,
    pub seen: u64,
    pub has_written: bool,
    pub program_state: Option<char>,
    pub problems: &'a [String],
    pub blind: Option<&'a str>,
    /// Rings that this program cannot read.
    pub unreadable_rings: u64,
}

fn count(number: u64) -> String {
    show(Cell::U64(number), Unit::None)
}

fn state_words(letter: char) -> Option<&'static str> {
    Some(match letter {
        'R' => "it runs",
        'S' | 'I' => "it sleeps",
        'D' => "it waits for a disk, uninterruptibly",
        'T' | 't' => "it is stopped",
        'Z' | 'X' => "it has ended",
        _ => return None,
    })
}

pub fn thread_name(thread: &ObservedThread) -> String {
    match thread.name.as_deref().filter(|name| !name.is_empty()) {
        Some(name) => width::printable(name).into_owned(),
        None => format!("thread {}", thread.thread),
    }
}

/// Current warnings, the most serious first.
pub fn warnings(facts: &Facts<'_>) -> Vec<Warning> {
    let mut found = Vec::new();
    let mut warn = |code, text: String| found.push(Warning { code, text });
    if !facts.dropped.is_empty() {
        let all: u64 = facts.dropped.values().sum();
        let tables: Vec<String> = facts
            .dropped
            .iter()
            .map(|(table, rows)| format!("{table} {}", count(*rows)))
            .collect();
        let text = format!("{} rows dropped so far ({})", count(all), tables.join(", "));
        warn("dropped_rows", text);
    }
    if let Some(why) = facts.blind {
        let text = format!(
            "live/ of the run cannot be read ({why}): nothing of it is seen before it ends"
        );
        warn("blind", text);
    }
    for text in facts.problems {
        warn("problem", width::printable(text).into_owned());
    }
    if matches!(facts.program_state, Some('T' | 't')) {
        let text = "the program is stopped (a signal, or a debugger): nothing is recorded";
        warn("program_stopped", text.to_owned());
    } else if facts.writer_stands_ns > STANDS_NS {
        let time = duration(facts.writer_stands_ns as f64);
        let text = format!(
            "the recorder's writer has written nothing for {time}, and rings are filling up"
        );
        warn("writer_stands", text);
    }
    for thread in facts.threads {
        let name = thread_name(thread);
        if thread.full_rings > 0 {
            let times = match thread.full_rings {
                1 => "once".to_owned(),
                times => format!("{} times", count(times)),
            };
            let text = format!(
                "{name}: its ring was full {times}, and a larger one of {} records carries on",
                count(thread.capacity)
            );
            warn("ring_full", text);
        }
        let share = thread.unread as f64 / thread.capacity as f64;
        if share >= LATE_SHARE {
            let text = format!(
                "{name}: {} of its ring wait for the writer, which is late",
                percent(share)
            );
            warn("writer_late", text);
        }
    }
    for (silence, state) in &facts.silences {
        let thread = facts.threads.iter().find(|of| of.thread == silence.thread);
        let name = thread.map_or_else(|| format!("thread {}", silence.thread), thread_name);
        let mut text = format!(
            "{name}: no row has ended for {}; its longest pause before was {}",
            duration(silence.since_ns as f64),
            duration(silence.pause_ns as f64)
        );
        if let Some(words) = state.and_then(state_words) {
            text = format!("{text}; {words}");
        }
        warn("thread_silent", text);
    }
    if let Some(age_ns) = facts.age_ns.filter(|age| *age > QUIET_NS)
        && facts.silences.is_empty()
    {
        let text = format!(
            "no row of any thread has ended for {}",
            duration(age_ns as f64)
        );
        warn("quiet", text);
    }
    if facts.overwritten > 0 {
        let share = facts.overwritten as f64 / (facts.overwritten + facts.seen) as f64;
        let text = format!(
            "{} of the records of this window were overwritten before this view read them: its times and counts are too low; the run has them",
            percent(share)
        );
        warn("overwritten", text);
    }
    if facts.threads.is_empty() && facts.has_written {
        let text = "no thread has a ring: of rows that are recorded from outside, those on disk are counted and no more is seen";
        warn("no_rings", text.to_owned());
    }
    if facts.unreadable_rings > 0 {
        let text = format!(
            "{} rings cannot be read: damaged, or no files",
            count(facts.unreadable_rings)
        );
        warn("unreadable_rings", text);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread() -> ObservedThread {
        ObservedThread {
            thread: 4,
            name: Some("loader".to_owned()),
            os_id: 9,
            start_ns: 0,
            capacity: 1000,
            unread: 10,
            tail: 0,
            full_rings: 0,
        }
    }

    fn codes(facts: &Facts<'_>) -> Vec<&'static str> {
        warnings(facts).iter().map(|warning| warning.code).collect()
    }

    #[test]
    fn nothing_is_said_of_a_recording_that_goes_well() {
        let threads = [thread()];
        let facts = Facts {
            threads: &threads,
            age_ns: Some(4_000_000_000),
            seen: 1000,
            has_written: true,
            writer_stands_ns: 30_000_000,
            program_state: Some('S'),
            ..Facts::default()
        };
        assert_eq!(warnings(&facts), []);
    }

    #[test]
    fn each_case_is_said_with_its_figures() {
        let late = ObservedThread {
            unread: 600,
            full_rings: 2,
            ..thread()
        };
        let threads = [late];
        let problems = ["the disk is full\u{1b}[31m".to_owned()];
        let silence = Silence {
            thread: 4,
            since_ns: 12_000_000_000,
            pause_ns: 40_000_000,
        };
        let facts = Facts {
            dropped: BTreeMap::from([("bricks", 1200), ("kernels", 3)]),
            threads: &threads,
            writer_stands_ns: 3_000_000_000,
            silences: vec![(silence, Some('D'))],
            age_ns: Some(12_000_000_000),
            overwritten: 300,
            seen: 100,
            has_written: true,
            program_state: Some('R'),
            problems: &problems,
            blind: Some("no such folder"),
            unreadable_rings: 1,
        };
        let texts: Vec<String> = warnings(&facts)
            .into_iter()
            .map(|warning| warning.text)
            .collect();
        let all = texts.join("\n");
        for words in [
            "1,203 rows dropped so far (bricks 1,200, kernels 3)",
            "the disk is full\\x1b[31m",
            "has written nothing for 3 s",
            "loader: its ring was full 2 times",
            "loader: 60.0 % of its ring",
            "loader: no row has ended for 12 s; its longest pause before was 40 ms; it waits for a disk",
            "75.0 % of the records",
            "(no such folder): nothing of it is seen",
            "1 rings cannot be read",
        ] {
            assert!(all.contains(words), "{words}:\n{all}");
        }
        let outside = Facts {
            has_written: true,
            ..Facts::default()
        };
        assert_eq!(codes(&outside), ["no_rings"]);
        let stopped = Facts {
            program_state: Some('T'),
            writer_stands_ns: 3_000_000_000,
            ..Facts::default()
        };
        assert_eq!(codes(&stopped), ["program_stopped"]);
        let quiet = Facts {
            age_ns: Some(6_000_000_000),
            ..Facts::default()
        };
        assert_eq!(codes(&quiet), ["quiet"]);
    }
}
