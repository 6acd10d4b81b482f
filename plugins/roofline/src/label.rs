//! What rows are called, and what of them belongs together.

use std::collections::BTreeMap;
use std::hash::Hash;

use crate::hash::FastMap;
use crate::place::Reason;

/// Numbered texts.
#[derive(Default)]
pub struct Texts {
    texts: Vec<String>,
    numbers: BTreeMap<String, u32>,
}

impl Texts {
    /// The number of a text; a new one when it was not seen before.
    pub fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }

    /// The text of a number.
    pub fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }
}

/// The table a row is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// `kernels`.
    Kernel,
    /// `bricks`.
    Brick,
}

impl Source {
    /// `kernel` or `brick`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Brick => "brick",
        }
    }
}

/// Where FLOPs and bytes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provenance {
    /// The program stated them.
    Declared,
    /// A profiler counted them, on a run of its own.
    Counted,
    /// The CPU counted the FLOPs; the program stated the bytes.
    CountedFlops,
}

impl Provenance {
    /// `declared`, `counted` or `flops counted`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Declared => "declared",
            Self::Counted => "counted",
            Self::CountedFlops => "flops counted",
        }
    }

    /// Whether FLOPs were counted.
    pub fn is_counted(self) -> bool {
        self != Self::Declared
    }
}

/// Rows that become one point; texts by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    /// Their table.
    pub source: Source,
    /// Their name.
    pub name: u32,
    /// As recorded.
    pub backend: Option<u32>,
    /// Device number; `None`: the host.
    pub device: Option<i64>,
    /// Of FLOPs and bytes.
    pub provenance: Provenance,
    /// As counted; `None`: not known.
    pub precision: Option<u32>,
}

/// Rows with FLOPs or bytes, but no intensity; texts by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OneFigure {
    /// Their table.
    pub source: Source,
    /// Their name.
    pub name: u32,
    /// As recorded.
    pub backend: Option<u32>,
    /// Device number; `None`: the host.
    pub device: Option<i64>,
    /// Of the figure.
    pub provenance: Provenance,
    /// Why there is no intensity.
    pub reason: Reason,
}

/// Where work is booked; texts by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    /// The brick it belongs to, itself for a brick; `None`: not recorded.
    pub brick: Option<u32>,
    /// Of that brick.
    pub category: u32,
}

/// Numbers things in the order they are first seen.
pub struct Numbers<T> {
    all: Vec<T>,
    numbers: FastMap<T, u32>,
    last: Option<(T, u32)>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            numbers: FastMap::default(),
            last: None,
        }
    }
}

impl<T: Copy + Eq + Hash> Numbers<T> {
    /// The number of one; neighbouring rows often ask for the same.
    pub fn number(&mut self, of: T) -> u32 {
        if let Some((last, number)) = self.last
            && last == of
        {
            return number;
        }
        let next = self.all.len() as u32;
        let number = *self.numbers.entry(of).or_insert(next);
        if number == next {
            self.all.push(of);
        }
        self.last = Some((of, number));
        number
    }

    /// All, by number.
    pub fn all(&self) -> &[T] {
        &self.all
    }
}
