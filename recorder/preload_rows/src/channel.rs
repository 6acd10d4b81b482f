//! Shared memory of the command and the programs that it records: lanes, each of one thread.
//!
//! The command makes it before the program begins, as memory without a name, and programs map it by the command's
//! own `/proc`: so nothing lies on a disk, no thread of theirs opens anything later, no descriptor stays open, and what
//! they stored is there whatever ends them.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::event::{Event, WORDS};

/// Variable with the path of the memory.
pub const CHANNEL_VARIABLE: &CStr = c"TRUENO_INTERPOSE";

/// Name of the memory, as in the maps of processes that have it.
pub(crate) const CHANNEL_NAME: &str = "/memfd:trueno-record";

/// Number of threads that can record at the same time; events of others are only counted.
pub const LANES: usize = 512;
pub const LANE_EVENTS: u64 = 8192;
/// Depends on the layout.
const MAGIC: u64 = 0x7472_756e_0100_0000 + (LANE_EVENTS << 12) + LANES as u64;

pub const FREE: u32 = 0;
/// A thread is claiming the lane, or the command is releasing it.
pub const TAKEN: u32 = 1;
pub const USED: u32 = 2;
/// The thread has ended; its events are still to be read.
pub const ENDED: u32 = 3;

/// Kinds of events, as indices into counts.
pub const CALLS: usize = 0;
pub const ALLOCATIONS: usize = 1;

#[repr(C, align(4096))]
pub struct Header {
    magic: AtomicU64,
    /// 1 if calls are recorded.
    pub calls: AtomicU64,
    /// Mean distance of sample points; 0 if allocations are not recorded.
    pub mean_bytes: AtomicU64,
    pub reader: AtomicU32,
    pub pid_namespace: AtomicU64,
    /// Number of program images that reported something; each has a number from 1 on.
    pub images: AtomicU64,
    /// Events for which there was no lane, no room or no entry in a table.
    pub lost: [AtomicU64; 2],
    pub allocations: AtomicU64,
    pub allocated_bytes: AtomicU64,
}

#[repr(C, align(128))]
pub struct Lane {
    pub state: AtomicU32,
    pub thread: AtomicU32,
    pub process: AtomicU32,
    /// Name of the thread when it claimed the lane.
    pub name: [AtomicU64; 2],
    pub image: AtomicU64,
    pub allocations: AtomicU64,
    pub allocated_bytes: AtomicU64,
    written: AtomicU64,
    read: Apart<AtomicU64>,
    events: [[AtomicU64; WORDS]; LANE_EVENTS as usize],
}

#[repr(C, align(128))]
struct Apart<T>(T);

impl Lane {
    pub fn has_room(&self) -> bool {
        let written = self.written.load(Ordering::Relaxed);
        written.wrapping_sub(self.read.0.load(Ordering::Acquire)) < LANE_EVENTS
    }

    /// Publishes an event. Only for the thread that has the lane, and only if [`Lane::has_room`].
    pub fn push(&self, event: &[u64; WORDS]) {
        let written = self.written.load(Ordering::Relaxed);
        for (place, word) in self.place(written).iter().zip(event) {
            place.store(*word, Ordering::Relaxed);
        }
        self.written
            .store(written.wrapping_add(1), Ordering::Release);
    }

    /// Takes all available events and returns their number. Only for the command. `None` stands for an invalid
    /// event.
    pub fn drain(&self, mut take: impl FnMut(Option<Event>)) -> u64 {
        let read = self.read.0.load(Ordering::Relaxed);
        let written = self.written.load(Ordering::Acquire);
        let count = written.wrapping_sub(read).min(LANE_EVENTS);
        for at in 0..count {
            let place = self.place(read.wrapping_add(at));
            take(Event::from_words(&std::array::from_fn(|word| {
                place[word].load(Ordering::Relaxed)
            })));
        }
        self.read.0.store(written, Ordering::Release);
        count
    }

    /// Adds an allocation to the thread's counts. Only for the thread that has the lane.
    #[inline(always)]
    pub fn count(&self, bytes: u64) {
        let add = |count: &AtomicU64, by: u64| {
            count.store(
                count.load(Ordering::Relaxed).wrapping_add(by),
                Ordering::Relaxed,
            );
        };
        add(&self.allocations, 1);
        add(&self.allocated_bytes, bytes);
    }

    fn place(&self, number: u64) -> &[AtomicU64; WORDS] {
        &self.events[(number % LANE_EVENTS) as usize]
    }
}

#[repr(C)]
pub struct Channel {
    pub header: Header,
    pub lanes: [Lane; LANES],
}

impl Channel {
    /// Creates the memory. It is freed with the descriptor and the last process that has mapped it.
    ///
    /// # Errors
    /// The system has no memory or no `memfd_create`.
    pub fn create() -> io::Result<(&'static Self, OwnedFd)> {
        // SAFETY: the name is a text.
        let number = unsafe { libc::memfd_create(c"trueno-record".as_ptr(), libc::MFD_CLOEXEC) };
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just made, and nobody else has it.
        let file = unsafe { OwnedFd::from_raw_fd(number) };
        // SAFETY: takes numbers.
        if unsafe { libc::ftruncate(number, size_of::<Self>() as libc::off_t) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let channel = Self::map(file.as_raw_fd()).ok_or_else(io::Error::last_os_error)?;
        let header = &channel.header;
        header.reader.store(std::process::id(), Ordering::Relaxed);
        header
            .pid_namespace
            .store(pid_namespace(), Ordering::Relaxed);
        header.magic.store(MAGIC, Ordering::Release);
        Ok((channel, file))
    }

    /// The memory at a path, for a recorded program: allocates nothing and keeps nothing open. `None` if it
    /// does not exist or has another version.
    pub fn open(path: &CStr) -> Option<&'static Self> {
        // SAFETY: `path` is a text; the descriptor is closed below.
        let channel = unsafe {
            let file = libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
            if file < 0 {
                return None;
            }
            let mut facts: libc::stat = std::mem::zeroed();
            let is_whole = libc::fstat(file, &mut facts) == 0
                && facts.st_size == size_of::<Self>() as libc::off_t;
            let channel = is_whole.then(|| Self::map(file)).flatten();
            libc::close(file);
            channel?
        };
        let header = &channel.header;
        let is_ours = header.magic.load(Ordering::Acquire) == MAGIC
            && header.pid_namespace.load(Ordering::Relaxed) == pid_namespace();
        is_ours.then_some(channel)
    }

    /// Maps a file of that size, for as long as the process runs.
    fn map(file: libc::c_int) -> Option<&'static Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
        // SAFETY: a new mapping; zeros, and whatever another process stores, are valid in atomics; it is page-aligned, and
        // never unmapped. The advice keeps it out of core files.
        unsafe {
            let bytes = size_of::<Self>();
            let memory = libc::mmap(std::ptr::null_mut(), bytes, access, flags, file, 0);
            if memory == libc::MAP_FAILED {
                return None;
            }
            libc::madvise(memory, bytes, libc::MADV_DONTDUMP);
            Some(&*memory.cast())
        }
    }
}

/// Identifies the PID namespace: ids of another namespace would mean other processes to the command.
pub fn pid_namespace() -> u64 {
    // SAFETY: all zeros is a valid struct, and the path a text.
    unsafe {
        let mut facts: libc::stat = std::mem::zeroed();
        libc::stat(c"/proc/self/ns/pid".as_ptr(), &mut facts);
        facts.st_ino
    }
}
