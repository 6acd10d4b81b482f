//! One thread's side of one recorder: its ring, its clock and what is open on it.

use std::alloc::{self, Layout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence};
use std::time::Duration;

use crate::clock::{self, Clock};
use crate::names::MetSites;
use crate::open_stack::{OpenStack, Parent};
use crate::overflow::Overflow;
use crate::reentrancy::ReentrancyGuard;
use crate::row_details::RowDetails;
use crate::session_state::SessionState;
use crate::shapes::MetSignatures;
use crate::thread_registry::ThreadInfo;

pub(crate) use crate::open_stack::Class;
use crate::tile_sampling::TileSampling;
use trueno_format::dropped_names;
use trueno_format::record::{Context, Record};
use trueno_format::ring::{Producer, Ring};
use trueno_format::schema::TableId;
use trueno_format::text::Text;

/// First sleep of a blocked thread before it looks again; each further one is twice as long.
const BLOCKED_SLEEP: Duration = Duration::from_micros(50);
/// Longest such sleep: a thousand blocked threads must leave the writer its core.
const LONGEST_BLOCKED_SLEEP: Duration = Duration::from_millis(2);

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

/// Used by its own thread only.
pub(crate) struct Lane {
    producer: Producer,
    clock: Clock,
    last_ticks: u64,
    next_seq: u32,
    /// Rows whose guards are not yet dropped.
    open: OpenStack,
    /// Iterations, layers and tasks among them.
    scopes: Vec<(u32, Scope)>,
    /// All scopes together: what holds for the next row.
    context: Context,
    /// The writer does not know the innermost context yet: it goes with the next group.
    context_unsent: bool,
    /// Of open rows that have any, by sequence number.
    details: Vec<(u32, RowDetails)>,
    /// `None`: every tile is recorded.
    pub tile_sampling: Option<TileSampling>,
    /// Zeros: empty; likewise the next one.
    pub met_signatures: MetSignatures,
    pub met_sites: MetSites,
    /// Not there: no brick of the thread was counted yet.
    #[cfg(feature = "perf")]
    pub perf: Option<Box<crate::perf::Counting>>,
    /// Room is being made: a signal handler that records meanwhile finds none.
    makes_room: AtomicBool,
    shared: Arc<SessionState>,
}

/// Number of the calling thread, by the operating system.
pub(crate) fn os_thread() -> u64 {
    // SAFETY: takes nothing, cannot fail.
    (unsafe { libc::syscall(libc::SYS_gettid) }) as u64
}

impl Lane {
    /// Made where it stays: most of it is tables that stay zeros, of which nothing is touched before it is used.
    pub fn new(shared: Arc<SessionState>, thread: Arc<ThreadInfo>, ring: Arc<Ring>) -> Box<Self> {
        let layout = Layout::new::<Self>();
        // SAFETY: it has a size.
        let lane: *mut Self = unsafe { alloc::alloc_zeroed(layout) }.cast();
        if lane.is_null() {
            alloc::handle_alloc_error(layout);
        }
        // SAFETY: each field is written once, or is a table in which zeros say that it is empty; `global` memory of
        // this layout is what a box has.
        unsafe {
            (&raw mut (*lane).producer).write(Producer::new(ring));
            (&raw mut (*lane).clock).write(shared.clock);
            (&raw mut (*lane).last_ticks).write(0);
            (&raw mut (*lane).next_seq).write(1);
            (&raw mut (*lane).open).write(OpenStack::new(thread.clone()));
            (&raw mut (*lane).scopes).write(Vec::with_capacity(16));
            (&raw mut (*lane).context).write(Context::default());
            (&raw mut (*lane).context_unsent).write(false);
            (&raw mut (*lane).details).write(Vec::with_capacity(16));
            let sampling = shared.tiles_every.get();
            let sampling = sampling.map(|every| TileSampling::new(*every, thread.index));
            (&raw mut (*lane).tile_sampling).write(sampling);
            #[cfg(feature = "perf")]
            (&raw mut (*lane).perf).write(None);
            (&raw mut (*lane).makes_room).write(AtomicBool::new(false));
            (&raw mut (*lane).shared).write(shared);
            Box::from_raw(lane)
        }
    }

    pub fn thread(&self) -> &Arc<ThreadInfo> {
        self.open.thread()
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
        self.open.depth() > 0 || !self.scopes.is_empty()
    }

    /// Names the open rows, outermost first.
    pub fn open_kinds(&self) -> impl Iterator<Item = &'static str> {
        let scope = |seq| self.scopes.iter().find(|(of, _)| *of == seq);
        self.open.rows().map(move |(seq, class)| match scope(seq) {
            Some((_, Scope::Iteration(_))) => "iteration",
            Some((_, Scope::Layer(_))) => "layer",
            Some((_, Scope::Task(_))) => "task",
            None => class.word(),
        })
    }

    /// The clock, never earlier than the last reading of this thread: nesting in time
    /// follows nesting in the program even where a core's counter lags.
    #[inline(always)]
    pub fn now(&mut self) -> u64 {
        let ticks = self.clock.ticks().max(self.last_ticks);
        self.last_ticks = ticks;
        ticks
    }

    /// As [`Lane::now`], where [`Clock::is_inline`].
    #[inline(always)]
    pub fn now_inline(&mut self) -> u64 {
        let ticks = clock::inline_ticks().max(self.last_ticks);
        self.last_ticks = ticks;
        ticks
    }

    /// The clock now, or its last reading where there was one a moment ago.
    pub fn now_unless(&mut self, was_read: bool) -> u64 {
        if was_read {
            self.last_ticks
        } else {
            self.now()
        }
    }

    /// Opens a row: its sequence number, or `None` when the thread has used up all of them.
    pub fn open(&mut self, class: Class, table: TableId) -> Option<u32> {
        let seq = self.next_seq;
        if seq == u32::MAX {
            self.drop_rows(table, 1, None);
            return None;
        }
        self.next_seq = seq + 1;
        if class != Class::Label {
            self.open.push(seq, class);
        }
        Some(seq)
    }

    /// Opens a brick again that has its number; it is closed again, and recorded by other means.
    pub fn reopen(&mut self, seq: u32) {
        self.open.push(seq, Class::Brick);
    }

    /// Opens a row that is no label; `None`: only [`Lane::open`] can.
    #[inline(always)]
    pub fn open_quickly(&mut self, class: Class) -> Option<u32> {
        let seq = self.next_seq;
        if seq == u32::MAX || !self.open.push_quickly(seq, class) {
            return None;
        }
        self.next_seq = seq + 1;
        Some(seq)
    }

    /// Closes a row; what encloses it are the first so many open ones.
    pub fn close(&mut self, seq: u32) -> usize {
        self.open.remove(seq)
    }

    /// Closes the innermost row, to publish one record of it; gives its parent (0: none). `None`: nothing was done, as
    /// it is not the innermost one, or no room is known of.
    #[inline(always)]
    pub fn close_quickly(&mut self, seq: u64, parent: Parent) -> Option<u32> {
        if self.producer.must_reserve() {
            return None;
        }
        self.open.pop_quickly(seq, parent)
    }

    /// Publishes a row of one record.
    ///
    /// # Safety
    /// [`Lane::close_quickly`] found room, and nothing was published since.
    #[inline(always)]
    pub unsafe fn push_quickly(&mut self, record: Record) {
        // SAFETY: vouched for by the caller.
        unsafe { self.producer.push(record) };
    }

    /// Closes the innermost row, whose details came last, and forgets them, to publish two records of it; gives its
    /// parent (0: none). `None`: nothing was done, as it is not the innermost one, or no room is known of.
    #[inline(always)]
    pub fn close_with_details(&mut self, seq: u32) -> Option<u32> {
        if self.producer.must_reserve() || !self.producer.has_room(2) {
            return None;
        }
        let parent = self.open.pop_quickly(seq.into(), Parent::Brick)?;
        self.details.truncate(self.details.len() - 1);
        Some(parent)
    }

    /// Publishes a row of two records.
    ///
    /// # Safety
    /// [`Lane::close_with_details`] found room, and nothing was published since.
    #[inline(always)]
    pub unsafe fn push_pair(&mut self, record: Record, extension: Record) {
        // SAFETY: vouched for by the caller.
        unsafe { self.producer.write(record) };
        // SAFETY: as above.
        unsafe { self.producer.push(extension) };
    }

    /// The launch of the row whose details came last, as a record, if it is `seq` and has no other details.
    #[inline(always)]
    pub fn just_launch(&self, seq: u32) -> Option<Record> {
        let (of, details) = self.details.last()?;
        (*of == seq && details.is_just_launch()).then(|| details.launch.record())
    }

    /// Details of open row `seq`, to be added to. Whoever has some [takes](Lane::take_details) them when it ends.
    #[inline]
    pub fn details(&mut self, seq: u32) -> &mut RowDetails {
        let last = self.details.len().wrapping_sub(1);
        let at = match self.details.get(last) {
            Some((of, _)) if *of == seq => last,
            _ => self.find_or_add_details(seq),
        };
        &mut self.details[at].1
    }

    fn find_or_add_details(&mut self, seq: u32) -> usize {
        let known = self.details.iter().rposition(|(of, _)| *of == seq);
        known.unwrap_or_else(|| {
            let _reentrancy = ReentrancyGuard::enter();
            self.details.push((seq, RowDetails::default()));
            self.details.len() - 1
        })
    }

    /// Forgets the details of a row, and gives them.
    pub fn take_details(&mut self, seq: u32) -> RowDetails {
        let known = self.details.iter().rposition(|(of, _)| *of == seq);
        known.map_or_else(RowDetails::default, |at| self.details.swap_remove(at).1)
    }

    /// The row opened last: its number.
    #[inline(always)]
    pub fn last_seq(&self) -> u32 {
        self.next_seq - 1
    }

    /// The last reading of the clock.
    #[inline(always)]
    pub fn last_ticks(&self) -> u64 {
        self.last_ticks
    }

    /// Counts the open rows.
    #[inline(always)]
    pub fn depth(&self) -> usize {
        self.open.depth()
    }

    /// The innermost row of `bricks` among the first `depth` open ones; 0: none.
    #[inline(always)]
    pub fn brick_below(&self, depth: usize) -> u32 {
        self.open.parent_below(depth, Parent::Brick)
    }

    /// The innermost row of any table that work can lie in; 0: none.
    #[inline(always)]
    pub fn work_below(&self, depth: usize) -> u32 {
        self.open.parent_below(depth, Parent::Work)
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
            unsafe { self.producer.push(record) };
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
            self.drop_rows(
                table,
                rows,
                records.first().and_then(dropped_names::name_of),
            );
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
        if self.makes_room.load(Ordering::Relaxed) {
            return false;
        }
        if os_thread() != self.thread().os_id {
            // A raw `clone` that shares memory and thread-locals with its parent: nobody tells the two apart on the
            // fast path, and rows of one may lie over those of the other.
            self.shared.foreign.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        // The thread may wait in there for long: that is where nearly all signals meet a lane at work.
        self.makes_room.store(true, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let from_ticks = self.clock.ticks();
        let is_made = self.wait_for_room(needed);
        self.shared.own_time.looked_for_room(self.clock, from_ticks);
        compiler_fence(Ordering::SeqCst);
        self.makes_room.store(false, Ordering::Relaxed);
        is_made
    }

    fn wait_for_room(&mut self, needed: u64) -> bool {
        let _reentrancy = ReentrancyGuard::enter();
        let mut sleep = BLOCKED_SLEEP;
        loop {
            let (fits, half_full) = self.producer.reserve(needed);
            let capacity = self.ring().capacity();
            let is_much = half_full || u64::from(self.next_seq) > capacity;
            if is_much && self.shared.rings.is_outgrown(capacity) && self.follow_if_ready() {
                continue;
            }
            if half_full {
                self.shared.mailbox.wake();
            }
            if fits {
                return true;
            }
            match self.shared.overflow {
                Overflow::Drop => return false,
                Overflow::Block => {
                    // In a ring that others have damaged, room may never come.
                    if self.shared.counts.stopped.load(Ordering::Acquire)
                        || self.ring().is_disturbed()
                    {
                        return false;
                    }
                    std::thread::sleep(sleep);
                    sleep = (sleep * 2).min(LONGEST_BLOCKED_SLEEP);
                }
                Overflow::Grow => {
                    // None: there is no memory for one.
                    let Some(next) = self.shared.rings.grown(capacity) else {
                        return false;
                    };
                    self.follow(next);
                }
            }
        }
    }

    /// Carries on in a longer ring if one is ready. If not, the writer makes one while this one still has room: mapping it
    /// takes longer than all else that recording costs a short program.
    fn follow_if_ready(&mut self) -> bool {
        let shared = &self.shared;
        let (capacity, thread) = (self.ring().capacity(), self.thread().index);
        let next = shared
            .rings
            .ready(capacity, thread, || shared.mailbox.wake());
        let Some(next) = next else {
            return false;
        };
        self.follow(next);
        true
    }

    fn follow(&mut self, next: Arc<Ring>) {
        next.header().take(&self.thread().identity());
        self.producer.follow(next);
    }

    /// Counts rows that are not recorded.
    pub fn drop_rows(&mut self, table: TableId, rows: u64, name: Option<Text>) {
        let thread = self.thread();
        thread.dropped.add_alone(table, rows);
        thread.dropped_names.add_alone(table, name, rows);
        // And where it survives a kill.
        let header = self.ring().header();
        header.dropped().add_alone(table, rows);
        header.dropped_names.add_alone(table, name, rows);
    }
}
