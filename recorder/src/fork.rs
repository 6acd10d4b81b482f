//! Recorders in a forked child.
//!
//! The child has the parent's rings, shared, but not its writer thread. So in the child every
//! recorder that was there is turned off before any code of the program runs: its events are
//! refused, and `finish` says why. It also closes the log, whose lock says that the
//! parent lives. The parent notices nothing. The child may make a recorder of its own: whatever
//! lock of the whole process a thread of the parent held at the fork is made anew for it.
//!
//! The handler runs between `fork` and the return to the program, where only async-signal-safe
//! functions may be called (POSIX.1-2017, `fork`): it takes no lock and allocates nothing.

use std::os::fd::RawFd;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, Ordering};

use trueno_format::held_file::Identity;

/// Which tables and features of a recorder are on. If both words are zero, nothing is recorded ever again.
#[repr(C)]
pub(crate) struct Switches {
    /// Those that are on; see [`crate::recorder::Tables`].
    pub on: AtomicU64,
    /// Those that are on again when the recorder is no longer paused; 0: it is not.
    pub paused: AtomicU64,
}

impl Switches {
    pub fn turn_off(&self) {
        // First: it is what would turn the other on again.
        self.paused.store(0, Ordering::SeqCst);
        self.on.store(0, Ordering::SeqCst);
    }
}

/// One recorder. Never freed, but reused after its recorder is gone.
struct Node {
    used: AtomicBool,
    /// Null if there is nothing to turn off.
    switches: AtomicPtr<Switches>,
    log: AtomicI32,
    /// The file that `log` must still refer to.
    log_file: [AtomicU64; 2],
    next: *const Node,
}

// SAFETY: `next` is written before the node can be reached, and never again; the rest is atomic.
unsafe impl Sync for Node {}

static NODES: AtomicPtr<Node> = AtomicPtr::new(ptr::null_mut());

pub(crate) struct Watched(&'static Node);

/// Puts a recorder on the list.
///
/// # Safety
/// `switches` must stay valid until the result is dropped.
pub(crate) unsafe fn watch(switches: &Switches, log: Option<(RawFd, Identity)>) -> Watched {
    static HANDLER: Once = Once::new();
    HANDLER.call_once(|| {
        // SAFETY: the handler does only what is allowed there. If there is no memory for it,
        // forks go unnoticed.
        unsafe { libc::pthread_atfork(None, None, Some(turn_off)) };
    });
    let node = free_node();
    node.log
        .store(log.map_or(-1, |(number, _)| number), Ordering::Relaxed);
    let file = log.map_or([0; 2], |(_, file)| file.words());
    for (to, word) in node.log_file.iter().zip(file) {
        to.store(word, Ordering::Relaxed);
    }
    node.switches
        .store(ptr::from_ref(switches).cast_mut(), Ordering::Release);
    Watched(node)
}

impl Watched {
    /// The log is about to be closed: its number may then belong to another file of the program.
    pub fn forget_log(&self) {
        self.0.log.store(-1, Ordering::SeqCst);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.switches.store(ptr::null_mut(), Ordering::Release);
        self.0.used.store(false, Ordering::Release);
    }
}

fn nodes() -> impl Iterator<Item = &'static Node> {
    let mut at = NODES.load(Ordering::Acquire).cast_const();
    std::iter::from_fn(move || {
        // SAFETY: null, or a leaked node that is never freed.
        let node = unsafe { at.as_ref() }?;
        at = node.next;
        Some(node)
    })
}

fn free_node() -> &'static Node {
    let free = |node: &&Node| {
        let used = &node.used;
        used.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    };
    if let Some(node) = nodes().find(free) {
        return node;
    }
    let node = Box::leak(Box::new(Node {
        used: AtomicBool::new(true),
        switches: AtomicPtr::new(ptr::null_mut()),
        log: AtomicI32::new(-1),
        log_file: Default::default(),
        next: NODES.load(Ordering::Acquire),
    }));
    loop {
        let head = node.next.cast_mut();
        let put = NODES.compare_exchange(head, node, Ordering::AcqRel, Ordering::Acquire);
        match put {
            Ok(_) => return node,
            Err(other) => node.next = other,
        }
    }
}

extern "C" fn turn_off() {
    crate::names::forked();
    #[cfg(feature = "alloc")]
    crate::alloc::forked();
    #[cfg(feature = "perf")]
    crate::perf::forked();
    for node in nodes() {
        // SAFETY: null, or valid as `watch` was promised; the child has a copy of that memory.
        let Some(switches) = (unsafe { node.switches.load(Ordering::Acquire).as_ref() }) else {
            continue;
        };
        switches.turn_off();
        let log = node.log.load(Ordering::Relaxed);
        let file = [0, 1].map(|at: usize| node.log_file[at].load(Ordering::Relaxed));
        // The program may have closed it, and have a file of its own under that number.
        if log >= 0 && Identity::from_words(file).is_of_number(log) {
            // Not closed but replaced: whoever closes the number later closes nothing else.
            // SAFETY: plain system calls on this process's own descriptors.
            unsafe {
                let nowhere = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
                if nowhere >= 0 {
                    libc::dup3(nowhere, log, libc::O_CLOEXEC);
                    libc::close(nowhere);
                }
            }
        }
    }
}
