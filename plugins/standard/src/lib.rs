//! The list of standard plugins, which is the manifest's list of dependencies: a plugin is its folder and one line there.

/// Ids of all standard plugins, sorted.
pub fn ids() -> impl Iterator<Item = &'static str> {
    let lines = include_str!("../Cargo.toml").lines();
    let dependencies = lines.skip_while(|line| *line != "[dependencies]");
    dependencies.filter_map(|line| Some(line.split_once(" = ")?.0))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn each_has_a_folder_of_its_name() {
        let ids: Vec<&str> = super::ids().collect();
        assert!(ids.len() > 9 && ids.is_sorted(), "{ids:?}");
        let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for id in ids {
            assert!(plugins.join(id).join("Cargo.toml").exists(), "{id}");
        }
    }
}
