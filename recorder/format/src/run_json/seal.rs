//! The seal of `run.json`: its last member is the hash of all text before it, so that no fact changes unseen.

use serde::Serialize;
use serde_json::Value;

use crate::journal::chunk_hash;

/// First minor version of the format whose `run.json` is sealed.
const SEALED_SINCE: u64 = 5;
const KEY: &str = "xxh3";
/// Text before and after the hash in a file as it is written.
const BEFORE: &str = ",\n  \"xxh3\": \"";
const BEHIND: &str = "\"\n}\n";
const DIGITS: usize = 16;

/// State of the seal of a `run.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seal {
    /// The text is unchanged.
    Right,
    /// An older version of the format, which has no seal.
    NotExpected,
    /// The text was changed: the hash is wrong or missing.
    Broken,
}

impl Seal {
    /// The seal of this text.
    pub fn of(text: &[u8]) -> Seal {
        if let Some((before, hash)) = split(text) {
            return if chunk_hash(before).as_bytes() == hash {
                Seal::Right
            } else {
                Seal::Broken
            };
        }
        let run: Value = serde_json::from_slice(text).unwrap_or_default();
        match run["format"]["minor"].as_u64() {
            Some(minor) if minor < SEALED_SINCE && run.get(KEY).is_none() => Seal::NotExpected,
            _ => Seal::Broken,
        }
    }
}

fn split(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let sealed = text.strip_suffix(BEHIND.as_bytes())?;
    let (before, hash) = sealed.split_at_checked(sealed.len().checked_sub(DIGITS)?)?;
    Some((before.strip_suffix(BEFORE.as_bytes())?, hash))
}

/// The text of a `run.json`, sealed.
///
/// # Errors
/// It is no JSON object; never for what this crate makes.
pub fn sealed(run: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut text = serde_json::to_string_pretty(run)?;
    // Behind the last member.
    text.truncate(text.strip_suffix("\n}").unwrap_or(&text).len());
    let hash = chunk_hash(text.as_bytes());
    text.extend([BEFORE, &hash, BEHIND]);
    Ok(text.into_bytes())
}

/// The text of a `run.json` that takes the place of `old`: not sealed where what it was made of was changed unseen.
///
/// # Errors
/// As [`sealed`].
pub fn resealed(old: &[u8], run: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut run = serde_json::to_value(run)?;
    if let Value::Object(members) = &mut run {
        members.remove(KEY);
    }
    // Of an older version: else the name of the member could change, and nobody would expect one.
    let minor = run["format"]["minor"].as_u64().unwrap_or(0);
    run["format"]["minor"] = minor.max(SEALED_SINCE).into();
    if Seal::of(old) != Seal::Broken {
        return sealed(&run);
    }
    let mut text = serde_json::to_vec_pretty(&run)?;
    text.push(b'\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_json::{Format, RunJson};

    fn run(minor: u32) -> RunJson {
        RunJson {
            format: Format {
                name: "trueno-run".into(),
                major: 1,
                minor,
            },
            run_id: "0123456789abcdef".into(),
            wall_ns: Some(4_045_422),
            ..RunJson::default()
        }
    }

    #[test]
    fn any_flipped_bit_breaks_the_seal_or_the_text() {
        let text = sealed(&run(5)).unwrap();
        assert_eq!(Seal::of(&text), Seal::Right);
        assert_eq!(serde_json::from_slice::<RunJson>(&text).unwrap(), run(5));
        for bit in 0..text.len() * 8 {
            let mut flipped = text.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Seal::of(&flipped), Seal::Broken, "bit {bit}");
        }
        for end in 0..text.len() {
            assert_eq!(Seal::of(&text[..end]), Seal::Broken, "cut at {end}");
        }
    }

    #[test]
    fn older_versions_have_none() {
        let text = serde_json::to_vec_pretty(&run(4)).unwrap();
        assert_eq!(Seal::of(&text), Seal::NotExpected);
        let text = resealed(&text, &run(4)).unwrap();
        assert_eq!(Seal::of(&text), Seal::Right);
        for bit in 0..text.len() * 8 {
            let mut flipped = text.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Seal::of(&flipped), Seal::Broken, "bit {bit}");
        }
        // Sealed anew, and not twice.
        let value: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(Seal::of(&resealed(&text, &value).unwrap()), Seal::Right);
    }

    #[test]
    fn what_was_changed_is_never_sealed_again() {
        let text = String::from_utf8(sealed(&run(5)).unwrap()).unwrap();
        let changed = text.replace("4045422", "8045422");
        let run: RunJson = serde_json::from_str(&changed).unwrap();
        let anew = resealed(changed.as_bytes(), &run).unwrap();
        assert_eq!(Seal::of(&anew), Seal::Broken);
    }
}
