//! A run that is followed from look to look.
//!
//! Looks come often enough that no ring is written round between two of them, and no oftener: every 50 ms where little
//! is recorded, down to 2 ms. They are not made oftener once they take a tenth of a processor; what is overwritten then
//! before it was read is counted and said.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use trueno_analysis::roofline::ceilings::Ceilings;
use trueno_format::observe::{ObservedThread, Observer};
use trueno_format::run_json::RunJson;
use trueno_model::categories::CategoryRules;

use crate::gauges::GaugeReader;
use crate::lanes::Lanes;
use crate::roof::ceilings;
use crate::snapshot::{Meaning, Snapshot};
use crate::warnings::{Facts, warnings};
use crate::window::{CounterNames, Window};

const SLOTS: usize = 50;
const DELAYS: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));
/// Share of a ring that may be written between two looks.
const BUSY_SHARE: f64 = 0.25;
/// Share of one processor that looking may take.
const MAX_COST_SHARE: f64 = 0.1;

/// If the live pages are gone for longer, the run has not ended, but is recorded without them.
const ENDING: Duration = Duration::from_secs(1);

pub struct Session {
    run: PathBuf,
    json: RunJson,
    observer: Observer,
    window: Window,
    window_ns: i64,
    lanes: Lanes,
    threads: Vec<ObservedThread>,
    gauges: GaugeReader,
    rules: CategoryRules,
    ceilings: (usize, Ceilings),
    is_here: bool,
    names: usize,
    delay: Duration,
    cost_share: f64,
    looked: Option<Instant>,
    looks: VecDeque<(i64, u64, u64)>,
    tails: BTreeMap<(u32, u64), u64>,
    writer_moved: Instant,
    blind: Option<(Instant, String)>,
}

/// `CLOCK_MONOTONIC`, which is compared with the recorder's timeline.
fn monotonic_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: valid for the write; the clock is there on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl Session {
    /// Follows a run that is being recorded. `window` is the length of the window.
    pub fn new(run: &Path, json: RunJson, window: Duration, rules: CategoryRules) -> Self {
        let window_ns = i64::try_from(window.as_nanos()).unwrap_or(i64::MAX);
        let mut gauges = GaugeReader::new(&json);
        // Shares of time are those since the reading before.
        gauges.read();
        Self {
            observer: Observer::new(run),
            window: Window::new(window_ns / SLOTS as i64, SLOTS),
            window_ns,
            lanes: Lanes::default(),
            threads: Vec::new(),
            gauges,
            rules,
            ceilings: (0, Ceilings::default()),
            is_here: trueno_format::host::facts().name == json.host.name,
            names: 0,
            delay: DELAYS.1,
            cost_share: 0.0,
            looked: None,
            looks: VecDeque::new(),
            tails: BTreeMap::new(),
            writer_moved: Instant::now(),
            blind: None,
            run: run.to_owned(),
            json,
        }
    }

    pub fn run(&self) -> &Path {
        &self.run
    }

    /// Whether `run.json` is still of the same run. If not, following starts anew.
    #[must_use]
    pub fn is_still(&mut self, json: &RunJson) -> bool {
        let same = self.json.run_id == json.run_id;
        if same {
            self.json = json.clone();
        }
        same
    }

    pub fn look(&mut self) {
        let begin = Instant::now();
        if let Err(error) = self.observer.stop() {
            self.blind.get_or_insert((begin, error.to_string()));
            return;
        }
        self.blind = None;
        if self.names != self.observer.names() {
            self.names = self.observer.names();
            self.window.counters = CounterNames {
                tokens: self.observer.number("tokens"),
                samples: self.observer.number("samples"),
            };
        }
        let now_ns = self.now_ns();
        self.window.advance(now_ns);
        let (window, lanes) = (&mut self.window, &mut self.lanes);
        let look = self.observer.read(&mut |event| {
            lanes.add(event);
            window.add(event);
        });
        self.threads = self.observer.threads();
        let from_ns = now_ns - 2 * self.window_ns;
        self.lanes.update(&self.threads, from_ns);
        self.looks
            .push_back((now_ns, look.overwritten, look.records));
        let from_ns = now_ns - self.window_ns;
        while self.looks.front().is_some_and(|(at, ..)| *at < from_ns) {
            self.looks.pop_front();
        }
        self.follow_writer();
        self.pace(begin, look.busiest_share);
    }

    /// Whether the live pages disappeared just now: the run has ended or was removed.
    pub fn is_ending(&self) -> bool {
        let blind = self.blind.as_ref();
        blind.is_some_and(|(since, _)| since.elapsed() < ENDING)
    }

    fn pace(&mut self, begin: Instant, busiest_share: f64) {
        let cost = begin.elapsed();
        if let Some(before) = self.looked.replace(begin) {
            let all = begin.duration_since(before).as_secs_f64();
            let share = cost.as_secs_f64() / all.max(1e-6);
            self.cost_share += (share - self.cost_share) / 8.0;
        }
        let cheap = self.cost_share < MAX_COST_SHARE;
        self.delay = if busiest_share > BUSY_SHARE && cheap {
            (self.delay / 2).max(DELAYS.0)
        } else if busiest_share < BUSY_SHARE / 2.0 || !cheap {
            (self.delay * 3 / 2).min(DELAYS.1)
        } else {
            self.delay
        };
    }

    fn follow_writer(&mut self) {
        let tails = self.threads.iter();
        let tails: BTreeMap<_, _> = tails
            .map(|thread| ((thread.thread, thread.full_rings), thread.tail))
            .collect();
        let waits = self.threads.iter().any(|thread| thread.unread > 0);
        if !waits || tails != self.tails {
            self.writer_moved = Instant::now();
        }
        self.tails = tails;
    }

    pub fn delay(&self) -> Duration {
        self.delay
    }

    pub fn cost_share(&self) -> f64 {
        self.cost_share
    }

    /// Current time on the run's timeline, from the clock. If the program runs on another machine, the time of
    /// its newest event.
    fn now_ns(&self) -> i64 {
        let latest_ns = self.lanes.latest_ns().unwrap_or(0);
        if self.is_here {
            self.observer.host_ns(monotonic_ns()).unwrap_or(0)
        } else {
            latest_ns
        }
    }

    pub fn snapshot(&mut self) -> Snapshot {
        let now_ns = self.now_ns();
        self.window.advance(now_ns);
        let argv0 = self.json.program.argv.first();
        let program = argv0.map(|path| path.rsplit('/').next().unwrap_or(path));
        let label = self.json.label.as_deref().or(program).unwrap_or("?");
        let gauges = self.gauges.read();
        let age_ns = self
            .lanes
            .latest_ns()
            .map(|latest| (now_ns - latest).max(0));
        let age_ns = age_ns.filter(|_| self.is_here);
        let mut found = Snapshot {
            state: "recording",
            label: label.to_owned(),
            run_id: self.json.run_id.clone(),
            pid: self.json.program.pid,
            elapsed_ns: Some(now_ns).filter(|ns| *ns > 0),
            gauges,
            written_rows: self.observer.written(),
            dropped_rows: self.observer.dropped(),
            ..Snapshot::default()
        };
        found.window.newest_event_age_ns = age_ns;
        found.window.overwritten_records = self.observer.overwritten();
        found.threads.recording = self.threads.len();

        if self.ceilings.0 != self.observer.ceilings().len() {
            let rows = self.observer.ceilings();
            self.ceilings = (rows.len(), ceilings(rows));
        }
        let sums = self.window.sums(self.observer.complete_from_ns());
        let time_ns = self.lanes.time_ns(sums.from_ns, sums.to_ns);
        let observer = &self.observer;
        let name = |number| match observer.name(number) {
            Some(text) => text.to_string(),
            None => format!("name {number}"),
        };
        let meaning = Meaning {
            name: &name,
            rules: &self.rules,
            ceilings: &self.ceilings.1,
        };
        found.add_sums(&sums, time_ns, &meaning);

        let silences = self.lanes.silences(now_ns).into_iter().map(|silence| {
            let thread = self.threads.iter().find(|of| of.thread == silence.thread);
            let state = thread.and_then(|of| self.gauges.thread_state(of.os_id));
            (silence, state)
        });
        let facts = Facts {
            dropped: found.dropped_rows.clone(),
            threads: &self.threads,
            writer_stands_ns: i64::try_from(self.writer_moved.elapsed().as_nanos()).unwrap_or(0),
            silences: silences.collect(),
            age_ns,
            overwritten: self
                .looks
                .iter()
                .map(|(_, overwritten, _)| overwritten)
                .sum(),
            seen: self.looks.iter().map(|(.., seen)| seen).sum(),
            has_written: !found.written_rows.is_empty(),
            program_state: found.gauges.program_state,
            problems: &self.json.problems,
            blind: self.blind.as_ref().map(|(_, why)| why.as_str()),
            unreadable_rings: self.observer.unreadable_rings(),
        };
        found.warnings = warnings(&facts);
        found
    }
}
