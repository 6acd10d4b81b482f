//! `plugins`, as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use trueno_host::scaffold;

use super::{PluginArgs, TextOutput, examples};

/// Commands for plugins.
#[derive(Debug, Subcommand)]
pub enum PluginsCommand {
    /// List plugins with their files, and rejected plugins with the reason
    ///
    /// With -v also their queries, options and tables.
    #[command(after_help = examples::PLUGINS_LIST)]
    List(ListArgs),
    /// Create a plugin: a folder that builds, passes its test and loads
    #[command(after_help = examples::PLUGINS_NEW)]
    New(NewArgs),
    /// Check that a plugin follows the rules, with a run and with unusual inputs
    ///
    /// Exits with 1 and lists what to fix if it does not.
    #[command(after_help = examples::PLUGINS_CHECK)]
    Check(PluginCheckArgs),
}

/// `plugins list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Form and place of the result.
    #[command(flatten)]
    pub result: TextOutput,
    /// Plugins to load.
    #[command(flatten)]
    pub plugins: PluginArgs,
}

/// `plugins new`.
#[derive(Debug, Args)]
pub struct NewArgs {
    /// Id of the plugin and prefix of its tables: a-z, 0-9 and _
    pub name: String,
    /// Language
    #[arg(long, value_enum, default_value_t = Lang::Rust, value_name = "LANG")]
    pub lang: Lang,
    /// The folder to make [default: NAME]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Where the crate trueno-plugin comes from: a folder, or a git URL
    ///
    /// The folder of the crate or of a checkout of the analyzer's repository; a URL may end in #COMMIT. Without it: the
    /// checkout around this program or the working directory, else the analyzer's repository on the web.
    #[arg(long, value_name = "DIR|URL")]
    pub sdk: Option<String>,
}

/// `plugins check`.
#[derive(Debug, Args)]
pub struct PluginCheckArgs {
    /// The plugin's library
    pub file: PathBuf,
    /// A run to try it on [default: a small recording made for it]
    pub run: Option<PathBuf>,
    /// Form and place of the result.
    #[command(flatten)]
    pub result: TextOutput,
    /// Plugins whose tables it reads, and limits of its process.
    #[command(flatten)]
    pub plugins: PluginArgs,
}

/// Languages of plugins, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Lang {
    /// A Rust crate.
    Rust,
    /// One C file, a Makefile and the headers.
    C,
    /// One Python file.
    Python,
}

impl From<Lang> for scaffold::Lang {
    fn from(lang: Lang) -> Self {
        match lang {
            Lang::Rust => scaffold::Lang::Rust,
            Lang::C => scaffold::Lang::C,
            Lang::Python => scaffold::Lang::Python,
        }
    }
}
