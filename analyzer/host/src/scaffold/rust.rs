//! A crate: the template of this repository, under another name.

use std::fs;
use std::path::{Path, PathBuf};

use super::Sdk;

/// A member of our own workspace, so it is built and tested.
const TEMPLATE: &str = include_str!("../../template.rs");
/// Names used by the template, and one reserved by Rust.
const TAKEN: [&str; 10] = [
    "Error", "Finding", "Input", "Options", "Plugin", "Result", "Run", "Self", "Severity", "Table",
];

pub fn files(id: &str, sdk: &Sdk, workspace: Option<&Path>) -> Vec<(String, String)> {
    vec![
        ("Cargo.toml".into(), manifest(id, sdk, workspace.is_some())),
        ("src/lib.rs".into(), source(id)),
        (".gitignore".into(), "/target\n".into()),
    ]
}

/// The cargo workspace around `dir`, which would claim a crate in it.
pub fn workspace_around(dir: &Path) -> Option<PathBuf> {
    let is_root = |above: &&Path| {
        let manifest = fs::read_to_string(above.join("Cargo.toml")).unwrap_or_default();
        manifest.lines().any(|line| line.trim() == "[workspace]")
    };
    dir.ancestors().skip(1).find(is_root).map(Path::to_path_buf)
}

fn manifest(id: &str, sdk: &Sdk, inside: bool) -> String {
    let mut text = format!(
        "[package]\n\
         name = \"trueno-plugin-{id}\"\n\
         description = \"How long each name took.\"\n\
         version = \"0.1.0\"\n\
         edition = \"2024\"\n\
         publish = false\n\
         \n\
         [lib]\n\
         # The name by which the analyzer finds it.\n\
         name = \"trueno_plugin_{id}\"\n\
         crate-type = [\"cdylib\"]\n\
         \n\
         [dependencies]\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\n\
         {}",
        sdk.dependency()
    );
    if !inside {
        text.push_str("\n# No workspace of a folder above claims it.\n[workspace]\n");
    }
    text
}

fn source(id: &str) -> String {
    let camel: String = id
        .split('_')
        .filter_map(|word| {
            let mut chars = word.chars();
            let first = chars.next()?.to_ascii_uppercase();
            Some(std::iter::once(first).chain(chars).collect::<String>())
        })
        .collect();
    let camel = if TAKEN.contains(&camel.as_str()) {
        format!("{camel}Analysis")
    } else {
        camel
    };
    let text = TEMPLATE
        .replace("\"template\"", &format!("\"{id}\""))
        .replace("Template", &camel);
    let mut out = String::new();
    for line in text.lines() {
        match line.split_once("TEMPLATE: ") {
            Some((lead, rest)) if lead.starts_with("//!") => {
                let mut chars = rest.chars();
                out.push_str(lead);
                out.extend(chars.next().into_iter().flat_map(char::to_uppercase));
                out.extend(chars);
            }
            Some((lead, rest)) => {
                out.push_str(lead);
                out.push_str("Yours: ");
                out.push_str(rest);
            }
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_renamed_throughout() {
        for (id, name) in [("idle_gaps2", "IdleGaps2"), ("table", "TableAnalysis")] {
            let text = source(id);
            assert!(
                !text.contains("Template") && !text.contains("TEMPLATE"),
                "{text}"
            );
            assert!(text.contains(&format!("struct {name};")), "{text}");
            assert!(text.contains(&format!("export!({name});")), "{text}");
            assert!(
                text.contains(&format!("const ID: &'static str = \"{id}\";")),
                "{text}"
            );
            assert!(text.starts_with("//! What this plugin tells"), "{text}");
        }
    }

    #[test]
    fn a_crate_says_it_stands_alone_only_where_it_does() {
        let alone = manifest("mine", &Sdk::Repository, false);
        assert!(
            alone.contains("[workspace]") && alone.contains("git = \"https://"),
            "{alone}"
        );
        let folder = Sdk::Folder("/a \"b\"/api".into());
        let inside = manifest("mine", &folder, true);
        assert!(!inside.contains("[workspace]"), "{inside}");
        let parsed: toml::Table = toml::from_str(&inside).unwrap();
        let path = parsed["dependencies"]["trueno-plugin"]["path"].as_str();
        assert_eq!(path, Some("/a \"b\"/api"));
    }
}
