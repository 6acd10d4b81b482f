//! The command line.

use clap::{ArgAction, Parser, ValueEnum};
use std::path::PathBuf;
use trueno_decode::backend::Backend;
use trueno_decode::generate::Plan;
use trueno_decode::plant::Plant;
use trueno_decode::probe::{Exp, Level};
use trueno_decode::slow::Slow;
use trueno_decode::weights::Shape;

/// Decode tokens with a small random transformer and record how it went.
#[derive(Parser, Debug)]
#[command(name = "decode")]
pub struct Options {
    /// The run directory to write.
    #[arg(long, value_name = "DIR", default_value = "decode.run")]
    pub out: PathBuf,
    /// Replace a run that is there already.
    #[arg(long)]
    pub overwrite: bool,
    /// Instruction set that computes; auto takes the widest this CPU has.
    #[arg(long, value_enum, default_value = "auto")]
    pub backend: AskedBackend,
    /// Transformer layers.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = size())]
    pub layers: u64,
    /// Tokens to generate, one iteration each.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = size())]
    pub tokens: u64,
    /// Tokens of the prompt, taken in iteration 0.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = size())]
    pub prompt: u64,
    /// Width of the residual stream.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = size())]
    pub dim: u64,
    /// Attention heads; the width of a head must be even.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = size())]
    pub heads: u64,
    /// Width of the feed-forward network.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = size())]
    pub ffn: u64,
    /// Tokens known.
    #[arg(long, value_name = "N", default_value_t = 2048, value_parser = size())]
    pub vocab: u64,
    /// Seed of weights, prompt and draws.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Threads the attention heads are spread over; 1 keeps them on the main thread.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=256))]
    pub threads: u64,
    /// Make a brick take about FACTOR times as long, by repeating its work.
    #[arg(long, value_name = "BRICK=FACTOR")]
    pub slow: Option<Slow>,
    /// Make one element behind the first 64 of what the kernels of a brick give 5 % larger, or NaN.
    #[arg(long, value_name = "BRICK@LAYER[:ITERATION][=error|nan]")]
    pub plant: Option<Plant>,
    /// Take the attention heads from the last to the first; needs --threads 1.
    #[arg(long)]
    pub reverse_heads: bool,
    /// Take the prompt through a blocked, packed matrix product (off: row by row).
    #[arg(long, value_name = "on|off", default_value = "on", action = ArgAction::Set, value_parser = on_off)]
    pub tiles: bool,
    /// Fingerprint the output of each brick.
    #[arg(long, value_name = "on|off", default_value = "on", action = ArgAction::Set, value_parser = on_off)]
    pub checksums: bool,
    /// Depth of the recording.
    #[arg(long, value_enum, default_value = "tile")]
    pub level: Level,
    /// Source of the exp that the softmax uses.
    #[arg(long, value_enum, default_value = "precise")]
    pub exp: Exp,
    /// Keep in the run what this machine can do at most; measured where nothing is kept of it.
    #[arg(long)]
    pub peaks: bool,
    /// Count cycles, instructions, caches, FLOPs and CPU time of each brick, as far as this machine can.
    #[arg(long)]
    pub counters: bool,
    /// Record nothing, to see what recording costs.
    #[arg(long)]
    pub no_record: bool,
}

/// The word after `--backend`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AskedBackend {
    /// No SIMD.
    Scalar,
    /// 128 bits.
    Sse2,
    /// 256 bits, with FMA.
    Avx2,
    /// 512 bits.
    Avx512,
    /// The widest this CPU has.
    Auto,
}

impl AskedBackend {
    /// Resolves the choice on this machine.
    pub fn backend(self) -> Backend {
        match self {
            AskedBackend::Scalar => Backend::Scalar,
            AskedBackend::Sse2 => Backend::Sse2,
            AskedBackend::Avx2 => Backend::Avx2,
            AskedBackend::Avx512 => Backend::Avx512,
            AskedBackend::Auto => Backend::widest(),
        }
    }
}

impl Options {
    /// Gives the plan of the generation.
    ///
    /// # Errors
    /// Heads that do not divide the width evenly.
    pub fn plan(&self) -> Result<Plan, String> {
        if !self.dim.is_multiple_of(2 * self.heads) {
            return Err(format!(
                "--dim {} does not give {} heads of an even width (hint: --dim {})",
                self.dim,
                self.heads,
                self.dim.next_multiple_of(2 * self.heads)
            ));
        }
        if self.reverse_heads && self.threads > 1 {
            return Err("--reverse-heads needs one thread (hint: --threads 1)".to_owned());
        }
        if let Some(plant) = self
            .plant
            .filter(|plant| u64::from(plant.layer) >= self.layers)
        {
            return Err(format!(
                "--plant {plant}: the model has {} layers, the first is 0",
                self.layers
            ));
        }
        Ok(Plan {
            shape: Shape {
                layers: self.layers as usize,
                dim: self.dim as usize,
                heads: self.heads as usize,
                ffn: self.ffn as usize,
                vocab: self.vocab as usize,
                positions: (self.prompt + self.tokens) as usize,
            },
            seed: self.seed,
            prompt: self.prompt as usize,
            tokens: self.tokens as usize,
            threads: self.threads as usize,
            blocked: self.tiles,
        })
    }
}

fn size() -> clap::builder::RangedU64ValueParser<u64> {
    clap::value_parser!(u64).range(1..=1 << 20)
}

fn on_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("expected on or off, found \"{text}\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> Result<Plan, String> {
        let words = std::iter::once("decode").chain(words.split_whitespace());
        Options::try_parse_from(words)
            .map_err(|error| error.to_string())?
            .plan()
    }

    #[test]
    fn a_plan_has_room_for_prompt_and_tokens() {
        let plan = parsed("--prompt 5 --tokens 7 --tiles off").unwrap();
        assert_eq!(plan.shape.positions, 12);
        assert!(!plan.blocked);
    }

    #[test]
    fn what_makes_no_model_is_refused() {
        for (words, part) in [
            ("--dim 30 --heads 4", "(hint: --dim 32)"),
            ("--dim 12 --heads 4", "(hint: --dim 16)"),
            ("--layers 0", "0 is not in 1..="),
            ("--threads 0", "0 is not in 1..="),
            ("--layers 2 --plant LmHead@2", "the model has 2 layers"),
            ("--threads 2 --reverse-heads", "needs one thread"),
            ("--tiles yes", "expected on or off"),
            ("--slow Softmax=2", "no brick"),
            (
                "--backend neon",
                "possible values: scalar, sse2, avx2, avx512, auto",
            ),
        ] {
            let message = parsed(words).unwrap_err();
            assert!(message.contains(part), "{words}: {message}");
        }
    }
}
