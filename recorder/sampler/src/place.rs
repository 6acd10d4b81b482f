//! Places in programs.

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ModuleId(pub u32);

/// An instruction. For a return address, the instruction before it: the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// File and offset in it.
    File(ModuleId, u64),
    /// Process and address, in memory without a mapped file.
    Memory(u32, u64),
    Kernel(u64),
}

#[derive(Debug)]
pub(crate) struct Stack {
    pub places: Vec<Place>,
    /// False if the copied stack or the frame information ended before the outermost caller.
    pub is_whole: bool,
}
