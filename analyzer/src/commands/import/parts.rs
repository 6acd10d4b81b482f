//! Parts of a file that become ranks of one run: processes of an export, ranks that a tool merged.

use std::path::Path;

use anyhow::bail;
use trueno_import::Options;

use super::job::Member;
use super::single::{self, Input};
use crate::commands::stderr::Stderr;

pub(in crate::commands) struct Part<'f> {
    pub(in crate::commands) file: &'f Path,
    /// `None` uses its index among the parts.
    pub(in crate::commands) rank: Option<u32>,
    pub(in crate::commands) options: Options,
}

/// Imports the parts into the existing folder `work`. `shown` is the run's final path, for messages.
///
/// # Errors
/// A part cannot be read, or two would be the same rank.
pub(in crate::commands) fn import(
    parts: &[Part<'_>],
    format: Option<&str>,
    work: &Path,
    shown: &Path,
    stderr: &Stderr,
) -> anyhow::Result<Vec<Member>> {
    let mut members = Vec::new();
    for (place, part) in (0_u32..).zip(parts) {
        let rank = part.rank.unwrap_or(place);
        let title = part.options.part.as_ref().map(trueno_import::Part::title);
        let title = title.unwrap_or_default();
        stderr.step(&format!("reading {}, {title}", part.file.display()));
        let name = format!("rank={rank}");
        let folder = work.join(&name);
        if folder.exists() {
            bail!("two processes would both be rank {rank} by --ranks (hint: give each its own)");
        }
        let input = Input {
            files: &[part.file],
            label: None,
            format,
            options: &part.options,
        };
        let shown = shown.join(name);
        members.push(Member {
            rank: Some(rank),
            summary: single::import(&input, &folder, &shown, stderr)?.summary,
        });
    }
    members.sort_by_key(|member| member.rank);
    Ok(members)
}
