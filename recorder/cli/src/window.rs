//! The part of a program's time that is recorded.

use std::cell::OnceCell;
use std::time::{Duration, Instant};

use trueno_processes::{Ended, ProcessEnd};

use crate::{Failure, signals};

/// Beginning and length of a recording.
#[derive(Debug, Default)]
pub struct Window {
    pub delay: Option<Duration>,
    pub duration: Option<Duration>,
    /// Whether this process can be asked to end the recording, and the program goes on.
    pub can_be_asked: bool,
    began: OnceCell<Instant>,
}

impl Window {
    pub fn new(delay: Option<Duration>, duration: Option<Duration>) -> Self {
        Self {
            delay,
            duration,
            ..Self::default()
        }
    }

    /// True if it may end before the program.
    pub fn ends(&self) -> bool {
        self.duration.is_some() || self.can_be_asked
    }

    /// True once the recording shall end. It has begun when this is asked first.
    pub fn is_over(&self) -> bool {
        let began = self.began.get_or_init(Instant::now);
        let is_late = |duration| began.elapsed() >= duration;
        self.was_asked_to_end() || self.duration.is_some_and(is_late)
    }

    /// True if somebody has asked this process to end the recording.
    pub fn was_asked_to_end(&self) -> bool {
        self.can_be_asked && signals::was_asked_to_end()
    }

    /// Waits until the recording begins. The process may end before.
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

    /// Reason why the recording ended before the program, as a sentence's beginning.
    pub fn why(&self) -> String {
        match self.duration {
            Some(duration) if !self.was_asked_to_end() => {
                format!("recording ended after {} (--duration)", shown(duration))
            }
            _ => "recording ended".to_owned(),
        }
    }
}

/// A length of time for people.
pub fn shown(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 {
        format!("{} ms", (seconds * 1e6).round() / 1e3)
    } else {
        format!("{} s", (seconds * 1e3).round() / 1e3)
    }
}
