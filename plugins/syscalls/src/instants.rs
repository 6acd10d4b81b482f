//! Calls whose duration nobody measured: instants with arguments that say so.

use serde::Deserialize;

/// Details of a system call, from an instant's arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Arguments {
    kind: Option<String>,
    /// File that the call was about.
    pub target: Option<String>,
    pub errno: Option<String>,
    pub status: Option<i64>,
    pub bytes: Option<u64>,
}

impl Arguments {
    /// Parses the arguments; `None` if the instant is not a system call.
    pub fn parse(json: &str) -> Option<Self> {
        let arguments: Self = serde_json::from_str(json).ok()?;
        (arguments.kind.as_deref() == Some("syscall")).then_some(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_says_so_is_a_call() {
        let found = Arguments::parse(
            r#"{"kind": "syscall", "errno": "ENOENT", "status": -1, "target": "/x", "more": [1]}"#,
        );
        let expected = Arguments {
            kind: Some("syscall".to_owned()),
            target: Some("/x".to_owned()),
            errno: Some("ENOENT".to_owned()),
            status: Some(-1),
            bytes: None,
        };
        assert_eq!(found, Some(expected));
        for none in [
            "",
            "{}",
            "[]",
            "null",
            r#"{"kind": "sys"}"#,
            r#"{"note": "syscall"}"#,
        ] {
            assert_eq!(Arguments::parse(none), None, "{none}");
        }
    }
}
