//! Results from the device.

use trueno_recorder::{Element, Fingerprint, Partial};

/// Bits of the first elements, then sampled values; a word each.
pub const HEAD_WORDS: usize = Fingerprint::FIRST_ELEMENTS + SAMPLES;
/// Words of a [`Partial`].
pub const PARTIAL_WORDS: usize = size_of::<Partial>() / 8;
const SAMPLES: usize = 16;

/// The fingerprint and the sampled values of a tensor: from the words of the head and of the
/// partials behind it.
pub fn decode<T: Element>(words: &[u64], elements: u64) -> (Fingerprint, Vec<f64>) {
    let (head, partials) = words.split_at(HEAD_WORDS);
    let (first, samples) = head.split_at(Fingerprint::FIRST_ELEMENTS);
    let there = elements.min(first.len() as u64) as usize;
    let first: Vec<u8> = first[..there]
        .iter()
        .flat_map(|bits| bits.to_le_bytes().into_iter().take(size_of::<T>()))
        .collect();
    let partials: Vec<Partial> = partials
        .chunks_exact(PARTIAL_WORDS)
        .map(|words| Partial {
            even: words[0],
            odd: words[1],
            sum: f64::from_bits(words[2]),
            squares: f64::from_bits(words[3]),
            min: f64::from_bits(words[4]),
            max: f64::from_bits(words[5]),
            nan: words[6],
            inf: words[7],
            zero: words[8],
        })
        .collect();
    let samples = samples
        .iter()
        .enumerate()
        .take_while(|(nth, _)| Fingerprint::sample_place(*nth, elements).is_some())
        .map(|(_, bits)| f64::from_bits(*bits))
        .collect();
    (
        Fingerprint::from_partials::<T>(&partials, elements, &first),
        samples,
    )
}
