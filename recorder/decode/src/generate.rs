//! The whole run: weights, prompt, then token after token.

use super::attention::HeadNames;
use super::head_pool::HeadPool;
use super::model::Model;
use super::probe::Probe;
use super::random::Random;
use super::sampling::Sampler;
use super::weights::{Shape, Weights};
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use trueno_recorder::Source;

#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Its `positions` must hold the prompt and all tokens.
    pub shape: Shape,
    pub seed: u64,
    pub prompt: usize,
    pub tokens: usize,
    /// Number of threads that share the heads.
    pub threads: usize,
    /// True if the prompt uses the blocked product.
    pub blocked: bool,
}

pub struct Generated {
    pub prompt: Vec<usize>,
    pub tokens: Vec<usize>,
    /// The logits that each token was drawn from; only filled in tests.
    #[cfg(test)]
    pub logits: Vec<Vec<f32>>,
    /// Wall time of the prompt and the first token.
    pub prefill: Duration,
    /// Wall time of the loop over the other tokens.
    pub decode: Duration,
}

/// Generates `plan.tokens` tokens. Iteration 0 processes the prompt and draws the first token; each further
/// iteration processes the token before it.
///
/// # Errors
/// No threads can be started.
pub fn generate(plan: &Plan, probe: &Probe) -> io::Result<Generated> {
    let rec = &probe.rec;
    let weights = {
        let _making = rec.function("make weights");
        Weights::random(&plan.shape, plan.seed)
    };
    rec.allocation("weights", weights.bytes() as i64, None);
    let names: Vec<HeadNames> = (0..plan.shape.heads).map(HeadNames::new).collect();

    std::thread::scope(|scope| {
        let pool = HeadPool::start(scope, probe, &names, plan.threads)?;
        let mut model = Model::new(plan.shape, &weights, probe, &pool, plan.blocked);
        rec.allocation("key/value cache", model.cache_bytes() as i64, None);
        let mut sampler = Sampler::new(plan.shape.vocab, plan.seed);
        let mut random = Random::new(plan.seed, 3);
        let prompt: Vec<usize> = (0..plan.prompt)
            .map(|_| random.below(plan.shape.vocab))
            .collect();

        let mut out = Generated {
            prompt: prompt.clone(),
            tokens: Vec::with_capacity(plan.tokens),
            #[cfg(test)]
            logits: Vec::new(),
            prefill: Duration::ZERO,
            decode: Duration::ZERO,
        };
        let mut input = prompt;
        let mut position = 0;
        let mut since = Instant::now();
        for number in 0..plan.tokens {
            let _iteration = rec.iteration(number as u64);
            // What tokens per second are counted in: one is generated in each iteration.
            rec.counter("tokens", 1.0, "token", Source::Declared);
            probe.iteration.store(number as u64, Relaxed);
            let logits = model.forward(&input, position);
            position += input.len();
            let token = sampler.draw(probe, logits, position - 1);
            #[cfg(test)]
            out.logits.push(logits.to_vec());
            out.tokens.push(token);
            input.clear();
            input.push(token);
            if number == 0 {
                out.prefill = since.elapsed();
                since = Instant::now();
            }
        }
        out.decode = since.elapsed();
        Ok(out)
    })
}
