//! Expansion of [`export!`](crate::export!): the descriptor, and the function behind it.

use crate::abi;
use crate::build::is_identifier;
use crate::error::{Error, Result};
use crate::options;
use crate::panic;
use crate::plugin::{Input, Parts, Plugin};
use crate::run::Run;

/// Makes the library a plugin: exports `trueno_plugin_v1`.
///
/// Once a library, at the top of the crate; `export!(Plugin, parts)` for one with
/// [`Parts`](crate::Parts). The version is that of the package. The id, the names of the inputs and
/// their uniqueness are checked when compiled.
///
/// `export!(Plugin, as trueno_plugin_v1_ID)`, with or without `parts`, is for plugins that a program links:
/// symbols of one name cannot be linked twice. The library exports that name in place of the other, by which it
/// is loaded as well where its file is named after the id; Rust code has the entry as `ENTRY`.
#[macro_export]
macro_rules! export {
    (@whole $plugin:ty, $entry:ident) => {
        #[doc = "Entry of the plugin."]
        #[allow(unsafe_code)]
        // SAFETY: the one definition of this name in the library.
        #[unsafe(no_mangle)]
        pub extern "C" fn $entry() -> *const $crate::abi::Plugin {
            const COUNT: usize = <$plugin as $crate::Plugin>::INPUTS.len();
            static INPUTS: $crate::export::Static<[$crate::abi::Input; COUNT]> =
                $crate::export::inputs(<$plugin as $crate::Plugin>::INPUTS);
            static LIST: $crate::export::Static<[*const $crate::abi::Input; COUNT]> =
                $crate::export::list(&INPUTS);
            static DESCRIPTOR: $crate::export::Static<$crate::abi::Plugin> =
                $crate::export::descriptor::<$plugin, COUNT>(env!("CARGO_PKG_VERSION"), &LIST);
            DESCRIPTOR.get()
        }
    };
    (@parts $plugin:ty, $entry:ident) => {
        #[doc = "Entry of the plugin."]
        #[allow(unsafe_code)]
        // SAFETY: the one definition of this name in the library.
        #[unsafe(no_mangle)]
        pub extern "C" fn $entry() -> *const $crate::abi::Plugin {
            const COUNT: usize = <$plugin as $crate::Plugin>::INPUTS.len();
            static INPUTS: $crate::export::Static<[$crate::abi::Input; COUNT]> =
                $crate::export::inputs(<$plugin as $crate::Plugin>::INPUTS);
            static LIST: $crate::export::Static<[*const $crate::abi::Input; COUNT]> =
                $crate::export::list(&INPUTS);
            const MERGED: usize = <$plugin as $crate::Parts>::MERGE_INPUTS.len();
            static MERGE_INPUTS: $crate::export::Static<[$crate::abi::Input; MERGED]> =
                $crate::export::inputs(<$plugin as $crate::Parts>::MERGE_INPUTS);
            static MERGE_LIST: $crate::export::Static<[*const $crate::abi::Input; MERGED]> =
                $crate::export::list(&MERGE_INPUTS);
            static DESCRIPTOR: $crate::export::Static<$crate::abi::Plugin> =
                $crate::export::with_parts::<$plugin, COUNT, MERGED>(
                    env!("CARGO_PKG_VERSION"),
                    &LIST,
                    &MERGE_LIST,
                );
            DESCRIPTOR.get()
        }
    };
    ($plugin:ty) => {
        const _: () = {
            $crate::export!(@whole $plugin, trueno_plugin_v1);
        };
    };
    ($plugin:ty, parts) => {
        const _: () = {
            $crate::export!(@parts $plugin, trueno_plugin_v1);
        };
    };
    ($plugin:ty, as $entry:ident) => {
        $crate::export!(@whole $plugin, $entry);
        #[doc = "Entry of the plugin, for a program that links it."]
        pub const ENTRY: $crate::abi::Entry = $entry;
    };
    ($plugin:ty, parts, as $entry:ident) => {
        $crate::export!(@parts $plugin, $entry);
        #[doc = "Entry of the plugin, for a program that links it."]
        pub const ENTRY: $crate::abi::Entry = $entry;
    };
}

/// A value of the ABI in static storage.
#[derive(Debug)]
#[repr(transparent)]
pub struct Static<T>(T);

// SAFETY: made of numbers and of pointers to statics, all immutable.
unsafe impl<T> Sync for Static<T> {}

impl<T> Static<T> {
    /// Its address.
    pub const fn get(&'static self) -> *const T {
        &raw const self.0
    }
}

/// The inputs as the ABI has them.
pub const fn inputs<const COUNT: usize>(of: &[Input]) -> Static<[abi::Input; COUNT]> {
    let mut all = [Input::sql("", "").descriptor(); COUNT];
    let mut i = 0;
    while i < COUNT {
        let input = &of[i];
        assert!(
            is_identifier(input.name()),
            "the name of an input does not fit [a-z][a-z0-9_]*"
        );
        let mut earlier = 0;
        while earlier < i {
            assert!(
                !same(of[earlier].name(), input.name()),
                "two inputs have one name"
            );
            earlier += 1;
        }
        all[i] = input.descriptor();
        i += 1;
    }
    Static(all)
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// Pointers to the inputs: arrays of structs that may grow cannot be indexed.
pub const fn list<const COUNT: usize>(
    inputs: &'static Static<[abi::Input; COUNT]>,
) -> Static<[*const abi::Input; COUNT]> {
    let mut all = [std::ptr::null(); COUNT];
    let mut i = 0;
    while i < COUNT {
        all[i] = &raw const inputs.0[i];
        i += 1;
    }
    Static(all)
}

/// The plugin, whole.
pub const fn descriptor<P: Plugin, const COUNT: usize>(
    version: &'static str,
    inputs: &'static Static<[*const abi::Input; COUNT]>,
) -> Static<abi::Plugin> {
    assert!(
        is_identifier(P::ID),
        "the id of the plugin does not fit [a-z][a-z0-9_]*"
    );
    Static(abi::Plugin {
        struct_size: size_of::<abi::Plugin>() as u32,
        abi_minor: abi::MINOR,
        id: abi::Str::lend(P::ID),
        version: abi::Str::lend(version),
        summary: abi::Str::lend(P::SUMMARY),
        build: abi::Str::lend(env!("TRUENO_PLUGIN_BUILD")),
        inputs: inputs.0.as_ptr(),
        input_count: COUNT,
        run: Some(call::<P>),
        part: None,
        merge_inputs: std::ptr::null(),
        merge_input_count: 0,
        merge: None,
    })
}

/// The plugin, whole, which can work on the ranks of a job one by one.
pub const fn with_parts<P: Parts, const COUNT: usize, const MERGED: usize>(
    version: &'static str,
    inputs: &'static Static<[*const abi::Input; COUNT]>,
    merge_inputs: &'static Static<[*const abi::Input; MERGED]>,
) -> Static<abi::Plugin> {
    let Static(plugin) = descriptor::<P, COUNT>(version, inputs);
    Static(abi::Plugin {
        part: Some(part::<P>),
        merge_inputs: merge_inputs.0.as_ptr(),
        merge_input_count: MERGED,
        merge: Some(merge::<P>),
        ..plugin
    })
}

/// `trueno_plugin.run`: no panic leaves it, every error leaves its text.
///
/// # Safety
/// `run` is null or points to a `trueno_run` that obeys the header.
pub unsafe extern "C" fn call<P: Plugin>(run: *const abi::Run) -> abi::Status {
    // SAFETY: passed on to the caller.
    unsafe { guarded::<P>(run, P::INPUTS, P::run) }
}

/// `trueno_plugin.part`, as [`call`].
///
/// # Safety
/// As for [`call`].
pub unsafe extern "C" fn part<P: Parts>(run: *const abi::Run) -> abi::Status {
    // SAFETY: passed on to the caller.
    unsafe { guarded::<P>(run, P::INPUTS, P::part) }
}

/// `trueno_plugin.merge`, as [`call`].
///
/// # Safety
/// As for [`call`].
pub unsafe extern "C" fn merge<P: Parts>(run: *const abi::Run) -> abi::Status {
    // SAFETY: passed on to the caller.
    unsafe { guarded::<P>(run, P::MERGE_INPUTS, P::merge) }
}

type Function<P> = fn(&mut Run, <P as Plugin>::Options) -> Result<()>;

/// # Safety
/// As for [`call`].
unsafe fn guarded<P: Plugin>(
    run: *const abi::Run,
    inputs: &'static [Input],
    function: Function<P>,
) -> abi::Status {
    // SAFETY: struct_size is the first field of every version.
    if run.is_null() || (unsafe { (*run).struct_size } as usize) < abi::RUN_SIZE_1_0 {
        // Too short to hold set_error, so there is nobody to tell.
        return abi::FAILED;
    }
    // SAFETY: of size 1.0 at least, and valid until we return.
    let outcome = panic::catch(|| unsafe { execute::<P>(run, inputs, function) });
    let error = match outcome {
        Ok(Ok(())) => return abi::OK,
        Ok(Err(error)) => error,
        Err(message) => Error::Panicked(message),
    };
    let text = match &error {
        Error::Panicked(message) => message.clone(),
        other => other.to_string(),
    };
    // SAFETY: the host's own callback and argument; the text outlives the call.
    unsafe {
        if let Some(set_error) = (*run).set_error {
            set_error((*run).host, abi::Str::lend(&text));
        }
    }
    error.status()
}

/// # Safety
/// As for [`call`], and `run` is of size 1.0 at least.
unsafe fn execute<P: Plugin>(
    run: *const abi::Run,
    inputs: &'static [Input],
    function: Function<P>,
) -> Result<()> {
    // SAFETY: the options are a text of the host's that lives through the call.
    let options = unsafe { (*run).options.to_string_lossy() };
    let options = options::parse(&options)?;
    // SAFETY: the caller vouches for `run`.
    let mut run = unsafe { Run::new(run, inputs)? };
    function(&mut run, options)
}
