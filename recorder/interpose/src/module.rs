//! Libraries of the process.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

/// Longer paths are cut off.
const PATH_BYTES: usize = 4096;

pub struct Module {
    pub from: usize,
    pub bytes: usize,
    /// Its path; empty for the program itself.
    path: [u8; PATH_BYTES],
}

enum ModuleQuery {
    Address(usize),
    Number(usize),
}

struct Search {
    query: ModuleQuery,
    number: usize,
    found: Module,
}

impl Module {
    pub fn at(address: usize) -> Option<Self> {
        Self::find(ModuleQuery::Address(address))
    }

    pub fn all() -> impl Iterator<Item = Self> {
        (0..).map_while(|number| Self::find(ModuleQuery::Number(number)))
    }

    fn find(query: ModuleQuery) -> Option<Self> {
        let mut search = Search {
            query,
            number: 0,
            found: Self {
                from: 0,
                bytes: 0,
                path: [0; PATH_BYTES],
            },
        };
        // SAFETY: `look` takes what is given here.
        let found = unsafe { libc::dl_iterate_phdr(Some(look), ptr::from_mut(&mut search).cast()) };
        (found == 1).then_some(search.found)
    }

    /// Finds a function in the module or its dependencies, and keeps it from being unloaded.
    pub fn function(&self, name: &CStr) -> Option<*mut c_void> {
        let path = CStr::from_bytes_until_nul(&self.path).ok()?;
        if path.is_empty() {
            return None;
        }
        // SAFETY: texts; nothing is loaded that is not there, so that no code of others runs.
        unsafe {
            let handle = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if handle.is_null() {
                return None;
            }
            let function = libc::dlsym(handle, name.as_ptr());
            (!function.is_null() && !is_ours(function)).then_some(function)
        }
    }
}

pub fn file_of(function: *mut c_void) -> Option<&'static CStr> {
    let facts = facts(function)?;
    // SAFETY: the loader's own text, of a library that stays.
    (!facts.dli_fname.is_null()).then(|| unsafe { CStr::from_ptr(facts.dli_fname) })
}

fn facts(function: *mut c_void) -> Option<libc::Dl_info> {
    // SAFETY: all zeros is a valid struct.
    unsafe {
        let mut facts: libc::Dl_info = std::mem::zeroed();
        (libc::dladdr(function, &mut facts) != 0).then_some(facts)
    }
}

fn is_ours(function: *mut c_void) -> bool {
    let base = |function| facts(function).map(|facts| facts.dli_fbase);
    base(function) == base(is_ours as *mut c_void)
}

unsafe extern "C" fn look(module: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
    // SAFETY: what the loader and `find` give.
    let (module, search) = unsafe { (&*module, &mut *search.cast::<Search>()) };
    // SAFETY: as the loader says.
    let headers = unsafe { std::slice::from_raw_parts(module.dlpi_phdr, module.dlpi_phnum.into()) };
    let base = module.dlpi_addr as usize;
    let (mut from, mut to) = (usize::MAX, 0);
    for header in headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD)
    {
        let begins = base.wrapping_add(header.p_vaddr as usize);
        from = from.min(begins);
        to = to.max(begins.wrapping_add(header.p_memsz as usize));
    }
    let bytes = to.saturating_sub(from);
    let is_wanted = match search.query {
        ModuleQuery::Address(address) => address.wrapping_sub(from) < bytes,
        ModuleQuery::Number(number) => number == search.number,
    };
    search.number = search.number.wrapping_add(1);
    if is_wanted {
        search.found.from = from;
        search.found.bytes = bytes;
        if !module.dlpi_name.is_null() {
            // SAFETY: the loader's text.
            let name = unsafe { CStr::from_ptr(module.dlpi_name) }.to_bytes();
            for (place, byte) in search.found.path[..PATH_BYTES - 1].iter_mut().zip(name) {
                *place = *byte;
            }
        }
    }
    c_int::from(is_wanted)
}
