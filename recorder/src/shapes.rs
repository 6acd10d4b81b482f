//! Shapes of operators: dimensions, element types and strides of what a brick computes with.
//!
//! Shapes repeat, so they are interned: as one text of the process, and in each run that meets them as a row, which is
//! on its way before a brick names it.

use std::fmt::Write;

use trueno_format::schema::TableId;

use crate::lane::Lane;
use crate::lock::lock;
use crate::mailbox::{Mailbox, Request};
use crate::names::{LimitedTexts, MAX_TEXT_BYTES};
use crate::reentrancy::ReentrancyGuard;

static TEXTS: LimitedTexts = LimitedTexts::new();
const REMEMBERED: usize = 64;

/// One operand of an operator: its dimensions, the type of its elements, and strides where they are not those of the
/// dimensions, row by row.
///
/// Analyses know types by Rust's names (`f32`, `bf16`, `i8`, ...) and by PyTorch's (`float`, `c10::BFloat16`, ...).
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    dims: &'a [usize],
    element_type: &'a str,
    strides: &'a [isize],
}

impl<'a> Operand<'a> {
    /// An operand without strides; without dimensions it is a single value.
    pub const fn new(dims: &'a [usize], element_type: &'a str) -> Self {
        Self {
            dims,
            element_type,
            strides: &[],
        }
    }

    /// Distances between neighbours along each dimension, in elements.
    pub const fn strides(mut self, strides: &'a [isize]) -> Self {
        self.strides = strides;
        self
    }
}

/// The operands of an operator, interned: 4 bytes, copied freely, the same in every recorder.
///
/// [`BrickGuard::shapes`](crate::BrickGuard::shapes) takes `impl Into<Signature>`: operands are looked up at each
/// call, a `Signature` is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    /// Number of their text; 0 if they are not stored.
    number: u32,
}

impl Signature {
    /// Interns operands. Lists longer than 64 KiB of text, or beyond 64 MiB in a process, are not stored: each brick
    /// with such a list counts as a dropped row of `signatures`.
    pub fn new(operands: &[Operand<'_>]) -> Self {
        let _reentrancy = ReentrancyGuard::enter();
        let name = text(operands).and_then(|text| TEXTS.intern(&text));
        Self {
            number: name.map_or(0, |name| name.number()),
        }
    }
}

impl From<&[Operand<'_>]> for Signature {
    fn from(operands: &[Operand<'_>]) -> Self {
        Self::new(operands)
    }
}

impl<const N: usize> From<&[Operand<'_>; N]> for Signature {
    fn from(operands: &[Operand<'_>; N]) -> Self {
        Self::new(operands)
    }
}

/// The columns of the row as JSON, one per line. `None` if that is too long.
fn text(operands: &[Operand<'_>]) -> Option<String> {
    let mut text = String::with_capacity(256);
    list(&mut text, operands, |text, operand| {
        list(text, operand.dims, |text, dim| {
            // Text takes all that is written.
            let _ = write!(text, "{dim}");
        });
    });
    text.push('\n');
    list(&mut text, operands, |text, operand| {
        text.push('"');
        for symbol in operand.element_type.chars() {
            match symbol {
                '"' | '\\' => text.extend(['\\', symbol]),
                // No type is called so; in JSON they would have to be escaped.
                symbol if symbol.is_control() => text.push(' '),
                symbol => text.push(symbol),
            }
        }
        text.push('"');
    });
    text.push('\n');
    if operands.iter().any(|operand| !operand.strides.is_empty()) {
        list(&mut text, operands, |text, operand| {
            list(text, operand.strides, |text, stride| {
                let _ = write!(text, "{stride}");
            });
        });
    }
    (text.len() <= MAX_TEXT_BYTES).then_some(text)
}

fn list<T>(text: &mut String, of: &[T], mut put: impl FnMut(&mut String, &T)) {
    text.push('[');
    for (at, one) in of.iter().enumerate() {
        if text.len() > MAX_TEXT_BYTES {
            return;
        }
        if at > 0 {
            text.push(',');
        }
        put(text, one);
    }
    text.push(']');
}

/// Recent signatures of a thread, with the ids of their rows, which have been submitted.
pub(crate) struct MetSignatures([(u32, u32); REMEMBERED]);

impl Lane {
    /// The id of a signature's row, which has been submitted. `None` if the operands are not stored, which is
    /// counted.
    #[inline]
    pub(crate) fn met(&mut self, signature: Signature) -> Option<u32> {
        let Signature { number } = signature;
        if number == 0 {
            self.drop_rows(TableId::Signatures, 1, None);
            return None;
        }
        let place = number as usize % REMEMBERED;
        let (met, id) = self.met_signatures.0[place];
        if met == number {
            return Some(id);
        }
        let _reentrancy = ReentrancyGuard::enter();
        let id = self.shared().mailbox.signature(number);
        self.met_signatures.0[place] = (number, id);
        Some(id)
    }
}

impl Mailbox {
    /// The id of a signature's row, which is created only once.
    #[cold]
    fn signature(&self, text: u32) -> u32 {
        let mut ids = lock(&self.signatures);
        let next = ids.len() as u32;
        *ids.entry(text).or_insert_with(|| {
            // Still under the lock: no other thread may name the row before the log has it.
            self.request(Request::Signature { id: next, text });
            next
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_json_a_line_a_column() {
        let both = [
            Operand::new(&[16, 128], "f32"),
            Operand::new(&[128, 256], "a\"b\\\n").strides(&[1, -128]),
            Operand::new(&[], "i64"),
        ];
        assert_eq!(
            text(&both).unwrap(),
            "[[16,128],[128,256],[]]\n[\"f32\",\"a\\\"b\\\\ \",\"i64\"]\n[[],[1,-128],[]]"
        );
        assert_eq!(text(&both[..1]).unwrap(), "[[16,128]]\n[\"f32\"]\n");
        assert_eq!(text(&[]).unwrap(), "[]\n[]\n");
    }

    #[test]
    fn equal_operands_are_one_signature() {
        let of = |rows| Signature::new(&[Operand::new(&[rows, 4], "f32")]);
        assert_eq!(of(2), of(2));
        assert_ne!(of(2), of(3));
        let long = vec![1_000_000; 10_000];
        assert_eq!(Signature::new(&[Operand::new(&long, "f32")]).number, 0);
    }
}
