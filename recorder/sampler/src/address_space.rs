//! The code of processes in their memory, and callers found in it.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::sync::{Arc, PoisonError, RwLock};

use framehop::{
    CacheNative, ExplicitModuleSectionInfo, MayAllocateDuringUnwind, Module as Unwound, Unwinder,
    UnwinderNative,
};

use crate::event::{Mapped, Raw};
use crate::modules::{Bytes, Module, Modules, open_mapped};
use crate::place::{ModuleId, Place, Stack};
use crate::sample::read;

/// Limit on user functions per stack: deeper stacks are endless recursion.
const MAX_DEPTH: usize = 1024;

type Callers = UnwinderNative<Bytes, MayAllocateDuringUnwind>;

#[derive(Clone, Default)]
struct AddressSpace {
    mappings: BTreeMap<u64, Mapping>,
    /// Created when a sample needs it.
    unwinder: Option<Arc<Callers>>,
}

#[derive(Clone)]
struct Mapping {
    end: u64,
    offset: u64,
    module: Option<ModuleId>,
}

pub(crate) struct AddressSpaces {
    of: HashMap<u32, AddressSpace>,
    modules: Arc<RwLock<Modules>>,
    cache: CacheNative<MayAllocateDuringUnwind>,
}

impl AddressSpaces {
    pub fn new(modules: Arc<RwLock<Modules>>) -> Self {
        Self {
            of: HashMap::new(),
            modules,
            cache: CacheNative::default(),
        }
    }

    /// The process runs another program: all its mappings are gone.
    pub fn exec(&mut self, process: u32) {
        self.of.insert(process, AddressSpace::default());
    }

    pub fn fork(&mut self, process: u32, from: u32) {
        if process != from
            && let Some(space) = self.of.get(&from).cloned()
        {
            self.of.insert(process, space);
        }
    }

    /// Call when a process has ended: all samples still to come are from before its end.
    pub fn end(&mut self, process: u32) {
        self.of.remove(&process);
    }

    /// Code was mapped over what was there, at an unknown time.
    #[cfg(test)]
    pub fn map(&mut self, process: u32, mapped: &Mapped) {
        self.map_at(process, mapped, None);
    }

    /// Code was mapped over what was there, at this time; `None` if unknown.
    pub fn map_at(&mut self, process: u32, mapped: &Mapped, time_ns: Option<u64>) {
        let path = file(&mapped.file);
        let addresses = mapped.start..mapped.end;
        let open = || open_mapped(process, addresses, mapped.offset, path, time_ns);
        let modules = self.modules.write();
        let module = modules
            .unwrap_or_else(PoisonError::into_inner)
            .id_of(path, open);
        let space = self.of.entry(process).or_default();
        space.unwinder = None;
        space.cover(mapped.start, mapped.end);
        let mapping = Mapping {
            end: mapped.end,
            offset: mapped.offset,
            module,
        };
        space.mappings.insert(mapped.start, mapping);
    }

    /// The functions of a sample, outermost first.
    pub fn stack(&mut self, sample: &Raw) -> Stack {
        let mut innermost_first: Vec<Place> = sample
            .kernel
            .iter()
            .map(|address| Place::Kernel(*address))
            .collect();
        let mut is_whole = true;
        if let Some(registers) = sample.registers {
            let process = sample.of.process;
            let space = self.of.entry(process).or_default();
            let unwinder = space.unwinder(&read(&self.modules));
            let top = registers.stack;
            let mut read = |address: u64| word(&sample.stack, address.checked_sub(top).ok_or(())?);
            let mut frames = unwinder.iter_frames(
                registers.instruction,
                registers.unwind(),
                &mut self.cache,
                &mut read,
            );
            for _ in 0..MAX_DEPTH {
                match frames.next() {
                    Ok(Some(frame)) => {
                        innermost_first.push(space.place(process, frame.address_for_lookup()));
                    }
                    Ok(None) => break,
                    Err(_) => {
                        is_whole = false;
                        break;
                    }
                }
            }
        }
        innermost_first.reverse();
        Stack {
            places: innermost_first,
            is_whole,
        }
    }
}

impl AddressSpace {
    fn cover(&mut self, start: u64, end: u64) {
        let before = self.mappings.range(..start).next_back();
        if let Some((&at, mapping)) = before
            && mapping.end > start
        {
            let mapping = mapping.clone();
            self.keep_behind(at, &mapping, end);
            self.mappings.insert(
                at,
                Mapping {
                    end: start,
                    ..mapping
                },
            );
        }
        let inside: Vec<u64> = self.mappings.range(start..end).map(|(at, _)| *at).collect();
        for at in inside {
            if let Some(mapping) = self.mappings.remove(&at) {
                self.keep_behind(at, &mapping, end);
            }
        }
    }

    fn keep_behind(&mut self, at: u64, mapping: &Mapping, end: u64) {
        if mapping.end > end {
            let offset = mapping.offset + (end - at);
            self.mappings.insert(
                end,
                Mapping {
                    offset,
                    ..mapping.clone()
                },
            );
        }
    }

    fn place(&self, process: u32, address: u64) -> Place {
        let found = self.mappings.range(..=address).next_back();
        let found = found.filter(|(_, mapping)| address < mapping.end);
        match found {
            Some((start, mapping)) if mapping.module.is_some() => {
                let module = mapping.module.unwrap_or(ModuleId(0));
                Place::File(module, mapping.offset + (address - start))
            }
            _ => Place::Memory(process, address),
        }
    }

    fn unwinder(&mut self, modules: &Modules) -> Arc<Callers> {
        let mappings = &self.mappings;
        let made = self.unwinder.get_or_insert_with(|| {
            let mut unwinder = Callers::new();
            for (start, mapping) in mappings {
                let module = mapping.module.and_then(|id| modules.module(id));
                if let Some(unwound) = module.and_then(|module| unwound(*start, mapping, module)) {
                    unwinder.add_module(unwound);
                }
            }
            Arc::new(unwinder)
        });
        Arc::clone(made)
    }
}

/// A mapping in the unwinder's form, with addresses as in its file.
fn unwound(start: u64, mapping: &Mapping, module: &Module) -> Option<Unwound<Bytes>> {
    let bias = start.checked_sub(module.address_of(mapping.offset)?)?;
    let frames = module.eh_frame.as_ref()?;
    let header = module.eh_frame_hdr.as_ref();
    let sections = ExplicitModuleSectionInfo {
        base_svma: 0,
        text_svma: module.text.clone(),
        eh_frame_svma: Some(frames.0.clone()),
        eh_frame: Some(frames.1.clone()),
        eh_frame_hdr_svma: header.map(|(range, _)| range.clone()),
        eh_frame_hdr: header.map(|(_, bytes)| bytes.clone()),
        ..ExplicitModuleSectionInfo::default()
    };
    Some(Unwound::new(
        String::new(),
        start..mapping.end,
        bias,
        sections,
    ))
}

fn word(stack: &[u8], offset: u64) -> Result<u64, ()> {
    let at = usize::try_from(offset).map_err(|_| ())?;
    let bytes = stack.get(at..).and_then(|rest| rest.first_chunk::<8>());
    bytes.map(|bytes| u64::from_ne_bytes(*bytes)).ok_or(())
}

/// Removes the suffix that the kernel adds to deleted files.
fn file(name: &OsStr) -> &OsStr {
    match name
        .to_str()
        .and_then(|text| text.strip_suffix(" (deleted)"))
    {
        Some(path) if path.starts_with("/memfd:") => name,
        Some(path) => OsStr::new(path),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(start: u64, end: u64, offset: u64, file: &str) -> Mapped {
        Mapped {
            start,
            end,
            offset,
            file: file.into(),
        }
    }

    fn place(spaces: &AddressSpaces, process: u32, address: u64) -> Place {
        spaces.of[&process].place(process, address)
    }

    #[test]
    fn places_are_of_what_was_mapped_last() {
        let mut spaces = AddressSpaces::new(Arc::default());
        spaces.map(1, &mapped(0x1000, 0x5000, 0x200, "/a"));
        spaces.map(1, &mapped(0x2000, 0x3000, 0, "/b"));
        let (a, b) = (ModuleId(0), ModuleId(1));
        assert_eq!(place(&spaces, 1, 0x0fff), Place::Memory(1, 0x0fff));
        assert_eq!(place(&spaces, 1, 0x1001), Place::File(a, 0x201));
        assert_eq!(place(&spaces, 1, 0x2004), Place::File(b, 4));
        assert_eq!(place(&spaces, 1, 0x3000), Place::File(a, 0x2200));
        assert_eq!(place(&spaces, 1, 0x5000), Place::Memory(1, 0x5000));
        spaces.map(1, &mapped(0, 0x10000, 0, "//anon"));
        assert_eq!(place(&spaces, 1, 0x1001), Place::Memory(1, 0x1001));
    }

    #[test]
    fn a_fork_has_the_code_of_its_parent_until_it_runs_another_program() {
        let mut spaces = AddressSpaces::new(Arc::default());
        spaces.map(1, &mapped(0x1000, 0x5000, 0, "/a"));
        spaces.fork(2, 1);
        spaces.map(1, &mapped(0x1000, 0x5000, 0, "/b"));
        assert_eq!(place(&spaces, 2, 0x1000), Place::File(ModuleId(0), 0));
        assert_eq!(place(&spaces, 1, 0x1000), Place::File(ModuleId(1), 0));
        spaces.exec(2);
        assert_eq!(place(&spaces, 2, 0x1000), Place::Memory(2, 0x1000));
    }

    #[test]
    fn any_order_of_mappings_gives_what_was_mapped_last() {
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let mut spaces = AddressSpaces::new(Arc::default());
            let mut plain = vec![None; 64];
            for _ in 0..12 {
                let start = random(60);
                let end = start + 1 + random(64 - start - 1);
                let name = ["/a", "/b", "/c", "//anon"][random(4) as usize];
                let module = spaces.modules.write().unwrap().id(OsStr::new(name));
                spaces.map(1, &mapped(start, end, 100, name));
                for at in start..end {
                    plain[at as usize] = module.map(|id| (id, 100 + at - start));
                }
            }
            for (at, expected) in plain.iter().enumerate() {
                let expected = match expected {
                    Some((module, offset)) => Place::File(*module, *offset),
                    None => Place::Memory(1, at as u64),
                };
                assert_eq!(place(&spaces, 1, at as u64), expected, "{at}");
            }
        }
    }
}
