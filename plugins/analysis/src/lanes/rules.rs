//! Categories from rules on names, for rows that have none of their own.

use std::collections::BTreeMap;

use trueno_plugin::Result;

use super::categories::{INHERITED, OUTSIDE, UNCATEGORISED, WAITING};
use super::inputs::CATEGORY_RULES;
use super::span::Class;
use crate::interner::Texts;
use crate::source::Source;
use crate::waits::{is_negotiation, names_a_wait};

/// Bit set in a category that comes from a rule, until the lanes are sorted. A row inside such a row prefers a rule
/// for its own name, but it keeps a category that was recorded.
const RULED: u32 = 1 << 31;

pub(super) fn plain(category: u32) -> u32 {
    category & !RULED
}

pub(super) fn is_ruled(category: u32) -> bool {
    category & RULED != 0
}

/// Categories by name, as the host matched them: the input [`CATEGORY_RULES`]; none where it has no rules.
///
/// # Errors
/// The input lacks a column or has it in another type.
pub fn category_rules(run: &mut impl Source) -> Result<BTreeMap<String, String>> {
    let table = run.table(CATEGORY_RULES.name())?;
    let (names, categories) = (table.text("name")?, table.text("category")?);
    let both = names.iter().zip(categories.iter());
    Ok(both
        .filter_map(|(name, category)| Some((name?.to_owned(), category?.to_owned())))
        .collect())
}

#[derive(Default)]
pub(super) struct Rules {
    by_name: BTreeMap<String, String>,
}

impl Rules {
    pub fn read(run: &mut impl Source) -> Result<Self> {
        let by_name = category_rules(run)?;
        Ok(Self { by_name })
    }

    /// The category of a brick that has none recorded.
    pub fn brick_category(&self, name: u32, texts: &mut Texts) -> u32 {
        if is_negotiation(texts.text(name)) {
            return WAITING;
        }
        let by_rule = self.name_category(name, texts);
        by_rule.unwrap_or_else(|| {
            if names_a_wait(texts.text(name), false) {
                WAITING
            } else {
                UNCATEGORISED
            }
        })
    }

    /// The category of a row that is no brick, in or from something of category `around`:
    /// one that was recorded holds; else a rule on the row's name; else what is around.
    pub fn work_category(&self, class: Class, name: u32, around: u32, texts: &mut Texts) -> u32 {
        match class {
            Class::Wait => WAITING,
            Class::Call if names_a_wait(texts.text(name), true) => WAITING,
            // What a tile goes by is its level.
            Class::Tile => around,
            _ if was_recorded(around) => around,
            _ => match self.name_category(name, texts) {
                // cuDNN hands convolutions to kernels with the names of matrix products.
                Some(of_name)
                    if of_name == texts.number("GEMM") | RULED
                        && around == texts.number("convolution") | RULED =>
                {
                    around
                }
                of_name => of_name.unwrap_or(around),
            },
        }
    }

    fn name_category(&self, name: u32, texts: &mut Texts) -> Option<u32> {
        let category = self.by_name.get(texts.text(name))?;
        Some(texts.number(category) | RULED)
    }
}

fn was_recorded(category: u32) -> bool {
    !is_ruled(category) && !matches!(category, OUTSIDE | UNCATEGORISED | INHERITED)
}
