//! Places of plugins, and their isolation, as asked for.

use std::fs;
use std::sync::LazyLock;

use anyhow::Context;
use trueno_host::plugin::isolate::{AVAILABLE, Isolation, Limits, Which, missing};
use trueno_host::plugin::{Execution, Linked, Plugin, Registry, Search, Status};

use super::stderr::Stderr;
use crate::cli::PluginArgs;

/// Loads the requested plugins. If some run in a process of their own, warns about protections that its sandbox
/// lacks.
pub(super) fn gather(args: &PluginArgs, stderr: &Stderr) -> anyhow::Result<Registry> {
    let search = search(args);
    if !args.no_default_plugins {
        // Else it would be as if they had been left out on purpose.
        let place = std::env::current_exe().and_then(fs::canonicalize);
        place.context(
            "this program cannot find its own path, so it cannot find its plugins (hint: is /proc mounted?)",
        )?;
    }
    let registry = Registry::gather(&search)?;
    let is_isolated = |plugin: &Plugin| matches!(plugin.execution, Execution::Isolated(_));
    if registry.plugins.iter().any(is_isolated)
        && let Some(missing) = missing()
    {
        stderr.warn(&format!(
            "no sandbox for plugins: this kernel has no {missing}"
        ));
    }
    for entry in &registry.entries {
        if let Status::Shadowed { by } = &entry.status
            && fs::canonicalize(&entry.file).is_ok_and(|file| search.ships(&file))
        {
            stderr.warn(&format!(
                "{} is used instead of the plugin that ships with this program, {}",
                by.display(),
                entry.file.display()
            ));
        }
    }
    say_refused_places(&registry, stderr);
    Ok(registry)
}

pub(super) fn say_refused_places(registry: &Registry, stderr: &Stderr) {
    for place in registry.places.iter().filter(|place| place.refused) {
        stderr.warn(&format!(
            "{}: {}",
            place.dir.display(),
            place.why_not.as_deref().unwrap_or_default()
        ));
    }
}

pub(super) fn isolation(args: &PluginArgs) -> Isolation {
    let which = match (args.isolate, args.no_isolate) {
        (true, _) => Which::All,
        (false, true) => Which::None,
        (false, false) if AVAILABLE => Which::Outside,
        (false, false) => Which::None,
    };
    let usual = Limits::default();
    let limits = Limits {
        time: args.plugin_timeout,
        cpu_time: args.plugin_cpu_time,
        memory_bytes: args.plugin_memory.unwrap_or(usual.memory_bytes),
        ..usual
    };
    Isolation { which, limits }
}

pub(super) fn search(args: &PluginArgs) -> Search {
    let executable = std::env::current_exe().and_then(std::fs::canonicalize).ok();
    Search {
        files: args.plugin_files.clone(),
        dirs: args.plugin_dirs.clone(),
        path_variable: std::env::var_os(trueno_host::plugin::PATH_VARIABLE),
        executable: executable.filter(|_| !args.no_default_plugins),
        allow_unsafe: args.allow_unsafe_plugins,
        isolation: isolation(args),
        linked: linked(),
    }
}

pub(super) fn linked() -> &'static [Linked] {
    static LINKED: LazyLock<Vec<Linked>> = LazyLock::new(|| {
        let entries = trueno_standard_plugins::ENTRIES.iter();
        entries.map(|&(id, entry)| Linked { id, entry }).collect()
    });
    &LINKED
}
