//! Names, interned once into numbers.
//!
//! One table serves the whole process: a [`Name`] can be used with every
//! recorder, and looking up a text that is already there takes no lock and
//! allocates nothing. Texts stay for the life of the process.

use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use xxhash_rust::xxh3::xxh3_64;

use crate::live::Live;
use crate::lock::{Locked, lock};
use crate::reentrancy::ReentrancyGuard;
use trueno_format::live;
use trueno_format::text::{Text, Texts};
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
        match Table::current().and_then(|table| table.find(hash, text)) {
            Some(name) => name,
            None => insert(hash, text),
        }
    }

    /// The name of a text that was interned already.
    pub(crate) fn known(text: &str) -> Option<Name> {
        Table::current()?.find(xxh3_64(text.as_bytes()), text)
    }

    /// The text behind it.
    pub fn as_str(self) -> &'static str {
        interner().texts[self.0 as usize]
    }

    pub(crate) const fn from_number(number: u32) -> Self {
        Self(number)
    }

    pub(crate) const fn number(self) -> u32 {
        self.0
    }

    /// Text in cells.
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

struct Entry {
    hash: u64,
    name: Name,
    text: &'static str,
}

/// Open addressing, power of two, at most half full, so that every probe ends.
struct Table {
    slots: Box<[OnceLock<Entry>]>,
}

/// The table in use; replaced when it is half full. Old ones stay, since a
/// reader may still be in them: together they are no larger than the newest.
static TABLE: AtomicPtr<Table> = AtomicPtr::new(std::ptr::null_mut());

impl Table {
    fn current() -> Option<&'static Self> {
        // SAFETY: the pointer is null or comes from a leaked box that is never freed;
        // Acquire pairs with the Release store in `publish`.
        unsafe { TABLE.load(Ordering::Acquire).as_ref() }
    }

    fn publish(slots: usize, texts: &[&'static str]) -> &'static Self {
        let table = Box::leak(Box::new(Self {
            slots: (0..slots).map(|_| OnceLock::new()).collect(),
        }));
        for (number, text) in texts.iter().enumerate() {
            table.place(xxh3_64(text.as_bytes()), Name(number as u32), text);
        }
        TABLE.store(table, Ordering::Release);
        table
    }

    fn find(&self, hash: u64, text: &str) -> Option<Name> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let entry = self.slots[at].get()?;
            if entry.hash == hash && entry.text == text {
                return Some(entry.name);
            }
            at = (at + 1) & mask;
        }
    }

    fn place(&self, hash: u64, name: Name, text: &'static str) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        let mut entry = Entry { hash, name, text };
        while let Err(back) = self.slots[at].set(entry) {
            entry = back;
            at = (at + 1) & mask;
        }
    }
}

struct Interner {
    texts: Vec<&'static str>,
    table: &'static Table,
    /// Runs being recorded: their logs know every name before a record can have it.
    lives: Vec<Arc<Live>>,
}

/// From now on, until [`detach`], the log of a run knows all names.
pub(crate) fn attach(run: &Arc<Live>) {
    let mut interner = interner();
    let entry =
        |(number, text): (usize, &&str)| live::Entry::Name(number as u32, (*text).to_owned());
    let entries: Vec<live::Entry> = interner.texts.iter().enumerate().map(entry).collect();
    run.log(&entries);
    interner.lives.push(run.clone());
}

pub(crate) fn detach(run: &Arc<Live>) {
    interner().lives.retain(|other| !Arc::ptr_eq(other, run));
}

type Interning = OnceLock<Mutex<Interner>>;

/// The interner in use; null: nothing was asked yet, or this process was just forked. What
/// it points to stays for ever.
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
        Mutex::new(match Table::current() {
            Some(table) => Interner::behind(table),
            None => Interner::first(),
        })
    }))
}

/// In a forked child, before any code of the program runs: only what is async-signal-safe. The
/// thread that held the lock is not here, and what it guards may be half changed.
pub(crate) fn forked() {
    INTERNING.store(std::ptr::null_mut(), Ordering::Release);
}

impl Interner {
    /// Name of a process that has given none.
    fn first() -> Self {
        let texts: Vec<&'static str> = fixed_texts().collect();
        Self {
            table: Table::publish(1024, &texts),
            texts,
            lives: Vec::new(),
        }
    }

    /// Of a forked process: it has its parent's names, all but one that was just being given and
    /// whose number nobody had yet. Its parent's runs are not its own. Nor is the table: the slot
    /// for that name may wait for a thread that is not here.
    fn behind(parent: &Table) -> Self {
        let mut entries: Vec<&Entry> = parent.slots.iter().filter_map(OnceLock::get).collect();
        entries.sort_unstable_by_key(|entry| entry.name.0);
        let texts: Vec<&'static str> = entries.iter().map(|entry| entry.text).collect();
        Self {
            table: Table::publish(parent.slots.len(), &texts),
            texts,
            lives: Vec::new(),
        }
    }
}

#[cold]
fn insert(hash: u64, text: &str) -> Name {
    let mut interner = interner();
    if let Some(name) = interner.table.find(hash, text) {
        return name;
    }
    let kept: &'static str = Box::leak(text.into());
    let name = Name(interner.texts.len() as u32);
    interner.texts.push(kept);
    for run in &interner.lives {
        run.log(&[live::Entry::Name(name.0, text.to_owned())]);
    }
    if interner.texts.len() * 2 > interner.table.slots.len() {
        interner.table = Table::publish(interner.table.slots.len() * 2, &interner.texts);
    } else {
        interner.table.place(hash, name, kept);
    }
    name
}

/// The texts of this process, by number: a copy of its list, so that it is locked only for new names.
#[derive(Default)]
pub(crate) struct ProcessTexts(Vec<&'static str>);

impl Texts for ProcessTexts {
    fn get(&mut self, text: Text) -> Option<&str> {
        let at = text.number() as usize;
        if at >= self.0.len() {
            let interner = interner();
            self.0.extend_from_slice(&interner.texts[self.0.len()..]);
        }
        self.0.get(at).copied()
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
