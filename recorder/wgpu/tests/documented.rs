//! Snippets of the documents, against the code that is compiled.

fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default().trim()
}

#[test]
fn the_page_shows_lines_of_the_documentation_that_runs() {
    let page = include_str!("../../../docs/recording-gpu.md");
    let runs: Vec<&str> = include_str!("../src/guide.md").lines().map(code).collect();
    let section = page
        .split("## Record a Rust program around wgpu\n")
        .nth(1)
        .unwrap();
    let shown = section.split("```rust\n").nth(1).unwrap();
    let shown = shown.split("```").next().unwrap();
    assert!(shown.lines().count() >= 10);
    for line in shown.lines().map(code) {
        assert!(runs.contains(&line), "{line}");
    }
}
