//! One object, in pieces, into a file that is not in its place yet.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow};
use futures::StreamExt;
use object_store::{Error, GetOptions, GetRange, ObjectStore};
use tokio::time::sleep;

use crate::connection::Connection;
use crate::listing::Object;

/// Bytes of one request, which are held in memory.
const PIECE_BYTES: u64 = 8 << 20;
/// Requests for a piece before an incomplete response is an error.
const ATTEMPTS: u32 = 4;
/// Pause before the first retry; it doubles.
const PAUSE: Duration = Duration::from_millis(200);

/// Downloads an object and appends it to a partial file, piece after piece. Returns the number of bytes received.
///
/// # Errors
/// The store does not give it, or gives less; the object has changed; the file cannot be written.
pub async fn download(
    connection: &Connection,
    name: &str,
    object: &Object,
    to: &Path,
) -> anyhow::Result<u64> {
    let options = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(to);
    let file = options.with_context(|| to.display().to_string())?;
    let there = file.metadata()?.len();
    // Longer than the object: not ours.
    let begin = if there > object.bytes { 0 } else { there };
    file.set_len(begin)?;
    let mut at = begin;
    while at < object.bytes {
        let end = object.bytes.min(at + PIECE_BYTES);
        let piece = piece(connection, name, object, at..end).await?;
        file.write_all_at(&piece, at)
            .with_context(|| to.display().to_string())?;
        at = end;
    }
    file.sync_data()?;
    Ok(object.bytes - begin)
}

async fn piece(
    connection: &Connection,
    name: &str,
    object: &Object,
    range: std::ops::Range<u64>,
) -> anyhow::Result<Vec<u8>> {
    let mut pause = PAUSE;
    for attempt in 1.. {
        match one_answer(connection, name, object, range.clone()).await {
            Ok(piece) => return Ok(piece),
            Err(Ended::Finally(error)) => return Err(error),
            Err(Ended::Cut(error)) if attempt == ATTEMPTS => {
                return Err(error.context(format!("{name}: {ATTEMPTS} attempts")));
            }
            Err(Ended::Cut(_)) => {}
        }
        sleep(pause).await;
        pause *= 2;
    }
    Err(anyhow!("{name}: it cannot be downloaded"))
}

enum Ended {
    /// A retry would fail again.
    Finally(anyhow::Error),
    /// A retry may succeed.
    Cut(anyhow::Error),
}

async fn one_answer(
    connection: &Connection,
    name: &str,
    object: &Object,
    range: std::ops::Range<u64>,
) -> Result<Vec<u8>, Ended> {
    let changed = || {
        Ended::Finally(anyhow!(
            "{name}: the object has changed since it was listed (hint: fetch again)"
        ))
    };
    let options = GetOptions {
        range: Some(GetRange::Bounded(range.clone())),
        if_match: object.e_tag.clone(),
        ..GetOptions::default()
    };
    let path = object_store::path::Path::parse(format!("{}/{name}", connection.prefix));
    let path = path.map_err(|error| Ended::Finally(error.into()))?;
    let answer = connection.store.get_opts(&path, options).await;
    let answer = answer.map_err(|error| match error {
        Error::Precondition { .. } | Error::NotFound { .. } => changed(),
        // The store's client has tried it again already.
        error => Ended::Finally(connection.failed(&error).context(name.to_owned())),
    })?;
    if answer.meta.size != object.bytes {
        return Err(changed());
    }
    let expected = range.end - range.start;
    let mut bytes = Vec::new();
    let mut chunks = answer.into_stream();
    while let Some(chunk) = chunks.next().await {
        bytes.extend(chunk.map_err(|error| Ended::Cut(connection.failed(&error)))?);
        if bytes.len() as u64 > expected {
            return Err(Ended::Finally(anyhow!(
                "{name}: the store sends more than the {expected} bytes that were asked for"
            )));
        }
    }
    match bytes.len() as u64 {
        length if length == expected => Ok(bytes),
        length => Err(Ended::Cut(anyhow!(
            "received {length} bytes instead of {expected}"
        ))),
    }
}
