//! Folders for mirrors that nobody named a folder for.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use sha2::{Digest, Sha256};

use crate::connection::endpoint;
use crate::listing::hex;
use crate::uri::StoreUri;

/// The given folder of mirrors, or the user's default.
///
/// # Errors
/// The environment names none, or one that others can write.
pub fn folder(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(named) = named {
        return Ok(std::path::absolute(named)?);
    }
    let absolute = |name: &str| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    let caches = caches.context(
        "neither XDG_CACHE_HOME nor HOME names a folder for mirrors (hint: --fetch-to DIR)",
    )?;
    let folder = caches.join("trueno-analyze/mirrors");
    let shown = folder.display();
    fs::create_dir_all(&folder).with_context(|| format!("{shown}: cannot be made"))?;
    trueno_trust::check_folder(&folder).with_context(|| {
        format!("{shown}: no mirrors are kept there (hint: --fetch-to DIR names another folder)")
    })?;
    Ok(folder)
}

pub fn mirror_of(uri: &StoreUri, folder: &Path) -> PathBuf {
    let key = format!("{} {uri}", endpoint().unwrap_or_default());
    let hash = hex(&Sha256::digest(key.as_bytes())[..8]);
    let shown = uri.to_string();
    let last = shown
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default();
    let letters = last
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || "-_=".contains(*letter));
    let name: String = letters.take(40).collect();
    folder.join(format!("{name}-{hash}"))
}
