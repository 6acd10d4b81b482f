//! The work of a device that a wait of the host ended with.
//!
//! Of the work that was launched before the wait began, on the stream or device waited for, it is the one that
//! ended last before the wait did. Work that had ended when the wait began held up nothing. Work whose launch is
//! not known is offered to no wait. Events are not followed here: see [`event_waits`](super::event_waits).

use std::collections::VecDeque;

/// Limit for ended work that is remembered for later waits.
const REMEMBERED: usize = 4_096;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub id: u64,
    pub process: u32,
    pub device: Option<u32>,
    pub stream: Option<u32>,
    pub launched_ns: i64,
    pub end_ns: i64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub id: u64,
    pub process: u32,
    /// `None` if not stated: then the stream decides, or any device may be meant.
    pub device: Option<u32>,
    pub stream: Option<u32>,
    pub start_ns: i64,
    pub end_ns: i64,
}

/// Matches work and waits, both added in order of their start.
#[derive(Debug, Default)]
pub(crate) struct DeviceWaits {
    work: VecDeque<Work>,
    waits: Vec<Wait>,
}

impl DeviceWaits {
    /// Adds work that began. Call [`DeviceWaits::until`] first.
    pub fn work(&mut self, work: Work, now_ns: i64) {
        if self.work.len() == 2 * REMEMBERED {
            let floor_ns = self.floor_ns(now_ns);
            self.work.retain(|work| work.end_ns > floor_ns);
            let many = self.work.len().saturating_sub(REMEMBERED);
            self.work.drain(..many);
        }
        self.work.push_back(work);
    }

    /// Adds a wait that began. Call [`DeviceWaits::until`] first.
    pub fn wait(&mut self, wait: Wait) {
        self.waits.push(wait);
    }

    /// Returns pairs of work and wait for the waits that ended by `now_ns`. Everything that began before
    /// `now_ns` must have been added.
    pub fn until(&mut self, now_ns: i64) -> Vec<(u64, u64)> {
        if self.waits.iter().all(|wait| wait.end_ns > now_ns) {
            return Vec::new();
        }
        let mut pairs = Vec::new();
        let work = &self.work;
        self.waits.retain(|wait| {
            let ended = wait.end_ns <= now_ns;
            if ended && let Some(last) = last(work, wait) {
                pairs.push((last, wait.id));
            }
            !ended
        });
        let floor_ns = self.floor_ns(now_ns);
        while self
            .work
            .front()
            .is_some_and(|work| work.end_ns <= floor_ns)
        {
            self.work.pop_front();
        }
        pairs
    }

    /// Work that ended before this time cannot match any open or future wait.
    fn floor_ns(&self, now_ns: i64) -> i64 {
        let starts = self.waits.iter().map(|wait| wait.start_ns);
        starts.fold(now_ns, i64::min)
    }
}

fn last(work: &VecDeque<Work>, wait: &Wait) -> Option<u64> {
    work.iter()
        .filter(|work| {
            work.process == wait.process
                && (wait.device.is_none() || work.device == wait.device)
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

    fn wait(id: u64, stream: Option<u32>, start_ns: i64, end_ns: i64) -> Wait {
        Wait {
            id,
            process: 0,
            device: Some(0),
            stream,
            start_ns,
            end_ns,
        }
    }

    #[test]
    fn a_wait_ends_after_the_last_work_it_waited_for() {
        let mut waits = DeviceWaits::default();
        waits.work(work(1, 7, 0, 40), 0);
        waits.work(work(2, 8, 1, 45), 1);
        waits.work(work(5, 9, 2, 19), 2);
        waits.wait(wait(10, Some(7), 20, 50));
        waits.wait(wait(11, None, 20, 50));
        // Ended before it.
        waits.wait(wait(12, Some(9), 20, 50));
        // Launched by another thread while the first waited; and ended after it.
        waits.work(work(3, 7, 30, 48), 31);
        waits.work(work(4, 8, 2, 60), 32);
        assert_eq!(waits.until(49), []);
        assert_eq!(waits.until(50), [(1, 10), (2, 11)]);
        assert_eq!(waits.until(100), []);
    }

    #[test]
    fn work_that_had_ended_holds_up_nothing() {
        let mut waits = DeviceWaits::default();
        waits.work(work(1, 7, 0, 5), 0);
        waits.wait(wait(2, None, 5, 9));
        assert_eq!(waits.until(i64::MAX), []);
    }

    #[test]
    fn what_ended_makes_room_for_what_has_not() {
        let mut waits = DeviceWaits::default();
        let many = 4 * REMEMBERED as u64;
        waits.work(work(1, 7, 0, many as i64 + 5), 0);
        for id in 2..many {
            let at_ns = id as i64;
            waits.work(work(id, 8, at_ns, at_ns + 1), at_ns);
        }
        waits.wait(wait(many, Some(7), many as i64, many as i64 + 9));
        assert_eq!(waits.until(i64::MAX), [(1, many)]);
    }
}
