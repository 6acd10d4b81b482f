//! Inputs made of others: bytes changed, taken away and doubled, words of a dictionary put in, two inputs joined.

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    /// A number below `end`; 0 if `end` is 0.
    fn below(&mut self, end: usize) -> usize {
        (self.word() % end.max(1) as u64) as usize
    }

    /// A number from 1 to `most`; small ones are more likely.
    fn count(&mut self, most: usize) -> usize {
        1 + self.below(most).min(self.below(most))
    }
}

pub struct Mutator {
    corpus: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
    random: Random,
}

impl Mutator {
    pub fn new(corpus: Vec<Vec<u8>>, dictionary: &str, random: Random) -> Self {
        assert!(!corpus.is_empty(), "an empty corpus");
        let words = dictionary.lines().filter_map(|line| {
            let word = line.trim().strip_prefix('"')?.strip_suffix('"')?;
            Some(unescaped(word))
        });
        Self {
            corpus,
            words: words.collect(),
            random,
        }
    }

    pub fn input(&mut self) -> Vec<u8> {
        let Self {
            corpus,
            words,
            random,
        } = self;
        let mut bytes = corpus[random.below(corpus.len())].clone();
        for _ in 0..random.count(8) {
            let at = random.below(bytes.len() + 1);
            let end = (at + random.count(64)).min(bytes.len());
            match random.below(10) {
                0 | 1 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
                2 if at < bytes.len() => bytes[at] = random.word() as u8,
                3 => drop(bytes.drain(at..end)),
                4 => {
                    let piece = bytes[at..end].to_vec();
                    let to = random.below(bytes.len() + 1);
                    bytes.splice(to..to, piece);
                }
                5 => bytes[at..end].fill([0, 0xff, b'"', b'9'][random.below(4)]),
                6 | 7 if !words.is_empty() => {
                    let word = words[random.below(words.len())].clone();
                    let over = at + random.below(2) * (end - at).min(word.len());
                    bytes.splice(at..over, word);
                }
                8 => {
                    let other = &corpus[random.below(corpus.len())];
                    let from = random.below(other.len() + 1);
                    bytes.truncate(at);
                    bytes.extend_from_slice(&other[from..]);
                }
                _ if random.below(8) == 0 => bytes.truncate(at),
                _ => {}
            }
        }
        bytes.truncate(1 << 16);
        bytes
    }
}

/// Decodes a word of a libFuzzer dictionary.
fn unescaped(word: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = word.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        let hex = behind
            .strip_prefix(b"x")
            .and_then(|hex| hex.split_at_checked(2));
        match hex.filter(|_| *first == b'\\') {
            Some((hex, behind)) => {
                let hex = std::str::from_utf8(hex).unwrap();
                out.push(u8::from_str_radix(hex, 16).unwrap());
                rest = behind;
            }
            None => out.push(*first),
        }
    }
    out
}
