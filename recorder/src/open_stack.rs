//! Rows that are open on one thread, innermost last.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::reentrancy::ReentrancyGuard;
use crate::thread_registry::ThreadInfo;

/// Places at first; more are made when they are all taken.
const PLACES: usize = 64;

/// Kind of an open row; decides whose parent it can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// A row of `bricks`.
    Brick,
    Kernel,
    Tile,
    /// A row of `syncs`: nobody's parent.
    Wait,
    /// An iteration or layer where bricks are left out: it labels other rows and is none itself.
    Label,
}

impl Class {
    pub fn word(self) -> &'static str {
        match self {
            Self::Brick => "brick",
            Self::Kernel => "kernel",
            Self::Tile => "tile",
            Self::Wait => "wait",
            Self::Label => "label",
        }
    }
}

/// An open row, and what is found once here and not by each row in it.
#[derive(Clone, Copy)]
#[repr(C)]
struct Open {
    seq: u32,
    /// The innermost row of `bricks`, this one included; 0: none.
    brick: u32,
    class: Class,
}

/// Bytes of a place: the number of open rows is kept in this unit, which spares a multiplication.
const PLACE_BYTES: usize = size_of::<Open>();

/// The number of open rows, of the innermost one's place as [`ThreadInfo::open`] has it.
pub(crate) fn rows_at(innermost: u64) -> u64 {
    innermost / PLACE_BYTES as u64
}

impl Open {
    const NONE: Self = Self {
        seq: 0,
        brick: 0,
        class: Class::Label,
    };

    #[inline(always)]
    fn inside(outer: Self, seq: u32, class: Class) -> Self {
        let brick = match class {
            Class::Brick => seq,
            _ => outer.brick,
        };
        Self { seq, brick, class }
    }
}

/// Kinds of enclosing rows that a row can name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parent {
    /// The innermost row of `bricks`.
    Brick,
    /// The innermost row of any table that work can lie in.
    Work,
}

/// Open rows of one thread. Their number stands in [`ThreadInfo`] and nowhere else: when the run ends, the writer
/// asks how many rows are lost.
pub(crate) struct OpenStack {
    /// Row n of the open ones, from 1 on; before them, and behind them, what stands for none. There
    /// are always more places than open rows.
    places: Vec<Open>,
    /// Bytes of all places.
    end: usize,
    thread: Arc<ThreadInfo>,
}

impl OpenStack {
    pub fn new(thread: Arc<ThreadInfo>) -> Self {
        Self {
            places: vec![Open::NONE; PLACES],
            end: PLACES * PLACE_BYTES,
            thread,
        }
    }

    pub fn thread(&self) -> &Arc<ThreadInfo> {
        &self.thread
    }

    /// Counts the open rows.
    #[inline(always)]
    pub fn depth(&self) -> usize {
        self.innermost() / PLACE_BYTES
    }

    /// Offset of the innermost open row, or of none.
    #[inline(always)]
    fn innermost(&self) -> usize {
        self.thread.open.load(Ordering::Relaxed) as usize
    }

    #[inline(always)]
    fn set_innermost(&self, at: usize) {
        self.thread.open.store(at as u64, Ordering::Relaxed);
    }

    /// The place at that offset, which must be that of a row or of none.
    #[inline(always)]
    fn place(&self, at: usize) -> Open {
        debug_assert!(at < self.end && at.is_multiple_of(PLACE_BYTES));
        // SAFETY: asked for places up to the innermost open row, which only this thread changes, and behind which
        // there is another place.
        unsafe { *self.places.as_ptr().byte_add(at) }
    }

    /// Adds a row where there is a place for it; false: there is none yet.
    #[inline(always)]
    pub fn push_quickly(&mut self, seq: u32, class: Class) -> bool {
        let outer = self.innermost();
        let at = outer + PLACE_BYTES;
        if at >= self.end {
            return false;
        }
        let open = Open::inside(self.place(outer), seq, class);
        // SAFETY: the offset is that of a place, and before their end.
        unsafe { *self.places.as_mut_ptr().byte_add(at) = open };
        self.set_innermost(at);
        true
    }

    /// Adds a row.
    #[inline]
    pub fn push(&mut self, seq: u32, class: Class) {
        if !self.push_quickly(seq, class) {
            self.make_places();
            self.push_quickly(seq, class);
        }
    }

    /// Only here may the stack allocate.
    #[cold]
    #[inline(never)]
    pub fn make_places(&mut self) {
        let _reentrancy = ReentrancyGuard::enter();
        self.places.resize(self.places.len() * 2, Open::NONE);
        self.end = self.places.len() * PLACE_BYTES;
    }

    /// Removes row `seq` if it is the innermost one; gives its parent (0: none).
    #[inline(always)]
    pub fn pop_quickly(&mut self, seq: u64, parent: Parent) -> Option<u32> {
        let at = self.innermost();
        // Where no row is open, the place is that of none, which has no number of a row.
        if u64::from(self.place(at).seq) != seq {
            return None;
        }
        let outer = at - PLACE_BYTES;
        let parent = self.parent_at(outer, parent);
        self.set_innermost(outer);
        Some(parent)
    }

    /// Removes a row; what encloses it are the first so many that are open. Guards may be
    /// dropped in any order: each leaves only its own entry.
    #[inline]
    pub fn remove(&mut self, seq: u32) -> usize {
        match self.pop_quickly(seq.into(), Parent::Brick) {
            Some(_) => self.depth(),
            None => self.remove_out_of_order(seq),
        }
    }

    #[cold]
    fn remove_out_of_order(&mut self, seq: u32) -> usize {
        let depth = self.depth();
        let rows = &mut self.places[..=depth];
        let Some(at) = rows.iter().rposition(|open| open.seq == seq) else {
            // A label.
            return depth;
        };
        for at in at..depth {
            rows[at] = Open::inside(rows[at - 1], rows[at + 1].seq, rows[at + 1].class);
        }
        self.set_innermost((depth - 1) * PLACE_BYTES);
        at - 1
    }

    /// The parent of a row that opens inside the first `depth` open ones; 0: none.
    #[inline(always)]
    pub fn parent_below(&self, depth: usize, parent: Parent) -> u32 {
        self.parent_at(depth * PLACE_BYTES, parent)
    }

    #[inline(always)]
    fn parent_at(&self, mut at: usize, parent: Parent) -> u32 {
        let mut outer = self.place(at);
        if parent == Parent::Brick {
            return outer.brick;
        }
        while outer.class == Class::Wait {
            at -= PLACE_BYTES;
            outer = self.place(at);
        }
        outer.seq
    }

    /// The open rows, outermost first.
    pub fn rows(&self) -> impl Iterator<Item = (u32, Class)> {
        let rows = self.places.iter().skip(1).take(self.depth());
        rows.map(|open| (open.seq, open.class))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A search through all open rows.
    fn innermost(rows: &[(u32, Class)], wanted: impl Fn(Class) -> bool) -> u32 {
        let mut inside_out = rows.iter().rev();
        inside_out
            .find(|(_, class)| wanted(*class))
            .map_or(0, |(seq, _)| *seq)
    }

    proptest! {
        #[test]
        fn parents_are_those_that_a_search_finds(
            steps in prop::collection::vec((0u8..6, any::<prop::sample::Index>()), 0..300),
        ) {
            let mut stack = OpenStack::new(Arc::new(ThreadInfo::new(0, None, 0, 0)));
            let mut rows: Vec<(u32, Class)> = Vec::new();
            for (seq, (step, which)) in (1..).zip(steps) {
                let classes = [Class::Brick, Class::Kernel, Class::Tile, Class::Wait];
                if let Some(class) = classes.get(usize::from(step)) {
                    stack.push(seq, *class);
                    rows.push((seq, *class));
                } else if !rows.is_empty() {
                    let at = if step == 4 { rows.len() - 1 } else { which.index(rows.len()) };
                    let (gone, _) = rows.remove(at);
                    prop_assert_eq!(stack.remove(gone), at);
                    prop_assert_eq!(stack.remove(gone), rows.len(), "it is there no more");
                }
                prop_assert_eq!(stack.rows().collect::<Vec<_>>(), rows.clone());
                for depth in 0..=rows.len() {
                    let below = &rows[..depth];
                    let brick = innermost(below, |class| class == Class::Brick);
                    let work = innermost(below, |class| class != Class::Wait);
                    prop_assert_eq!((stack.parent_below(depth, Parent::Brick), stack.parent_below(depth, Parent::Work)), (brick, work));
                }
            }
        }
    }
}
