//! Texts of a run, by number: what cells of text columns hold until a segment's dictionary is written.

use std::collections::HashMap;
use std::sync::Arc;

/// A text of a run by its number: 4 bytes, copied freely. Number 0 is the empty text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Text(u32);

impl Text {
    /// The text of that number.
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The text of that number; 0: none is given.
    #[inline]
    pub fn given(number: u64) -> Option<Self> {
        (number != 0).then_some(Self(number as u32))
    }
}

/// Bit of the name in a record: the number is that of a [`Site`].
pub const SITE: u32 = 1 << 31;

/// A name at a place of the program that begins rows of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Site {
    /// The name.
    pub name: Text,
    /// The source file.
    pub file: Text,
    /// The line in it.
    pub line: u32,
}

/// The texts of one run, by number.
pub trait Texts {
    /// The text with that number, if it exists.
    fn get(&mut self, text: Text) -> Option<&str>;

    /// The site with that number, which has bit [`SITE`], if it exists.
    fn site(&mut self, number: u32) -> Option<Site>;

    /// The number of a text. A new text gets a new number.
    fn intern(&mut self, text: &str) -> Text;

    /// The text, or an empty one if it does not exist.
    fn str(&mut self, text: Text) -> &str {
        self.get(text).unwrap_or("")
    }
}

impl dyn Texts + '_ {
    /// Name and place of a record's name: a site, or a name alone. `None`: a site that there is not.
    #[inline]
    pub fn site_of(&mut self, number: u32) -> Option<Site> {
        if number & SITE != 0 {
            return self.site(number);
        }
        let name = Text(number);
        Some(Site {
            name,
            ..Site::default()
        })
    }
}

/// Texts in a list of their own: those of a run that is written from elsewhere, or of a process that is gone.
#[derive(Debug)]
pub struct TextTable {
    texts: Vec<Option<Arc<str>>>,
    numbers: HashMap<Arc<str>, u32>,
    sites: HashMap<u32, Site>,
}

impl TextTable {
    /// Adds sites by number, which has bit [`SITE`].
    pub fn add_sites(&mut self, numbered: impl IntoIterator<Item = (u32, Site)>) {
        self.sites.extend(numbered);
    }
}

impl Default for TextTable {
    fn default() -> Self {
        [(0, String::new())].into_iter().collect()
    }
}

impl FromIterator<(u32, String)> for TextTable {
    fn from_iter<I: IntoIterator<Item = (u32, String)>>(numbered: I) -> Self {
        let mut table = Self {
            texts: Vec::new(),
            numbers: HashMap::new(),
            sites: HashMap::new(),
        };
        for (number, text) in numbered {
            let (at, text) = (number as usize, Arc::<str>::from(text));
            if at >= table.texts.len() {
                table.texts.resize(at + 1, None);
            }
            table.texts[at] = Some(text.clone());
            table.numbers.insert(text, number);
        }
        table
    }
}

impl Texts for TextTable {
    fn get(&mut self, text: Text) -> Option<&str> {
        self.texts.get(text.0 as usize)?.as_deref()
    }

    fn site(&mut self, number: u32) -> Option<Site> {
        self.sites.get(&number).copied()
    }

    fn intern(&mut self, text: &str) -> Text {
        if let Some(number) = self.numbers.get(text) {
            return Text(*number);
        }
        let (number, text) = (self.texts.len() as u32, Arc::<str>::from(text));
        self.texts.push(Some(text.clone()));
        self.numbers.insert(text, number);
        Text(number)
    }
}
