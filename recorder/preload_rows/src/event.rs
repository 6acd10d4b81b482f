//! Events, as eight words of shared memory.

use crate::routines::{Precision, Routine};

pub const WORDS: usize = 8;
/// Longer library names are cut off.
pub const NAME_BYTES: usize = 48;

const CALL: u64 = 1;
const TAKEN: u64 = 2;
const GIVEN_BACK: u64 = 3;
const LIBRARY: u64 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub routine: Routine,
    pub precision: Precision,
    /// In the order of the routine's arguments; see [`Routine::sizes`].
    pub sizes: [i64; 3],
    pub is_right: bool,
    /// True if the output is written without being read.
    pub is_beta_zero: bool,
}

/// An event of a program. Times are those of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Call {
        request: Request,
        start_ns: u64,
        end_ns: u64,
    },
    /// A sampled allocation.
    Taken {
        time_ns: u64,
        address: u64,
        bytes: u64,
    },
    /// The free of a sampled allocation.
    GivenBack {
        time_ns: u64,
        address: u64,
        bytes: u64,
    },
    /// Name of a library whose routines are called from here on.
    Library([u8; NAME_BYTES]),
}

impl Event {
    #[inline(always)]
    pub fn words(&self) -> [u64; WORDS] {
        match *self {
            Self::Call {
                request,
                start_ns,
                end_ns,
            } => {
                let [m, n, k] = request.sizes.map(|size| size as u64);
                let what = CALL
                    | (request.routine as u64) << 8
                    | (request.precision as u64) << 16
                    | u64::from(request.is_right) << 24
                    | u64::from(request.is_beta_zero) << 25;
                [what, start_ns, end_ns, m, n, k, 0, 0]
            }
            Self::Taken {
                time_ns,
                address,
                bytes,
            } => [TAKEN, time_ns, address, bytes, 0, 0, 0, 0],
            Self::GivenBack {
                time_ns,
                address,
                bytes,
            } => [GIVEN_BACK, time_ns, address, bytes, 0, 0, 0, 0],
            Self::Library(name) => {
                let mut words = [0; WORDS];
                words[0] = LIBRARY;
                for (word, bytes) in words[1..].iter_mut().zip(name.as_chunks::<8>().0) {
                    *word = u64::from_ne_bytes(*bytes);
                }
                words
            }
        }
    }

    /// Decodes an event; `None` if it is invalid.
    pub fn from_words(words: &[u64; WORDS]) -> Option<Self> {
        let [what, time_ns, second, third, fourth, fifth, ..] = *words;
        let (address, bytes) = (second, third);
        match what & 0xff {
            CALL => Some(Self::Call {
                request: Request {
                    routine: *Routine::ALL.get((what >> 8) as usize & 0xff)?,
                    precision: *Precision::ALL.get((what >> 16) as usize & 0xff)?,
                    sizes: [third, fourth, fifth].map(|size| size as i64),
                    is_right: what >> 24 & 1 != 0,
                    is_beta_zero: what >> 25 & 1 != 0,
                },
                start_ns: time_ns,
                end_ns: second,
            }),
            TAKEN => Some(Self::Taken {
                time_ns,
                address,
                bytes,
            }),
            GIVEN_BACK => Some(Self::GivenBack {
                time_ns,
                address,
                bytes,
            }),
            LIBRARY => {
                let mut name = [0; NAME_BYTES];
                for (bytes, word) in name.as_chunks_mut::<8>().0.iter_mut().zip(&words[1..]) {
                    *bytes = word.to_ne_bytes();
                }
                Some(Self::Library(name))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_comes_back_as_it_was() {
        let request = Request {
            routine: Routine::Trsm,
            precision: Precision::Z,
            sizes: [1, -2, i64::MAX],
            is_right: true,
            is_beta_zero: false,
        };
        let mut name = [0; NAME_BYTES];
        name[..9].copy_from_slice(b"liblas.so");
        for event in [
            Event::Call {
                request,
                start_ns: 5,
                end_ns: 9,
            },
            Event::Taken {
                time_ns: 1,
                address: 2,
                bytes: 3,
            },
            Event::GivenBack {
                time_ns: 1,
                address: 2,
                bytes: 3,
            },
            Event::Library(name),
        ] {
            assert_eq!(Event::from_words(&event.words()), Some(event));
        }
        assert_eq!(Event::from_words(&[0; WORDS]), None);
        assert_eq!(Event::from_words(&[u64::MAX; WORDS]), None);
    }
}
