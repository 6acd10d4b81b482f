//! Texts that are values of the program, and so may be any number of different ones.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::Name;
use crate::reentrancy::ReentrancyGuard;

pub(crate) const MAX_TEXT_BYTES: usize = 1 << 16;
/// Limit on the size of all texts of one sort in a process, because they are never freed.
const MAX_BYTES: usize = 64 << 20;

/// Texts of one sort, limited in their total number of bytes.
pub(crate) struct LimitedTexts(AtomicUsize);

impl LimitedTexts {
    pub const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Interns a text; `None`: it is too long, or there are too many, and it is not kept.
    pub fn intern(&self, text: &str) -> Option<Name> {
        if text.len() > MAX_TEXT_BYTES {
            return None;
        }
        let _reentrancy = ReentrancyGuard::enter();
        Name::known(text).or_else(|| {
            let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
            let more = |bytes: usize| {
                let sum = bytes + text.len();
                (sum <= MAX_BYTES).then_some(sum)
            };
            self.0.fetch_update(set, fetch, more).ok()?;
            Some(Name::new(text))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_until_there_are_too_many() {
        let texts = LimitedTexts::new();
        assert_eq!(texts.intern(&"x".repeat(MAX_TEXT_BYTES + 1)), None);
        let kept = texts.intern("a value").unwrap();
        assert_eq!(kept.as_str(), "a value");
        texts.0.store(MAX_BYTES - 8, Ordering::Relaxed);
        assert_eq!(texts.intern("another value"), None);
        assert_eq!(texts.intern("a value"), Some(kept), "it is there already");
        assert!(texts.intern("a v").is_some(), "a shorter one has room");
    }
}
