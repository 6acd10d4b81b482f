//! Options that a plugin takes, and whether it takes some values.
//!
//! The interface has no list of them. A plugin made with the SDK answers an
//! unknown key with the known ones, before it looks at anything else; so it is
//! asked with a key that no plugin has, in a process of its own and without
//! inputs. Values it refuses in the same way, before a run is read.

use super::call::OPTION_HINT;
use super::descriptor::{Execution, Plugin, Stage};
use super::isolate::{self, Limits};
use super::outcome::{FailureKind, Outcome};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionSchema {
    /// Exactly these; may be empty.
    Keys(Vec<String>),
    Unknown,
}

/// A key that no plugin has, because it is not an identifier.
const NOBODYS_KEY: &str = "?";

/// Finds out from the plugin's error message for an unknown option.
pub fn known_options(plugin: &Plugin) -> OptionSchema {
    match refusal(plugin, &format!("{{\"{NOBODYS_KEY}\":0}}")) {
        Some(message) => read(&message),
        None => OptionSchema::Unknown,
    }
}

/// The plugin's error for these options, a JSON object. `None` if it accepts them, or can only check them with
/// inputs.
pub fn refused_options(plugin: &Plugin, options: &str) -> Option<String> {
    let message = refusal(plugin, options)?;
    // The hint names one flag; there are several that give options.
    let said = message.strip_suffix(OPTION_HINT).unwrap_or(&message);
    Some(said.to_owned())
}

fn refusal(plugin: &Plugin, options: &str) -> Option<String> {
    if !isolate::AVAILABLE {
        return None;
    }
    let limits = match &plugin.execution {
        Execution::Isolated(limits) => limits.clone(),
        Execution::InProcess(_) => Limits::default(),
    };
    // A plugin that ignores its options and works on nothing is not waited for.
    let limits = limits.of_loading();
    let nothing = plugin.descriptor.inputs.iter().map(|_| None).collect();
    match isolate::run(&plugin.code, Stage::Whole, nothing, options, &limits) {
        Outcome::Failed {
            kind: FailureKind::Option,
            message,
            ..
        } => Some(message),
        _ => None,
    }
}

/// Parses "(known options: `a`, `b`)".
fn read(message: &str) -> OptionSchema {
    if message.contains("this plugin takes none") {
        return OptionSchema::Keys(Vec::new());
    }
    let list = message
        .split_once("(known options: ")
        .and_then(|(_, rest)| rest.split_once(')'));
    match list {
        Some((list, _)) => {
            let names = list.split('`').skip(1).step_by(2);
            OptionSchema::Keys(names.map(str::to_owned).collect())
        }
        None => OptionSchema::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_the_sdk_is_understood() {
        let these =
            |names: &[&str]| OptionSchema::Keys(names.iter().map(|name| (*name).into()).collect());
        assert_eq!(
            read(
                "an option is wrong: unknown option `?` (known options: `top`, `min_share`) (hint: …)"
            ),
            these(&["top", "min_share"])
        );
        assert_eq!(
            read("unknown option `?`: this plugin takes none"),
            these(&[])
        );
        assert_eq!(read("no idea"), OptionSchema::Unknown);
    }
}
