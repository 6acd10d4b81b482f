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

/// All chains of a run; each comes after the one around it.
#[derive(Default)]
pub struct Chains {
    all: Vec<Chain>,
    /// By number of the interval.
    of: Vec<u32>,
    /// Number of the first interval of each lane.
    first: Vec<u32>,
}

/// An interval that is being looked at.
const ON_THE_WAY: u32 = NONE - 1;

impl Chains {
    /// Finds them. A wait lasts as long as what it waits for: what is done in it is not of what is around it.
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

    /// All of them, by number.
    pub fn all(&self) -> &[Chain] {
        &self.all
    }

    /// The chain of an interval of a lane.
    #[inline]
    pub fn get(&self, lane: usize, span: u32) -> u32 {
        self.of[(self.first[lane] + span) as usize]
    }

    /// Gives every chain a value: `own` makes it of the last label and the value of the chain around, or else `none`.
    pub fn inherit<T: Copy>(&self, none: T, mut own: impl FnMut(u32, T) -> T) -> Vec<T> {
        let mut out: Vec<T> = Vec::with_capacity(self.all.len());
        for chain in &self.all {
            let around = out.get(chain.around as usize).copied();
            out.push(own(chain.label, around.unwrap_or(none)));
        }
        out
    }
}

/// Numbers of chains by the chain around and a label.
struct Numbers {
    known: FastMap<(u32, u32), u32>,
    /// For each label the last that was asked for: rows of a label mostly lie in the same.
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
