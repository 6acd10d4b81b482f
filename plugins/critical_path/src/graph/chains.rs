//! Chains of labels: for every interval the labels of all it belongs to, from the outermost to its own.
//!
//! There are far fewer chains than intervals. What is a matter of names alone (time by name, which intervals belong to
//! a name) is worked out by chain.

use trueno_analysis::hash::FastMap;
use trueno_analysis::lanes::{Class, Lanes};

use crate::graph::ownership::{NONE, Ownership};

#[derive(Clone, Copy, Debug)]
pub struct Chain {
    /// The chain without its last label, or [`NONE`].
    pub around: u32,
    pub label: u32,
}

/// All chains of a run; each comes after its enclosing chain.
#[derive(Default)]
pub struct Chains {
    all: Vec<Chain>,
    of: Vec<u32>,
    first: Vec<u32>,
}

const ON_THE_WAY: u32 = NONE - 1;

impl Chains {
    /// Builds the chains. A wait starts a new chain: it lasts as long as what it waits for, so work inside it
    /// does not belong to what encloses the wait.
    pub fn new(run: &Lanes, ownership: &Ownership) -> Self {
        let mut out = Self {
            all: Vec::new(),
            of: vec![NONE; ownership.len()],
            first: (0..run.lanes.len())
                .map(|lane| ownership.first(lane))
                .collect(),
        };
        let mut numbers = Numbers {
            known: FastMap::default(),
            recent: vec![(NONE, NONE); run.labels.all().len()],
        };
        let mut way: Vec<(u32, u32)> = Vec::new(); // interval, its label
        let spans = run.lanes.iter().flat_map(|lane| &lane.spans);
        for (number, span) in (0..).zip(spans) {
            let (mut at, mut chain) = (Some((number, span.label)), NONE);
            while let Some((number, label)) = at {
                match out.of[number as usize] {
                    NONE => {}
                    // A circle of spawns at one instant: its members belong to each other.
                    ON_THE_WAY => {
                        let first = way.iter().position(|(member, _)| *member == number);
                        for &(_, label) in way[first.unwrap_or(0)..].iter().rev() {
                            chain = numbers.number(&mut out.all, chain, label);
                        }
                        break;
                    }
                    known => {
                        chain = known;
                        break;
                    }
                }
                out.of[number as usize] = ON_THE_WAY;
                way.push((number, label));
                let owner = match run.labels.get(label).class {
                    Class::Wait => None,
                    _ => ownership.owner(number),
                };
                at = owner.map(|owner| {
                    let place = ownership.place(owner);
                    let spans = &run.lanes[place.lane as usize].spans;
                    (owner, spans[place.index as usize].label)
                });
            }
            while let Some((number, label)) = way.pop() {
                chain = numbers.number(&mut out.all, chain, label);
                out.of[number as usize] = chain;
            }
        }
        out
    }

    pub fn all(&self) -> &[Chain] {
        &self.all
    }

    #[inline]
    pub fn get(&self, lane: usize, span: u32) -> u32 {
        self.of[(self.first[lane] + span) as usize]
    }

    /// Computes a value for every chain: `own` gets the last label and the value of the enclosing chain, or
    /// `none`.
    pub fn inherit<T: Copy>(&self, none: T, mut own: impl FnMut(u32, T) -> T) -> Vec<T> {
        let mut out: Vec<T> = Vec::with_capacity(self.all.len());
        for chain in &self.all {
            let around = out.get(chain.around as usize).copied();
            out.push(own(chain.label, around.unwrap_or(none)));
        }
        out
    }
}

struct Numbers {
    known: FastMap<(u32, u32), u32>,
    /// The last lookup of each label: rows of a label mostly have the same enclosing chain.
    recent: Vec<(u32, u32)>,
}

impl Numbers {
    #[inline]
    fn number(&mut self, all: &mut Vec<Chain>, around: u32, label: u32) -> u32 {
        let recent = &mut self.recent[label as usize];
        if recent.0 != around || recent.1 == NONE {
            let number = *self.known.entry((around, label)).or_insert_with(|| {
                all.push(Chain { around, label });
                (all.len() - 1) as u32
            });
            *recent = (around, number);
        }
        recent.1
    }
}
