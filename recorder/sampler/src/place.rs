//! Places in programs.

/// A module by its number in [`Modules`](crate::modules::Modules).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ModuleId(pub u32);

/// An instruction: of a return address the one before it, which is the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// In a file, so many bytes from its beginning.
    File(ModuleId, u64),
    /// In memory of a process that no file is mapped to.
    Memory(u32, u64),
    Kernel(u64),
}

/// A sample whose callers are known as far as they can be.
#[derive(Debug)]
pub(crate) struct Stack {
    pub places: Vec<Place>,
    /// False where the copy of the stack, or what is known of frames, ended before the outermost caller.
    pub is_whole: bool,
}
