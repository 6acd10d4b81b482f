//! ABI 1 is frozen: headers and plugins of each version are kept in `tests/abi/<version>`, and today's hold to them.

use std::fs;
use std::path::{Path, PathBuf};

use trueno_plugin::testing::{merge_descriptor, part_descriptor, run_descriptor};
use trueno_plugin::{Table, TableBuilder, abi};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn kept(minor: u32) -> PathBuf {
    root().join(format!("tests/abi/{}.{minor}", abi::MAJOR))
}

/// Steps for adding a version, shown when one of these tests fails.
const STEPS: &str = "A declaration of a version that is there stays as it is. To append one: raise \
    TRUENO_PLUGIN_ABI_MINOR (trueno_plugin.h) and MINOR (plugins/api/src/abi.rs), copy trueno_plugin.h and \
    arrow_c_abi.h to tests/abi/<version>/ with a plugin built against them and with layout.txt (what \
    plugins/api/tests/c/layout.c prints with these headers), and add a line to docs/abi.md. What breaks a plugin that \
    is built needs a new symbol and a new major version.";

/// The declarations of a header without comments and with normalised spaces.
fn declarations(header: &str) -> String {
    let mut code = String::new();
    let mut rest = header;
    while let Some((before, behind)) = rest.split_once("/*") {
        code.push_str(before);
        rest = behind.split_once("*/").expect("a comment ends").1;
    }
    code.push_str(rest);
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn headers_declare_what_was_frozen() {
    for header in ["trueno_plugin.h", "arrow_c_abi.h"] {
        let today = text(&root().join("plugins/api/include").join(header));
        let frozen = text(&kept(abi::MINOR).join(header));
        assert!(
            declarations(&today) == declarations(&frozen),
            "{header} declares something else than {}.\n{STEPS}",
            kept(abi::MINOR).join(header).display()
        );
    }
}

#[test]
fn each_version_is_kept_and_on_the_page() {
    let page = text(&root().join("docs/abi.md"));
    let version = format!("{}.{}", abi::MAJOR, abi::MINOR);
    let header = text(&root().join("plugins/api/include/trueno_plugin.h"));
    for stated in [
        format!("#define TRUENO_PLUGIN_ABI_MAJOR {}\n", abi::MAJOR),
        format!("#define TRUENO_PLUGIN_ABI_MINOR {}\n", abi::MINOR),
        format!("#define TRUENO_PLUGIN_ENTRY \"{}\"\n", abi::ENTRY),
    ] {
        assert!(header.contains(&stated), "the header does not say {stated}");
    }
    assert!(
        page.contains(&format!("\nVersion {version}.")),
        "docs/abi.md is not of {version}"
    );
    for minor in 0..=abi::MINOR {
        for name in [
            "trueno_plugin.h",
            "arrow_c_abi.h",
            "frozen.c",
            "layout.txt",
            "libtrueno_plugin_frozen.so",
        ] {
            let path = kept(minor).join(name);
            assert!(path.exists(), "{} is missing.\n{STEPS}", path.display());
        }
        let row = format!("| {}.{minor} |", abi::MAJOR);
        assert!(page.contains(&row), "docs/abi.md has no line {row}");
    }
    let folders = fs::read_dir(root().join("tests/abi")).unwrap();
    assert_eq!(folders.count() as u32, abi::MINOR + 1);
}

/// Descriptions and values of `layout.txt`, in its order.
fn layout(minor: u32) -> Vec<(String, usize)> {
    let text = text(&kept(minor).join("layout.txt"));
    let value = |line: &str| {
        let (what, value) = line.rsplit_once(' ').expect("words and a value");
        (what.to_owned(), value.parse().expect("a number"))
    };
    text.lines().map(value).collect()
}

/// Name of the struct if a line of the layout states its size.
fn sized(what: &str) -> Option<&str> {
    what.strip_prefix("sizeof ")
}

/// A change other than at the end of a struct would break compiled plugins.
#[test]
fn a_later_version_only_appends() {
    for minor in 1..=abi::MINOR {
        let later = layout(minor);
        let value = |what: &str| later.iter().find(|(other, _)| other == what).map(|of| of.1);
        for (what, before) in layout(minor - 1) {
            let now = value(&what).unwrap_or_else(|| panic!("{what} is gone in 1.{minor}"));
            if sized(&what).is_some() {
                assert!(now >= before, "{what} has shrunk in 1.{minor}");
            } else {
                assert_eq!(now, before, "{what} has moved in 1.{minor}");
            }
        }
        let before = layout(minor - 1);
        for (what, at) in &later {
            let is_new = !before.iter().any(|(other, _)| other == what);
            let Some((of, _)) = what.split_once('.').filter(|_| is_new) else {
                continue;
            };
            let end = before.iter().find(|(other, _)| sized(other) == Some(of));
            assert!(
                end.is_none_or(|(_, end)| at >= end),
                "{what} is not at the end of what 1.{} has",
                minor - 1
            );
        }
    }
}

#[test]
fn the_page_has_the_sizes_of_each_version() {
    let page = text(&root().join("docs/abi.md"));
    for name in ["trueno_str", "trueno_input", "trueno_plugin", "trueno_run"] {
        let size = |minor| {
            let layout = layout(minor);
            let found = layout.iter().find(|(what, _)| sized(what) == Some(name));
            found.unwrap_or_else(|| panic!("no size of {name}")).1
        };
        let sizes = (0..=abi::MINOR).map(|minor| format!(" {} |", size(minor)));
        let row = format!("| `{name}` |{}", sizes.collect::<String>());
        assert!(page.contains(&row), "docs/abi.md has no line {row}");
    }
}

/// Each library was built once, stripped, and is never rebuilt: `cc -std=c11 -Os -shared -fPIC -s
/// -Wl,--build-id=none -Wl,-z,noseparate-code`.
#[test]
fn a_library_built_against_each_version_runs_as_it_is() {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        eprintln!("not x86-64 Linux: the libraries that were built are not tried");
        return;
    }
    for minor in 0..=abi::MINOR {
        let plugin = load(minor);
        // SAFETY: a descriptor as the header wants it.
        let whole = unsafe { run_descriptor(plugin, bricks(2500), "{}") }.unwrap();
        assert_eq!(whole.table("seen").to_string(), "rows\n2500\n");
        assert_eq!((whole.findings.len(), whole.charts.len()), (1, 1));
        let title = format!("version {}.{minor} runs", abi::MAJOR);
        assert_eq!(whole.findings[0].title, title);
        // SAFETY: as above.
        let part = |count| unsafe { part_descriptor(plugin, bricks(count), "{}") };
        if minor == 0 {
            part(1).unwrap_err();
            continue;
        }
        let parts = [part(1000).unwrap(), part(1500).unwrap()];
        // SAFETY: as above.
        let merged = unsafe { merge_descriptor(plugin, &parts, [], "{}", true) };
        assert_eq!(merged.unwrap(), whole);
    }
}

fn load(minor: u32) -> *const abi::Plugin {
    let library = kept(minor).join("libtrueno_plugin_frozen.so");
    // SAFETY: a library of ours without initialisers; never unloaded, so that the descriptor stays.
    unsafe {
        let library = std::mem::ManuallyDrop::new(libloading::Library::new(library).unwrap());
        let entry: libloading::Symbol<'_, abi::Entry> = library.get(abi::ENTRY.as_bytes()).unwrap();
        entry()
    }
}

fn bricks(count: u64) -> [TableBuilder; 1] {
    [Table::build("bricks").u64("id", 0..count)]
}
