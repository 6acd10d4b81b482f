//! Things that get numbers, 0 and on, and are found again without a lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

pub(super) trait Key: Copy + PartialEq + 'static {
    fn hash(self) -> u64;
}

struct Entry<K> {
    hash: u64,
    number: u32,
    key: K,
}

/// Open addressing with a power-of-two size, at most half full, so that every probe ends.
pub(super) struct Table<K> {
    slots: Box<[OnceLock<Entry<K>>]>,
}

/// The current table; replaced when it is half full. Old tables stay, because a reader may still use them: together
/// they are no larger than the current one.
pub(super) struct Published<K>(AtomicPtr<Table<K>>);

impl<K: Key> Published<K> {
    pub const fn nothing() -> Self {
        Self(AtomicPtr::new(std::ptr::null_mut()))
    }

    pub fn table(&self) -> Option<&'static Table<K>> {
        // SAFETY: the pointer is null or comes from a leaked box that is never freed;
        // Acquire pairs with the Release store in `publish`.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    fn publish(&self, slots: usize, keys: &[K]) -> &'static Table<K> {
        let table = Box::leak(Box::new(Table {
            slots: (0..slots).map(|_| OnceLock::new()).collect(),
        }));
        for (number, key) in keys.iter().enumerate() {
            table.place(key.hash(), number as u32, *key);
        }
        self.0.store(table, Ordering::Release);
        table
    }
}

impl<K: Key> Table<K> {
    /// The number of the key of which `is` says that it is the one.
    pub fn find(&self, hash: u64, is: impl Fn(&K) -> bool) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let entry = self.slots[at].get()?;
            if entry.hash == hash && is(&entry.key) {
                return Some(entry.number);
            }
            at = (at + 1) & mask;
        }
    }

    fn place(&self, hash: u64, number: u32, key: K) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        let mut entry = Entry { hash, number, key };
        while let Err(back) = self.slots[at].set(entry) {
            entry = back;
            at = (at + 1) & mask;
        }
    }
}

/// All keys of one kind. Access only under the lock.
pub(super) struct Numbered<K: 'static> {
    keys: Vec<K>,
    to: &'static Published<K>,
    table: &'static Table<K>,
}

impl<K: Key> Numbered<K> {
    /// With these, in a process that has none; or those of the process it was forked from, all but one that was just
    /// being given and whose number nobody had yet. That one's table is not taken over: the slot may wait for a thread
    /// that is not here.
    pub fn new(to: &'static Published<K>, first: impl FnOnce() -> Vec<K>) -> Self {
        let (slots, keys) = match to.table() {
            None => (1024, first()),
            Some(parent) => {
                let mut entries: Vec<&Entry<K>> =
                    parent.slots.iter().filter_map(OnceLock::get).collect();
                entries.sort_unstable_by_key(|entry| entry.number);
                let keys = entries.iter().map(|entry| entry.key).collect();
                (parent.slots.len(), keys)
            }
        };
        let table = to.publish(slots, &keys);
        Self { keys, to, table }
    }

    /// By number.
    pub fn keys(&self) -> &[K] {
        &self.keys
    }

    pub fn find(&self, hash: u64, is: impl Fn(&K) -> bool) -> Option<u32> {
        self.table.find(hash, is)
    }

    /// The number that the next key gets.
    pub fn next(&self) -> u32 {
        self.keys.len() as u32
    }

    /// Adds a key that is not there.
    pub fn add(&mut self, key: K) {
        let number = self.next();
        self.keys.push(key);
        if self.keys.len() * 2 > self.table.slots.len() {
            self.table = self.to.publish(self.table.slots.len() * 2, &self.keys);
        } else {
            self.table.place(key.hash(), number, key);
        }
    }
}
