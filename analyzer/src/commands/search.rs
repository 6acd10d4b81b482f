//! Places of plugins, and their isolation, as asked for.

use trueno_host::plugin::Search;
use trueno_host::plugin::isolate::{AVAILABLE, Isolation, Limits, Which};

use crate::cli::PluginArgs;

/// The plugins that run in a process of their own, and the limits of these.
pub(super) fn isolation(args: &PluginArgs) -> Isolation {
    let which = match (args.isolate, args.no_isolate) {
        (true, _) => Which::All,
        (false, true) => Which::None,
        (false, false) if AVAILABLE => Which::Outside,
        (false, false) => Which::None,
    };
    let mut limits = Limits::default();
    if let Some(time) = args.plugin_timeout {
        limits.time = time;
    }
    if let Some(bytes) = args.plugin_memory {
        limits.memory_bytes = bytes;
    }
    Isolation { which, limits }
}

/// The places where plugins are looked for.
pub(super) fn search(args: &PluginArgs) -> Search {
    let executable = std::env::current_exe().and_then(std::fs::canonicalize).ok();
    Search {
        files: args.plugin_files.clone(),
        dirs: args.plugin_dirs.clone(),
        path_variable: std::env::var_os(trueno_host::plugin::PATH_VARIABLE),
        executable: executable.filter(|_| !args.no_default_plugins),
        allow_unsafe: args.allow_unsafe_plugins,
        isolation: isolation(args),
    }
}
