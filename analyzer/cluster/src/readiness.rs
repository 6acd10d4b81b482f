//! Readiness of a scheduler: it answers, and has executors.

use std::time::Duration;

use anyhow::{Context, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::address::Address;

const ANSWERS: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(100);
const MAX_BYTES: u64 = 64 << 10;

pub enum Readiness {
    Ready,
    /// It answers, but has no executors.
    NoExecutors,
}

/// Asks a scheduler for its executors.
///
/// # Errors
/// It does not answer, or is none.
pub async fn ask(scheduler: &Address) -> anyhow::Result<Readiness> {
    let asked = async {
        let mut stream = connect(scheduler).await?;
        let request =
            format!("GET /readyz HTTP/1.1\r\nHost: {scheduler}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.take(MAX_BYTES).read_to_end(&mut answer).await?;
        let answer = String::from_utf8_lossy(&answer);
        match answer.split(' ').nth(1) {
            Some("200") => Ok(Readiness::Ready),
            Some("503") => Ok(Readiness::NoExecutors),
            _ => bail!("it is not a Ballista scheduler"),
        }
    };
    let asked = timeout(ANSWERS, asked).await;
    let asked = asked.unwrap_or_else(|_| bail!("it does not answer"));
    asked.with_context(|| format!("the scheduler at {scheduler}"))
}

/// Waits until a scheduler listens.
///
/// # Errors
/// It does not by then.
pub async fn wait_for_port(scheduler: &Address, patience: Duration) -> anyhow::Result<()> {
    let began = Instant::now();
    loop {
        match timeout(ANSWERS, connect(scheduler)).await {
            Ok(Ok(_)) => return Ok(()),
            _ if began.elapsed() < patience => sleep(PAUSE).await,
            Ok(Err(error)) => {
                let hint = "hint: trueno-cluster scheduler";
                return Err(error.context(format!("no scheduler listens at {scheduler} ({hint})")));
            }
            Err(_) => bail!("the scheduler at {scheduler} does not answer"),
        }
    }
}

/// Waits until a scheduler has executors.
///
/// # Errors
/// It does not answer, or has none by then.
pub async fn wait_for_executors(scheduler: &Address, patience: Duration) -> anyhow::Result<()> {
    let began = Instant::now();
    loop {
        match ask(scheduler).await? {
            Readiness::Ready => return Ok(()),
            Readiness::NoExecutors if began.elapsed() < patience => sleep(PAUSE).await,
            Readiness::NoExecutors => bail!("{}", no_executors(scheduler)),
        }
    }
}

pub fn no_executors(scheduler: &Address) -> String {
    format!(
        "the scheduler at {scheduler} has no executors (hint: trueno-cluster executor --scheduler {scheduler})"
    )
}

async fn connect(scheduler: &Address) -> anyhow::Result<TcpStream> {
    Ok(TcpStream::connect((scheduler.host.as_str(), scheduler.port)).await?)
}
