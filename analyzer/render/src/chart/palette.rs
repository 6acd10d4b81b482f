//! Colours by meaning: told apart by colour-blind readers, and seen on light and dark pages.
//!
//! Shapes are drawn in the colours of a light page. A page of its own style puts others in their
//! place by these values (`[fill="#0072B2"]`), so that one picture serves both.
//!
//! `unaccounted` has the colour of no category: it is grey in every chart, and last.

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ink {
    Text,
    Faint,
    Grid,
    Paper,
    /// A series. Those beyond [`SERIES`] share a grey.
    Series(usize),
    On(usize),
    Unaccounted,
    Alarm,
    /// Position on a scale from minimum (0) to maximum (1).
    Scale(f64),
}

/// The palette of Okabe and Ito without yellow, which is invisible on white.
pub const SERIES: [(u8, u8, u8); 7] = [
    (0x00, 0x72, 0xb2),
    (0xe6, 0x9f, 0x00),
    (0x00, 0x9e, 0x73),
    (0xcc, 0x79, 0xa7),
    (0x56, 0xb4, 0xe9),
    (0xd5, 0x5e, 0x01),
    (0x7b, 0x5a, 0xa6),
];

pub const OTHER: (u8, u8, u8) = (0x8c, 0x8c, 0x8c);

/// Cividis, which looks nearly the same to colour-blind readers.
const SCALE: [(u8, u8, u8); 9] = [
    (0x00, 0x22, 0x4e),
    (0x12, 0x35, 0x70),
    (0x3b, 0x49, 0x6c),
    (0x57, 0x5d, 0x6d),
    (0x70, 0x71, 0x73),
    (0x8a, 0x86, 0x78),
    (0xa5, 0x9c, 0x74),
    (0xc3, 0xb3, 0x69),
    (0xe1, 0xcc, 0x55),
];

impl Ink {
    pub fn rgb(self) -> (u8, u8, u8) {
        match self {
            Ink::Text => (0x22, 0x22, 0x23),
            Ink::Faint => (0x5f, 0x63, 0x68),
            Ink::Grid => (0xe2, 0xe4, 0xe8),
            Ink::Paper => (0xff, 0xff, 0xfe),
            Ink::Series(n) => SERIES.get(n).copied().unwrap_or(OTHER),
            Ink::On(n) => {
                // Whichever of black and white is told better from it.
                let (r, g, b) = Ink::Series(n).rgb();
                let light = 0.3 * f64::from(r) + 0.59 * f64::from(g) + 0.11 * f64::from(b);
                let part = if light > 115.0 { 0x00 } else { 0xff };
                (part, part, part)
            }
            Ink::Unaccounted => (0xc4, 0xc8, 0xcc),
            Ink::Alarm => (0xd5, 0x5e, 0x00),
            Ink::Scale(share) => {
                let last = SCALE.len() - 1;
                SCALE[((share.clamp(0.0, 1.0) * last as f64).round() as usize).min(last)]
            }
        }
    }
}
