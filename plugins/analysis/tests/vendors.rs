//! The table of vendors, and the rules that repeat a part of it for users to change.

use std::path::Path;

use trueno_analysis::vendors::COMMUNICATION;

#[test]
fn categories_of_kernels_know_all_communication() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = root.join("analyzer/model/src/categories.toml");
    let rules = std::fs::read_to_string(file).unwrap();
    let rule = rules.split("\n[[rule]]").nth(1).unwrap();
    assert!(rule.contains("\"communication\""));
    for part in COMMUNICATION {
        assert!(rule.contains(&format!("\"{part}\"")), "{part}");
    }
}
