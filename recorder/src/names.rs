//! Names, interned once into numbers.
//!
//! One table serves the whole process: a [`Name`] can be used with every
//! recorder, and looking up a text that is already there takes no lock and
//! allocates nothing. Texts stay for the life of the process.

mod limited;
mod numbered;
mod sites;

use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use xxhash_rust::xxh3::xxh3_64;

use crate::live::Live;
use crate::lock::{Locked, lock};
use crate::reentrancy::ReentrancyGuard;
pub(crate) use limited::{LimitedTexts, MAX_TEXT_BYTES};
use numbered::{Key, Numbered, Published};
pub(crate) use sites::MetSites;
use trueno_format::live;
use trueno_format::text::{SITE, Site, Text, Texts};
use trueno_format::{BrickId, fixed_texts};

/// A text that was interned: 4 bytes, copied freely, the same in every recorder.
///
/// Guards take `impl Into<Name>`: a text is looked up at each call (some
/// nanoseconds), a `Name` is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Name(u32);

impl Name {
    /// Interns a text.
    pub fn new(text: &str) -> Self {
        let hash = xxh3_64(text.as_bytes());
        match Self::find(hash, text) {
            Some(name) => name,
            None => insert(hash, text),
        }
    }

    pub(crate) fn known(text: &str) -> Option<Name> {
        Self::find(xxh3_64(text.as_bytes()), text)
    }

    fn find(hash: u64, text: &str) -> Option<Name> {
        let number = TEXTS.table()?.find(hash, |other| *other == text);
        number.map(Name)
    }

    /// The interned text.
    pub fn as_str(self) -> &'static str {
        let interner = interner();
        let text = match self.0 & SITE {
            0 => self.0,
            _ => interner.sites.keys()[(self.0 ^ SITE) as usize]
                .name
                .number(),
        };
        interner.texts.keys()[text as usize]
    }

    const fn of_site(number: u32) -> Self {
        Self(number | SITE)
    }

    pub(crate) const fn from_number(number: u32) -> Self {
        Self(number)
    }

    pub(crate) const fn number(self) -> u32 {
        self.0
    }

    pub(crate) const fn text(self) -> Text {
        Text::from_number(self.0)
    }
}

impl From<&str> for Name {
    #[inline]
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<&String> for Name {
    #[inline]
    fn from(text: &String) -> Self {
        Self::new(text)
    }
}

impl From<String> for Name {
    #[inline]
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl From<BrickId> for Name {
    #[inline]
    fn from(brick: BrickId) -> Self {
        Self(brick.text().number())
    }
}

/// A text at one place of the program, interned at first use.
#[derive(Debug)]
pub struct StaticName {
    text: &'static str,
    name: OnceLock<Name>,
}

impl StaticName {
    /// The text, not interned yet.
    pub const fn new(text: &'static str) -> Self {
        Self {
            text,
            name: OnceLock::new(),
        }
    }
}

impl From<&StaticName> for Name {
    #[inline]
    fn from(of: &StaticName) -> Self {
        *of.name.get_or_init(|| Name::new(of.text))
    }
}

impl Key for &'static str {
    fn hash(self) -> u64 {
        xxh3_64(self.as_bytes())
    }
}

impl Key for Site {
    fn hash(self) -> u64 {
        let numbers = [self.name.number(), self.file.number(), self.line];
        xxh3_64(numbers.map(u32::to_le_bytes).as_flattened())
    }
}

static TEXTS: Published<&'static str> = Published::nothing();
static SITES: Published<Site> = Published::nothing();

struct Interner {
    texts: Numbered<&'static str>,
    sites: Numbered<Site>,
    /// Runs being recorded: every name must be in their logs before a record uses it.
    lives: Vec<Arc<Live>>,
}

/// From now on, until [`detach`], all names are written to the log of a run.
pub(crate) fn attach(run: &Arc<Live>) {
    let mut interner = interner();
    let text = |(text, number): (&&str, u32)| live::Entry::Name(number, (*text).to_owned());
    let site = |(site, number): (&Site, u32)| live::Entry::site(number, *site);
    let texts = interner.texts.keys().iter().zip(0..).map(text);
    let sites = interner.sites.keys().iter().zip(0..).map(site);
    run.log(&texts.chain(sites).collect::<Vec<_>>());
    interner.lives.push(run.clone());
}

pub(crate) fn detach(run: &Arc<Live>) {
    interner().lives.retain(|other| !Arc::ptr_eq(other, run));
}

type Interning = OnceLock<Mutex<Interner>>;

/// The current interner; null before its first use and in a process that was just forked. The old ones are never
/// freed.
static INTERNING: AtomicPtr<Interning> = AtomicPtr::new(std::ptr::null_mut());

fn interner() -> Locked<'static, Interner> {
    // The first one is made under a lock too.
    let _reentrancy = ReentrancyGuard::enter();
    let mut interning = INTERNING.load(Ordering::Acquire);
    if interning.is_null() {
        let fresh = Box::into_raw(Box::<Interning>::default());
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        interning = match INTERNING.compare_exchange(interning, fresh, success, failure) {
            Ok(_) => fresh,
            Err(other) => {
                // SAFETY: made above, and nobody else has it.
                drop(unsafe { Box::from_raw(fresh) });
                other
            }
        };
    }
    // SAFETY: not null; it comes from a box that is never freed, see above.
    let interning = unsafe { &*interning };
    lock(interning.get_or_init(|| {
        Mutex::new(Interner {
            texts: Numbered::new(&TEXTS, || fixed_texts().collect()),
            sites: Numbered::new(&SITES, Vec::new),
            // A forked process has its parent's names; its parent's runs are not its own.
            lives: Vec::new(),
        })
    }))
}

/// Runs in a forked child before any code of the program: only async-signal-safe calls. The thread that held the
/// lock does not exist here, and the data under the lock may be inconsistent.
pub(crate) fn forked() {
    INTERNING.store(std::ptr::null_mut(), Ordering::Release);
}

#[cold]
fn insert(hash: u64, text: &str) -> Name {
    let mut interner = interner();
    if let Some(number) = interner.texts.find(hash, |other| *other == text) {
        return Name(number);
    }
    let number = interner.texts.next();
    for run in &interner.lives {
        run.log(&[live::Entry::Name(number, text.to_owned())]);
    }
    interner.texts.add(Box::leak(text.into()));
    Name(number)
}

/// Texts and sites of this process, by number. A copy of its lists, so that they are only locked for new entries.
#[derive(Default)]
pub(crate) struct ProcessTexts {
    texts: Vec<&'static str>,
    sites: Vec<Site>,
}

/// The entry at an index. First copies the entries of `all` that `list` lacks, if necessary.
fn look_up<K: Copy>(list: &mut Vec<K>, at: usize, all: impl Fn(&Interner) -> &[K]) -> Option<K> {
    if at >= list.len() {
        let interner = interner();
        list.extend_from_slice(&all(&interner)[list.len()..]);
    }
    list.get(at).copied()
}

impl Texts for ProcessTexts {
    fn get(&mut self, text: Text) -> Option<&str> {
        look_up(&mut self.texts, text.number() as usize, |all| {
            all.texts.keys()
        })
    }

    fn site(&mut self, number: u32) -> Option<Site> {
        look_up(&mut self.sites, (number ^ SITE) as usize, |all| {
            all.sites.keys()
        })
    }

    fn intern(&mut self, text: &str) -> Text {
        Name::new(text).text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_number_on_all_threads() {
        let texts: Vec<String> = (0..5_000).map(|i| format!("name {}", i % 2_500)).collect();
        let numbers: Vec<Vec<Name>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| texts.iter().map(Name::from).collect()))
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        for (i, text) in texts.iter().enumerate() {
            for thread in &numbers {
                assert_eq!(thread[i], numbers[0][i]);
                assert_eq!(thread[i].as_str(), text);
            }
        }
        let mut distinct: Vec<u32> = numbers[0].iter().map(|n| n.number()).collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 2_500);
    }
}
