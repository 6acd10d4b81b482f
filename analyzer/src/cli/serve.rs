//! `serve`, as typed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use trueno_host::plugin::isolate;
use trueno_model::time_text::parse_duration;

use super::PluginArgs;

/// `serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Run directories, or traces of other profilers
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Open the page in a browser
    #[arg(long)]
    pub open: bool,
    /// Port on 127.0.0.1; 0 picks a free one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub port: u16,
    /// Rows of a query that the page shows
    #[arg(
        long,
        hide_short_help = true,
        value_name = "N",
        default_value_t = 1_000
    )]
    pub query_rows: usize,
    /// Time limit of a query
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "30s", hide_short_help = true)]
    pub query_timeout: Duration,
    /// Memory limit of a query, such as 4GB [default: three quarters of the machine's]
    #[arg(long, hide_short_help = true, value_name = "SIZE", value_parser = isolate::size)]
    pub query_memory: Option<u64>,
    /// Plugins to load.
    #[command(flatten)]
    pub plugins: PluginArgs,
}

/// `serve-lanes`.
#[derive(Debug, Args)]
pub struct ServeLanesArgs {
    /// The run directory.
    pub run: PathBuf,
}

impl PluginArgs {
    /// The same flags, for another process.
    pub fn flags(&self) -> Vec<OsString> {
        let mut flags: Vec<OsString> = Vec::new();
        let paths = |name: &str, paths: &[PathBuf]| {
            let each = paths.iter().map(|path| {
                let mut flag = OsString::from(format!("--{name}="));
                flag.push(path);
                flag
            });
            each.collect::<Vec<_>>()
        };
        flags.extend(paths("plugin-file", &self.plugin_files));
        flags.extend(paths("plugin-dir", &self.plugin_dirs));
        let switches = [
            ("--no-default-plugins", self.no_default_plugins),
            ("--allow-unsafe-plugins", self.allow_unsafe_plugins),
            ("--isolate", self.isolate),
            ("--no-isolate", self.no_isolate),
        ];
        flags.extend(
            switches
                .into_iter()
                .filter(|(_, is_on)| *is_on)
                .map(|(name, _)| name.into()),
        );
        let times = [
            ("--plugin-timeout", self.plugin_timeout),
            ("--plugin-cpu-time", self.plugin_cpu_time),
        ];
        for (name, time) in times {
            flags.extend(time.map(|time| format!("{name}={}ns", time.as_nanos()).into()));
        }
        flags.extend(
            self.plugin_memory
                .map(|bytes| format!("--plugin-memory={bytes}").into()),
        );
        flags
    }
}
