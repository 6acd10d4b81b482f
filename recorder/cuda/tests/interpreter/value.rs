//! Bits as numbers, and back.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Signed,
    Unsigned,
    Bits,
    Float,
    Predicate,
}

/// `.u64`, `.f32`, ...
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    pub class: Class,
    pub bits: u32,
}

impl Type {
    pub fn parse(text: &str) -> Option<Self> {
        if text == "pred" {
            return Some(Self {
                class: Class::Predicate,
                bits: 1,
            });
        }
        let class = match text.get(..1)? {
            "s" => Class::Signed,
            "u" => Class::Unsigned,
            "b" => Class::Bits,
            "f" => Class::Float,
            _ => return None,
        };
        let bits = text[1..].parse().ok()?;
        matches!(bits, 8 | 16 | 32 | 64).then_some(Self { class, bits })
    }

    pub fn bytes(self) -> usize {
        self.bits as usize / 8
    }

    /// Truncates a value to the width of this type.
    pub fn cut(self, value: u64) -> u64 {
        value & (u64::MAX >> (64 - self.bits))
    }

    pub fn signed(self, value: u64) -> i64 {
        let rest = 64 - self.bits;
        ((value << rest) as i64) >> rest
    }

    /// Extends a value of this type to the full register.
    pub fn widened(self, value: u64) -> u64 {
        match self.class {
            Class::Signed => self.signed(value) as u64,
            _ => self.cut(value),
        }
    }

    pub fn float(self, value: u64) -> f64 {
        match (self.class, self.bits) {
            (Class::Float, 64) => f64::from_bits(value),
            (Class::Float, 32) => f64::from(f32::from_bits(value as u32)),
            (Class::Float, 16) => half(value as u16),
            (Class::Signed, _) => self.signed(value) as f64,
            (Class::Unsigned, _) => self.cut(value) as f64,
            _ => panic!("{self:?} is no number"),
        }
    }

    /// The bits of a float of this type; nothing is rounded unless the type is an f32.
    pub fn encode_float(self, value: f64) -> u64 {
        match self.bits {
            64 => value.to_bits(),
            32 => u64::from((value as f32).to_bits()),
            _ => panic!("no {self:?} is made here"),
        }
    }
}

/// By the definition of binary16.
pub(super) fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 {
        -magnitude
    } else {
        magnitude
    }
}
