//! The C ABI, field for field as in `include/trueno_plugin.h`.
//!
//! Authors of Rust plugins need nothing from here; hosts and tests do. The
//! rules that make the pointers valid stand at the top of the header.

use std::borrow::Cow;
use std::ffi::{c_char, c_void};
use std::mem::{offset_of, size_of};

use crate::arrow_c::ArrowArrayStream;

/// Part of the entry's name: a mismatch is a failed lookup.
pub const MAJOR: u32 = 1;
/// Raised when fields are appended.
pub const MINOR: u32 = 1;
/// The one exported symbol.
pub const ENTRY: &str = "trueno_plugin_v1";

/// The symbol of a plugin that is linked into a program, where two symbols of one name are an error. A library whose
/// file is named after the id may export it instead of [`ENTRY`].
pub fn entry_of(id: &str) -> String {
    format!("{ENTRY}_{id}")
}

/// `trueno_status`. A host treats a value it does not know as [`FAILED`].
pub type Status = i32;
/// Success.
pub const OK: Status = 0;
/// `set_error` has the reason.
pub const FAILED: Status = 1;
/// The user's options do not parse.
pub const BAD_OPTION: Status = 2;
/// The data breaks what the query promised.
pub const BAD_INPUT: Status = 3;
/// The plugin saw `cancelled` and stopped.
pub const CANCELLED: Status = 4;
/// Set by the shim of [`export!`](crate::export!) after a caught panic.
pub const PANICKED: Status = 5;

/// [`Input::flags`]: ask the baseline run, not the subject.
pub const INPUT_BASELINE: u32 = 1;
/// [`Input::flags`]: a missing table is an empty stream.
pub const INPUT_OPTIONAL: u32 = 2;

/// `trueno_str`: UTF-8 with a length, borrowed, not NUL-terminated.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Str {
    /// May be null when `len` is 0.
    pub ptr: *const c_char,
    /// In bytes.
    pub len: usize,
}

impl Str {
    /// Lends `text`; the caller keeps it alive as long as the callee may read it.
    pub const fn lend(text: &str) -> Self {
        Self {
            ptr: text.as_ptr().cast(),
            len: text.len(),
        }
    }

    /// The bytes.
    ///
    /// # Safety
    /// `ptr` is null or points to `len` bytes that stay unchanged for `'a`.
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.ptr.is_null() || self.len == 0 {
            return &[];
        }
        // SAFETY: not null here; the caller vouches for length and lifetime.
        unsafe { std::slice::from_raw_parts(self.ptr.cast(), self.len) }
    }

    /// The text, with invalid UTF-8 replaced.
    ///
    /// # Safety
    /// As for [`Str::bytes`].
    pub unsafe fn to_string_lossy<'a>(self) -> Cow<'a, str> {
        // SAFETY: passed on to the caller.
        String::from_utf8_lossy(unsafe { self.bytes() })
    }
}

/// `trueno_input`: one table that the plugin reads.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// The writer's `sizeof`.
    pub struct_size: u32,
    /// [`INPUT_BASELINE`], [`INPUT_OPTIONAL`].
    pub flags: u32,
    /// Name within the plugin.
    pub name: Str,
    /// The query.
    pub sql: Str,
}

/// `trueno_run`: what the host lends for one run.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The writer's `sizeof`.
    pub struct_size: u32,
    /// Zero; readers ignore it.
    pub reserved: u32,
    /// First argument of every callback.
    pub host: *mut c_void,
    /// A JSON object.
    pub options: Str,
    /// In declaration order; a plugin that moves a stream out releases it.
    pub inputs: *const *mut ArrowArrayStream,
    /// Number of them.
    pub input_count: usize,
    /// Takes the stream over at once and releases it even on error.
    pub emit_table: Option<unsafe extern "C" fn(*mut c_void, Str, *mut ArrowArrayStream) -> Status>,
    /// Takes one finding as JSON.
    pub emit_finding: Option<unsafe extern "C" fn(*mut c_void, Str) -> Status>,
    /// Takes one chart specification as JSON.
    pub emit_chart: Option<unsafe extern "C" fn(*mut c_void, Str) -> Status>,
    /// Copies the text; the last one given is reported.
    pub set_error: Option<unsafe extern "C" fn(*mut c_void, Str)>,
    /// Not 0 once the plugin should stop.
    pub cancelled: Option<unsafe extern "C" fn(*mut c_void) -> i32>,
    /// Since 1.1, of merge: not 0 when its output is the section of the report.
    pub is_final: u32,
    /// Zero; readers ignore it.
    pub reserved_1: u32,
}

/// The type of [`Plugin::run`].
pub type RunFn = unsafe extern "C" fn(*const Run) -> Status;

/// `trueno_plugin`: the descriptor of a plugin, in static storage.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Plugin {
    /// The writer's `sizeof`.
    pub struct_size: u32,
    /// The minor version it was built against.
    pub abi_minor: u32,
    /// `[a-z][a-z0-9_]*`; also the namespace of its tables.
    pub id: Str,
    /// For people.
    pub version: Str,
    /// One line.
    pub summary: Str,
    /// Compiler, target and commit, for bug reports.
    pub build: Str,
    /// Pointers, so that [`Input`] can grow.
    pub inputs: *const *const Input,
    /// Number of them.
    pub input_count: usize,
    /// The analysis.
    pub run: Option<RunFn>,
    /// Since 1.1: the inputs with the rows of one rank, to tables that only `merge` reads.
    pub part: Option<RunFn>,
    /// Since 1.1: inputs of `merge`.
    pub merge_inputs: *const *const Input,
    /// Number of them.
    pub merge_input_count: usize,
    /// Since 1.1: parts of several ranks, to one part or to the section of the report.
    pub merge: Option<RunFn>,
}

/// `trueno_plugin_entry`.
pub type Entry = unsafe extern "C" fn() -> *const Plugin;

/// Size of [`Input`] that every peer of major version 1 can rely on.
pub const INPUT_SIZE_1_0: usize = offset_of!(Input, sql) + size_of::<Str>();
/// Size of [`Plugin`] that every peer of major version 1 can rely on.
pub const PLUGIN_SIZE_1_0: usize = offset_of!(Plugin, run) + size_of::<Option<RunFn>>();
/// Size of [`Run`] that every peer of major version 1 can rely on.
pub const RUN_SIZE_1_0: usize = offset_of!(Run, cancelled) + size_of::<usize>();
/// Size of [`Plugin`] with parts (1.1).
pub const PLUGIN_SIZE_1_1: usize = offset_of!(Plugin, merge) + size_of::<Option<RunFn>>();
/// Size of [`Run`] with parts (1.1).
pub const RUN_SIZE_1_1: usize = offset_of!(Run, is_final) + size_of::<u32>();

/// Sizes and offsets on 64-bit machines, in the words of the header: the one
/// list that is asserted here and compared with what a C compiler says.
pub const LAYOUT_64: &[(&str, usize, usize)] = &[
    ("sizeof trueno_str", 16, size_of::<Str>()),
    ("trueno_str.len", 8, offset_of!(Str, len)),
    ("sizeof trueno_input", 40, size_of::<Input>()),
    ("trueno_input.flags", 4, offset_of!(Input, flags)),
    ("trueno_input.name", 8, offset_of!(Input, name)),
    ("trueno_input.sql", 24, offset_of!(Input, sql)),
    ("sizeof trueno_run", 96, size_of::<Run>()),
    ("trueno_run.reserved", 4, offset_of!(Run, reserved)),
    ("trueno_run.host", 8, offset_of!(Run, host)),
    ("trueno_run.options", 16, offset_of!(Run, options)),
    ("trueno_run.inputs", 32, offset_of!(Run, inputs)),
    ("trueno_run.input_count", 40, offset_of!(Run, input_count)),
    ("trueno_run.emit_table", 48, offset_of!(Run, emit_table)),
    ("trueno_run.emit_finding", 56, offset_of!(Run, emit_finding)),
    ("trueno_run.emit_chart", 64, offset_of!(Run, emit_chart)),
    ("trueno_run.set_error", 72, offset_of!(Run, set_error)),
    ("trueno_run.cancelled", 80, offset_of!(Run, cancelled)),
    ("trueno_run.is_final", 88, offset_of!(Run, is_final)),
    ("trueno_run.reserved_1", 92, offset_of!(Run, reserved_1)),
    ("sizeof trueno_plugin", 128, size_of::<Plugin>()),
    ("trueno_plugin.abi_minor", 4, offset_of!(Plugin, abi_minor)),
    ("trueno_plugin.id", 8, offset_of!(Plugin, id)),
    ("trueno_plugin.version", 24, offset_of!(Plugin, version)),
    ("trueno_plugin.summary", 40, offset_of!(Plugin, summary)),
    ("trueno_plugin.build", 56, offset_of!(Plugin, build)),
    ("trueno_plugin.inputs", 72, offset_of!(Plugin, inputs)),
    (
        "trueno_plugin.input_count",
        80,
        offset_of!(Plugin, input_count),
    ),
    ("trueno_plugin.run", 88, offset_of!(Plugin, run)),
    ("trueno_plugin.part", 96, offset_of!(Plugin, part)),
    (
        "trueno_plugin.merge_inputs",
        104,
        offset_of!(Plugin, merge_inputs),
    ),
    (
        "trueno_plugin.merge_input_count",
        112,
        offset_of!(Plugin, merge_input_count),
    ),
    ("trueno_plugin.merge", 120, offset_of!(Plugin, merge)),
    ("TRUENO_INPUT_SIZE_1_0", 40, INPUT_SIZE_1_0),
    ("TRUENO_PLUGIN_SIZE_1_0", 96, PLUGIN_SIZE_1_0),
    ("TRUENO_RUN_SIZE_1_0", 88, RUN_SIZE_1_0),
    ("TRUENO_PLUGIN_SIZE_1_1", 128, PLUGIN_SIZE_1_1),
    ("TRUENO_RUN_SIZE_1_1", 92, RUN_SIZE_1_1),
    (
        "sizeof ArrowSchema",
        72,
        size_of::<crate::arrow_c::ArrowSchema>(),
    ),
    (
        "ArrowSchema.private_data",
        64,
        offset_of!(crate::arrow_c::ArrowSchema, private_data),
    ),
    (
        "sizeof ArrowArray",
        80,
        size_of::<crate::arrow_c::ArrowArray>(),
    ),
    (
        "ArrowArray.private_data",
        72,
        offset_of!(crate::arrow_c::ArrowArray, private_data),
    ),
    ("sizeof ArrowArrayStream", 40, size_of::<ArrowArrayStream>()),
    (
        "ArrowArrayStream.private_data",
        32,
        offset_of!(ArrowArrayStream, private_data),
    ),
];

#[cfg(target_pointer_width = "64")]
const _: () = {
    let mut i = 0;
    while i < LAYOUT_64.len() {
        assert!(
            LAYOUT_64[i].1 == LAYOUT_64[i].2,
            "a struct of the ABI has moved"
        );
        i += 1;
    }
};
