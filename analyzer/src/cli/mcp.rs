//! Arguments of `mcp`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{PluginArgs, timeout};

/// `mcp`.
#[derive(Debug, Args)]
pub struct McpArgs {
    /// Let runs and traces in this folder and below be opened; may be given again [default: the working directory].
    #[arg(long = "root", value_name = "DIR")]
    pub roots: Vec<PathBuf>,
    /// Time limit of each call of a tool, such as 30s [default: 120s].
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    pub time_limit: Option<Duration>,
    /// Plugins to load.
    #[command(flatten)]
    pub plugins: PluginArgs,
}
