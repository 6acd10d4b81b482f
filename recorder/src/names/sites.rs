//! Names at places of the program: file and line come to a row with its name, by one number.
//!
//! A record has no room for a place, and most places begin rows of one name. So a name and the place that begins rows of
//! it get a number together, a [`Site`], when they meet for the first time, and that number goes into the record as the
//! name's would. Each thread finds it by the address of the place, which costs a brick nine instructions.

use std::panic::Location;
use std::ptr;
use std::sync::atomic::{Ordering, compiler_fence};

use super::{Key, Name, SITES, interner};
use trueno_format::live;
use trueno_format::text::{SITE, Site};

/// About the number of sites that a thread can find by address. Other look-ups take about twenty times as long.
const SLOTS: usize = 512;
const PROBES: usize = 8;

/// Filled once and then never changed.
#[derive(Clone, Copy)]
struct Slot {
    /// Null if free. Stored last, so that a signal handler that records never sees a half-filled slot.
    place: *const Location<'static>,
    name: Name,
    site: Name,
}

/// Sites that a thread has used before. Zeroed memory is empty.
pub(crate) struct MetSites([Slot; SLOTS]);

/// First slot of a site. Constant if the compiler knows name and location.
#[inline(always)]
fn first_slot(name: Name, place: &Location<'_>) -> usize {
    (place.line().wrapping_add(name.number())) as usize % SLOTS
}

impl MetSites {
    /// The name at that place, if it lies where it is looked for first.
    #[inline(always)]
    pub fn find(&self, name: Name, place: &'static Location<'static>) -> Option<Name> {
        let slot = &self.0[first_slot(name, place)];
        slot.find(name, place)
    }

    /// The name at that place.
    pub fn find_or_add(&mut self, name: Name, place: &'static Location<'static>) -> Name {
        let first = first_slot(name, place);
        let slots = || (0..PROBES).map(|step| (first + step) % SLOTS);
        if let Some(site) = slots().find_map(|at| self.0[at].find(name, place)) {
            return site;
        }
        let site = name.at(place);
        if let Some(at) = slots().find(|at| self.0[*at].place.is_null()) {
            let slot = &mut self.0[at];
            (slot.name, slot.site) = (name, site);
            compiler_fence(Ordering::Release);
            slot.place = place;
        }
        site
    }
}

impl Slot {
    #[inline(always)]
    fn find(&self, name: Name, place: &'static Location<'static>) -> Option<Name> {
        (ptr::eq(self.place, place) && self.name == name).then_some(self.site)
    }
}

impl Name {
    pub(crate) fn at(self, place: &Location<'_>) -> Self {
        self.at_line(place.file(), place.line())
    }

    /// Like [`Name::at`], with the location as text. A name that has a location keeps it.
    pub(crate) fn at_line(self, file: &str, line: u32) -> Self {
        if self.number() & SITE != 0 {
            return self;
        }
        let site = Site {
            name: self.text(),
            file: Self::new(file).text(),
            line,
        };
        let (hash, is_it) = (site.hash(), |other: &Site| *other == site);
        let known = SITES.table().and_then(|table| table.find(hash, is_it));
        Self::of_site(known.unwrap_or_else(|| insert(hash, site)))
    }
}

#[cold]
fn insert(hash: u64, site: Site) -> u32 {
    let mut interner = interner();
    if let Some(number) = interner.sites.find(hash, |other| *other == site) {
        return number;
    }
    let number = interner.sites.next();
    for run in &interner.lives {
        run.log(&[live::Entry::site(number, site)]);
    }
    interner.sites.add(site);
    number
}
