//! The fixed texts of columns such as `kind`, interned once.

use crate::brick::BrickId;
use crate::ceiling::Source;
use crate::record::kind;
use crate::text::{Text, Texts};
use crate::tile::TileLevel;

pub(super) struct FixedTexts {
    pub host: Text,
    pub device: Text,
    pub bound: Text,
    pub declared: Text,
    pub join: Text,
    pub joins: Text,
    pub depends_on: Text,
    pub instant: Text,
    pub paused: Text,
    pub levels: [Text; 4],
    pub sources: [Text; 4],
    kinds: [Text; 6],
    /// Known bricks, indexed by the number of the name.
    known: Vec<Known>,
}

#[derive(Clone, Copy)]
enum Known {
    NotAsked,
    No,
    Yes(BrickId, Text),
}

impl FixedTexts {
    pub fn new(texts: &mut dyn Texts) -> Self {
        let mut name = |text: &str| texts.intern(text);
        Self {
            host: name("host"),
            device: name("device"),
            bound: name("bound"),
            declared: name("declared"),
            join: name("join"),
            joins: name("joins"),
            depends_on: name("depends_on"),
            instant: name("instant"),
            paused: name("paused"),
            levels: TileLevel::ALL.map(|level| name(level.name())),
            sources: Source::ALL.map(|source| name(source.name())),
            kinds: ["", "iteration", "layer", "brick", "function", "task"].map(&mut name),
            known: Vec::new(),
        }
    }

    /// Column `bricks.kind`.
    #[inline]
    pub fn kind(&self, number: u8) -> Text {
        self.kinds[usize::from(number.min(kind::TASK))]
    }

    /// The known brick that a name spells, and its category.
    #[inline]
    pub fn brick(&mut self, name: Text, texts: &mut dyn Texts) -> Option<(BrickId, Text)> {
        match self.known.get(name.number() as usize) {
            Some(Known::Yes(brick, category)) => Some((*brick, *category)),
            Some(Known::No) => None,
            _ => self.ask(name, texts),
        }
    }

    #[cold]
    fn ask(&mut self, name: Text, texts: &mut dyn Texts) -> Option<(BrickId, Text)> {
        let at = name.number() as usize;
        if at >= self.known.len() {
            self.known
                .resize((at + 1).next_power_of_two(), Known::NotAsked);
        }
        let brick = texts.get(name).and_then(BrickId::from_name);
        let brick = brick.map(|brick| (brick, brick.category().text()));
        self.known[at] = brick.map_or(Known::No, |(brick, category)| Known::Yes(brick, category));
        brick
    }
}
