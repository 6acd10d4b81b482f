//! The known bricks and their categories.

mod spellings;

use crate::text::Text;

/// Number of the first known brick; 0 is the empty text.
const FIRST_BRICK: u32 = 1;
/// Number of the first category, right after the bricks.
const FIRST_CATEGORY: u32 = FIRST_BRICK + BrickId::COUNT as u32;

/// The texts that have a fixed number, 0 and on: the empty text, known bricks, categories. Processes count on from
/// there, so that an event needs no look at a table for these.
pub fn fixed_texts() -> impl Iterator<Item = &'static str> {
    std::iter::once("")
        .chain(BrickId::all().map(BrickId::name))
        .chain(BrickCategory::ALL.map(BrickCategory::name))
}

/// Groups of known bricks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum BrickCategory {
    /// Normalisations.
    Norm = 0,
    /// Attention and its projections.
    Attention = 1,
    /// The feed-forward network.
    Ffn = 2,
    /// Embedding, head and sampling.
    Other = 3,
    /// Sparse matrices.
    Sparse = 4,
    /// Fourier transforms.
    Fft = 5,
    /// Factorisations.
    Solver = 6,
}

impl BrickCategory {
    /// Every category, by number.
    pub const ALL: [Self; 7] = [
        Self::Norm,
        Self::Attention,
        Self::Ffn,
        Self::Other,
        Self::Sparse,
        Self::Fft,
        Self::Solver,
    ];

    /// Text in column `bricks.category`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Norm => "Norm",
            Self::Attention => "Attention",
            Self::Ffn => "FFN",
            Self::Other => "Other",
            Self::Sparse => "Sparse",
            Self::Fft => "FFT",
            Self::Solver => "Solver",
        }
    }

    /// Its fixed text.
    pub const fn text(self) -> Text {
        Text::from_number(FIRST_CATEGORY + self as u32)
    }
}

/// The known bricks; the number is column `bricks.brick_id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum BrickId {
    RmsNorm = 0,
    LayerNorm = 1,
    QkvProjection = 2,
    RopeEmbedding = 3,
    AttentionScore = 4,
    AttentionSoftmax = 5,
    AttentionOutput = 6,
    OutputProjection = 7,
    GateProjection = 8,
    UpProjection = 9,
    Activation = 10,
    DownProjection = 11,
    Embedding = 12,
    LmHead = 13,
    Sampling = 14,
    SpMv = 15,
    SpMm = 16,
    FormatConvert = 17,
    Fft1d = 18,
    Fft2d = 19,
    LuFactorize = 20,
    QrFactorize = 21,
    SvdCompute = 22,
}

/// Number, recorded name, category, and other spellings (lower case, no separators).
type Row = (
    BrickId,
    &'static str,
    BrickCategory,
    &'static [&'static str],
);

const ROWS: [Row; 23] = {
    use BrickCategory::{Attention, Ffn, Fft, Norm, Other, Solver, Sparse};
    [
        (BrickId::RmsNorm, "RmsNorm", Norm, &[]),
        (BrickId::LayerNorm, "LayerNorm", Norm, &[]),
        (
            BrickId::QkvProjection,
            "QkvProjection",
            Attention,
            &["qkv", "qkvproj"],
        ),
        (
            BrickId::RopeEmbedding,
            "RopeEmbedding",
            Attention,
            &["rope"],
        ),
        (
            BrickId::AttentionScore,
            "AttentionScore",
            Attention,
            &["attnscore", "attentionscores"],
        ),
        (
            BrickId::AttentionSoftmax,
            "AttentionSoftmax",
            Attention,
            &["softmax", "attnsoftmax"],
        ),
        (
            BrickId::AttentionOutput,
            "AttentionOutput",
            Attention,
            &["attnoutput", "attnout"],
        ),
        (
            BrickId::OutputProjection,
            "OutputProjection",
            Attention,
            &["outproj", "oproj"],
        ),
        (
            BrickId::GateProjection,
            "GateProjection",
            Ffn,
            &["gate", "gateproj"],
        ),
        (
            BrickId::UpProjection,
            "UpProjection",
            Ffn,
            &["up", "upproj"],
        ),
        (
            BrickId::Activation,
            "Activation",
            Ffn,
            &["silu", "gelu", "relu"],
        ),
        (
            BrickId::DownProjection,
            "DownProjection",
            Ffn,
            &["down", "downproj"],
        ),
        (BrickId::Embedding, "Embedding", Other, &["embed"]),
        (BrickId::LmHead, "LmHead", Other, &["head"]),
        (BrickId::Sampling, "Sampling", Other, &["sample"]),
        (BrickId::SpMv, "SpMV", Sparse, &[]),
        (BrickId::SpMm, "SpMM", Sparse, &[]),
        (BrickId::FormatConvert, "FormatConvert", Sparse, &[]),
        (BrickId::Fft1d, "FFT1D", Fft, &["fft"]),
        (BrickId::Fft2d, "FFT2D", Fft, &[]),
        (BrickId::LuFactorize, "LUFactorize", Solver, &["lu"]),
        (BrickId::QrFactorize, "QRFactorize", Solver, &["qr"]),
        (BrickId::SvdCompute, "SVDCompute", Solver, &["svd"]),
    ]
};

impl BrickId {
    /// Number of known bricks.
    pub const COUNT: usize = ROWS.len();

    /// Every known brick, by number.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        ROWS.iter().map(|row| row.0)
    }

    /// Text in column `bricks.name`.
    pub const fn name(self) -> &'static str {
        ROWS[self as usize].1
    }

    /// The group it belongs to.
    pub const fn category(self) -> BrickCategory {
        ROWS[self as usize].2
    }

    /// The known brick of that name: case, `_`, `-` and spaces do not matter, and the
    /// common short forms (`Qkv`, `Softmax`, `out_proj`, `SiLU`, ...) are known.
    pub fn from_name(name: &str) -> Option<Self> {
        let plain: String = name
            .chars()
            .filter(|c| !matches!(c, '_' | '-' | ' '))
            .map(|c| c.to_ascii_lowercase())
            .collect();
        ROWS.iter()
            .find(|(_, known, _, others)| {
                known.eq_ignore_ascii_case(&plain) || others.contains(&plain.as_str())
            })
            .map(|row| row.0)
    }

    /// Its fixed text.
    pub const fn text(self) -> Text {
        Text::from_number(FIRST_BRICK + self as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_the_rows() {
        for (number, brick) in BrickId::all().enumerate() {
            assert_eq!(brick as usize, number);
            let fixed: Vec<&str> = fixed_texts().collect();
            assert_eq!(fixed[brick.text().number() as usize], brick.name());
            let category = brick.category();
            assert_eq!(fixed[category.text().number() as usize], category.name());
        }
    }

    #[test]
    fn spellings() {
        for brick in BrickId::all() {
            assert_eq!(BrickId::from_name(brick.name()), Some(brick));
            assert_eq!(
                BrickId::from_name(&brick.name().to_uppercase()),
                Some(brick)
            );
        }
        for (spelling, brick) in [
            ("qkv_projection", BrickId::QkvProjection),
            ("rms-norm", BrickId::RmsNorm),
            ("RoPE", BrickId::RopeEmbedding),
            ("softmax", BrickId::AttentionSoftmax),
            ("GELU", BrickId::Activation),
            ("lm head", BrickId::LmHead),
            ("fft_1d", BrickId::Fft1d),
            ("LU", BrickId::LuFactorize),
        ] {
            assert_eq!(BrickId::from_name(spelling), Some(brick), "{spelling}");
        }
        for unknown in ["", "residual", "qkv projection 2", "_"] {
            assert_eq!(BrickId::from_name(unknown), None, "{unknown:?}");
        }
    }

    #[test]
    fn no_spelling_names_two_bricks() {
        let mut seen = std::collections::HashSet::new();
        for (_, name, _, others) in ROWS {
            assert!(seen.insert(name.to_ascii_lowercase()), "{name}");
            for other in others {
                assert!(seen.insert((*other).to_string()), "{other}");
            }
        }
    }
}
