//! Drawing the next token.

use super::brick::Brick;
use super::probe::Probe;
use super::random::Random;

/// Draws from the softmax of the logits at one temperature.
pub struct Sampler {
    random: Random,
    temperature: f32,
    scaled: Vec<f32>,
    spare: Vec<f32>,
    probabilities: Vec<f32>,
}

impl Sampler {
    pub fn new(vocab: usize, seed: u64) -> Sampler {
        let row = vec![0.0; vocab];
        Sampler {
            random: Random::new(seed, 2),
            temperature: 0.8,
            scaled: row.clone(),
            spare: row.clone(),
            probabilities: row,
        }
    }

    pub fn draw(&mut self, probe: &Probe, logits: &[f32], position: usize) -> usize {
        let target = self.random.unit();
        let Sampler {
            scaled,
            spare,
            probabilities,
            ..
        } = self;
        let mut token = 0;
        let of = probe.brick(Brick::Sampling, 1, |kernels| {
            kernels.scale(logits, 1.0 / self.temperature, scaled);
            kernels.softmax(scaled, spare, probabilities);
            token = first_above(probabilities, target);
        });
        probe.checksum(of, "Sampling", position, &[token as u32], 1, 1);
        token
    }
}

/// The first index at which the running sum exceeds `target`; the last index
/// if rounding keeps the whole sum below it.
fn first_above(probabilities: &[f32], target: f32) -> usize {
    let mut total = 0.0;
    let found = probabilities.iter().position(|probability| {
        total += probability;
        total > target
    });
    found.unwrap_or(probabilities.len().saturating_sub(1))
}

/// FNV-1a, 64 bits, over the token numbers as little-endian `u32`.
pub fn checksum(tokens: &[usize]) -> u64 {
    let bytes = tokens
        .iter()
        .flat_map(|token| (*token as u32).to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
