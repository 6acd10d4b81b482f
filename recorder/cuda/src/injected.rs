//! The library that `trueno-record run` has loaded into this process, if it has.

use std::path::Path;

use trueno_cupti::library::Library;

type Push = unsafe extern "C" fn(*const u8, usize);
type Pop = unsafe extern "C" fn();

#[derive(Clone, Copy)]
pub(crate) struct Injected {
    push: Push,
    pop: Pop,
}

impl Injected {
    /// `None`: nothing of the kind is loaded. Ask after `cuInit`, which loads it.
    pub fn here() -> Option<Self> {
        let path = std::env::var_os("CUDA_INJECTION64_PATH")?;
        let library = Library::loaded(Path::new(&path))?;
        let push = library.find(c"trueno_inject_push")?;
        let pop = library.find(c"trueno_inject_pop")?;
        // SAFETY: the library's own functions, of these types; it is never closed.
        unsafe {
            Some(Self {
                push: std::mem::transmute::<*mut std::ffi::c_void, Push>(push.as_ptr()),
                pop: std::mem::transmute::<*mut std::ffi::c_void, Pop>(pop.as_ptr()),
            })
        }
    }

    /// A range begins on this thread.
    pub fn push(self, text: &str) {
        // SAFETY: so many bytes are there.
        unsafe { (self.push)(text.as_ptr(), text.len()) }
    }

    /// The innermost ends.
    pub fn pop(self) {
        // SAFETY: takes nothing.
        unsafe { (self.pop)() }
    }
}
