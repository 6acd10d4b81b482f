//! The bricks of this model.

use trueno_recorder::{BrickId, Name};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brick {
    /// Lookup of token rows.
    Embedding,
    RmsNorm,
    QkvProjection,
    RopeEmbedding,
    /// Writes keys and values into the cache. Not among the known bricks.
    KvCacheWrite,
    AttentionScore,
    AttentionSoftmax,
    /// Probabilities times values.
    AttentionOutput,
    /// Projection of the heads back to the residual stream.
    OutputProjection,
    /// Addition to the residual stream. Not among the known bricks.
    Residual,
    GateProjection,
    /// The other half of the gated feed-forward network.
    UpProjection,
    /// SiLU(gate) * up.
    Activation,
    /// Projection back to the residual stream.
    DownProjection,
    LmHead,
    Sampling,
}

impl Brick {
    /// All variants, in the order in which they first run.
    pub const ALL: [Brick; 16] = [
        Brick::Embedding,
        Brick::RmsNorm,
        Brick::QkvProjection,
        Brick::RopeEmbedding,
        Brick::KvCacheWrite,
        Brick::AttentionScore,
        Brick::AttentionSoftmax,
        Brick::AttentionOutput,
        Brick::OutputProjection,
        Brick::Residual,
        Brick::GateProjection,
        Brick::UpProjection,
        Brick::Activation,
        Brick::DownProjection,
        Brick::LmHead,
        Brick::Sampling,
    ];

    /// The recorded name, and the value of `--slow`.
    pub const fn name(self) -> &'static str {
        match self {
            Brick::Embedding => "Embedding",
            Brick::RmsNorm => "RmsNorm",
            Brick::QkvProjection => "QkvProjection",
            Brick::RopeEmbedding => "RopeEmbedding",
            Brick::KvCacheWrite => "KvCacheWrite",
            Brick::AttentionScore => "AttentionScore",
            Brick::AttentionSoftmax => "AttentionSoftmax",
            Brick::AttentionOutput => "AttentionOutput",
            Brick::OutputProjection => "OutputProjection",
            Brick::Residual => "Residual",
            Brick::GateProjection => "GateProjection",
            Brick::UpProjection => "UpProjection",
            Brick::Activation => "Activation",
            Brick::DownProjection => "DownProjection",
            Brick::LmHead => "LmHead",
            Brick::Sampling => "Sampling",
        }
    }

    pub fn recorded(self) -> Name {
        match self {
            Brick::Embedding => BrickId::Embedding.into(),
            Brick::RmsNorm => BrickId::RmsNorm.into(),
            Brick::QkvProjection => BrickId::QkvProjection.into(),
            Brick::RopeEmbedding => BrickId::RopeEmbedding.into(),
            Brick::AttentionScore => BrickId::AttentionScore.into(),
            Brick::AttentionSoftmax => BrickId::AttentionSoftmax.into(),
            Brick::AttentionOutput => BrickId::AttentionOutput.into(),
            Brick::OutputProjection => BrickId::OutputProjection.into(),
            Brick::GateProjection => BrickId::GateProjection.into(),
            Brick::UpProjection => BrickId::UpProjection.into(),
            Brick::Activation => BrickId::Activation.into(),
            Brick::DownProjection => BrickId::DownProjection.into(),
            Brick::LmHead => BrickId::LmHead.into(),
            Brick::Sampling => BrickId::Sampling.into(),
            Brick::KvCacheWrite | Brick::Residual => self.name().into(),
        }
    }
}

impl std::str::FromStr for Brick {
    type Err = String;

    fn from_str(name: &str) -> Result<Brick, String> {
        Brick::ALL
            .into_iter()
            .find(|brick| brick.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| {
                let known: Vec<&str> = Brick::ALL.iter().map(|brick| brick.name()).collect();
                format!(
                    "no brick \"{name}\" in this model (hint: it has {})",
                    known.join(", ")
                )
            })
    }
}
