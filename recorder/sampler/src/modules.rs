//! Files that code is mapped from, and what they say of the frames of their functions.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ReadCache};

use crate::counters::now_ns;
use crate::place::ModuleId;

/// A section in memory. Copied, because files may be truncated while they are mapped.
pub(crate) type Bytes = Arc<[u8]>;

#[derive(Debug, Default)]
pub(crate) struct Module {
    segments: Vec<Segment>,
    pub eh_frame: Option<(Range<u64>, Bytes)>,
    pub eh_frame_hdr: Option<(Range<u64>, Bytes)>,
    pub text: Option<Range<u64>>,
}

#[derive(Debug)]
struct Segment {
    /// Where a mapping made for it begins: at a page, and so before it.
    first: u64,
    offset: u64,
    file_bytes: u64,
    address: u64,
}

impl Segment {
    fn new(offset: u64, file_bytes: u64, address: u64, page_bytes: u64) -> Self {
        Self {
            first: offset & !(page_bytes - 1),
            offset,
            file_bytes,
            address,
        }
    }
}

/// Size of a page here: 4 KiB on x86-64; 4, 16 or 64 KiB on aarch64.
fn page_bytes() -> u64 {
    // SAFETY: asks for a number.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let bytes = u64::try_from(bytes).ok();
    bytes
        .filter(|bytes| bytes.is_power_of_two())
        .unwrap_or(4096)
}

impl Module {
    /// Reads headers and frames of a file. `None` for other kinds of files.
    fn read(file: &File) -> Option<Self> {
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let cache = ReadCache::new(file);
        let file: ElfFile64<'_, Endianness, _> = ElfFile64::parse(&cache).ok()?;
        let endian = file.endian();
        let headers = file.elf_header().program_headers(endian, &cache).ok()?;
        // Only code is sampled. Segments of data share pages with it in the file, and have other addresses.
        let loaded = headers.iter().filter(|header| {
            header.p_type(endian) == object::elf::PT_LOAD
                && header.p_flags(endian) & object::elf::PF_X != 0
        });
        let page_bytes = page_bytes();
        let segments = loaded.map(|header| {
            Segment::new(
                header.p_offset(endian),
                header.p_filesz(endian),
                header.p_vaddr(endian),
                page_bytes,
            )
        });
        let section = |name: &str| {
            let section = file.section_by_name(name)?;
            let bytes = section.uncompressed_data().ok()?;
            let range = section.address()..section.address().checked_add(bytes.len() as u64)?;
            Some((range, Bytes::from(bytes.as_ref())))
        };
        let text = file.section_by_name(".text");
        Some(Self {
            segments: segments.collect(),
            eh_frame: section(".eh_frame"),
            eh_frame_hdr: section(".eh_frame_hdr"),
            text: text.map(|text| text.address()..text.address().saturating_add(text.size())),
        })
    }

    /// Converts a file offset to an address in the file's own numbering.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        let has = |segment: &&Segment| {
            let end = segment.offset.saturating_add(segment.file_bytes);
            (segment.first..end).contains(&offset)
        };
        let segment = self.segments.iter().find(has)?;
        Some(
            segment
                .address
                .wrapping_add(offset)
                .wrapping_sub(segment.offset),
        )
    }
}

/// Limit on files kept open, so that they can be read after another file has taken their path.
const MAX_OPEN: usize = 256;

#[derive(Debug)]
pub(crate) enum Mapped {
    Open(File),
    /// The file can no longer be opened: another file is at its path, or none.
    Replaced,
    Unreadable,
}

#[derive(Debug)]
struct Entry {
    path: OsString,
    identity: Option<Identity>,
    file: Option<File>,
    module: Option<Arc<Module>>,
    is_replaced: bool,
}

/// Changes when a file is replaced or rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Identity {
    device: u64,
    inode: u64,
    bytes: u64,
    written_ns: i64,
}

impl Identity {
    fn of(facts: &Metadata) -> Self {
        Self {
            device: facts.dev(),
            inode: facts.ino(),
            bytes: facts.size(),
            written_ns: facts
                .mtime()
                .wrapping_mul(1_000_000_000)
                .wrapping_add(facts.mtime_nsec()),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Modules {
    ids: HashMap<(OsString, Option<Identity>), ModuleId>,
    all: Vec<Entry>,
    open: usize,
}

impl Modules {
    /// The number of the file at a path. `None` if the name is not a file's, such as `[heap]` or `//anon`.
    #[cfg(test)]
    pub fn id(&mut self, path: &OsStr) -> Option<ModuleId> {
        self.id_of(path, || {
            File::open(path).map_or(Mapped::Unreadable, Mapped::Open)
        })
    }

    /// The number of a file mapped under this name; `open` opens it. `None` if the name is not a file's, such
    /// as `[heap]` or `//anon`.
    pub fn id_of(&mut self, path: &OsStr, open: impl FnOnce() -> Mapped) -> Option<ModuleId> {
        let text = path.to_string_lossy();
        let is_code_of_kernel = text == "[vdso]";
        let is_memory_file = text.starts_with("/memfd:");
        if !is_code_of_kernel && !is_memory_file && !is_file(&text) {
            return None;
        }
        let mapped = if is_code_of_kernel {
            Mapped::Unreadable
        } else {
            open()
        };
        let is_replaced = matches!(mapped, Mapped::Replaced);
        let file = match mapped {
            Mapped::Open(file) => Some(file),
            Mapped::Replaced | Mapped::Unreadable => None,
        };
        let facts = file.as_ref().and_then(|file| file.metadata().ok());
        let identity = facts.map(|facts| Identity::of(&facts));
        let key = (path.to_owned(), identity);
        if let Some(id) = self.ids.get(&key) {
            return Some(*id);
        }
        let module = file.as_ref().and_then(Module::read).map(Arc::new);
        if is_memory_file && module.is_none() {
            // Code that a program made itself, or nobody can read.
            return None;
        }
        let id = ModuleId(self.all.len() as u32);
        let file = file.filter(|_| module.is_some() && self.open < MAX_OPEN);
        self.open += usize::from(file.is_some());
        self.all.push(Entry {
            path: path.to_owned(),
            identity,
            file,
            module,
            is_replaced,
        });
        self.ids.insert(key, id);
        Some(id)
    }

    /// Its content; `None` if it cannot be read.
    pub fn module(&self, id: ModuleId) -> Option<&Arc<Module>> {
        self.all.get(id.0 as usize)?.module.as_ref()
    }

    pub fn path(&self, id: ModuleId) -> &OsStr {
        self.all
            .get(id.0 as usize)
            .map_or(OsStr::new(""), |entry| &entry.path)
    }

    /// Path for reading its symbols: its own path, because separate debug information is found beside it, or
    /// the file that was kept open if another file is at that path. `None` if neither can be read.
    pub fn source(&self, id: ModuleId) -> Option<PathBuf> {
        let entry = self.all.get(id.0 as usize)?;
        let path = Path::new(&entry.path);
        let found = std::fs::metadata(path).ok();
        if entry.module.is_some() && found.map(|facts| Identity::of(&facts)) == entry.identity {
            return Some(path.to_owned());
        }
        let file = entry.file.as_ref()?;
        Some(format!("/proc/self/fd/{}", file.as_raw_fd()).into())
    }

    /// True if the file can no longer be read because another one, or none, is at its path.
    pub fn is_replaced(&self, id: ModuleId) -> bool {
        let entry = self.all.get(id.0 as usize);
        entry.is_some_and(|entry| {
            entry.is_replaced || entry.module.is_some() && self.source(id).is_none()
        })
    }
}

/// Opens the file that a process has mapped at these addresses, under this name and at this time (on the monotonic
/// clock; `None` if unknown).
pub(crate) fn open_mapped(
    process: u32,
    addresses: Range<u64>,
    offset: u64,
    path: &OsStr,
    time_ns: Option<u64>,
) -> Mapped {
    // The very file, whatever is at its path; for privileged users, and while the process has it mapped.
    let by_kernel = format!(
        "/proc/{process}/map_files/{:x}-{:x}",
        addresses.start, addresses.end
    );
    if let Ok(file) = open_regular(Path::new(&by_kernel)) {
        return Mapped::Open(file);
    }
    let mut inside = OsString::from(format!("/proc/{process}/root"));
    inside.push(path);
    let mut found = Mapped::Unreadable;
    for path in [inside.as_os_str(), path] {
        let file = match open_regular(Path::new(path)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                found = Mapped::Replaced;
                continue;
            }
            Err(_) => continue,
        };
        let is_it = has_same_code(process, &addresses, offset, &file)
            .unwrap_or_else(|| time_ns.is_none_or(|time_ns| is_older(&file, time_ns)));
        if is_it {
            return Mapped::Open(file);
        }
        found = Mapped::Replaced;
    }
    found
}

/// Opens only regular files, because opening a pipe or device may have side effects.
fn open_regular(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(ErrorKind::InvalidInput.into());
    }
    File::open(path)
}

/// Number and size of the pieces of code that are compared: enough to decide, without reading all of a large
/// library.
const COMPARED: u64 = 64;
const PIECE_BYTES: usize = 4096;

/// Compares the code of a process with a file. `None` if the process has ended or its memory is not accessible.
fn has_same_code(process: u32, addresses: &Range<u64>, offset: u64, file: &File) -> Option<bool> {
    let memory = File::open(format!("/proc/{process}/mem")).ok()?;
    let bytes = addresses.end.saturating_sub(addresses.start);
    let step = (bytes / COMPARED / PIECE_BYTES as u64).max(1) * PIECE_BYTES as u64;
    let (mut ours, mut theirs) = ([0; PIECE_BYTES], [0; PIECE_BYTES]);
    let mut is_any = false;
    for at in (0..bytes).step_by(step as usize) {
        if memory
            .read_exact_at(&mut theirs, addresses.start + at)
            .is_err()
        {
            return is_any.then_some(true);
        }
        is_any = true;
        let read = file.read_at(&mut ours, offset + at).ok()?;
        // Behind the end of a file its last page is zeros.
        ours[read..].fill(0);
        if ours != theirs {
            return Some(false);
        }
    }
    Some(true)
}

/// True if a file has not changed since a time of the monotonic clock.
fn is_older(file: &File, time_ns: u64) -> bool {
    /// Resolution of the kernel's file times.
    const TICK_NS: i64 = 10_000_000;
    let Ok(facts) = file.metadata() else {
        return false;
    };
    let changed_ns = facts
        .ctime()
        .wrapping_mul(1_000_000_000)
        .wrapping_add(facts.ctime_nsec());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let realtime_ns = now.map_or(0, |now| now.as_nanos() as i64);
    let age_ns = now_ns().saturating_sub(time_ns) as i64;
    changed_ns <= realtime_ns - age_ns + TICK_NS
}

/// Distinguishes paths from the names that the kernel gives to memory without a file.
fn is_file(name: &str) -> bool {
    const MADE_UP: [&str; 5] = ["//", "/memfd:", "/dev/zero", "/SYSV", "/anon_hugepage"];
    name.starts_with('/') && !MADE_UP.iter().any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_without_a_file_is_no_module() {
        let mut modules = Modules::default();
        for name in [
            "//anon",
            "[heap]",
            "[stack]",
            "/memfd:doublemapper (deleted)",
            "",
        ] {
            assert_eq!(modules.id(OsStr::new(name)), None, "{name}");
        }
        assert!(modules.id(OsStr::new("[vdso]")).is_some());
        // It may be gone: a place in it is one all the same.
        let gone = modules.id(OsStr::new("/nowhere/lib.so")).unwrap();
        assert!(modules.module(gone).is_none());
        assert_eq!(modules.path(gone), "/nowhere/lib.so");
    }

    #[test]
    fn names_come_from_the_file_that_was_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let own = std::env::current_exe().unwrap();
        std::fs::copy(&own, &path).unwrap();
        let mut modules = Modules::default();
        let first = modules.id(path.as_os_str()).unwrap();
        assert_eq!(modules.source(first), Some(path.clone()));
        std::fs::remove_file(&path).unwrap();
        std::fs::copy("/bin/true", &path).unwrap();
        let source = modules.source(first).unwrap();
        assert_eq!(
            std::fs::metadata(source).unwrap().len(),
            std::fs::metadata(&own).unwrap().len()
        );
        let second = modules.id(path.as_os_str()).unwrap();
        assert_ne!(first, second);
        assert!(!modules.is_replaced(first) && !modules.is_replaced(second));

        let replaced = modules
            .id_of(path.as_os_str(), || Mapped::Replaced)
            .unwrap();
        assert!(modules.is_replaced(replaced) && modules.source(replaced).is_none());
    }

    #[test]
    fn the_code_of_a_process_tells_its_file_from_another() {
        let own = std::env::current_exe().unwrap();
        let code = names_come_from_the_file_that_was_mapped as *const () as u64;
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let hex = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let (addresses, offset) = maps
            .lines()
            .map(|line| {
                let mut words = line.split_whitespace();
                let (start, end) = words.next().unwrap().split_once('-').unwrap();
                (hex(start)..hex(end), hex(words.nth(1).unwrap()))
            })
            .find(|(addresses, _)| addresses.contains(&code))
            .unwrap();
        let same = |path: &Path| {
            let file = File::open(path).unwrap();
            has_same_code(std::process::id(), &addresses, offset, &file)
        };
        assert_eq!(same(&own), Some(true));
        assert_eq!(same(Path::new("/bin/true")), Some(false));
    }

    #[test]
    fn this_program_says_what_its_frames_are() {
        let mut modules = Modules::default();
        let program = std::env::current_exe().unwrap();
        let id = modules.id(program.as_os_str()).unwrap();
        assert_eq!(modules.id(program.as_os_str()), Some(id));
        let module = modules.module(id).unwrap();
        assert!(module.eh_frame.is_some() && module.text.is_some());
        let first = &module.segments[0];
        assert_eq!(module.address_of(first.offset), Some(first.address));
    }

    #[test]
    fn a_mapping_begins_at_a_page_of_any_size() {
        // As the linker lays out a program for pages of up to 64 KiB.
        for page_bytes in [4 << 10, 16 << 10, 64 << 10] {
            let module = Module {
                segments: vec![Segment::new(0x2_b9c0, 0x5000, 0x4_b9c0, page_bytes)],
                ..Module::default()
            };
            let mapped = 0x2_b9c0 / page_bytes * page_bytes;
            let address = 0x4_b9c0 / page_bytes * page_bytes;
            assert_eq!(module.address_of(mapped), Some(address), "{page_bytes}");
            assert_eq!(module.address_of(mapped - 1), None);
            assert_eq!(module.address_of(0x2_b9c0 + 0x5000), None);
        }
    }
}
