//! The secret in the address of the page.

use std::fs::File;
use std::io::{self, Read};

const BYTES: usize = 16;

/// A server's secret, new with each start.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    /// Reads random bytes from the system.
    ///
    /// # Errors
    /// The system has no source of randomness.
    pub(crate) fn random() -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self(
            bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        ))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Compares in constant time.
    pub(crate) fn is(&self, given: &str) -> bool {
        let (own, given) = (self.0.as_bytes(), given.as_bytes());
        let differing = own.iter().zip(given).fold(0, |sum, (a, b)| sum | (a ^ b));
        own.len() == given.len() && std::hint::black_box(differing) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_right() {
        let token = Token::random().unwrap();
        let text = token.text().to_owned();
        assert_eq!(text.len(), 2 * BYTES);
        assert!(token.is(&text));
        for wrong in ["", &text[1..], &format!("{text}0"), &"0".repeat(32)] {
            assert!(!token.is(wrong), "{wrong}");
        }
        assert_ne!(Token::random().unwrap().text(), text);
    }
}
