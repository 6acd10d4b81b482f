//! Plugins that run, told on a terminal once they take long.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use trueno_host::plugin::{Execution, Plugin, Registry};
use trueno_model::units;

use super::stderr::Stderr;

/// Shorter work shows nothing.
const SHOWN_AFTER: Duration = Duration::from_secs(2);
const EVERY: Duration = Duration::from_millis(500);

type Begun = Arc<Mutex<BTreeMap<String, Instant>>>;

pub(super) struct Running {
    begun: Begun,
    shown: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Running {
    /// Shows nothing if standard error is not a terminal, or if plugins in this process may write to it.
    pub(super) fn new(registry: &Registry, stderr: &Stderr) -> Running {
        let begun = Begun::default();
        // What a plugin writes in this process would go where the line is drawn.
        let is_foreign = |plugin: &Plugin| matches!(plugin.execution, Execution::InProcess(functions) if functions.is_foreign());
        let has_foreign = registry.plugins.iter().any(is_foreign);
        let is_seen = io::stderr().is_terminal() && !stderr.is_quiet() && !has_foreign;
        let limits = limits(registry);
        let shown = is_seen.then(|| {
            let (send, receive) = mpsc::channel();
            let of = begun.clone();
            let show = move || {
                let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
                if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
                    bar.set_style(style);
                }
                while receive.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                    let begun = of.lock().unwrap_or_else(PoisonError::into_inner);
                    let running = begun.iter().map(|(id, since)| (id, since.elapsed()));
                    if let Some(line) = line(running, &limits) {
                        bar.set_message(line);
                        bar.tick();
                    }
                }
                bar.finish_and_clear();
            };
            let thread = std::thread::Builder::new().name("progress".to_owned());
            Some((send, thread.spawn(show).ok()?))
        });
        Running {
            begun,
            shown: shown.flatten(),
        }
    }

    pub(super) fn begin(&self, id: &str) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.insert(id.to_owned(), Instant::now());
    }

    pub(super) fn end(&self, id: &str) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.remove(id);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some((send, thread)) = self.shown.take() {
            drop(send);
            let _ = thread.join();
        }
    }
}

fn limits(registry: &Registry) -> BTreeMap<String, Duration> {
    let plugins = registry.plugins.iter();
    let of = plugins.filter_map(|plugin| match &plugin.execution {
        Execution::Isolated(limits) => Some((plugin.descriptor.id.clone(), limits.time?)),
        Execution::InProcess(_) => None,
    });
    of.collect()
}

fn line<'a>(
    running: impl Iterator<Item = (&'a String, Duration)>,
    limits: &BTreeMap<String, Duration>,
) -> Option<String> {
    let long: Vec<String> = running
        .filter(|(_, time)| *time >= SHOWN_AFTER)
        .map(|(id, time)| {
            let seconds = time.as_secs();
            let limit = limits.get(id).map_or(String::new(), |limit| {
                format!(" of {}", units::duration(limit.as_nanos() as f64))
            });
            format!("{id} ({seconds} s{limit})")
        })
        .collect();
    (!long.is_empty()).then(|| format!("running {}", long.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_take_long_are_named() {
        let limits = BTreeMap::from([("slow".to_owned(), Duration::from_secs(30))]);
        let of = |times: &[(&str, u64)]| {
            let times: Vec<(String, Duration)> = times
                .iter()
                .map(|(id, ms)| ((*id).to_owned(), Duration::from_millis(*ms)))
                .collect();
            line(times.iter().map(|(id, time)| (id, *time)), &limits)
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("slow", 1999)]), None);
        assert_eq!(
            of(&[("other", 3500), ("slow", 2000), ("young", 7)]).as_deref(),
            Some("running other (3 s), slow (2 s of 30 s)")
        );
    }
}
