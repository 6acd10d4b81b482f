//! Work that is handed to a cluster again for as long as it has executors.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::address::Address;
use crate::readiness::{self, Readiness};

/// Number of attempts: an executor may be lost even after it has answered.
const ATTEMPTS: usize = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// Runs `attempt` until it succeeds. It receives the number of the attempt, from 1.
///
/// # Errors
/// The outer error of an attempt is the end. After the inner one, which says that Ballista could not bring the work to
/// an end, `say_again` is told and another attempt made: but not without executors, nor more than five times.
pub async fn repeated<T>(
    scheduler: &Address,
    deadline: Instant,
    say_again: impl Fn(&anyhow::Error),
    mut attempt: impl AsyncFnMut(usize) -> anyhow::Result<anyhow::Result<T>>,
) -> anyhow::Result<T> {
    let mut number = 1;
    loop {
        let error = match attempt(number).await? {
            Ok(made) => return Ok(made),
            Err(error) => error,
        };
        match readiness::ask(scheduler).await {
            Ok(Readiness::Ready) if number < ATTEMPTS => {}
            Ok(Readiness::Ready) => return Err(error.context(format!("{ATTEMPTS} attempts"))),
            Ok(Readiness::NoExecutors) => {
                return Err(error.context(readiness::no_executors(scheduler)));
            }
            Err(gone) => return Err(gone.context(format!("{error:#}"))),
        }
        say_again(&error);
        number += 1;
        sleep(PAUSE.min(deadline.saturating_duration_since(Instant::now()))).await;
    }
}
