//! Names that hold ids, and the names that groups of them have.
//!
//! `aten::add, op_id = 990346` is one of thousands of names with one row each, of which no table by name says
//! anything. Which numbers are ids the names themselves tell, by how many different ones there are:
//!
//! | number | becomes `*` |
//! | --- | --- |
//! | address, `0x` and six hex digits or more | always |
//! | after `=` or `#`, by the word before it | where the word has 8 different numbers or more, at least half as many as rows; or 8 and a sixteenth, beside such a word |
//! | of `ProfilerStep#` | where there are two or more |
//! | after `:`, a blank or a bracket, or behind the last `_` | where names that are otherwise equal have 8 or more there, at least half as many as rows |
//! | of these in brackets, behind `_`, and of a layer, rank, worker or the like | only if one is above 255: smaller ones count the parts of a model or a machine |
//!
//! Names of kernels that state their sizes so (`Cijk_…`, templates with `<`) keep all but addresses.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Minimum number of distinct numbers to be ids.
const MIN_IDS: usize = 8;
/// Maximum number of rows per distinct number.
const ROWS_PER_ID: u64 = 2;
/// The same limit for a word next to an id: several operators share a sequence number.
const ROWS_PER_ID_BESIDE: u64 = 16;
/// Up to this value, a number in brackets, after `_` or after a word in [`PARTS`] counts parts.
const MAX_INDEX: u64 = 255;
/// Words followed by the index of a part of a model or a machine.
const PARTS: [&str; 13] = [
    "layer", "block", "stage", "module", "head", "expert", "rank", "device", "gpu", "cuda",
    "stream", "worker", "thread",
];
/// Words whose numbers are always ids: steps of PyTorch's profiler.
const ALWAYS_IDS: [&str; 1] = ["ProfilerStep"];
const ADDRESS_DIGITS: usize = 6;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Address,
    /// After `=` or `#`; with the preceding word.
    OfWord(String),
    /// In brackets, after the last `_`, or after a word in [`PARTS`].
    Index,
    Other,
}

struct Slot {
    range: Range<usize>,
    kind: Kind,
    /// `None` if it was replaced by a star before.
    value: Option<u64>,
}

fn slots(name: &str) -> Vec<Slot> {
    let bytes = name.as_bytes();
    let is_sized = name.starts_with("Cijk_") || name.contains('<');
    let is_word = |at: usize| {
        let byte = bytes.get(at);
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 128)
    };
    let mut slots = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        if bytes[at] == b'0' && matches!(bytes.get(at + 1), Some(b'x' | b'X')) {
            let digits = bytes[at + 2..].iter();
            let digits = digits.take_while(|byte| byte.is_ascii_hexdigit()).count();
            at += 2 + digits;
            let is_inside = start > 0 && bytes[start - 1].is_ascii_alphanumeric();
            if digits >= ADDRESS_DIGITS && !is_inside && !is_word(at) {
                slots.push(Slot {
                    range: start + 2..at,
                    kind: Kind::Address,
                    value: None,
                });
            }
            continue;
        }
        if bytes[at] == b'*' {
            at += 1;
        } else if bytes[at].is_ascii_digit() {
            while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
        } else {
            at += 1;
            continue;
        }
        let is_fraction =
            bytes.get(at) == Some(&b'.') && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
        if is_sized || is_word(at) || is_fraction {
            continue;
        }
        if let Some(kind) = kind(name, start, at) {
            let digits = &name[start..at];
            slots.push(Slot {
                range: start..at,
                kind,
                value: (digits != "*").then(|| digits.parse().unwrap_or(u64::MAX)),
            });
        }
    }
    slots
}

fn kind(name: &str, start: usize, end: usize) -> Option<Kind> {
    let before = &name[..start];
    let trimmed = before.trim_end_matches(' ');
    if let Some(rest) = trimmed.strip_suffix(['=', '#']) {
        let word = last_word(rest);
        // A number may be an id itself, and what is left of it is no word.
        let is_number = word.is_empty()
            || word.starts_with(|c: char| c.is_ascii_digit())
            || word.contains("0x")
            || word.contains("0X");
        return Some(match (counts_parts(word), is_number) {
            (true, _) => Kind::Index,
            (_, true) => Kind::Other,
            (_, false) => Kind::OfWord(word.to_owned()),
        });
    }
    match before.chars().next_back()? {
        ':' | ' ' | '\t' => Some(if counts_parts(last_word(before)) {
            Kind::Index
        } else {
            Kind::Other
        }),
        '(' | '[' | '{' => Some(Kind::Index),
        '_' if end == name.len() => Some(Kind::Index),
        _ => None,
    }
}

/// The last word of a text, ignoring trailing blanks and colons.
fn last_word(text: &str) -> &str {
    let text = text.trim_end_matches([' ', '\t', ':']);
    let is_of_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    text.rfind(|c| !is_of_word(c)).map_or(text, |at| {
        let next = text[at..].chars().next().map_or(1, char::len_utf8);
        &text[at + next..]
    })
}

fn counts_parts(word: &str) -> bool {
    let word = word.strip_suffix('s').unwrap_or(word);
    PARTS.iter().any(|part| part.eq_ignore_ascii_case(word))
}

fn with_stars<'a>(name: &str, slots: impl Iterator<Item = &'a Slot>) -> String {
    let mut out = String::with_capacity(name.len());
    let mut copied = 0;
    for slot in slots {
        out.push_str(&name[copied..slot.range.start]);
        out.push('*');
        copied = slot.range.end;
    }
    out.push_str(&name[copied..]);
    out
}

#[derive(Clone, Debug, Default)]
struct Numbers {
    different: HashSet<u64>,
    rows: u64,
    was_folded: bool,
}

impl Numbers {
    fn add(&mut self, value: Option<u64>, rows: u64) {
        self.rows = self.rows.saturating_add(rows);
        match value {
            Some(value) => {
                self.different.insert(value);
            }
            None => self.was_folded = true,
        }
    }

    fn are_ids(&self, rows_per_id: u64) -> bool {
        let different = self.different.len();
        let is_enough = (different as u64).saturating_mul(rows_per_id) >= self.rows;
        self.was_folded || (different >= MIN_IDS && is_enough)
    }

    fn count_parts(&self) -> bool {
        !self.was_folded && self.different.iter().all(|value| *value <= MAX_INDEX)
    }
}

#[derive(Clone, Debug, Default)]
pub struct NameCounts {
    words: HashMap<String, Numbers>,
    /// For each word, other words in the same names.
    beside: HashMap<String, BTreeSet<String>>,
    /// By name with a star for each number.
    templates: HashMap<String, Vec<(Numbers, bool)>>,
}

impl NameCounts {
    pub fn add(&mut self, name: &str, rows: u64) {
        let slots = slots(name);
        let words: BTreeSet<&String> = slots.iter().filter_map(word).collect();
        for word in &words {
            let others = words.iter().filter(|other| other != &word);
            let beside = self.beside.entry((*word).clone()).or_default();
            beside.extend(others.map(|other| (*other).clone()));
        }
        for slot in &slots {
            if let Kind::OfWord(word) = &slot.kind {
                let numbers = self.words.entry(word.clone()).or_default();
                numbers.add(slot.value, rows);
            }
        }
        let others = slots.iter().filter(is_by_template);
        if others.clone().next().is_none() {
            return;
        }
        let template = with_stars(name, slots.iter());
        let empty = || {
            others
                .clone()
                .map(|slot| (Numbers::default(), slot.kind == Kind::Index))
        };
        let all = self.templates.entry(template);
        let all = all.or_insert_with(|| empty().collect());
        for ((numbers, _), slot) in all.iter_mut().zip(others) {
            numbers.add(slot.value, rows);
        }
    }

    pub fn groups(&self) -> NameGroups {
        let ids = self
            .words
            .iter()
            .filter(|(_, numbers)| numbers.are_ids(ROWS_PER_ID));
        let mut words: BTreeSet<String> = ids.map(|(word, _)| word.clone()).collect();
        let steps = ALWAYS_IDS.into_iter().filter(|word| {
            let numbers = self.words.get(*word);
            numbers.is_some_and(|numbers| numbers.different.len() > 1)
        });
        words.extend(steps.map(str::to_owned));
        let beside = words
            .iter()
            .filter_map(|word| self.beside.get(word))
            .flatten();
        let is_id = |word: &&String| {
            let numbers = self.words.get(*word);
            numbers.is_some_and(|numbers| numbers.are_ids(ROWS_PER_ID_BESIDE))
        };
        let beside: Vec<String> = beside.filter(is_id).cloned().collect();
        words.extend(beside);
        let templates = self.templates.iter().filter_map(|(template, all)| {
            let fold = |(numbers, is_index): &(Numbers, bool)| {
                numbers.are_ids(ROWS_PER_ID) && !(*is_index && numbers.count_parts())
            };
            let folds: Vec<bool> = all.iter().map(fold).collect();
            folds.contains(&true).then(|| (template.clone(), folds))
        });
        NameGroups {
            templates: templates.collect(),
            words,
        }
    }
}

fn word(slot: &Slot) -> Option<&String> {
    match &slot.kind {
        Kind::OfWord(word) => Some(word),
        _ => None,
    }
}

fn is_by_template(slot: &&Slot) -> bool {
    matches!(slot.kind, Kind::Index | Kind::Other)
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameGroups {
    words: BTreeSet<String>,
    /// By name with a star for each number: which numbers without a word are ids.
    templates: BTreeMap<String, Vec<bool>>,
}

impl NameGroups {
    /// Whether only addresses are ids.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.templates.is_empty()
    }

    pub fn merge(&mut self, other: &Self) {
        self.words.extend(other.words.iter().cloned());
        for (template, folds) in &other.templates {
            let mine = self.templates.entry(template.clone());
            let mine = mine.or_insert_with(|| vec![false; folds.len()]);
            for (mine, fold) in mine.iter_mut().zip(folds) {
                *mine |= fold;
            }
        }
    }

    /// The name of the group that a name belongs to; `None` if it belongs to none.
    pub fn group(&self, name: &str) -> Option<String> {
        let slots = slots(name);
        if slots.is_empty() {
            return None;
        }
        let template = if self.templates.is_empty() {
            None
        } else {
            self.templates.get(&with_stars(name, slots.iter()))
        };
        let mut of_template = template.into_iter().flatten();
        let folded = slots.iter().filter(|slot| match &slot.kind {
            Kind::Address => true,
            Kind::OfWord(word) => self.words.contains(word),
            Kind::Index | Kind::Other => of_template.next().copied().unwrap_or(false),
        });
        let group = with_stars(name, folded);
        (group != name).then_some(group)
    }
}

#[cfg(test)]
#[path = "name_groups_tests.rs"]
mod tests;
