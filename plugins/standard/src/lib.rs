//! The list of standard plugins: a plugin is its folder, a line in the manifest's dependencies, and its id here.

use trueno_plugin::abi::Entry;

macro_rules! standard {
    ($($id:ident)*) => {
        /// Ids and entries of all standard plugins, sorted.
        pub static ENTRIES: &[(&str, Entry)] = &[$((stringify!($id), $id::ENTRY)),*];
    };
}

standard! {
    bottleneck
    category
    causality
    collectives
    counters
    critical_path
    device
    divergence
    lateness
    memory
    modules
    operators
    roofline
    samples
    sanity
    stragglers
    summary
    syscalls
    throughput
    tiles
}

pub fn ids() -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().map(|(id, _)| *id)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn each_has_a_folder_of_its_name_and_a_line_in_the_manifest() {
        let ids: Vec<&str> = super::ids().collect();
        assert!(ids.len() > 9 && ids.is_sorted(), "{ids:?}");
        let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for id in &ids {
            assert!(plugins.join(id).join("Cargo.toml").exists(), "{id}");
        }
        let lines = include_str!("../Cargo.toml").lines();
        let listed = lines.filter_map(|line| Some(line.split_once(" = { path")?.0));
        assert_eq!(listed.collect::<Vec<_>>(), ids);
    }

    #[test]
    fn each_entry_describes_the_plugin_of_its_id() {
        for (id, entry) in super::ENTRIES {
            // SAFETY: the entry takes nothing and returns a pointer to static storage, whose texts are static.
            let described = unsafe { (*entry()).id.to_string_lossy() };
            assert_eq!(described, *id);
        }
    }
}
