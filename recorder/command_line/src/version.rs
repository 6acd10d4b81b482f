//! The text of `--version`.

/// Version of the package, with the commit if it is known, and a line for each component with its own version.
///
/// Packagers without git set `TRUENO_COMMIT` when they build.
pub fn long_version(package: &str, more: &[(&str, String)]) -> String {
    text(package, env!("TRUENO_COMMIT"), more)
}

fn text(package: &str, commit: &str, more: &[(&str, String)]) -> String {
    let mut text = match commit {
        "" => package.to_owned(),
        commit => format!("{package} ({commit})"),
    };
    for (thing, version) in more {
        text.push_str(&format!("\n{thing} {version}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_is_said_where_it_is_known() {
        let more = [("run format", "1.2".to_owned())];
        assert_eq!(text("0.1.0", "", &more), "0.1.0\nrun format 1.2");
        assert_eq!(text("0.1.0", "abc", &more), "0.1.0 (abc)\nrun format 1.2");
    }
}
