//! Plugins in any language, run by their descriptor.

use crate::abi;
use crate::build::TableBuilder;
use crate::error::{Error, Result};

use super::Output;
use super::concatenation::rows_of_parts;
use super::host::Host;

/// Runs a plugin in any language by its descriptor, like [`run`](super::run).
///
/// # Errors
/// As [`run`](super::run).
///
/// # Safety
/// `plugin` is a descriptor that follows the header, with at least the size of 1.0.
pub unsafe fn run_descriptor(
    plugin: *const abi::Plugin,
    inputs: impl IntoIterator<Item = TableBuilder>,
    options: &str,
) -> Result<Output> {
    // SAFETY: the caller vouches for the descriptor and all it points to.
    unsafe {
        let declared = declared((*plugin).inputs, (*plugin).input_count);
        let run = (*plugin).run.ok_or_else(|| has_no("run"))?;
        Host::default().run(run, &lent(&declared), inputs, options)
    }
}

/// Makes the part of a rank by a plugin's descriptor, like [`part`](super::part).
///
/// # Errors
/// As [`run`](super::run); the plugin has no parts.
///
/// # Safety
/// As for [`run_descriptor`].
pub unsafe fn part_descriptor(
    plugin: *const abi::Plugin,
    inputs: impl IntoIterator<Item = TableBuilder>,
    options: &str,
) -> Result<Output> {
    // SAFETY: as in run_descriptor; fields of 1.1 are read only if it reaches so far.
    unsafe {
        let declared = declared((*plugin).inputs, (*plugin).input_count);
        let part = has_parts(plugin).then(|| (*plugin).part).flatten();
        let part = part.ok_or_else(|| has_no("part"))?;
        Host::default().run(part, &lent(&declared), inputs, options)
    }
}

/// Merges parts by a plugin's descriptor, like [`merge`](super::merge).
///
/// # Errors
/// As [`merge`](super::merge); the plugin has no parts.
///
/// # Safety
/// As for [`run_descriptor`].
pub unsafe fn merge_descriptor(
    plugin: *const abi::Plugin,
    parts: &[Output],
    others: impl IntoIterator<Item = TableBuilder>,
    options: &str,
    is_final: bool,
) -> Result<Output> {
    // SAFETY: as in part_descriptor.
    unsafe {
        let merge = has_parts(plugin).then(|| (*plugin).merge).flatten();
        let merge = merge.ok_or_else(|| has_no("merge"))?;
        let declared = declared((*plugin).merge_inputs, (*plugin).merge_input_count);
        let declared = lent(&declared);
        let inputs = rows_of_parts(&declared, parts, others)?;
        Host::merging(is_final).run(merge, &declared, inputs, options)
    }
}

/// Tells whether the descriptor reaches as far as the fields of 1.1. Only fields are ever read,
/// through the pointer: a reference would claim the memory of the whole struct.
///
/// # Safety
/// As for [`run_descriptor`].
unsafe fn has_parts(plugin: *const abi::Plugin) -> bool {
    // SAFETY: the first field of every version.
    unsafe { (*plugin).struct_size as usize >= abi::PLUGIN_SIZE_1_1 }
}

/// Names of the inputs, and whether each may be left out.
///
/// # Safety
/// `list` has `count` pointers to inputs that obey the header; it may be null where there are none.
unsafe fn declared(list: *const *const abi::Input, count: usize) -> Vec<(String, bool)> {
    let input = |number: usize| {
        // SAFETY: the caller vouches for the list; `number` is below the count.
        let (name, flags) = unsafe {
            let input = *list.add(number);
            ((*input).name.to_string_lossy(), (*input).flags)
        };
        (name.into_owned(), flags & abi::INPUT_OPTIONAL != 0)
    };
    (0..count).map(input).collect()
}

fn lent(declared: &[(String, bool)]) -> Vec<(&str, bool)> {
    let inputs = declared.iter();
    inputs
        .map(|(name, optional)| (&**name, *optional))
        .collect()
}

fn has_no(function: &str) -> Error {
    Error::failed(format!("the descriptor has no {function}"))
}
