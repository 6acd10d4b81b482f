//! ABI 1 is frozen: headers and plugins of each version are kept in `tests/abi/<version>`, and today's hold to them.

use std::fs;
use std::path::{Path, PathBuf};

use trueno_plugin::testing::run_descriptor;
use trueno_plugin::{Table, abi};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn kept(minor: u32) -> PathBuf {
    root().join(format!("tests/abi/{}.{minor}", abi::MAJOR))
}

/// The steps of a new version, for whoever meets one of these tests.
const STEPS: &str = "A declaration of a version that is there stays as it is. To append one: raise \
    TRUENO_PLUGIN_ABI_MINOR (trueno_plugin.h) and MINOR (plugins/api/src/abi.rs), copy trueno_plugin.h and \
    arrow_c_abi.h to tests/abi/<version>/ with a plugin built against them, and add a line to docs/abi.md. What breaks \
    a plugin that is built needs a new symbol and a new major version.";

/// The declarations of a header: no comments, and one space wherever there is any.
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

/// The layout in numbers: a struct that changed its size has changed for plugins that are built.
#[test]
fn the_page_has_the_sizes_of_the_first_version() {
    let page = text(&root().join("docs/abi.md"));
    for (name, bytes) in [
        ("trueno_input", abi::INPUT_SIZE_1_0),
        ("trueno_plugin", abi::PLUGIN_SIZE_1_0),
        ("trueno_run", abi::RUN_SIZE_1_0),
    ] {
        let is_told = page.contains(&format!("| `{name}` | {bytes} |"));
        assert!(
            is_told || size_of::<usize>() != 8,
            "{name} has {bytes} bytes"
        );
    }
}

/// Built once, stripped, and never again: `cc -std=c11 -Os -shared -fPIC -s -Wl,--build-id=none
/// -Wl,-z,noseparate-code`.
#[test]
fn a_library_built_against_the_first_version_runs_as_it_is() {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        eprintln!("not x86-64 Linux: the library that was built is not tried");
        return;
    }
    let library = kept(0).join("libtrueno_plugin_frozen.so");
    // SAFETY: a library of ours without initialisers; never unloaded, so that the descriptor stays.
    let plugin = unsafe {
        let library = std::mem::ManuallyDrop::new(libloading::Library::new(library).unwrap());
        let entry: libloading::Symbol<'_, abi::Entry> = library.get(abi::ENTRY.as_bytes()).unwrap();
        entry()
    };
    // SAFETY: a descriptor as the header wants it.
    let output =
        unsafe { run_descriptor(plugin, [Table::build("bricks").u64("id", 0..2500)], "{}") };
    let output = output.unwrap();
    assert_eq!(output.table("seen").to_string(), "rows\n2500\n");
    assert_eq!((output.findings.len(), output.charts.len()), (1, 1));
}
