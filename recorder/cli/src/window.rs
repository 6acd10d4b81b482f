//! The part of a program's time that is recorded.

use std::cell::OnceCell;
use std::time::{Duration, Instant};

use trueno_processes::{Ended, ProcessEnd};

use crate::{Failure, signals};

#[derive(Debug, Default)]
pub struct Window {
    pub delay: Option<Duration>,
    pub duration: Option<Duration>,
    /// True if a signal to this process ends the recording while the program goes on.
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

    pub fn ends(&self) -> bool {
        self.duration.is_some() || self.can_be_asked
    }

    /// True once the recording should end. The first call starts the time.
    pub fn is_over(&self) -> bool {
        let began = self.began.get_or_init(Instant::now);
        let is_late = |duration| began.elapsed() >= duration;
        self.was_asked_to_end() || self.duration.is_some_and(is_late)
    }

    pub fn was_asked_to_end(&self) -> bool {
        self.can_be_asked && signals::was_asked_to_end()
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
        match self.duration {
            Some(duration) if !self.was_asked_to_end() => {
                format!("recording ended after {} (--duration)", shown(duration))
            }
            _ => "recording ended".to_owned(),
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
