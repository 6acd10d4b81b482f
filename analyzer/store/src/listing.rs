//! The objects of a folder, and the version that they make together.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use futures::TryStreamExt;
use object_store::ObjectMeta;
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use crate::connection::Connection;

/// Limit on listed objects. A job of 10,000 ranks has some 300,000.
const MAX_OBJECTS: usize = 10_000_000;
/// Limit on the time for the next object. A store may give pages without any.
const OBJECT: Duration = Duration::from_secs(300);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub bytes: u64,
    /// Its ETag, else its version or time. Each changes when the object is written.
    pub tag: String,
    pub e_tag: Option<String>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Listing(pub BTreeMap<String, Object>);

impl Listing {
    /// Lists a folder.
    ///
    /// # Errors
    /// The store does not answer, or refuses; a name is none of a file below the folder; there is nothing.
    pub async fn of(connection: &Connection) -> anyhow::Result<Self> {
        let prefix = (!connection.prefix.as_ref().is_empty()).then_some(&connection.prefix);
        let mut objects = BTreeMap::new();
        let mut listed = connection.store.list(prefix);
        while let Some(meta) = timeout(OBJECT, listed.try_next())
            .await
            .with_context(|| format!("{connection}: no object came for {} s", OBJECT.as_secs()))?
            .map_err(|error| connection.failed(&error))?
        {
            let Some(name) = below(&connection.prefix, &meta)? else {
                continue;
            };
            let object = described(meta);
            if objects.insert(name.clone(), object).is_some() {
                bail!("{connection}: the store lists {name:?} twice");
            }
            ensure!(
                objects.len() <= MAX_OBJECTS,
                "more than {MAX_OBJECTS} objects"
            );
        }
        without_folders(&mut objects)?;
        Ok(Self(objects))
    }

    /// A hash of names and tags, independent of who lists them.
    pub fn version(&self) -> String {
        let mut hash = Sha256::new();
        for (name, object) in &self.0 {
            for text in [name, &object.tag] {
                hash.update((text.len() as u64).to_le_bytes());
                hash.update(text.as_bytes());
            }
            hash.update(object.bytes.to_le_bytes());
        }
        hex(&hash.finalize()[..16])
    }

    pub fn bytes(&self) -> u64 {
        let bytes = self.0.values().map(|object| object.bytes);
        bytes.fold(0, u64::saturating_add)
    }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn described(meta: ObjectMeta) -> Object {
    let other = || {
        meta.version
            .clone()
            .unwrap_or_else(|| meta.last_modified.to_rfc3339())
    };
    Object {
        bytes: meta.size,
        tag: meta.e_tag.clone().unwrap_or_else(other),
        e_tag: meta.e_tag,
    }
}

/// The name of an object relative to the folder; `None` if it belongs to a copied mirror.
fn below(prefix: &object_store::path::Path, meta: &ObjectMeta) -> anyhow::Result<Option<String>> {
    let full = meta.location.as_ref();
    let name = match prefix.as_ref() {
        "" => Some(full),
        prefix => full
            .strip_prefix(prefix)
            .and_then(|rest| rest.strip_prefix('/')),
    };
    let Some(name) = name else {
        // The folder itself, as consoles make it, or an object of that name.
        return Ok(None);
    };
    is_file_below(name)?;
    Ok((name.split('/').next() != Some(trueno_store::source::FOLDER)).then(|| name.to_owned()))
}

/// Rejects names that point outside the folder or cannot be file names.
fn is_file_below(name: &str) -> anyhow::Result<()> {
    let is_odd = |part: &str| ["", ".", ".."].contains(&part) || part.len() > 255;
    ensure!(
        !name.split('/').any(is_odd) && !name.contains('\0') && name.len() < 3_000,
        "the object {name:?} is refused: its file would be outside the folder"
    );
    Ok(())
}

/// Removes empty objects that represent folders. It is an error if an object with content is both a file and a
/// folder.
fn without_folders(objects: &mut BTreeMap<String, Object>) -> anyhow::Result<()> {
    let mut folders = Vec::new();
    for (name, object) in objects.iter() {
        let below = format!("{name}/");
        let next = objects.range(below.clone()..).next();
        if next.is_some_and(|(next, _)| next.starts_with(&below)) {
            match object.bytes {
                0 => folders.push(name.clone()),
                _ => bail!("the object {name:?} is refused: there are objects below it"),
            }
        }
    }
    for name in folders {
        objects.remove(&name);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(bytes: u64, tag: &str) -> Object {
        let tag = tag.to_owned();
        Object {
            bytes,
            e_tag: Some(tag.clone()),
            tag,
        }
    }

    fn listing(objects: &[(&str, u64, &str)]) -> Listing {
        let objects = objects
            .iter()
            .map(|(name, bytes, tag)| ((*name).to_owned(), object(*bytes, tag)));
        Listing(objects.collect())
    }

    #[test]
    fn versions_are_of_names_lengths_and_tags() {
        let one = listing(&[("a", 1, "x"), ("b", 2, "y")]).version();
        assert_eq!(one, listing(&[("b", 2, "y"), ("a", 1, "x")]).version());
        for other in [
            listing(&[("a", 1, "x")]),
            listing(&[("a", 1, "x"), ("b", 3, "y")]),
            listing(&[("a", 1, "x"), ("b", 2, "z")]),
            listing(&[("a", 1, "x"), ("c", 2, "y")]),
        ] {
            assert_ne!(one, other.version(), "{other:?}");
        }
    }

    #[test]
    fn names_that_would_leave_the_folder_are_refused() {
        for name in ["../a", "a/../../b", "/a", "a//b", "./a", "a/.", "a\0b", ""] {
            assert!(is_file_below(name).is_err(), "{name:?}");
        }
        for name in ["a", "rank=0/kernels/1.arrow", "a..b", ".a"] {
            assert!(is_file_below(name).is_ok(), "{name:?}");
        }
    }

    #[test]
    fn markers_of_folders_are_no_files() {
        let mut found = listing(&[
            ("rank=0", 0, "x"),
            ("rank=0/run.json", 2, "y"),
            ("rank=0.old", 0, "z"),
        ]);
        without_folders(&mut found.0).unwrap();
        assert_eq!(
            found,
            listing(&[("rank=0/run.json", 2, "y"), ("rank=0.old", 0, "z")])
        );
        let mut both = listing(&[("a", 1, "x"), ("a/b", 1, "x")]);
        assert!(without_folders(&mut both.0).is_err());
    }
}
