//! The part of a program's time that is recorded.

use std::cell::OnceCell;
use std::time::{Duration, Instant};

use trueno_processes::{Ended, ProcessEnd};

use crate::signals::ControlSignal;
use crate::{Failure, signals};

/// The end of a window by a signal, counted since the start of this command.
#[derive(Clone, Copy, Debug)]
pub struct SignalledEnd {
    pub signal: ControlSignal,
    pub nth: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Asked,
    Signalled(ControlSignal),
    Late(Duration),
}

#[derive(Debug, Default)]
pub struct Window {
    pub delay: Option<Duration>,
    pub duration: Option<Duration>,
    /// True if a signal to this process ends the recording while the program goes on.
    pub can_be_asked: bool,
    pub ends_at: Option<SignalledEnd>,
    began: OnceCell<Instant>,
    /// The first one, once it is over.
    reason: OnceCell<Reason>,
}

impl Window {
    pub fn new(delay: Option<Duration>, duration: Option<Duration>) -> Self {
        Self {
            delay,
            duration,
            ..Self::default()
        }
    }

    pub fn ends(&self) -> bool {
        self.duration.is_some() || self.can_be_asked || self.ends_at.is_some()
    }

    /// True once the recording should end. The first call starts the time.
    pub fn is_over(&self) -> bool {
        let began = self.began.get_or_init(Instant::now);
        if self.reason.get().is_none()
            && let Some(reason) = self.reason_now(*began)
        {
            // Set here only.
            let _ = self.reason.set(reason);
        }
        self.reason.get().is_some()
    }

    fn reason_now(&self, began: Instant) -> Option<Reason> {
        if self.was_asked_to_end() {
            return Some(Reason::Asked);
        }
        let end = self.ends_at;
        if let Some(end) = end.filter(|end| signals::control_signals() >= end.nth) {
            return Some(Reason::Signalled(end.signal));
        }
        let duration = self.duration.filter(|time| began.elapsed() >= *time);
        duration.map(Reason::Late)
    }

    pub fn was_asked_to_end(&self) -> bool {
        self.can_be_asked && signals::was_asked_to_end()
    }

    pub fn was_ended_by_signal(&self) -> bool {
        matches!(self.reason.get(), Some(Reason::Signalled(_)))
    }

    pub fn wait(&self, process: i32) -> Result<Ended, Failure> {
        let Some(delay) = self.delay else {
            return Ok(Ended::Asked);
        };
        let end = ProcessEnd::of(process)
            .map_err(|error| Failure::NotStarted(format!("process {process}: {error}")))?;
        let since = Instant::now();
        let is_over = || since.elapsed() >= delay || self.was_asked_to_end();
        Ok(end.wait(Some(&is_over)))
    }

    /// Why the recording ended before the program, as the beginning of a sentence.
    pub fn why(&self) -> String {
        match self.reason.get() {
            Some(Reason::Signalled(signal)) => format!("recording ended by {}", signal.name()),
            Some(Reason::Late(duration)) => {
                format!("recording ended after {} (--duration)", shown(*duration))
            }
            Some(Reason::Asked) | None => "recording ended".to_owned(),
        }
    }
}

pub fn shown(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 {
        format!("{} ms", (seconds * 1e6).round() / 1e3)
    } else {
        format!("{} s", (seconds * 1e3).round() / 1e3)
    }
}
