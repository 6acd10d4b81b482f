//! All runs, as far as they are read, and the pages that are made of them.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::process::{Live, Process};
use super::stamp::Stamp;
use super::{Place, Program, QueryLimits, csv, work};
use crate::answers::{
    Answers, Page, PageState, QueryRequest, QueryRows, RunState, RunStatus, State,
};
use crate::cancel::Cancel;
use crate::refusal::Refusal;
use crate::timeline::{Curve, Head, Timeline, WindowRequest, WindowView};

const MAX_QUERIES: usize = 2;
/// Limit on cached pages. A new page replaces a finished comparison.
const MAX_PAGES: usize = 24;
const WAIT: Duration = Duration::from_secs(8);
const LOOK: Duration = Duration::from_secs(1);
/// Prefix that no run may have, because the engine's own tables use it.
const TAKEN: &str = "timeline";

pub(super) struct Served {
    pub(super) place: Place,
    pub(super) word: String,
    pub(super) status: RunStatus,
    pub(super) head: Option<Head>,
    pub(super) timeline: Option<Arc<Timeline>>,
    pub(super) stamp: Option<Stamp>,
    pub(super) changed: Option<String>,
}

pub(super) enum Making {
    Requested,
    Begun(String),
    Made(Arc<Vec<u8>>),
    Failed(String),
}

pub(super) struct Inner {
    pub(super) number: u64,
    pub(super) runs: Vec<Served>,
    pub(super) pages: BTreeMap<Page, Making>,
    /// The most recent request first, which is served next.
    pub(super) asked: Vec<Page>,
    queries: usize,
}

/// Runs that are served. Each is read by a process of its own.
pub struct Runs {
    pub(super) program: Program,
    limits: QueryLimits,
    inner: Mutex<Inner>,
    news: Condvar,
    pub(super) live: Live,
}

impl Runs {
    /// Nothing is read before [`Runs::start`].
    pub fn new(program: Program, places: Vec<Place>, limits: QueryLimits) -> Self {
        let mut runs: Vec<Served> = Vec::new();
        for place in places {
            let is_taken = |word: &str| word == TAKEN || runs.iter().any(|run| run.word == word);
            let stem = word(&place.shown);
            let numbered = (2..).map(|number| format!("{stem}_{number}"));
            let word = std::iter::once(stem.clone())
                .chain(numbered)
                .find(|word| !is_taken(word));
            runs.push(Served {
                place,
                word: word.unwrap_or_default(),
                status: RunStatus::Waiting,
                head: None,
                timeline: None,
                stamp: None,
                changed: None,
            });
        }
        Self {
            program,
            limits,
            inner: Mutex::new(Inner {
                number: 1,
                runs,
                pages: BTreeMap::new(),
                asked: Vec::new(),
                queries: 0,
            }),
            news: Condvar::new(),
            live: Live::default(),
        }
    }

    /// Starts threads that read runs and make pages.
    ///
    /// # Errors
    /// There can be no such threads.
    pub fn start(self: &Arc<Self>) -> std::io::Result<()> {
        for (name, loops) in [("reading", work::read as fn(&Runs)), ("pages", work::make)] {
            let of = self.clone();
            let thread = std::thread::Builder::new().name(name.to_owned());
            thread.spawn(move || loops(&of))?;
        }
        Ok(())
    }

    pub fn stop(&self) {
        self.live.kill_all();
    }

    pub(super) fn locked(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = self.locked();
        let made = change(&mut inner);
        inner.number += 1;
        self.news.notify_all();
        made
    }

    pub(super) fn wait<'a>(
        &'a self,
        inner: MutexGuard<'a, Inner>,
        time: Duration,
    ) -> MutexGuard<'a, Inner> {
        let waited = self.news.wait_timeout(inner, time);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    pub(super) fn command(&self, name: &str) -> Command {
        let mut command = Command::new(&self.program.file);
        command.args(&self.program.flags).arg(name);
        (self.program.before_start)(&mut command);
        command
    }

    fn look(&self) {
        let stamps: Vec<_> = {
            let inner = self.locked();
            let each = inner.runs.iter();
            each.map(|run| (run.place.folder.clone(), run.stamp.clone()))
                .collect()
        };
        // Files are looked at without the lock.
        let found = stamps
            .into_iter()
            .map(|(folder, stamp)| stamp?.difference(&folder));
        let found: Vec<Option<String>> = found.collect();
        let mut inner = self.locked();
        let mut any = false;
        for (run, found) in inner.runs.iter_mut().zip(found) {
            if run.stamp.is_some() && run.changed != found {
                run.changed = found;
                any = true;
            }
        }
        if any {
            inner.number += 1;
            self.news.notify_all();
        }
    }

    fn timeline(&self, run: usize) -> Result<Arc<Timeline>, Refusal> {
        let inner = self.known(&[run])?;
        let timeline = inner.runs[run].timeline.clone();
        timeline.ok_or_else(|| Refusal::NotYet("the run is not read yet".to_owned()))
    }

    fn known(&self, runs: &[usize]) -> Result<MutexGuard<'_, Inner>, Refusal> {
        let inner = self.locked();
        match runs.iter().find(|run| **run >= inner.runs.len()) {
            Some(run) => Err(Refusal::Missing(format!("there is no run {run}"))),
            None => Ok(inner),
        }
    }
}

/// Turns a file name into an SQL identifier.
fn word(shown: &str) -> String {
    let name = shown.trim_end_matches('/').rsplit('/').next().unwrap_or("");
    let stem = name.split('.').find(|part| !part.is_empty()).unwrap_or("");
    let keep = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let word: String = stem.chars().map(keep).take(40).collect();
    if word.starts_with(|c: char| c.is_ascii_alphabetic()) {
        word
    } else {
        format!("run_{word}")
    }
}

impl Answers for Runs {
    fn state(&self, after: Option<u64>) -> State {
        let began = Instant::now();
        loop {
            self.look();
            let inner = self.locked();
            let is_going_on = inner
                .runs
                .iter()
                .any(|run| matches!(run.status, RunStatus::Waiting | RunStatus::Reading { .. }));
            let is_news = after != Some(inner.number);
            if is_news || !is_going_on || began.elapsed() >= WAIT {
                return State {
                    number: inner.number,
                    runs: inner.runs.iter().map(state_of).collect(),
                };
            }
            drop(self.wait(inner, LOOK));
        }
    }

    fn window(&self, run: usize, window: &WindowRequest) -> Result<WindowView, Refusal> {
        self.timeline(run)?.window(window)
    }

    fn curves(&self, run: usize) -> Result<Vec<Curve>, Refusal> {
        Ok(self.timeline(run)?.curves().to_vec())
    }

    fn query(&self, asked: &QueryRequest, cancel: &Cancel) -> Result<QueryRows, Refusal> {
        let mut command = self.command("query");
        let limits = self.limits;
        {
            let mut inner = self.known(&[asked.run])?;
            if inner.queries >= MAX_QUERIES {
                let why = format!("{MAX_QUERIES} queries run already; wait until one has ended");
                return Err(Refusal::Busy(why));
            }
            command.args(&self.program.plugin_flags);
            command.args(["--format", "csv", "--csv-exact", "--timeout"]);
            command.arg(format!("{}ms", limits.time.as_millis()));
            if let Some(bytes) = limits.memory_bytes {
                command.arg("--memory").arg(bytes.to_string());
            }
            for (at, other) in inner.runs.iter().enumerate() {
                if at != asked.run && asked.sql.contains(&format!("{}.", other.word)) {
                    let mut named = std::ffi::OsString::from(format!("{}=", other.word));
                    named.push(&other.place.folder);
                    command.arg("--run").arg(named);
                }
            }
            command
                .arg("--")
                .arg(&inner.runs[asked.run].place.folder)
                .arg(&asked.sql);
            inner.queries += 1;
        }
        let _counted = Counted(self);
        let mut process =
            Process::start(&mut command, &self.live, |_| {}).map_err(Refusal::Failed)?;
        cancel.on_cancel(process.killer());
        let rows = csv::read(&mut process.stdout, limits.rows);
        if matches!(&rows, Ok(rows) if rows.is_cut) {
            // The rest is for nobody.
            process.killer()();
            return rows.map_err(|error| Refusal::Failed(error.to_string()));
        }
        let ended = process.end();
        if cancel.is_cancelled() {
            return Err(Refusal::Failed("nobody waits for it any more".to_owned()));
        }
        match rows {
            Ok(rows) if ended.code == Some(0) => Ok(rows),
            Err(error) if ended.code == Some(0) => Err(Refusal::Failed(error.to_string())),
            _ => Err(Refusal::Failed(ended.why())),
        }
    }

    fn page(&self, page: Page) -> Result<PageState, Refusal> {
        let runs = match page {
            Page::Report(run) => vec![run],
            Page::Compare { base, run } => vec![base, run],
        };
        let mut inner = self.known(&runs)?;
        if !inner.pages.contains_key(&page) {
            make_room(&mut inner);
            inner.pages.insert(page, Making::Requested);
            inner.asked.insert(0, page);
            self.news.notify_all();
        }
        let began = Instant::now();
        let told = match inner.pages.get(&page) {
            Some(Making::Begun(step)) => step.clone(),
            _ => String::new(),
        };
        // Whoever asks again and again is answered when there is news.
        loop {
            let state = match inner.pages.get(&page) {
                Some(Making::Made(bytes)) => return Ok(PageState::Ready(bytes.clone())),
                Some(Making::Failed(why)) => return Ok(PageState::Failed(why.clone())),
                Some(Making::Begun(step)) => step.clone(),
                Some(Making::Requested) | None => String::new(),
            };
            if state != told || began.elapsed() >= LOOK {
                return Ok(PageState::Making(match state.as_str() {
                    "" => "waits for its turn".to_owned(),
                    _ => state,
                }));
            }
            inner = self.wait(inner, LOOK);
        }
    }

    fn read_again(&self, run: usize) -> Result<(), Refusal> {
        drop(self.known(&[run])?);
        self.change(|inner| {
            let of = &mut inner.runs[run];
            if matches!(of.status, RunStatus::Reading { .. }) {
                return;
            }
            (of.status, of.head, of.timeline) = (RunStatus::Waiting, None, None);
            (of.stamp, of.changed) = (None, None);
            let is_of_it = |page: &Page| match page {
                Page::Report(of) => *of == run,
                Page::Compare { base, run: of } => *of == run || *base == run,
            };
            inner.pages.retain(|page, making| {
                !is_of_it(page) || matches!(making, Making::Begun(_) | Making::Requested)
            });
        });
        Ok(())
    }
}

struct Counted<'a>(&'a Runs);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.locked().queries -= 1;
    }
}

/// Removes the first finished comparison if there are too many pages.
fn make_room(inner: &mut Inner) {
    if inner.pages.len() < MAX_PAGES {
        return;
    }
    let is_done = |(page, making): &(&Page, &Making)| {
        matches!(page, Page::Compare { .. })
            && matches!(making, Making::Made(_) | Making::Failed(_))
    };
    let found = inner.pages.iter().find(is_done).map(|(page, _)| *page);
    if let Some(page) = found {
        inner.pages.remove(&page);
    }
}

fn state_of(run: &Served) -> RunState {
    let timeline = run.timeline.as_deref();
    RunState {
        path: run.place.shown.clone(),
        word: run.word.clone(),
        status: run.status.clone(),
        head: run.head.clone(),
        lanes: timeline.map_or(Vec::new(), |of| of.lane_heads().to_vec()),
        extent_ns: timeline.map(Timeline::extent_ns),
        spans: timeline.map_or(0, Timeline::spans),
        too_deep: timeline.map_or(0, Timeline::too_deep),
        changed: run.changed.clone(),
    }
}
