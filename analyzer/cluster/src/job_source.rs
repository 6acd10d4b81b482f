//! The job of a driver: a folder that all machines see, or one in an object store.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use tokio::time::Instant;
use trueno_store::source::Source;

use crate::remote_job::fetched;
use crate::task::Remote;

pub struct Job {
    pub folder: PathBuf,
    pub remote: Option<Remote>,
}

impl Job {
    /// Finds a job. One in an object store is mirrored.
    ///
    /// # Errors
    /// It is not there; the store does not give it by the deadline; it is half a mirror.
    pub async fn find(job: &Path, mirrors: Option<&Path>, end: Instant) -> anyhow::Result<Self> {
        let folder = match job.to_str().filter(|text| text.contains("://")) {
            Some(uri) => {
                let (uri, mirrors) = (uri.to_owned(), mirrors.map(Path::to_owned));
                let fetch = move || fetched(&uri, None, mirrors.as_deref(), end.into_std());
                tokio::task::spawn_blocking(fetch)
                    .await?
                    .map_err(|why| anyhow!(why))?
            }
            None => job.to_owned(),
        };
        let folder = folder.canonicalize();
        let folder = folder.with_context(|| format!("--job {}", job.display()))?;
        let remote = match Source::read(&folder)? {
            None => None,
            Some(Source {
                uri,
                version: Some(version),
                ..
            }) => Some(Remote { uri, version }),
            Some(Source { uri, .. }) => bail!(
                "{0}: it is not a whole mirror (hint: trueno-store fetch {uri} {0})",
                folder.display()
            ),
        };
        Ok(Self { folder, remote })
    }
}
