//! Polling for the next stop before blocking for it. To wake a blocked tracer takes the system longer than most calls
//! take, above all on a virtual machine, where a halted processor is woken by an interrupt through the host.

use std::hint;
use std::io;
use std::time::{Duration, Instant};

use crate::ptrace::{self, Waited};

/// On a virtual machine where waking takes 15 µs, 10 µs catch no stop of a loop of short calls, 20 µs most, 40 µs nearly
/// all, and 80 µs no more.
const WINDOW: Duration = Duration::from_micros(40);

/// Between two polls.
const PAUSES: u32 = 16;

/// Where the thread that was resumed last goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    Call,
    Program,
}

/// Polls only while it succeeds, separately for the ends of calls and for their beginnings.
#[derive(Debug, Default)]
pub(crate) struct Poll {
    call: Chance,
    program: Chance,
}

impl Poll {
    /// As [`ptrace::wait`].
    pub(crate) fn wait(
        &mut self,
        inside: Inside,
        is_over: &dyn Fn() -> bool,
    ) -> io::Result<Waited> {
        let chance = match inside {
            Inside::Call => &mut self.call,
            Inside::Program => &mut self.program,
        };
        if chance.is_taken() {
            let since = Instant::now();
            let polled = poll(since);
            chance.learn(since.elapsed() <= WINDOW);
            if let Some(event) = polled {
                return Ok(event);
            }
        }
        ptrace::wait(is_over)
    }
}

fn poll(since: Instant) -> Option<Waited> {
    loop {
        if let Some((thread, event)) = ptrace::poll() {
            return Some(Waited::Event(thread, event));
        }
        if since.elapsed() > WINDOW {
            return None;
        }
        // Yielding would let all threads that compute run first, for up to a second.
        (0..PAUSES).for_each(|_| hint::spin_loop());
    }
}

/// A poll that fails costs about four times what one that succeeds saves. Where more than one in five fail, they are
/// left out, for longer and longer.
#[derive(Debug, Default, PartialEq, Eq)]
struct Chance {
    losses: u32,
    left_out: u32,
}

impl Chance {
    const LOSS: u32 = 4;
    /// Polls left out after a failure: at most 2 to the power of this.
    const MOST_LEFT_OUT: u32 = 10;

    fn is_taken(&mut self) -> bool {
        let due = self.left_out == 0;
        self.left_out = self.left_out.saturating_sub(1);
        due
    }

    fn learn(&mut self, has_succeeded: bool) {
        if has_succeeded {
            self.losses = self.losses.saturating_sub(1);
        } else {
            self.losses = (self.losses + Self::LOSS).min(Self::LOSS * Self::MOST_LEFT_OUT);
            self.left_out = 1 << (self.losses / Self::LOSS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Polls in `waits` waits where the outcome of the n-th poll is `outcome(n)`.
    fn polls(waits: usize, outcome: impl Fn(usize) -> bool) -> usize {
        let mut chance = Chance::default();
        let mut taken = 0;
        for _ in 0..waits {
            if chance.is_taken() {
                chance.learn(outcome(taken));
                taken += 1;
            }
        }
        taken
    }

    #[test]
    fn a_program_of_short_calls_is_polled_at_each_stop() {
        assert_eq!(polls(10_000, |_| true), 10_000);
    }

    #[test]
    fn a_program_that_computes_for_long_is_hardly_polled() {
        assert!(polls(100_000, |_| false) < 120);
    }

    #[test]
    fn one_long_wait_in_a_hundred_changes_little() {
        assert!(polls(100_000, |n| n % 100 != 0) > 90_000);
    }

    #[test]
    fn where_every_second_poll_fails_most_are_left_out() {
        assert!(polls(100_000, |n| n % 2 == 0) < 1_000);
    }
}
