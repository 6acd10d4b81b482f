//! Who may use whom, and which crates stay light.

use std::collections::{BTreeMap, BTreeSet};

use trueno_structure::{files, packages, relative, rust_files, text, tree};

/// Packages of this workspace that each package may link. All standard plugins share one line.
const MAY_USE: [(&str, &[&str]); 37] = [
    ("trueno-format", &[]),
    (
        "trueno-recorder",
        &["trueno-format", "trueno-recorder-macros"],
    ),
    ("trueno-recorder-macros", &[]),
    ("trueno-decode", &["trueno-recorder", "trueno-ceilings"]),
    ("trueno-command-line", &[]),
    ("trueno-trust", &[]),
    (
        "trueno-ceilings",
        &["trueno-format", "trueno-cupti", "trueno-trust"],
    ),
    (
        "trueno-brick-profiler",
        // The model of the roofline; it links no Arrow.
        &["trueno-recorder", "trueno-analysis"],
    ),
    ("trueno-axonml-profile", &["trueno-recorder"]),
    ("trueno-cupti", &[]),
    ("trueno-inject", &["trueno-cupti"]),
    (
        "trueno-interpose",
        &["trueno-preload-rows", "trueno-recorder"],
    ),
    (
        "trueno-preload-rows",
        &["trueno-format", "trueno-processes", "trueno-recorder"],
    ),
    ("trueno-processes", &["trueno-format"]),
    (
        "trueno-sampler",
        &["trueno-format", "trueno-processes", "trueno-trust"],
    ),
    ("trueno-tracer", &["trueno-format", "trueno-processes"]),
    ("trueno-recorder-cuda", &["trueno-recorder", "trueno-cupti"]),
    (
        "trueno-record",
        &[
            "trueno-recorder",
            "trueno-format",
            "trueno-ceilings",
            "trueno-import",
            "trueno-command-line",
            "trueno-cupti",
            "trueno-preload-rows",
            "trueno-processes",
            "trueno-sampler",
            "trueno-tracer",
            "trueno-trust",
        ],
    ),
    (
        "trueno-import",
        &[
            "trueno-format",
            "trueno-cupti",
            "trueno-analysis",
            // Names of kernels as other profilers spell them.
            "trueno-display-names",
        ],
    ),
    ("trueno-plugin", &[]),
    ("trueno-analysis", &["trueno-plugin"]),
    ("trueno-display-names", &[]),
    ("trueno-operator-model", &[]),
    (
        "trueno-plugin-operators",
        &["trueno-plugin", "trueno-analysis", "trueno-operator-model"],
    ),
    (
        "trueno-plugin-critical-path",
        &["trueno-plugin", "trueno-analysis", "trueno-display-names"],
    ),
    (
        "trueno-plugin-summary",
        &["trueno-plugin", "trueno-analysis", "trueno-display-names"],
    ),
    ("trueno-plugin-", &["trueno-plugin", "trueno-analysis"]),
    (
        "trueno-model",
        &["trueno-format", "trueno-plugin", "trueno-analysis"],
    ),
    (
        "trueno-engine",
        &[
            "trueno-format",
            "trueno-plugin",
            "trueno-model",
            "trueno-analysis",
        ],
    ),
    (
        "trueno-host",
        &[
            "trueno-format",
            "trueno-plugin",
            "trueno-analysis",
            "trueno-model",
            "trueno-engine",
            // Records the run that `plugins check` tries a plugin on when there is no other.
            "trueno-recorder",
            "trueno-trust",
        ],
    ),
    (
        "trueno-render",
        &[
            "trueno-format",
            "trueno-plugin",
            // Names of functions that only wait.
            "trueno-analysis",
            "trueno-display-names",
            "trueno-model",
        ],
    ),
    // The list of tables, and how names are shown.
    ("trueno-mcp", &["trueno-format", "trueno-model"]),
    (
        "trueno-compare",
        &[
            "trueno-format",
            "trueno-plugin",
            "trueno-analysis",
            "trueno-display-names",
            "trueno-model",
            "trueno-statistics",
            "trueno-engine",
            "trueno-host",
            "trueno-execution-graph",
            "trueno-render",
        ],
    ),
    ("trueno-statistics", &["trueno-analysis"]),
    ("trueno-serve", &[]),
    (
        "trueno-watch",
        &[
            "trueno-format",
            // Gauges of GPUs.
            "trueno-cupti",
            "trueno-analysis",
            "trueno-model",
            "trueno-render",
        ],
    ),
    (
        "trueno-export",
        &[
            "trueno-format",
            "trueno-plugin",
            "trueno-analysis",
            "trueno-model",
            "trueno-engine",
            // The mark by which `import` knows what `export chrome` wrote.
            "trueno-import",
        ],
    ),
];

/// Our packages that a package may link; `None` if anything is allowed.
fn may_use(package: &str) -> Option<BTreeSet<&'static str>> {
    let exact = MAY_USE.iter().find(|(name, _)| *name == package);
    let family = MAY_USE
        .iter()
        .find(|(name, _)| name.ends_with('-') && package.starts_with(name));
    exact
        .or(family)
        .map(|(_, allowed)| allowed.iter().copied().collect())
}

#[test]
fn crates_use_only_those_below_them() {
    let packages = packages();
    let ours: BTreeSet<&str> = packages
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    let mut wrong = Vec::new();
    let mut held = 0;
    for package in &packages {
        let Some(allowed) = may_use(&package.name) else {
            continue;
        };
        held += 1;
        let used = package.dependencies.iter().map(String::as_str);
        for other in used.filter(|other| ours.contains(other) && !allowed.contains(other)) {
            wrong.push(format!("{} links {other}", package.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        held > 20,
        "only {held} packages are held to a line of the table"
    );
}

#[test]
fn the_light_crates_link_no_query_engine() {
    let light = [
        "trueno-axonml-profile",
        "trueno-recorder",
        "trueno-import",
        "trueno-mcp",
        "trueno-render",
        "trueno-serve",
        "trueno-statistics",
        "trueno-watch",
        "trueno-analysis",
        "trueno-operator-model",
    ];
    let plugins = packages().into_iter().map(|package| package.name);
    let plugins = plugins.filter(|name| name.starts_with("trueno-plugin"));
    for name in light.map(str::to_owned).into_iter().chain(plugins) {
        let heavy: Vec<String> = tree(&name)
            .into_iter()
            .filter(|name| name.starts_with("polars"))
            .collect();
        assert!(heavy.is_empty(), "{name} links {heavy:?}");
    }
}

#[test]
fn the_sdk_links_serde_only() {
    let packages = packages();
    let sdk = packages
        .iter()
        .find(|package| package.name == "trueno-plugin")
        .expect("the SDK");
    assert_eq!(
        sdk.dependencies,
        BTreeSet::from(["serde".to_owned(), "serde_json".to_owned()])
    );
}

#[test]
fn one_file_opens_libraries_and_one_folder_opens_runs() {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in rust_files() {
        let path = relative(&file);
        if !path.starts_with("analyzer/") || path.contains("/tests/") || path.contains("_tests.rs")
        {
            continue;
        }
        let text = text(&file);
        for (word, of) in [
            ("libloading::", "libraries"),
            ("scan_ipc", "runs"),
            ("IpcReader::new", "runs"),
        ] {
            if text.contains(word) {
                places.entry(of).or_default().push(path.clone());
            }
        }
    }
    assert_eq!(places["libraries"], ["analyzer/host/src/plugin/load.rs"]);
    let outside: Vec<_> = places["runs"]
        .iter()
        .filter(|path| !path.starts_with("analyzer/engine/src/run/"))
        .collect();
    assert!(outside.is_empty(), "run files are opened by {outside:?}");
}

#[test]
fn no_profile_aborts_on_panic() {
    // A plugin built so would take the whole report down: its shim could not catch anything.
    for manifest in files().iter().filter(|file| file.ends_with("Cargo.toml")) {
        let squeezed: String = text(manifest)
            .chars()
            .filter(|c| !c.is_whitespace())
            .collect();
        let aborts = squeezed.contains("panic=\"abort\"");
        assert!(!aborts, "{} asks for panic = \"abort\"", relative(manifest));
    }
}
