//! Which work of a device a wait of the host waited for.
//!
//! Of the work that was launched before the wait began, on the stream or device waited for, it is
//! the one that ended last before the wait did. Work that had ended when the wait began held up
//! nothing. Events are not followed: their records name no work.

use std::collections::VecDeque;

/// Work that ends so near before a wait does that later work cannot push it out.
const REMEMBERED: usize = 4_096;

/// Work of a device with a known launch.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    pub id: u64,
    pub process: u32,
    pub device: Option<u32>,
    pub stream: Option<u32>,
    pub launched_ns: i64,
    pub end_ns: i64,
}

/// A wait of the host.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    pub id: u64,
    pub process: u32,
    pub device: Option<u32>,
    /// `None`: for all of the device.
    pub stream: Option<u32>,
    pub start_ns: i64,
    pub end_ns: i64,
}

/// Matches both while they come in order of their start.
#[derive(Debug, Default)]
pub struct Joins {
    work: VecDeque<Work>,
    waits: Vec<Wait>,
}

impl Joins {
    /// Work began. First call [`Joins::until`].
    pub fn work(&mut self, work: Work) {
        if self.work.len() == REMEMBERED {
            self.work.pop_front();
        }
        self.work.push_back(work);
    }

    /// A wait began. First call [`Joins::until`].
    pub fn wait(&mut self, wait: Wait) {
        self.waits.push(wait);
    }

    /// All that began before `now_ns` is here: pairs of work and wait for the waits that ended by then.
    pub fn until(&mut self, now_ns: i64) -> Vec<(u64, u64)> {
        if self.waits.iter().all(|wait| wait.end_ns > now_ns) {
            return Vec::new();
        }
        let mut joins = Vec::new();
        let work = &self.work;
        self.waits.retain(|wait| {
            let ended = wait.end_ns <= now_ns;
            if ended && let Some(last) = last(work, wait) {
                joins.push((last, wait.id));
            }
            !ended
        });
        // What ended before all waits that are open, and all that will come, is of no use to any.
        let floor_ns = self
            .waits
            .iter()
            .map(|wait| wait.start_ns)
            .fold(now_ns, i64::min);
        while self
            .work
            .front()
            .is_some_and(|work| work.end_ns <= floor_ns)
        {
            self.work.pop_front();
        }
        joins
    }
}

fn last(work: &VecDeque<Work>, wait: &Wait) -> Option<u64> {
    work.iter()
        .filter(|work| {
            work.process == wait.process
                && work.device == wait.device
                && (wait.stream.is_none() || work.stream == wait.stream)
                && work.launched_ns < wait.start_ns
                && work.end_ns > wait.start_ns
                && work.end_ns <= wait.end_ns
        })
        .max_by_key(|work| (work.end_ns, work.id))
        .map(|work| work.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(id: u64, stream: u32, launched_ns: i64, end_ns: i64) -> Work {
        Work {
            id,
            process: 0,
            device: Some(0),
            stream: Some(stream),
            launched_ns,
            end_ns,
        }
    }

    #[test]
    fn a_wait_ends_after_the_last_work_it_waited_for() {
        let mut joins = Joins::default();
        joins.work(work(1, 7, 0, 40));
        joins.work(work(2, 8, 1, 45));
        let wait = |id, stream| Wait {
            id,
            process: 0,
            device: Some(0),
            stream,
            start_ns: 20,
            end_ns: 50,
        };
        joins.wait(wait(10, Some(7)));
        joins.wait(wait(11, None));
        // Launched by another thread while the first waited; and ended after it.
        joins.work(work(3, 7, 30, 48));
        joins.work(work(4, 8, 2, 60));
        assert_eq!(joins.until(49), []);
        assert_eq!(joins.until(50), [(1, 10), (2, 11)]);
        assert_eq!(joins.until(100), []);
    }

    #[test]
    fn work_that_had_ended_holds_up_nothing() {
        let mut joins = Joins::default();
        joins.work(work(1, 7, 0, 5));
        joins.wait(Wait {
            id: 2,
            process: 0,
            device: Some(0),
            stream: None,
            start_ns: 5,
            end_ns: 9,
        });
        assert_eq!(joins.until(i64::MAX), []);
    }
}
