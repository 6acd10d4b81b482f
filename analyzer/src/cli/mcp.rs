//! Arguments of `mcp`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use trueno_model::time_text::parse_duration;

use super::PluginArgs;

/// `mcp`.
#[derive(Debug, Args)]
pub struct McpArgs {
    /// Allow runs and traces in this folder; repeatable [default: the working directory]
    #[arg(long = "root", value_name = "DIR")]
    pub roots: Vec<PathBuf>,
    /// Time limit of each tool call, such as 30s [default: 2m]
    #[arg(long = "timeout", alias = "time-limit", value_name = "TIME", value_parser = parse_duration)]
    pub time_limit: Option<Duration>,
    /// Plugins to load.
    #[command(flatten)]
    pub plugins: PluginArgs,
}
