//! Pages name only what exists.

use std::path::{Path, PathBuf};

use trueno_structure::{files, relative, root, rust_files, text};

fn pages() -> Vec<PathBuf> {
    let mut pages = files();
    for folder in [
        "",
        "docs",
        "docs/analyses",
        "datasets",
        ".github/ISSUE_TEMPLATE",
    ] {
        let entries = std::fs::read_dir(root().join(folder)).expect("a folder of pages");
        pages.extend(entries.map(|entry| entry.expect("an entry").path()));
    }
    pages.retain(|page| page.extension().is_some_and(|ending| ending == "md"));
    pages
}

/// Texts between `open` and the next `close`, as in `[name](target)`.
fn between<'a>(text: &'a str, open: &'a str, close: char) -> impl Iterator<Item = &'a str> {
    let behind = text.split(open).skip(1);
    behind.filter_map(move |behind| Some(behind.split_once(close)?.0))
}

/// Inline code of a page, without code blocks.
fn code(page: &str) -> Vec<&str> {
    let prose = page.split("```").step_by(2);
    prose
        .flat_map(|prose| prose.split('`').skip(1).step_by(2))
        .collect()
}

/// True if the file of a link exists and has the heading that its anchor names.
fn leads(page: &Path, link: &str) -> bool {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let folder = page.parent().expect("a page lies in a folder");
    let target = if file.is_empty() {
        page.to_path_buf()
    } else {
        folder.join(file)
    };
    target.exists() && (anchor.is_empty() || anchors(&text(&target)).contains(&anchor.to_owned()))
}

/// Anchors of a page's headings, as GitHub and mdBook create them.
fn anchors(page: &str) -> Vec<String> {
    let prose = page.split("```").step_by(2);
    let lines = prose.flat_map(str::lines);
    let headings = lines.filter(|line| line.starts_with('#'));
    let kept = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
    headings
        .map(|line| {
            let words = line.trim_start_matches('#').trim();
            let plain: String = words.to_lowercase().chars().filter(kept).collect();
            plain.replace(' ', "-")
        })
        .collect()
}

#[test]
fn links_and_paths_lead_somewhere() {
    let mut broken = Vec::new();
    for page in pages() {
        let text = text(&page);
        // Links of a guide are those of rustdoc.
        let links = between(&text, "](", ')').filter(|link| !link.contains([':', ' ']));
        let links = links.filter(|link| !page.ends_with("guide.md") && !leads(&page, link));
        broken.extend(links.map(|link| format!("{}: {link}", relative(&page))));
        let is_path = |name: &&str| {
            let folders = ["analyzer/", "recorder/", "plugins/", "tests/", "docs/"];
            let is_plain = |c: char| c.is_alphanumeric() || "/._-".contains(c);
            folders.iter().any(|folder| name.starts_with(folder)) && name.chars().all(is_plain)
        };
        let paths = code(&text).into_iter().filter(is_path);
        let gone = paths.filter(|path| !root().join(path).exists());
        broken.extend(gone.map(|path| format!("{}: {path}", relative(&page))));
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn each_invariant_names_a_test() {
    let page = text(&root().join("ARCHITECTURE.md"));
    let (_, behind) = page.split_once("## Invariants").expect("the heading");
    let (invariants, _) = behind.split_once("\n## ").expect("the next heading");
    let sources: Vec<String> = rust_files().iter().map(|file| text(file)).collect();
    let is_test = |name: &str| {
        let definition = format!("fn {name}(");
        let is_word = name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        let is_long = is_word && name.matches('_').count() > 2;
        is_long && sources.iter().any(|source| source.contains(&definition))
    };
    let is_file = |name: &str| name.contains("tests/") && root().join(Path::new(name)).exists();
    let mut list: Vec<String> = Vec::new();
    for line in invariants.lines() {
        let number = line
            .split_once(". ")
            .map(|(number, _)| number.parse::<u32>());
        match number {
            Some(Ok(_)) => list.push(line.to_owned()),
            _ => list
                .iter_mut()
                .last()
                .into_iter()
                .for_each(|last| *last += line),
        }
    }
    list.retain(|invariant| {
        !code(invariant)
            .iter()
            .any(|name| is_test(name) || is_file(name))
    });
    assert!(list.is_empty(), "no test:\n{}", list.join("\n"));
}

#[test]
fn each_page_of_the_documentation_is_in_the_book() {
    let summary = text(&root().join("docs/SUMMARY.md"));
    let listed: Vec<&str> = between(&summary, "](", ')').collect();
    let docs = root().join("docs");
    let mut missing: Vec<String> = pages()
        .iter()
        .filter_map(|page| page.strip_prefix(&docs).ok())
        .map(|page| page.display().to_string())
        .filter(|page| page != "SUMMARY.md" && !listed.contains(&page.as_str()))
        .collect();
    missing.sort();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:?}");
}

#[test]
fn each_standard_plugin_has_a_page() {
    let list = text(&root().join("plugins/standard/Cargo.toml"));
    let (_, plugins) = list.split_once("[dependencies]").expect("the list");
    let ids = plugins
        .lines()
        .filter_map(|line| Some(line.split_once(" = { path")?.0));
    let pages = root().join("docs/analyses");
    let none: Vec<&str> = ids
        .filter(|id| !pages.join(id).with_extension("md").exists())
        .collect();
    assert!(none.is_empty(), "{none:?}");
}
