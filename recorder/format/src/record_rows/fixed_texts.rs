//! The fixed words of text columns, interned once.

use crate::brick::BrickId;
use crate::names::{Name, Texts};
use crate::record::kind;
use crate::source::Source;
use crate::tile::TileLevel;

pub(crate) struct Words {
    pub host: Name,
    pub device: Name,
    pub bound: Name,
    pub declared: Name,
    pub join: Name,
    pub joins: Name,
    pub depends_on: Name,
    pub levels: [Name; 4],
    pub sources: [Name; 4],
    kinds: [Name; 6],
    /// By name number: what is known about it.
    known: Vec<Known>,
}

/// Whether a name spells a known brick.
#[derive(Clone, Copy)]
enum Known {
    NotAsked,
    No,
    /// With the name of its category.
    Yes(BrickId, Name),
}

impl Words {
    pub fn new(texts: &mut Texts) -> Self {
        let mut name = |text: &str| texts.name(text);
        Self {
            host: name("host"),
            device: name("device"),
            bound: name("bound"),
            declared: name("declared"),
            join: name("join"),
            joins: name("joins"),
            depends_on: name("depends_on"),
            levels: TileLevel::ALL.map(|level| name(level.name())),
            sources: Source::ALL.map(|source| name(source.name())),
            kinds: ["", "iteration", "layer", "brick", "function", "task"].map(&mut name),
            known: Vec::new(),
        }
    }

    /// Column `bricks.kind`.
    #[inline]
    pub fn kind(&self, number: u8) -> Name {
        self.kinds[usize::from(number.min(kind::TASK))]
    }

    /// The known brick that a name spells, and its category.
    #[inline]
    pub fn brick(&mut self, name: Name, texts: &mut Texts) -> Option<(BrickId, Name)> {
        match self.known.get(name.number() as usize) {
            Some(Known::Yes(brick, category)) => Some((*brick, *category)),
            Some(Known::No) => None,
            _ => self.ask(name, texts),
        }
    }

    #[cold]
    fn ask(&mut self, name: Name, texts: &mut Texts) -> Option<(BrickId, Name)> {
        let at = name.number() as usize;
        if at >= self.known.len() {
            self.known
                .resize((at + 1).next_power_of_two(), Known::NotAsked);
        }
        let brick = texts.get(name).and_then(BrickId::from_name);
        let brick = brick.map(|brick| (brick, brick.category().interned()));
        self.known[at] = brick.map_or(Known::No, |(brick, category)| Known::Yes(brick, category));
        brick
    }
}
