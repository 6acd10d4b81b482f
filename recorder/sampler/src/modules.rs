//! Files that code is mapped from, and what they say of the frames of their functions.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ReadCache};

use crate::place::ModuleId;

/// Smallest pages there are.
const MIN_PAGE_BYTES: u64 = 4096;

/// A section in memory: copied, as files may be cut while they are mapped.
pub(crate) type Bytes = Arc<[u8]>;

/// A program or library.
#[derive(Debug, Default)]
pub(crate) struct Module {
    segments: Vec<Segment>,
    pub eh_frame: Option<(Range<u64>, Bytes)>,
    pub eh_frame_hdr: Option<(Range<u64>, Bytes)>,
    pub text: Option<Range<u64>>,
}

#[derive(Debug)]
struct Segment {
    offset: u64,
    file_bytes: u64,
    address: u64,
}

impl Module {
    /// Reads the headers and frames of a file; nothing where it is of another kind.
    fn read(path: &Path) -> Option<Self> {
        if !std::fs::metadata(path).ok()?.is_file() {
            return None;
        }
        let cache = ReadCache::new(File::open(path).ok()?);
        let file: ElfFile64<'_, Endianness, _> = ElfFile64::parse(&cache).ok()?;
        let endian = file.endian();
        let headers = file.elf_header().program_headers(endian, &cache).ok()?;
        // Only code is sampled. Segments of data share pages with it in the file, and have other addresses.
        let loaded = headers.iter().filter(|header| {
            header.p_type(endian) == object::elf::PT_LOAD
                && header.p_flags(endian) & object::elf::PF_X != 0
        });
        let segments = loaded.map(|header| Segment {
            offset: header.p_offset(endian),
            file_bytes: header.p_filesz(endian),
            address: header.p_vaddr(endian),
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

    /// The address, as the file counts them, of a place in it.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        let has = |segment: &&Segment| {
            // Mappings begin at pages, and so before the segment that they are made for.
            let first = segment.offset & !(MIN_PAGE_BYTES - 1);
            (first..segment.offset.saturating_add(segment.file_bytes)).contains(&offset)
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

/// All files, each read once.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    ids: HashMap<OsString, ModuleId>,
    all: Vec<(OsString, Option<Arc<Module>>)>,
}

impl Modules {
    /// The number of a file; `None` where it is the name of no file, as `[heap]` and `//anon`.
    pub fn id(&mut self, file: &OsStr) -> Option<ModuleId> {
        let text = file.to_string_lossy();
        let is_code_of_kernel = text == "[vdso]";
        if !is_code_of_kernel && !is_file(&text) {
            return None;
        }
        if let Some(id) = self.ids.get(file) {
            return Some(*id);
        }
        let id = ModuleId(self.all.len() as u32);
        let module = Module::read(Path::new(file)).map(Arc::new);
        self.all.push((file.to_owned(), module));
        self.ids.insert(file.to_owned(), id);
        Some(id)
    }

    /// Its content; `None` where it cannot be read.
    pub fn module(&self, id: ModuleId) -> Option<&Arc<Module>> {
        self.all.get(id.0 as usize)?.1.as_ref()
    }

    pub fn path(&self, id: ModuleId) -> &OsStr {
        self.all
            .get(id.0 as usize)
            .map_or(OsStr::new(""), |(path, _)| path)
    }
}

/// Tells paths from names that the kernel makes up for memory without a file.
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
}
