//! `plugins`, as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use trueno_host::scaffold;

use super::{PluginArgs, TextOutput};

/// Commands for plugins.
#[derive(Debug, Subcommand)]
pub enum PluginsCommand {
    /// List them: what is loaded from where, what is shadowed or refused, and why; with -v their queries, options and tables.
    List(ListArgs),
    /// Make the beginning of a plugin: a folder that builds, passes its test and loads.
    New(NewArgs),
    /// Hold a plugin to the rules, over a run and over odd inputs; says what to mend (exit code 1).
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
    /// Id of the plugin, and namespace of its tables: a word of a-z, 0-9 and _.
    pub name: String,
    /// Its language.
    #[arg(long, value_enum, default_value_t = Lang::Rust, value_name = "LANG")]
    pub lang: Lang,
    /// The folder to make; NAME when not given.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// The folder of the crate trueno-plugin, or of a checkout of the analyzer's repository; or the address of a git
    /// repository that holds it, with #COMMIT or without. When not given: the checkout around this program or the working
    /// directory, else the analyzer's repository on the net.
    #[arg(long, value_name = "DIR|URL")]
    pub sdk: Option<String>,
}

/// `plugins check`.
#[derive(Debug, Args)]
pub struct PluginCheckArgs {
    /// The library.
    pub file: PathBuf,
    /// A run to try it on; a small recording made on the spot when not given.
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
    /// A crate.
    Rust,
    /// One file, a Makefile, and the headers.
    C,
    /// One file.
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
