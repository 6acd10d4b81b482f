//! One thread's side of one recorder: its ring, its clock and what is open on it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::clock::Clock;
use crate::overflow::Overflow;
use crate::reentrancy::ReentrancyGuard;
use crate::session_state::{SessionState, ThreadInfo};
use crate::tile_sampling::TileSampling;
use trueno_format::record::{Context, Record};
use trueno_format::ring::{Producer, Ring};
use trueno_format::schema::TableId;

/// A ring that grows is followed by one twice as large, up to this many records.
const LARGEST_RING: u64 = 1 << 20;
/// Sleep of a blocked thread before it looks again.
const BLOCKED_SLEEP: Duration = Duration::from_micros(50);

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
    fn word(self) -> &'static str {
        match self {
            Self::Brick => "brick",
            Self::Kernel => "kernel",
            Self::Tile => "tile",
            Self::Wait => "wait",
            Self::Label => "label",
        }
    }
}

/// Change of the iteration and layer inside an open row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope {
    Iteration(u64),
    Layer(u32),
    /// A task takes over those of its parent, which may lie on another thread.
    Task(Context),
}

impl Scope {
    fn within(self, outer: Context) -> Context {
        match self {
            Self::Iteration(number) => Context {
                iteration: Some(number),
                ..outer
            },
            Self::Layer(number) => Context {
                layer: Some(number),
                ..outer
            },
            Self::Task(context) => context,
        }
    }
}

#[derive(Clone, Copy)]
struct Open {
    seq: u32,
    class: Class,
}

/// Used by its own thread only.
///
/// The number of open rows stands in [`ThreadInfo::open`] as well: when the run ends, they are lost.
pub(crate) struct Lane {
    producer: Producer,
    clock: Clock,
    last_ticks: u64,
    next_seq: u32,
    /// Rows whose guards are not yet dropped, outermost first.
    open: Vec<Open>,
    /// Iterations, layers and tasks among them.
    scopes: Vec<(u32, Scope)>,
    /// All scopes together: what holds for the next row.
    context: Context,
    /// The writer does not know the innermost context yet: it goes with the next group.
    context_unsent: bool,
    /// `None`: every tile is recorded.
    pub tile_sampling: Option<TileSampling>,
    /// Not there: no brick of the thread was counted yet.
    #[cfg(feature = "perf")]
    pub perf: Option<Box<crate::perf::Counting>>,
    thread: Arc<ThreadInfo>,
    shared: Arc<SessionState>,
}

impl Lane {
    pub fn new(shared: Arc<SessionState>, thread: Arc<ThreadInfo>, ring: Arc<Ring>) -> Self {
        Self {
            producer: Producer::new(ring),
            clock: shared.clock,
            last_ticks: 0,
            next_seq: 1,
            open: Vec::with_capacity(64),
            scopes: Vec::with_capacity(16),
            context: Context::default(),
            context_unsent: false,
            tile_sampling: shared
                .tiles_every
                .get()
                .map(|every| TileSampling::new(*every, thread.index)),
            #[cfg(feature = "perf")]
            perf: None,
            thread,
            shared,
        }
    }

    pub fn thread(&self) -> &Arc<ThreadInfo> {
        &self.thread
    }

    pub fn shared(&self) -> &Arc<SessionState> {
        &self.shared
    }

    /// The iteration and layer that hold for the next row.
    pub fn context(&self) -> Context {
        self.context
    }

    pub fn ring(&self) -> &Arc<Ring> {
        self.producer.ring()
    }

    /// Returns whether guards of this thread are still open.
    pub fn in_use(&self) -> bool {
        !self.open.is_empty() || !self.scopes.is_empty()
    }

    /// Names the open rows, outermost first.
    pub fn open_kinds(&self) -> impl Iterator<Item = &'static str> {
        let scope = |seq| self.scopes.iter().find(|(of, _)| *of == seq);
        self.open.iter().map(move |open| match scope(open.seq) {
            Some((_, Scope::Iteration(_))) => "iteration",
            Some((_, Scope::Layer(_))) => "layer",
            Some((_, Scope::Task(_))) => "task",
            None => open.class.word(),
        })
    }

    /// After every change: a store, and nothing else.
    #[inline(always)]
    fn count_open(&self) {
        self.thread
            .open
            .store(self.open.len() as u64, Ordering::Relaxed);
    }

    /// The clock, never earlier than the last reading of this thread: nesting in time
    /// follows nesting in the program even where a core's counter lags.
    #[inline(always)]
    pub fn now(&mut self) -> u64 {
        let ticks = self.clock.ticks().max(self.last_ticks);
        self.last_ticks = ticks;
        ticks
    }

    /// Opens a row: its sequence number, or `None` when the thread has used up all of them.
    #[inline(always)]
    pub fn open(&mut self, class: Class, table: TableId) -> Option<u32> {
        let seq = self.next_seq;
        if seq == u32::MAX {
            return self.exhausted(table);
        }
        self.next_seq = seq + 1;
        if class == Class::Label {
            return Some(seq);
        }
        if self.open.len() == self.open.capacity() {
            self.more_open();
        }
        self.open.push(Open { seq, class });
        self.count_open();
        Some(seq)
    }

    /// Makes room for more open rows; only here may `open` allocate.
    #[cold]
    #[inline(never)]
    fn more_open(&mut self) {
        let _reentrancy = ReentrancyGuard::enter();
        self.open.reserve(1);
    }

    #[cold]
    fn exhausted(&mut self, table: TableId) -> Option<u32> {
        self.drop_rows(table, 1);
        None
    }

    /// Closes a row; returns the number of open rows that enclose it, the first ones. Guards may be
    /// dropped in any order: each leaves only its own entry.
    #[inline(always)]
    pub fn close(&mut self, seq: u32) -> usize {
        match self.open.last() {
            Some(last) if last.seq == seq => {
                self.open.pop();
                self.count_open();
                self.open.len()
            }
            _ => self.close_out_of_order(seq),
        }
    }

    #[cold]
    fn close_out_of_order(&mut self, seq: u32) -> usize {
        match self.open.iter().rposition(|open| open.seq == seq) {
            Some(at) => {
                self.open.remove(at);
                self.count_open();
                at
            }
            // A label.
            None => self.open.len(),
        }
    }

    /// Counts the open rows.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// The innermost row of `bricks` among the first `depth` open ones; 0: none.
    #[inline(always)]
    pub fn brick_below(&self, depth: usize) -> u32 {
        self.below(depth, |class| class == Class::Brick)
    }

    /// The innermost row of any table that work can lie in; 0: none.
    #[inline(always)]
    pub fn work_below(&self, depth: usize) -> u32 {
        self.below(depth, |class| class != Class::Wait)
    }

    #[inline(always)]
    fn below(&self, depth: usize, wanted: impl Fn(Class) -> bool) -> u32 {
        self.open[..depth]
            .iter()
            .rev()
            .find(|open| wanted(open.class))
            .map_or(0, |open| open.seq)
    }

    /// The iteration and layer that open row `seq` lies in, its own included.
    pub fn context_of(&self, seq: u32) -> Context {
        let around = self.scopes.iter().filter(|(of, _)| *of <= seq);
        around.fold(Context::default(), |outer, (_, scope)| scope.within(outer))
    }

    /// From now on rows lie in `scope`, until row `seq` leaves it.
    pub fn enter(&mut self, seq: u32, scope: Scope) {
        let _reentrancy = ReentrancyGuard::enter();
        self.scopes.push((seq, scope));
        self.scopes_changed();
    }

    /// Row `seq` ends, and with it the scope it had opened, if any. Scopes may end in any order.
    pub fn leave(&mut self, seq: u32) {
        if let Some(at) = self.scopes.iter().rposition(|(of, _)| *of == seq) {
            self.scopes.remove(at);
            self.scopes_changed();
        }
    }

    /// The next group goes through `push_group`, which sends the context ahead of it: a
    /// context is lost only together with the rows it holds for.
    fn scopes_changed(&mut self) {
        self.context = self.context_of(u32::MAX);
        self.context_unsent = true;
        self.producer.look_first();
    }

    /// Publishes a row of one record.
    #[inline(always)]
    pub fn push(&mut self, table: TableId, record: Record) {
        if self.producer.must_reserve() {
            let copy = record;
            self.push_slowly(table, &copy);
        } else {
            // SAFETY: `must_reserve` said there is room.
            unsafe { self.producer.write(record) };
            self.producer.publish();
        }
    }

    /// Out of line, with a copy: the caller keeps its record in registers.
    #[cold]
    #[inline(never)]
    fn push_slowly(&mut self, table: TableId, record: &Record) {
        self.push_group(table, 1, std::slice::from_ref(record));
    }

    /// Publishes a row of one record; false: it was dropped, and counted.
    #[cfg(feature = "alloc")]
    pub fn try_push(&mut self, table: TableId, record: Record) -> bool {
        if self.producer.must_reserve() {
            return self.push_group(table, 1, std::slice::from_ref(&record));
        }
        // SAFETY: `must_reserve` said there is room.
        unsafe { self.producer.write(record) };
        self.producer.publish();
        true
    }

    /// Publishes a group standing for `rows` rows: all its records or none. False: none.
    pub fn push_group(&mut self, table: TableId, rows: u64, records: &[Record]) -> bool {
        let needed = records.len() as u64 + u64::from(self.context_unsent);
        if !self.producer.has_room(needed) && !self.make_room(needed) {
            self.drop_rows(table, rows);
            return false;
        }
        if self.context_unsent {
            self.context_unsent = false;
            let context = self.context.record();
            // SAFETY: room for `needed` records was made.
            unsafe { self.producer.write(context) };
        }
        for record in records {
            // SAFETY: as above.
            unsafe { self.producer.write(*record) };
        }
        self.producer.publish();
        true
    }

    fn make_room(&mut self, needed: u64) -> bool {
        let _reentrancy = ReentrancyGuard::enter();
        loop {
            let (fits, half_full) = self.producer.reserve(needed);
            if half_full {
                self.shared.wake();
            }
            if fits {
                return true;
            }
            match self.shared.overflow {
                Overflow::Drop => return false,
                Overflow::Block => {
                    if self.shared.stopped.load(Ordering::Acquire) {
                        return false;
                    }
                    std::thread::sleep(BLOCKED_SLEEP);
                }
                Overflow::Grow => {
                    let capacity =
                        (self.ring().capacity() * 2).min(LARGEST_RING.max(self.ring().capacity()));
                    let Some(next) = self.shared.live.ring(capacity as usize) else {
                        return false;
                    };
                    next.header().take(&self.thread.identity());
                    self.producer.follow(next);
                }
            }
        }
    }

    fn drop_rows(&mut self, table: TableId, rows: u64) {
        self.thread.dropped.add_alone(table, rows);
        // And where it survives a kill.
        self.ring().header().dropped.add_alone(table, rows);
    }
}
