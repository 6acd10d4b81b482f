//! `trueno-cluster fetch`: makes a folder the mirror of a folder of a store.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use futures::StreamExt;
use futures::stream;
use serde::Serialize;

use trueno_store::source::Source;

use crate::cache;
use crate::cli::FetchArgs;
use crate::connection::{Connection, endpoint};
use crate::download::download;
use crate::listing::{Listing, Object};
use crate::mirror::Mirror;
use crate::uri::StoreUri;

const AT_ONCE: usize = 8;
/// Bytes to leave free on the file system.
const SPARE_BYTES: u64 = 64 << 20;

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub folder: PathBuf,
    pub files: usize,
    pub bytes: u64,
    pub fetched: usize,
    /// Bytes that were downloaded now. For a resumed file only the rest counts.
    pub fetched_bytes: u64,
    /// Files that were removed because their objects are gone.
    pub removed: usize,
    pub version: String,
}

pub async fn run(args: &FetchArgs) -> anyhow::Result<()> {
    let folder = match &args.folder {
        Some(folder) => std::path::absolute(folder)?,
        None => cache::mirror_of(&args.uri, &cache::folder(args.fetch_to.as_deref())?),
    };
    let summary = mirror(&args.uri, &folder, args.expect.as_deref()).await?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{}", serde_json::to_string(&summary)?).and_then(|()| stdout.flush())?;
    Ok(())
}

/// Makes a folder mirror a place. With an expected version, a mirror that has it is not compared with the store
/// again.
///
/// # Errors
/// The store does not give it, or it changes meanwhile; the folder is something else, or has no space.
pub async fn mirror(
    uri: &StoreUri,
    folder: &Path,
    expected: Option<&str>,
) -> anyhow::Result<Summary> {
    let source = Source {
        uri: uri.to_string(),
        endpoint: endpoint_of(uri),
        version: None,
    };
    let place = folder.to_owned();
    let opened = tokio::task::spawn_blocking(move || Mirror::open(&place, source)).await?;
    let mut mirror = opened.with_context(|| folder.display().to_string())?;
    if let Some(version) = expected.filter(|version| mirror.is_whole(version)) {
        let (files, bytes) = mirror.size();
        let version = version.to_owned();
        return Ok(Summary {
            folder: folder.to_owned(),
            files,
            bytes,
            version,
            ..Summary::default()
        });
    }
    let connection = Connection::open(uri)?;
    let listing = Listing::of(&connection).await?;
    ensure!(!listing.0.is_empty(), "{uri}: there is nothing");
    let version = listing.version();
    if expected.is_some_and(|expected| expected != version) {
        bail!("{uri}: its objects have changed since this began (hint: begin again)");
    }
    let missing = listing
        .0
        .iter()
        .filter(|(name, object)| !mirror.has(name, object));
    let missing: Vec<(&String, &Object)> = missing.collect();
    let mut summary = Summary {
        folder: folder.to_owned(),
        files: listing.0.len(),
        bytes: listing.bytes(),
        fetched: missing.len(),
        version: version.clone(),
        ..Summary::default()
    };
    if missing.is_empty() && mirror.is_whole(&version) {
        return Ok(summary);
    }
    mirror = tokio::task::spawn_blocking(move || mirror.begin()).await??;
    summary.removed = mirror.remove_unlisted(&listing)?;
    ensure_space(&mirror, &missing).with_context(|| folder.display().to_string())?;
    let partials = missing
        .iter()
        .map(|(name, object)| mirror.partial(name, object));
    let wanted: Vec<_> = missing.iter().copied().zip(partials).collect();
    let begun = wanted.into_iter().map(|((name, object), partial)| {
        let connection = &connection;
        async move {
            let came = download(connection, name, object, &partial).await?;
            anyhow::Ok((name, object, partial, came))
        }
    });
    let mut downloads = stream::iter(begun).buffer_unordered(AT_ONCE);
    while let Some(done) = downloads.next().await {
        let (name, object, partial, came) = done?;
        mirror.place(name, object, &partial)?;
        summary.fetched_bytes += came;
    }
    drop(downloads);
    let after = Listing::of(&connection).await?;
    ensure!(
        after.version() == version,
        "{uri}: its objects changed while they were fetched (hint: fetch again when no program is writing them)"
    );
    mirror.remove_partials()?;
    mirror.finish(&version)?;
    Ok(summary)
}

fn endpoint_of(uri: &StoreUri) -> Option<String> {
    match uri {
        StoreUri::S3 { .. } => endpoint(),
        StoreUri::File(_) => None,
    }
}

/// Fails early if there is too little space.
fn ensure_space(mirror: &Mirror, missing: &[(&String, &Object)]) -> anyhow::Result<()> {
    let there = |(name, object): &(&String, &Object)| {
        let partial = std::fs::metadata(mirror.partial(name, object));
        object
            .bytes
            .saturating_sub(partial.map_or(0, |partial| partial.len()))
    };
    let needed = missing.iter().map(there).fold(0, u64::saturating_add);
    let free = free_bytes(mirror.folder())?;
    ensure!(
        needed == 0 || free >= needed.saturating_add(SPARE_BYTES),
        "{needed} bytes are missing, and the file system has {free} free"
    );
    Ok(())
}

fn free_bytes(folder: &Path) -> anyhow::Result<u64> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(folder.as_os_str().as_bytes())?;
    let mut found = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: the path ends with a zero, and the structure is as large as the call expects; all zeros is one of its values.
    let (code, found) = unsafe {
        let code = libc::statvfs(path.as_ptr(), found.as_mut_ptr());
        (code, found.assume_init())
    };
    ensure!(code == 0, std::io::Error::last_os_error());
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}
