//! The only place that opens a library.
//!
//! A library stays mapped until the process ends: tables, texts and
//! thread-local destructors of a plugin may outlive the call that made them,
//! and unloading Rust code is unsound. `RTLD_NODELETE` makes that certain.

use std::path::{Path, PathBuf};

use trueno_plugin::abi;

use super::descriptor::{Descriptor, Execution, Functions, Input, MAX_INPUTS, Plugin};
use super::find::id_of;
use super::linked::{Code, Linked};

/// Longest text of a descriptor in bytes. A wrong length must not read the whole address space.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// Highest other major version to look for, to name it in the error.
const MAX_MAJOR_PROBED: u32 = 16;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    #[error("{}: cannot be opened as a library: {reason}", .file.display())]
    Open {
        file: PathBuf,
        /// Message of the system's loader.
        reason: String,
    },
    #[error("{}: not a plugin: it does not export {} (hint: a Rust plugin needs trueno_plugin::export!)", .file.display(), abi::ENTRY)]
    NoEntry { file: PathBuf },
    #[error(
        "{}: built for version {found} of the plugin interface, this analyzer has version {} (hint: {})",
        .file.display(), abi::MAJOR, if *.found > abi::MAJOR { "use a newer trueno-analyze" } else { "build the plugin anew" }
    )]
    OtherMajor {
        file: PathBuf,
        /// The version it was built for.
        found: u32,
    },
    #[error("{}: its descriptor is wrong: {reason}", .file.display())]
    Descriptor {
        file: PathBuf,
        /// What was expected and what was found.
        reason: String,
    },
    /// Error of the process that loaded it, or how it ended. Names the file.
    #[error("{0}")]
    Isolated(String),
}

/// Opens a library and reads its descriptor. If the file name follows the pattern of plugins, it must match the id
/// inside.
///
/// # Errors
/// The library cannot be opened, has no entry of this major version, or
/// describes itself wrongly. Nothing of it is used then.
pub fn load(file: &Path) -> Result<Plugin, LoadError> {
    let library = open(file)?;
    // The one leak of the analyzer, on purpose: dropping the handle would close the library.
    let library: &'static libloading::Library = Box::leak(Box::new(library));
    let Some(entry) = entry_in(library, file) else {
        return Err(match other_major(library) {
            Some(found) => LoadError::OtherMajor {
                file: file.to_path_buf(),
                found,
            },
            None => LoadError::NoEntry {
                file: file.to_path_buf(),
            },
        });
    };
    read(Code::in_library(file), entry)
}

/// Reads the descriptor of a linked plugin.
///
/// # Errors
/// It describes itself wrongly.
pub fn load_linked(program: &Path, linked: &Linked) -> Result<Plugin, LoadError> {
    read(Code::in_program(program, linked.id), linked.entry)
}

/// The entry that a library exports. Its name may end in the id from the file name.
fn entry_in(library: &'static libloading::Library, file: &Path) -> Option<abi::Entry> {
    let with_id = id_of(file).map(|id| abi::entry_of(&id));
    let mut names = [abi::ENTRY.to_owned()].into_iter().chain(with_id);
    // SAFETY: the symbol's name carries the major version that fixes its type.
    names.find_map(|name| {
        unsafe { library.get::<abi::Entry>(name.as_bytes()) }
            .ok()
            .map(|entry| *entry)
    })
}

fn read(code: Code, entry: abi::Entry) -> Result<Plugin, LoadError> {
    // SAFETY: the entry takes nothing and, by the contract of version 1, does nothing but return a pointer.
    let raw = unsafe { entry() };
    // SAFETY: by the same contract the pointer leads to static storage of a library that is never closed.
    let read = unsafe { read_plugin(raw) };
    let checked = read.and_then(|(descriptor, entry)| {
        descriptor.check(&code.file)?;
        Ok((descriptor, entry))
    });
    let (descriptor, functions) = match checked {
        Ok(checked) => checked,
        Err(reason) => {
            return Err(LoadError::Descriptor {
                file: code.file,
                reason,
            });
        }
    };
    Ok(Plugin {
        descriptor,
        code,
        execution: Execution::InProcess(functions),
    })
}

fn open(file: &Path) -> Result<libloading::Library, LoadError> {
    #[cfg(unix)]
    // SAFETY: constructors of the library run here; that is what loading a plugin means, and who may
    // put one where it lies was checked before.
    let opened = unsafe {
        libloading::os::unix::Library::open(
            Some(file),
            libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_NODELETE,
        )
        .map(libloading::Library::from)
    };
    #[cfg(not(unix))]
    // SAFETY: as above; the handle is leaked by the caller, which keeps the library mapped.
    let opened = unsafe { libloading::Library::new(file) };
    opened.map_err(|error| {
        let reason = match std::error::Error::source(&error) {
            Some(source) => source.to_string(),
            None => error.to_string(),
        };
        LoadError::Open {
            file: file.to_path_buf(),
            reason,
        }
    })
}

fn other_major(library: &libloading::Library) -> Option<u32> {
    (0..=MAX_MAJOR_PROBED)
        .rev()
        .filter(|major| *major != abi::MAJOR)
        .find(|major| {
            let name = format!("trueno_plugin_v{major}");
            // SAFETY: the address is only looked up, never called or read.
            unsafe { library.get::<*const ()>(name.as_bytes()).is_ok() }
        })
}

/// # Safety
/// `raw` is null, or misaligned, or leads to static storage as long as its `struct_size` says.
unsafe fn read_plugin(raw: *const abi::Plugin) -> Result<(Descriptor, Functions), String> {
    // SAFETY: passed on to the caller; `struct_size` is checked before any later field is read.
    unsafe { check_struct(raw, abi::PLUGIN_SIZE_1_0, "the descriptor")? };
    // SAFETY: not null, aligned and long enough.
    let plugin = unsafe { descriptor_of(raw) };
    // SAFETY: texts of a descriptor are static.
    let (id, version, summary, build) = unsafe {
        (
            text(plugin.id, "id")?,
            text(plugin.version, "version")?,
            text(plugin.summary, "summary")?,
            text(plugin.build, "build")?,
        )
    };
    let Some(entry) = plugin.run else {
        return Err("its run function is null".into());
    };
    // SAFETY: the list is that of a descriptor, which obeys the contract.
    let inputs = unsafe { read_inputs(plugin.inputs, plugin.input_count)? };
    // SAFETY: as above.
    let parts = unsafe { read_parts(&plugin)? };
    let descriptor = Descriptor {
        id,
        version,
        summary,
        build,
        abi_minor: plugin.abi_minor,
        inputs,
        merge_inputs: parts.as_ref().map(|parts| parts.inputs.clone()),
    };
    let functions = Functions {
        run: entry,
        parts: parts.map(|parts| (parts.part, parts.merge)),
        is_foreign: false,
    };
    Ok((descriptor, functions))
}

/// Fields of version 1.1 for plugins that can work on ranks one by one.
struct ReadParts {
    part: abi::RunFn,
    merge: abi::RunFn,
    inputs: Vec<Input>,
}

/// The descriptor, with zeros for what one of an older version does not have.
///
/// # Safety
/// `raw` is valid and as long as its `struct_size` says, at least of size 1.0.
unsafe fn descriptor_of(raw: *const abi::Plugin) -> abi::Plugin {
    // SAFETY: struct_size is the first field of every version.
    let size = unsafe { (*raw).struct_size } as usize;
    let mut plugin = std::mem::MaybeUninit::<abi::Plugin>::zeroed();
    // SAFETY: no more bytes than either side has; every field of a descriptor may be zero.
    unsafe {
        std::ptr::copy_nonoverlapping(
            raw.cast::<u8>(),
            plugin.as_mut_ptr().cast::<u8>(),
            size.min(size_of::<abi::Plugin>()),
        );
        plugin.assume_init()
    }
}

/// # Safety
/// The lists and texts of `plugin` are those of a descriptor.
unsafe fn read_parts(plugin: &abi::Plugin) -> Result<Option<ReadParts>, String> {
    // Of what it does not reach as far as, none was read.
    if (plugin.struct_size as usize) < abi::PLUGIN_SIZE_1_1 {
        return Ok(None);
    }
    let (part, merge) = match (plugin.part, plugin.merge) {
        (None, None) => return Ok(None),
        (Some(part), Some(merge)) => (part, merge),
        (Some(_), None) => return Err("it has part and no merge".into()),
        (None, Some(_)) => return Err("it has merge and no part".into()),
    };
    // SAFETY: the list is that of a descriptor.
    let inputs = unsafe { read_inputs(plugin.merge_inputs, plugin.merge_input_count) };
    let inputs = inputs.map_err(|why| format!("of its merging, {why}"))?;
    Ok(Some(ReadParts {
        part,
        merge,
        inputs,
    }))
}

/// # Safety
/// `list` is null or has `count` pointers to inputs, at any address.
unsafe fn read_inputs(list: *const *const abi::Input, count: usize) -> Result<Vec<Input>, String> {
    if count > MAX_INPUTS {
        return Err(format!(
            "it lists {count} inputs, at most {MAX_INPUTS} are taken"
        ));
    }
    if count > 0 && list.is_null() {
        return Err(format!("it lists {count} inputs at a null pointer"));
    }
    let mut inputs: Vec<Input> = Vec::with_capacity(count);
    for i in 0..count {
        // SAFETY: the list is not null and has so many pointers.
        let input = unsafe { list.add(i).read_unaligned() };
        // SAFETY: an input obeys the same rules as the descriptor.
        inputs.push(unsafe { read_input(input, i)? });
    }
    Ok(inputs)
}

/// # Safety
/// As for [`read_plugin`].
unsafe fn read_input(raw: *const abi::Input, number: usize) -> Result<Input, String> {
    // SAFETY: passed on to the caller.
    unsafe { check_struct(raw, abi::INPUT_SIZE_1_0, &format!("input {number}"))? };
    // SAFETY: not null, aligned and long enough; its texts are static.
    let (flags, name, sql) = unsafe {
        let input = &*raw;
        (
            input.flags,
            text(input.name, "name of an input")?,
            text(input.sql, "query of an input")?,
        )
    };
    let known = abi::INPUT_BASELINE | abi::INPUT_OPTIONAL;
    if flags & !known != 0 {
        return Err(format!(
            "input {name} has unknown flags {:#x} (hint: use a newer trueno-analyze)",
            flags & !known
        ));
    }
    Ok(Input {
        name,
        sql,
        baseline: flags & abi::INPUT_BASELINE != 0,
        optional: flags & abi::INPUT_OPTIONAL != 0,
    })
}

/// # Safety
/// `raw` is null, or misaligned, or its first field, a `u32`, can be read.
unsafe fn check_struct<T>(raw: *const T, least: usize, what: &str) -> Result<(), String> {
    if raw.is_null() {
        return Err(format!("{what} is a null pointer"));
    }
    if !raw.is_aligned() {
        return Err(format!(
            "{what} is not aligned to {} bytes",
            align_of::<T>()
        ));
    }
    // SAFETY: aligned and not null; both structs start with their size.
    let size = unsafe { *raw.cast::<u32>() } as usize;
    if size < least {
        return Err(format!("{what} is {size} bytes, version 1.0 has {least}"));
    }
    Ok(())
}

/// # Safety
/// `raw.ptr` is null or leads to `raw.len` bytes.
unsafe fn text(raw: abi::Str, what: &str) -> Result<String, String> {
    if raw.len > MAX_TEXT_BYTES {
        return Err(format!(
            "its {what} is {} bytes long, at most {MAX_TEXT_BYTES} are taken",
            raw.len
        ));
    }
    if raw.len > 0 && raw.ptr.is_null() {
        return Err(format!("its {what} is {} bytes at a null pointer", raw.len));
    }
    // SAFETY: checked above; the caller vouches for the length.
    let bytes = unsafe { raw.bytes() };
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(format!(
            "its {what} is not UTF-8: {:?}",
            String::from_utf8_lossy(bytes)
        )),
    }
}
