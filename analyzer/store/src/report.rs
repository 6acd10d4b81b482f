//! `trueno-store report`: a report of a job in a store, by `trueno-analyze report` over its mirror.

use std::env;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, anyhow, ensure};
use trueno_store::source::{Source, try_hold};

use crate::cli::ReportArgs;
use crate::uri::StoreUri;
use crate::{analyzer, cache, fetch};

/// Mirrors the job and replaces this process by the analyzer, whose exit code it thus has.
pub async fn run(args: &ReportArgs) -> anyhow::Result<()> {
    let analyze = analyzer::found(args.analyze.as_deref())?;
    let folder = match &args.uri {
        StoreUri::File(folder) => folder.clone(),
        uri => {
            let folder = cache::mirror_of(uri, &cache::folder(args.fetch_to.as_deref())?);
            let version = fetch::mirror(uri, &folder, None).await?.version;
            hold(&folder)?;
            // Another may have fetched since.
            let source = Source::read(&folder)?.and_then(|source| source.version);
            ensure!(
                source == Some(version),
                "{uri}: other processes are fetching another version into {}",
                folder.display()
            );
            folder
        }
    };
    let mut command = Command::new(&analyze);
    command.arg("report").arg(&folder).args(&args.flags);
    // Where the analyzer looks for this command if it is not beside it.
    let own = env::current_exe()?;
    let folders = env::var_os("PATH").unwrap_or_default();
    let folders = own
        .parent()
        .map(ToOwned::to_owned)
        .into_iter()
        .chain(env::split_paths(&folders));
    command.env("PATH", env::join_paths(folders)?);
    let error = command.exec();
    Err(anyhow!(error).context(analyze.display().to_string()))
}

/// Locks the mirror until the analyzer has ended. The lock belongs to the open file, which the analyzer inherits.
fn hold(folder: &std::path::Path) -> anyhow::Result<()> {
    let held = try_hold(folder).with_context(|| folder.display().to_string())?;
    let held = held.with_context(|| {
        format!(
            "{}: other processes are changing it (hint: try again)",
            folder.display()
        )
    })?;
    // SAFETY: a call with numbers, of a file that is open.
    let code = unsafe { libc::fcntl(held.as_raw_fd(), libc::F_SETFD, 0) };
    ensure!(code == 0, std::io::Error::last_os_error());
    std::mem::forget(held);
    Ok(())
}
